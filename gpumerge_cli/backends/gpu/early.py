"""The driver's start, in the background: making a context takes as long as importing CuPy, and needs none of it."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Sequence

_DRIVER = "libcuda.so.1"
_begun: set[int] = set()


def begin(numbers: Sequence[int]) -> None:
    """Have the driver make the primary contexts of GPUs, which CUDA's runtime uses; whatever fails is left to that."""
    if "cupy" in sys.modules:
        return
    for number in set(numbers) - _begun:
        _begun.add(number)
        threading.Thread(target=_make_context, args=(number,), name=f"GPU {number} starts", daemon=True).start()


def _make_context(number: int) -> None:
    """Without the interpreter's lock, while another thread imports."""
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError:
        return
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), ctypes.c_int(number)) == 0:
        driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
