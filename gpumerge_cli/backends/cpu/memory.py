"""Memory of the library as arrays."""

from __future__ import annotations

import ctypes

import numpy as np

from gpumerge_cli.backends.base import Bytes


def view(address: int | None, nbytes: int) -> Bytes:
    """`nbytes` at an address, as an array without a copy. The memory must outlive the array."""
    if not nbytes or address is None:
        return np.empty(0, np.uint8)
    return np.frombuffer(memoryview((ctypes.c_uint8 * nbytes).from_address(address)), np.uint8)
