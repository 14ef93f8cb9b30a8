"""Starts the driver in the background: a context takes as long to make as CuPy takes to import, and needs no CuPy."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence

_DRIVER = "libcuda.so.1"
_begun: set[int] = set()


def make_contexts(numbers: Sequence[int]) -> None:
    """Let the driver make primary contexts of GPUs. If that fails, CUDA's runtime makes them, or reports why not."""
    if "cupy" in sys.modules:
        return
    for number in set(numbers) - _begun:
        _begun.add(number)
        threading.Thread(target=_make_context, args=(number,), name=f"GPU {number} starts", daemon=True).start()


def _make_context(number: int) -> None:
    """Make the contexts, without the interpreter's lock, while another thread imports."""
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError:
        return
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), ctypes.c_int(number)) == 0:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
