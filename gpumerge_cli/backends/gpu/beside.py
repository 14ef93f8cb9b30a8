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


class Beside(ctypes.Structure):
    """CUlaunchConfig of a launch beside the kernel that was queued ahead of it on the same stream."""

    _fields_ = (
        ("blocks", ctypes.c_uint),
        ("grid", ctypes.c_uint * 2),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


_BESIDE = ctypes.pointer(_Attribute(_SERIALIZATION, 0, 1, b""))


def beside_of(threads: int, shared: int) -> Beside:
    """For launches of so many threads a block, with so many bytes of dynamic shared memory."""
    return Beside(0, (1, 1), (threads, 1, 1), shared, None, _BESIDE, 1)


@cache
def _launcher() -> Any:
    """The driver's cuLaunchKernelEx; None if it has none."""
    try:
        launcher = ctypes.CDLL(_LIBRARY).cuLaunchKernelEx
    except (OSError, AttributeError):
        return None
    launcher.argtypes = (ctypes.POINTER(Beside), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return launcher


def launch_beside(launch: Beside, pointer: int, blocks: int, stream: int, told: int) -> None:
    """Queue a kernel on a stream, beside the kernel that was queued there last.

    launch: no other thread uses it meanwhile. pointer: the driver's function. told: the address of what cuLaunchKernel
    is told of the arguments. If the driver has no such launch, the kernel begins behind that one, as usual.
    """
    launcher = _launcher()
    if launcher is None:
        threads, shared = launch.block[0], launch.shared
        cupy.cuda.driver.launchKernel(pointer, blocks, 1, 1, threads, 1, 1, shared, stream, 0, told)
        return
    launch.blocks, launch.stream = blocks, stream
    status = launcher(launch, pointer, None, told)
    if status:
        raise cupy.cuda.driver.CUDADriverError(status)
