"""The driver's functions that the library calls: see GpuDriver in kernels/cpu/entries.h."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
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


_tables: list[Any] = []
"""The one GpuDriver, which is never freed: recordings hold its address."""
_loading = threading.Lock()


def _load() -> Any:
    """A GpuDriver. Raises DeviceError."""
    try:
        driver = ctypes.CDLL(_LIBRARY)
        functions = [getattr(driver, name) for name in _FUNCTIONS]
    except (OSError, AttributeError) as error:
        raise DeviceError(f"the GPU's driver does not load: {error}", way_out="update the driver") from None
    return library().GpuDriver(*(ctypes.cast(function, ctypes.c_void_p) for function in functions))


def driver_functions() -> int:
    """The address of a GpuDriver. Raises DeviceError."""
    return ctypes.addressof(driver_table())


def driver_table() -> Any:
    """The GpuDriver. Raises DeviceError."""
    if not _tables:
        with _loading:
            if not _tables:
                _tables.append(_load())
    return _tables[0]


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
