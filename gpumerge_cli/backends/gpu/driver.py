"""The driver's functions that the library calls: see GpuDriver in kernels/cpu/entries.h."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import cupy

from gpumerge_cli.errors import DeviceError
from gpumerge_cli.native.library import library

_LIBRARY = "libcuda.so.1"
_FUNCTIONS = (
    "cuLaunchKernel", "cuLaunchKernelEx", "cuMemsetD8Async", "cuMemcpyAsync", "cuStreamIsCapturing",
    "cuStreamSynchronize",
)  # fmt: skip
_INVALID_CONTEXT = 201


@cache
def _loaded() -> Any:
    """A GpuDriver. Raises DeviceError."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
        functions = [getattr(driver, name) for name in _FUNCTIONS]
    except (OSError, AttributeError) as error:
        raise DeviceError(f"the GPU's driver does not load: {error}", way_out="update the driver") from None
    return library().GpuDriver(*(ctypes.cast(function, ctypes.c_void_p) for function in functions))


@cache
def driver_functions() -> int:
    """The address of a GpuDriver. Raises DeviceError."""
    return ctypes.addressof(_loaded())


def settled(status: int, call: Callable[[bytes, bytes], int], program: bytes, addresses: bytes) -> int:
    """The status of a call, 0 or GPU_CAPTURED. Raises the driver's error for others, as CuPy does.

    status: of call(program, addresses), not 0. A thread that has not used the device before has no context; it gets
    one, and calls again.
    """
    if status == _INVALID_CONTEXT:  # the first function was refused, so nothing is queued
        runtime = cupy.cuda.runtime
        runtime.setDevice(runtime.getDevice())
        status = call(program, addresses)
    if status not in (0, library().GPU_CAPTURED):
        raise cupy.cuda.driver.CUDADriverError(status)
    return status
