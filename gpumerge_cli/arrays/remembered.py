"""Merges of CuPy arrays of a kind that was merged before: checked and launched, with nothing decided anew.

A kind is a dtype, a direction, a number of arrays and a device. Any other call takes the general
path, which also checks the arguments and reports errors.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

Kind = tuple[Any, bool, int, int]

_MOST_KINDS = 256
_ready: dict[Kind, Any] = {}


def remember(array: Any, descending: bool, number: int, prepared: Any) -> None:
    """From now on merge `number` arrays like `array` by `prepared`."""
    if prepared is not None and len(_ready) < _MOST_KINDS:
        _ready[array.dtype, descending, number, array.device.id] = prepared


def merged_again(arrays: Sequence[Any], descending: bool, out: Any) -> Any:
    """The merge of arrays of a known kind, in `out` if that is given; None for all others."""
    cupy = sys.modules.get("cupy")
    if cupy is None or type(arrays[0]) is not cupy.ndarray:
        return None
    dtype, device = arrays[0].dtype, cupy.cuda.runtime.getDevice()
    prepared = _ready.get((dtype, descending, len(arrays), device))
    if prepared is None:
        return None
    addresses: list[int] = []
    counts: list[int] = []
    total, width = 0, dtype.itemsize
    for array in arrays:
        place = _place(array, cupy.ndarray, dtype, device)
        if place is None:
            return None
        addresses.append(place)
        counts.append(array.size)
        total += array.size
    if not prepared.takes(total):
        return None
    if out is None:
        out = cupy.empty(total, dtype)
        at = out.data.ptr
    else:
        at = _place(out, cupy.ndarray, dtype, device)
        if at is None or out.size != total:
            return None
        end = at + total * width
        for address, count in zip(addresses, counts, strict=True):
            if at < address + count * width and address < end:
                return None
    prepared(addresses, counts, total, at)
    return out


def _place(array: Any, kind: Any, dtype: Any, device: int) -> int | None:
    """The address of a contiguous 1-D array of a dtype on a device; None for any other."""
    if type(array) is not kind or array.ndim != 1 or array.dtype != dtype or not array.flags.c_contiguous:
        return None
    data = array.data
    address = data.ptr
    return address if data.device_id == device and address % dtype.itemsize == 0 else None
