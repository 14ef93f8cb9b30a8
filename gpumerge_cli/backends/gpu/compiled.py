"""Kernels from their files, compiled by NVRTC. A process that finds them in the cache never loads NVRTC.

The cache is the program's own. CuPy asks NVRTC for its version before it looks into its cache, and loading NVRTC takes
longer than loading the kernels.

The kernels of a task are compiled in parallel, since NVRTC releases the interpreter's lock.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.compile_time import COMPILE_SECONDS, kernels_folder
from gpumerge_cli.backends.gpu.source import flatten
from gpumerge_cli.cache import read_cached, write_cached
from gpumerge_cli.compiling import compiling
from gpumerge_cli.errors import DeviceError

_AT_ONCE = 8
"""The most kernels that are compiled at the same time. Few tasks have more."""
_loaded: list[Any] = []
"""All kernels. They stay loaded until the process ends, because a graph may have captured them.

CuPy unloads a kernel that nothing refers to, and its graphs do not refer to kernels. A kernel has 10 to 60 KB of code.
"""


def functions(file: str, options: Sequence[str], *names: str) -> list[Any]:
    """The kernels `names` of a file that includes a library's headers, for the current device."""
    with compiling("the GPU's kernels", COMPILE_SECONDS):
        module = cupy.RawModule(code=flatten(file), options=tuple(options))
        return [module.get_function(name) for name in names]


def kernel(file: str, options: Sequence[str], name: str, shared_memory: int = 0) -> Any:
    """The kernel `name` of a file, for the current device, which stays loaded.

    shared_memory: the bytes, dynamic and static together, that it may use; 0 for the usual limit.
    """
    with compiling("the GPU's kernels", COMPILE_SECONDS):
        module = cupy.cuda.function.Module()
        module.load(image(file, tuple(options), int(cupy.cuda.Device().compute_capability)))
        function = module.get_function(name)
    _loaded.append(function)
    if shared_memory:
        driver = cupy.cuda.driver
        static = driver.funcGetAttribute(driver.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function.ptr)
        most = driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        driver.funcSetAttribute(function.ptr, most, shared_memory - static)
    return function


def image(file: str, options: tuple[str, ...], capability: int) -> bytes:
    """The code that a device of this capability runs, from the cache or compiled. Raises DeviceError."""
    return begin_compiling(file, options, capability).result()


def begin_compiling(file: str, options: tuple[str, ...], capability: int) -> Future[bytes]:
    """The same code, in time: it is compiled in the background, unless that was begun before."""
    with _lock:
        return _begun(file, options, capability)


_lock = threading.Lock()


@lru_cache(maxsize=256)
def _begun(file: str, options: tuple[str, ...], capability: int) -> Future[bytes]:
    return _threads().submit(_cached_code, file, options, capability)


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="compiler")


def _cached_code(file: str, options: tuple[str, ...], capability: int) -> bytes:
    """The code from the cache, or compiled and put there."""
    source = flatten(file)
    made_by = (cupy.__version__, str(cupy.cuda.runtime.runtimeGetVersion()), str(capability))
    digest = hashlib.sha256("\0".join((source, *options, *made_by)).encode()).hexdigest()
    path = kernels_folder() / f"{Path(file).stem}-{digest[:32]}.cubin"
    with suppress(OSError):
        return read_cached(path)
    code = _compiled(file, source, options, capability)
    with suppress(OSError):  # a cache that cannot be written costs the time to compile again
        write_cached(path, code)
    return code


def _compiled(file: str, source: str, options: tuple[str, ...], capability: int) -> bytes:
    nvrtc = cupy.cuda.nvrtc
    known = [number for number in nvrtc.getSupportedArchs() if number <= capability]
    if not known:
        raise DeviceError(
            f"NVRTC does not compile for compute capability {capability / 10}", way_out="use the backend cpu"
        )
    is_exact = max(known) == capability
    arch = f"-arch={'sm' if is_exact else 'compute'}_{max(known)}"
    # NVRTC's cache, which came with CUDA 12.9, lets one thread compile at a time.
    uncached = ("--no-cache",) if nvrtc.getVersion() >= (12, 9) else ()
    program = nvrtc.createProgram(source, file, (), ())
    try:
        nvrtc.compileProgram(program, ("-std=c++17", arch, *uncached, *options))
        return bytes(nvrtc.getCUBIN(program) if is_exact else nvrtc.getPTX(program))
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program).strip().splitlines()
        reason = log[0] if log else str(error)
        raise DeviceError(f"a kernel does not compile: {reason}", way_out="use the backend cpu") from error
    finally:
        nvrtc.destroyProgram(program)
