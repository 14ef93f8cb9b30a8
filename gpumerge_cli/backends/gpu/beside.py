"""Launches that begin while the kernel ahead of them still runs, which CUDA calls programmatic dependent launches.

CuPy has no call for them, so the driver is called itself. The kernel decides what must wait (see beside.cuh).
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import cupy

_LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
_SERIALIZATION = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


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


_BESIDE = ctypes.pointer(_Attribute(_SERIALIZATION, 0, 1, b""))


@cache
def _launcher() -> Any:
    """The driver's cuLaunchKernelEx; None if it has none."""
    try:
        return ctypes.CDLL(_LIBRARY).cuLaunchKernelEx
    except (OSError, AttributeError):
        return None


def launch_beside(pointer: int, blocks: int, threads: int, shared: int, stream: int, told: int) -> None:
    """Queue a kernel on a stream, beside the kernel that was queued there last.

    pointer: the driver's function. shared: bytes of dynamic shared memory. told: the address of what cuLaunchKernel is
    told of the arguments. If the driver has no such launch, the kernel begins behind that one, as usual.
    """
    launcher = _launcher()
    if launcher is None:
        cupy.cuda.driver.launchKernel(pointer, blocks, 1, 1, threads, 1, 1, shared, stream, 0, told)
        return
    launch = _Launch((blocks, 1, 1), (threads, 1, 1), shared, stream, _BESIDE, 1)
    status = launcher(ctypes.byref(launch), ctypes.c_void_p(pointer), None, ctypes.c_void_p(told))
    if status:
        raise cupy.cuda.driver.CUDADriverError(status)
