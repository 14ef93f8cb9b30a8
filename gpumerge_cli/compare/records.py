"""Fixed-size records with the key shapes: a key somewhere in bytes that look random, the same from the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.compare.key_shapes import Family
from gpumerge_cli.order.kinds import Order, RecordOrder

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_LARGEST_BLOCK = 16 << 20


def key_dtype(order: Order) -> np.dtype[np.generic]:
    """The dtype of the keys that a family of items is made of: see Records.made_of."""
    return order.made_of if isinstance(order, RecordOrder) else order.dtype


def record_blocks(family: Family, run: int, order: Order) -> Iterator[NDArray[Any]]:
    """One run's items of one size, in blocks of whole items; family: of `key_dtype(order)`."""
    return records(family, run, order) if isinstance(order, RecordOrder) else family.blocks(run)


def records(family: Family, run: int, order: RecordOrder) -> Iterator[NDArray[np.uint8]]:
    """The bytes of one run's records, in blocks of whole records. family: of `order.made_of`."""
    each = max(1, _LARGEST_BLOCK // order.size)
    made = 0
    for positions in family.blocks(run):
        for start in range(0, len(positions), each):
            part = positions[start : start + each]
            block = _filled(family.seed, run, made, len(part), order.size)
            made += len(part)
            order.put(part, block)
            yield block.reshape(-1)


def _filled(seed: int, run: int, first: int, count: int, size: int) -> NDArray[np.uint8]:
    """`count` records, numbered from `first`, of bytes by SplitMix64 (Steele, Lea and Flood, 2014)."""
    words = -(-size // 8)
    start = np.uint64((seed * 0x5851F42D4C957F2D + run * 0x14057B7EF767814F + first * words) % (1 << 64))
    state = (np.arange(count * words, dtype=np.uint64) + start) * _STEP
    state = (state ^ (state >> np.uint64(30))) * _MIX[0]
    state = (state ^ (state >> np.uint64(27))) * _MIX[1]
    state ^= state >> np.uint64(31)
    return state.view(np.uint8).reshape(count, 8 * words)[:, :size]
