"""Fixed-size records with the key shapes: a key somewhere in bytes that look random, the same from the same seed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.compare.cases import Family
from gpumerge_cli.order import Order

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_LARGEST_BLOCK = 16 << 20


def key_dtype(order: Order) -> np.dtype[np.generic]:
    """The dtype of the keys that a family of such records is made of: of bytes, as many as a number can say."""
    if order.kind != "bytes":
        return order.dtype
    return np.dtype(f"u{1 << (order.prefix_bytes.bit_length() - 1)}")


def records(family: Family, run: int, order: Order) -> Iterator[NDArray[np.uint8]]:
    """The bytes of one run's records, in blocks of whole records.

    family: of `key_dtype(order)`. Keys that are bytes begin with the family's keys, most significant byte first, and
    end in zeros.
    """
    each = max(1, _LARGEST_BLOCK // order.record)
    keys = order.width if order.kind == "bytes" else 0
    made = 0
    for positions in family.blocks(run):
        for start in range(0, len(positions), each):
            part = positions[start : start + each]
            block = _filled(family.seed, run, made, len(part), order.record)
            made += len(part)
            if keys:
                big = part.astype(part.dtype.newbyteorder(">")).view(np.uint8).reshape(len(part), -1)
                block[:, order.offset : order.offset + keys] = 0
                block[:, order.offset : order.offset + big.shape[1]] = big
            else:
                stored = part.byteswap() if order.swapped else part
                block[:, order.offset : order.offset + order.width] = stored.view(np.uint8).reshape(len(part), -1)
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
