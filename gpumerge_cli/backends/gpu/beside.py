"""Launches that begin while the kernel ahead of them still runs, which CUDA calls programmatic dependent launches.

CuPy has no call for them, so the driver is called itself. The kernel decides what must wait (see cuts.cuh).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import cupy

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
_POINTER, _SIZE, _END = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE, CU_LAUNCH_PARAM_END


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = (("id", ctypes.c_int), ("unused", ctypes.c_int), ("value", ctypes.c_int), ("rest", ctypes.c_char * 60))


class _Launch(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


@cache
def _launcher() -> Any:
    """The driver's cuLaunchKernelEx; None if it has none."""
    try:
        return ctypes.CDLL(_LIBRARY).cuLaunchKernelEx
    except (OSError, AttributeError):
        return None


def launch_beside(function: Any, blocks: int, threads: int, shared: int, arguments: bytes) -> None:
    """Queue a kernel of CuPy's on the current stream, beside the kernel that was queued there last.

    arguments: all arguments in one piece, each of them 64-bit words. shared: bytes of dynamic shared memory. If the
    driver has no such launch, the kernel begins behind that one, as usual.
    """
    launcher = _launcher()
    words = ctypes.create_string_buffer(arguments, len(arguments))
    size = ctypes.c_size_t(len(arguments))
    told = (ctypes.c_void_p * 5)(_POINTER, ctypes.addressof(words), _SIZE, ctypes.addressof(size), _END)
    stream = cupy.cuda.get_current_stream().ptr
    if launcher is None:
        cupy.cuda.driver.launchKernel(
            function.ptr, blocks, 1, 1, threads, 1, 1, shared, stream, 0, ctypes.addressof(told)
        )
        return
    attribute = _Attribute(_SERIALIZATION, 0, 1, b"")
    launch = _Launch((blocks, 1, 1), (threads, 1, 1), shared, stream, ctypes.pointer(attribute), 1)
    status = launcher(ctypes.byref(launch), ctypes.c_void_p(function.ptr), None, told)
    if status:
        raise cupy.cuda.driver.CUDADriverError(status)
