"""Memory of the current device as arrays."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np


def view(address: int, count: int, dtype: np.dtype[Any], owner: object = None) -> cupy.ndarray:
    """Items at an address of the current device as an array. owner: what the array keeps alive."""
    memory = cupy.cuda.UnownedMemory(address, max(1, count * dtype.itemsize), owner, cupy.cuda.Device().id)
    return cupy.ndarray((count,), dtype, memptr=cupy.cuda.MemoryPointer(memory, 0))
