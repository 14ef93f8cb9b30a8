"""CCCL's device-wide algorithms, which merges and sorts are compared with.

CCCL is a set of headers. nvcc compiles what is compared into small libraries, one for each type of keys, and the cache
keeps these. The headers are those that the variable GPUMERGE_CCCL names, else those of an installed wheel, else nvcc's
own, which are older.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import cupy

from gpumerge_cli.backends.gpu.buffers import DeviceBuffer
from gpumerge_cli.backends.gpu.compile_time import kernels_folder
from gpumerge_cli.backends.gpu.source import kernel_directory
from gpumerge_cli.cache import read_cached, write_cached
from gpumerge_cli.compiling import compiling
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order.kinds import KeyOrder

HEADERS = "GPUMERGE_CCCL"
"""The variable that names the folder of headers, which holds the folder cub."""
_WHEELS = ("cuda/cccl/headers/include", "nvidia/cu13/include/cccl")
"""The folders of headers in the wheels cuda-cccl and nvidia-cuda-cccl. The first has the newer ones."""
_PROBE = "#include <cub/version.cuh>\nfound CCCL_VERSION __CUDACC_VER_MAJOR__ __CUDACC_VER_MINOR__\n"
_COMPILE_SECONDS = 20.0
_FLOATS = {2: "__half", 4: "float", 8: "double"}


@dataclass(frozen=True)
class Cccl:
    """The compiler and the headers of CCCL."""

    nvcc: tuple[str, ...]
    """The compiler's command."""
    headers: str
    """Their folder; "" for nvcc's own."""
    version: str
    """The version of CCCL."""
    compiler: str
    """The version of nvcc."""


@cache
def installed() -> Cccl:
    """The compiler and the headers to be used. Raises DeviceError, with the way to get them, if one is missing."""
    named = cupy.cuda.get_nvcc_path() or shutil.which("nvcc")
    if not named:
        raise DeviceError(
            "there is no nvcc to compile it", way_out="install CUDA's compiler, or name it in the variable NVCC"
        )
    nvcc, headers = tuple(shlex.split(named)), headers_folder(os.environ.get(HEADERS, ""), sys.path)
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder, "probe.cu")
        probe.write_text(_PROBE, encoding="utf-8")
        done = _run((*nvcc, "-E", *_include(headers), str(probe)))
    lines = [line for line in done.stdout.partition("\nfound")[2].splitlines() if not line.startswith("#")]
    numbers = " ".join(lines).split()
    if done.returncode or len(numbers) != 3 or not all(map(str.isdecimal, numbers)):
        raise DeviceError(
            f"nvcc finds no headers of it ({_reason(done)})",
            way_out=f"pip install cuda-cccl, or name their folder in the variable {HEADERS}",
        )
    cccl, *compiler = map(int, numbers)
    version = f"{cccl // 1_000_000}.{cccl // 1000 % 1000}.{cccl % 1000}"
    return Cccl(nvcc, headers, version, ".".join(map(str, compiler)))


def headers_folder(named: str, packages: Sequence[str]) -> str:
    """`named`, or the folder of the first wheel that one of the folders `packages` holds, or ""."""
    there = (os.path.join(folder, wheel) for wheel in _WHEELS for folder in packages)
    return named or next((folder for folder in there if os.path.isfile(os.path.join(folder, "cub/version.cuh"))), "")


def _include(headers: str) -> tuple[str, ...]:
    return ("-I", headers) if headers else ()


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Raises DeviceError if there is no such command. It may fail."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    except OSError as error:
        raise DeviceError(f"{command[0]} does not run: {error.strerror}", way_out="install CUDA's compiler") from error


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The line of a compiler's messages that says what is wrong."""
    lines = done.stderr.strip().splitlines()
    return next((line.strip() for line in lines if "error" in line), lines[0] if lines else "it does not say why")


def key_type(order: KeyOrder) -> str:
    """The C++ type of keys."""
    if order.kind == "float":
        return _FLOATS[order.width]
    return f"std::{'u' if order.kind == 'uint' else ''}int{8 * order.width}_t"


def options(order: KeyOrder, payload: int, capability: int) -> tuple[str, ...]:
    """nvcc's options for the algorithms on keys of `order`, each with a payload of 0, 4 or 8 bytes."""
    macros = {"KEY": key_type(order), "DESCENDING": int(order.descending), "PAYLOAD": payload}
    return (
        "-shared", "-Xcompiler", "-fPIC", "-O3", "-std=c++17", f"-arch=sm_{capability}",
        *(f"-DANCHOR_{name}={value}" for name, value in macros.items()),
    )  # fmt: skip


def compiled(file: str, order: KeyOrder, payload: int, capability: int) -> Path:
    """The library of kernels/gpu/`file` for devices of this capability, compiled if the cache lacks it.

    See `options`. Raises DeviceError.
    """
    cccl = installed()
    using = options(order, payload, capability)
    folder = kernel_directory() / "gpu"
    texts = [(folder / name).read_text(encoding="utf-8") for name in (file, "baseline_cccl.cuh")]
    digest = hashlib.sha256("\0".join((*texts, *using, cccl.version, cccl.compiler)).encode()).hexdigest()
    path = kernels_folder() / f"{Path(file).stem}-{digest[:32]}.so"
    with suppress(OSError):
        read_cached(path)
        return path
    with compiling("CCCL's algorithms", _COMPILE_SECONDS), tempfile.TemporaryDirectory() as work:
        made = Path(work, "made.so")
        done = _run((*cccl.nvcc, *using, *_include(cccl.headers), "-o", str(made), str(folder / file)))
        if done.returncode:
            raise DeviceError(f"nvcc does not compile CCCL {cccl.version}: {_reason(done)}")
        try:
            write_cached(path, made.read_bytes())
        except OSError as error:
            raise DeviceError(f"CCCL's algorithms cannot be kept in {path.parent}: {error.strerror}") from error
    return path


@cache
def _library(file: str, order: KeyOrder, payload: int, capability: int) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(compiled(file, order, payload, capability)))
    except OSError as error:
        raise DeviceError(f"CCCL's algorithms cannot be loaded: {error}") from error
    library.cccl_error.restype = ctypes.c_char_p
    return library


class CcclAlgorithm:
    """A call of one of CCCL's algorithms on the current device, which can be queued again and again.

    file, name: the file in kernels/gpu and the function there. order: of the keys. payload: the bytes that go with each
    key. arguments: addresses on the device, and counts. Raises DeviceError where it does not compile.
    """

    def __init__(self, file: str, name: str, order: KeyOrder, payload: int, arguments: Sequence[int]) -> None:
        self._library = _library(file, order, payload, int(cupy.cuda.Device().compute_capability))
        self._function = self._library[name]
        self._arguments = [ctypes.c_uint64(value) for value in arguments]
        self._needed = ctypes.c_size_t(0)
        self._call(0, 0)
        self._room = DeviceBuffer().reserve(self._needed.value)

    def __call__(self, stream: int) -> None:
        """Queue it on the stream, a pointer. Raises DeviceError."""
        self._call(self._room.address, stream)

    def _call(self, room: int, stream: int) -> None:
        head = (ctypes.c_void_p(room), ctypes.byref(self._needed), ctypes.c_void_p(stream))
        code = int(self._function(*head, *self._arguments))
        if code:
            raise DeviceError(f"CCCL failed: {self._library.cccl_error(code).decode()}")
