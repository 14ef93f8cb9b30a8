"""Machine code that Numba compiles once and that is loaded without Numba from then on.

Importing Numba and readying its compiler takes longer than merging a gigabyte. What it makes is object code like any
compiler's, so it is kept in the user's cache folder and given to LLVM's own loader, which takes milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import json
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from gpumerge_cli.cache import cache_folder

Native = Callable[..., int]
"""Takes and gives int64s: addresses, counts, bits. Runs without the interpreter lock."""

_HEADER = 4096


@dataclass(frozen=True)
class Compiled:
    """What a compiler made. code: the object file, None if it cannot be kept. address: where it runs right now.

    owner: what keeps that alive.
    """

    symbol: str
    arguments: int
    code: bytes | None
    address: int
    owner: Any


class Library:
    """Functions by name, compiled on first use. Not for functions that raise or allocate: see `_bind`.

    sources: the files whose text the code depends on. compile: makes the function of a name; called at most once a
    process for each.
    """

    def __init__(self, name: str, sources: Iterable[Path], compile: Callable[[str], Compiled]) -> None:
        self._name = name
        self._sources = sorted(sources)
        self._compile = compile
        self._functions: dict[str, Native] = {}
        self._kept_alive: list[Any] = []
        self._lock = threading.Lock()
        self._folder: Path | None = None

    def function(self, name: str) -> Native:
        """The function called `name`."""
        found = self._functions.get(name)
        if found is not None:
            return found
        with self._lock:
            if name not in self._functions:
                self._functions[name] = self._load(name) or self._make(name)
            return self._functions[name]

    def address(self, name: str) -> int:
        """Where the code of `function(name)` lies, for other compiled code to call."""
        return ctypes.cast(self.function(name), ctypes.c_void_p).value or 0  # type: ignore[arg-type]

    def _place(self, name: str) -> Path:
        """The file of a function: in a folder for this state of the sources, the compiler and the processor."""
        if self._folder is None:
            digest = hashlib.sha256()
            for source in self._sources:
                digest.update(source.read_bytes())
            machine = (llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
            digest.update(repr((numba_version(), llvmlite.__version__, machine)).encode())
            self._folder = Path(cache_folder()) / f"{self._name}-{digest.hexdigest()[:16]}"
        return self._folder / f"{name}.o"

    def _load(self, name: str) -> Native | None:
        try:
            data = self._place(name).read_bytes()
            header = json.loads(data[:_HEADER])
            code = data[_HEADER:]
            if hashlib.sha256(code).hexdigest() != header["sha256"]:
                return None
            symbol, arguments = str(header["symbol"]), int(header["arguments"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return self._bind(symbol, arguments, code)

    def _make(self, name: str) -> Native:
        compiled = self._compile(name)
        self._kept_alive.append(compiled.owner)
        if compiled.code is not None:
            with contextlib.suppress(OSError):  # without a folder for it, the next process compiles again
                self._keep(self._place(name), compiled.symbol, compiled.arguments, compiled.code)
        return _function(compiled.address, compiled.arguments)

    @staticmethod
    def _keep(place: Path, symbol: str, arguments: int, code: bytes) -> None:
        header = {"symbol": symbol, "arguments": arguments, "sha256": hashlib.sha256(code).hexdigest()}
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(f".{place.name}.{secrets.token_hex(6)}")
        temporary.write_bytes(json.dumps(header).encode().ljust(_HEADER) + code)
        os.replace(temporary, place)

    def _bind(self, symbol: str, arguments: int, code: bytes) -> Native:
        """Load object code.

        It names functions of Numba's runtime for exceptions and memory. They are not there, and never called by code
        that neither raises nor allocates; should it do so all the same, the process ends.
        """
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        end = ctypes.cast(ctypes.CDLL(None).abort, ctypes.c_void_p).value
        assert end is not None
        for missing in _RUNTIME:
            if llvm.address_of_symbol(missing) is None:
                llvm.add_symbol(missing, end)
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        self._kept_alive.append(engine)
        return _function(engine.get_function_address(symbol), arguments)


@functools.cache
@functools.lru_cache(maxsize=1)
def numba_version() -> str:
    """Numba's version, from its file: importing it takes half a second, asking for its metadata 20 ms."""
    spec = find_spec("numba")
    assert spec is not None
    assert spec.origin is not None
    found = re.search(r'"version": "([^"]+)"', Path(spec.origin).with_name("_version.py").read_text("utf-8"))
    if found is None:
        from importlib.metadata import version

        return version("numba")
    return found[1]


_RUNTIME = (
    "NRT_Free",
    "NRT_MemInfo_call_dtor",
    "numba_do_raise",
    "numba_gil_ensure",
    "numba_gil_release",
    "numba_runtime_build_excinfo_struct",
    "numba_unpickle",
)


def _function(address: int, arguments: int) -> Native:
    function: Native = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(address)
    return function
