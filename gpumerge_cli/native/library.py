"""The compiled library: the choice of its level, its loading, and its entries as entries.h declares them.

GPUMERGE_CPU_LEVEL forces a level: one of LEVELS, or its last part, as in "v3".
"""

from __future__ import annotations

import ctypes
import os
import threading
import zlib
from functools import cache, cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from gpumerge_cli import __version__
from gpumerge_cli.errors import NO_ROOM_TO_LOAD, DeviceError, UsageError, lack_of_descriptors, lacks_memory
from gpumerge_cli.native.declarations import Declarations

if TYPE_CHECKING:
    from pathlib import Path

VARIABLE = "GPUMERGE_CPU_LEVEL"
# The flags that each level adds to the one ahead of it, in the words of /proc/cpuinfo.
_FLAGS = {
    "x86-64-v2": "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3",
    "x86-64-v3": "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
LEVELS: tuple[str, ...] = tuple(_FLAGS) if os.uname().machine == "x86_64" else (os.uname().machine,)
"""The levels for this kind of machine, the least first."""
SHARED_HEADERS = ("cpu/entries.h", "equals.h", "fields.cuh")
"""The headers, below kernels, whose numbers and layouts Python has too."""
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_REINSTALL = "reinstall gpumerge"
_PROCESSORS = "/proc/cpuinfo"
_SOME_PROCESSORS = 8192  # bytes of /proc/cpuinfo; to read all of it is slow on machines with many processors


@cache
def library() -> Any:
    """The library: its functions, constants and structures by their names in entries.h; `kernels`: numbers by name.

    Raises DeviceError if it is missing, of another version or for another processor; UsageError for a forced level that
    this processor lacks.
    """
    with _loading:
        return _loaded()


_loading = threading.Lock()
_declaring = threading.RLock()  # two types of one structure would not go together


@cache
def _loaded() -> Any:
    folder = os.path.join(_PACKAGE, "lib")
    return load_library(folder, chosen_level(folder))


def load_library(folder: str | Path, level: str) -> Any:
    """The library of `level` in `folder`. See `library`."""
    file = f"gpumerge-{level}.so"
    path = os.path.join(folder, file)
    try:
        with open(entries_file(), encoding="utf-8") as entries:
            text = entries.read()
        loaded = ctypes.CDLL(path)
        loaded.gm_version.restype = ctypes.c_char_p
        version, expected = loaded.gm_version().decode(), expected_version()
    except (OSError, AttributeError) as error:
        if lacks_memory(error):
            raise DeviceError(NO_ROOM_TO_LOAD[0], way_out=NO_ROOM_TO_LOAD[1]) from None
        what = str(error).removeprefix(f"{path}: ") if os.path.exists(path) else "it is missing from this installation"
        raise DeviceError(f"the CPU's library {file} cannot be loaded: {what}", way_out=_REINSTALL) from None
    if version != expected:
        raise DeviceError(
            f"the CPU's library {file} is of version {version}, the program of {expected}",
            way_out=_REINSTALL,
        )
    return LoadedLibrary(loaded, Declarations(text))


class LoadedLibrary:
    """A loaded library; its functions, constants and structures become attributes as they are first read."""

    def __init__(self, loaded: ctypes.CDLL, declared: Declarations) -> None:
        self._loaded, self._declared = loaded, declared
        vars(self).update(declared.constants)

    def __getattr__(self, name: str) -> Any:
        with _declaring:
            return vars(self)[name] if name in vars(self) else self._declare(name)

    def _declare(self, name: str) -> Any:
        signature = self._declared.function(name)
        if signature is None:
            found: Any = self._declared.structure(name)
            if found is None:
                raise AttributeError(name)
        else:
            found = getattr(self._loaded, name)
            found.restype, found.argtypes = signature
        vars(self)[name] = found
        return found

    @cached_property
    def kernels(self) -> dict[str, int]:
        """The numbers of its kernels by their names, as in "tiled_full"."""
        return kernels_of(self)


def kernels_of(loaded: Any) -> dict[str, int]:
    """The numbers of a library's kernels by their names, as in "tiled_full". `gm_kernel` must be declared."""
    names = iter(map(loaded.gm_kernel, count()).__next__, None)
    return {name.decode(): number for number, name in enumerate(names)}


def entries_file() -> str:
    """The path of entries.h: inside the package (a wheel) or beside it (a source tree)."""
    inside = os.path.join(_PACKAGE, "kernels", "cpu", "entries.h")
    return inside if os.path.exists(inside) else os.path.join(os.path.dirname(_PACKAGE), "kernels", "cpu", "entries.h")


def kernel_source(name: str) -> bytes:
    """The content of a file below kernels. Raises OSError."""
    with open(os.path.join(os.path.dirname(os.path.dirname(entries_file())), name), "rb") as file:
        return file.read()


def expected_version() -> str:
    """The version of a library that was built for this package and these headers. Raises OSError."""
    headers = b"".join(map(kernel_source, SHARED_HEADERS))
    return f"{__version__}-{zlib.crc32(headers):08x}"


def chosen_level(folder: str | Path) -> str:
    """The level to load from `folder`: the forced one, or the best one that is there and that the processor has.

    Raises UsageError and DeviceError as `library` does.
    """
    has = processor_levels()
    if not has and not os.path.exists(_PROCESSORS):
        raise DeviceError(
            f"{_PROCESSORS} is missing, which tells the instructions of this processor", way_out="mount /proc"
        )
    forced = os.environ.get(VARIABLE, "")
    if forced:
        found = [level for level in LEVELS if forced in (level, level.rpartition("-")[2])]
        if not found:
            raise UsageError(f"{VARIABLE}: it is not a level", way_out=f"use one of {', '.join(LEVELS)}")
        if found[0] not in has:
            best = f"use {has[-1]} at most, or unset it" if has else "unset it"
            raise UsageError(f"{VARIABLE}: this processor lacks instructions that {found[0]} needs", way_out=best)
        return found[0]
    if not has:
        raise DeviceError(
            f"this processor lacks instructions that {LEVELS[0]}, the lowest level of the CPU's library, needs",
            way_out="install gpumerge from its sources with CXX and CXXFLAGS set to a compiler and flags for it",
        )
    return next(
        (level for level in reversed(has) if os.path.exists(os.path.join(folder, f"gpumerge-{level}.so"))), has[-1]
    )


@cache
def processor_levels() -> tuple[str, ...]:
    """The levels that this processor has, the least first. Raises OSError if no file can be opened any more."""
    if os.uname().machine != "x86_64":
        return LEVELS
    try:
        with open(_PROCESSORS, encoding="utf-8", errors="replace") as file:
            lines = file.read(_SOME_PROCESSORS).splitlines()
    except OSError as error:
        if lack_of_descriptors(error):
            raise
        lines = []
    flags = next((line.split() for line in lines if line.startswith("flags")), [])
    return levels_of_flags(frozenset(flags))


def levels_of_flags(flags: frozenset[str]) -> tuple[str, ...]:
    """The levels of x86-64 that a processor with these flags has, the least first."""
    found: list[str] = []
    for level, needed in _FLAGS.items():
        if not flags.issuperset(needed.split()):
            break
        found.append(level)
    return tuple(found)
