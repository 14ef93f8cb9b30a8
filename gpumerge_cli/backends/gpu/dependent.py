"""Programmatic dependent launches: they begin while the previous kernel still runs.

CuPy has no call for them, so the driver is called directly. The kernel decides what must wait (see beside.cuh).
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


class DependentLaunch(ctypes.Structure):
    """CUlaunchConfig of a launch that may begin before the previous kernel on the same stream ends."""

    _fields_ = (
        ("blocks", ctypes.c_uint),
        ("grid", ctypes.c_uint * 2),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


_ATTRIBUTE = ctypes.pointer(_Attribute(_SERIALIZATION, 0, 1, b""))


def dependent_launch(threads: int, shared: int) -> DependentLaunch:
    """For launches of so many threads a block, with so many bytes of dynamic shared memory."""
    return DependentLaunch(0, (1, 1), (threads, 1, 1), shared, None, _ATTRIBUTE, 1)


@cache
def _launcher() -> Any:
    """The driver's cuLaunchKernelEx; None if it has none."""
    try:
        launcher = ctypes.CDLL(_LIBRARY).cuLaunchKernelEx
    except (OSError, AttributeError):
        return None
    launcher.argtypes = (ctypes.POINTER(DependentLaunch), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    return launcher


def launch_dependent(launch: DependentLaunch, pointer: int, blocks: int, stream: int, extra: int) -> None:
    """Queue a kernel on a stream. It may begin before the kernel that was queued there last ends.

    launch: not used by another thread meanwhile. pointer: the driver's function. extra: the address of cuLaunchKernel's
    parameter for the arguments. If the driver lacks such launches, the kernel begins after the previous one, as usual.
    """
    launcher = _launcher()
    if launcher is None:
        threads, shared = launch.block[0], launch.shared
        cupy.cuda.driver.launchKernel(pointer, blocks, 1, 1, threads, 1, 1, shared, stream, 0, extra)
        return
    launch.blocks, launch.stream = blocks, stream
    status = launcher(launch, pointer, None, extra)
    if status:
        raise cupy.cuda.driver.CUDADriverError(status)
