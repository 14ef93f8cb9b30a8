"""The one place where CuPy's and the driver's errors become a DeviceError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import cupy
from cupy.cuda.compiler import CompileException

from gpumerge_cli.errors import DeviceError, DeviceMemoryError
from gpumerge_cli.units import format_bytes

CUPY_ERRORS = (
    cupy.cuda.memory.OutOfMemoryError,
    cupy.cuda.runtime.CUDARuntimeError,
    cupy.cuda.driver.CUDADriverError,
    cupy.cuda.nvrtc.NVRTCError,
    CompileException,
)


@contextmanager
def device_errors() -> Iterator[None]:
    """Turn CuPy's errors inside the body into a DeviceError of one line."""
    try:
        yield
    except CUPY_ERRORS as error:
        raise device_error(error) from error


@contextmanager
def pinning_errors(nbytes: int) -> Iterator[None]:
    """Turn a failure to pin `nbytes` of host memory inside the body into a DeviceMemoryError."""
    try:
        yield
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceMemoryError(
            f"no {format_bytes(nbytes)} of host memory can be pinned", way_out="lower --memory or use the backend cpu"
        ) from error


def device_error(error: BaseException) -> DeviceError:
    """One of CuPy's errors, as a DeviceError of one line."""
    text = str(error).strip().splitlines()
    first = text[0] if text else type(error).__name__
    if isinstance(error, cupy.cuda.memory.OutOfMemoryError) or "out of memory" in first.lower():
        return DeviceMemoryError(
            f"the GPU is out of memory{_free_memory()}", way_out="lower --memory or use the backend cpu"
        )
    if isinstance(error, CompileException | cupy.cuda.nvrtc.NVRTCError):
        return DeviceError(f"a kernel does not compile: {first}", way_out="use the backend cpu")
    return DeviceError(f"the GPU failed: {first}", way_out="use the backend cpu")


def _free_memory() -> str:
    try:
        free, total = cupy.cuda.runtime.memGetInfo()
    except cupy.cuda.runtime.CUDARuntimeError:
        return ""
    return f" ({format_bytes(free)} of {format_bytes(total)} free)"
