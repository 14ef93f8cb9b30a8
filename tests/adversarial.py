"""Inputs made against merge sorts. Their merges make a warp read few banks of shared memory at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

BANKS = 32


def bank_conflicts(tile: int, fan_in: int, levels: int, items_per_thread: int) -> NDArray[np.int64]:
    """A permutation of tile * fan_in**levels numbers, whose sort merges `fan_in` runs of equal size `levels` times.

    In all of these merges, a thread takes half a row of banks from one run, and the rest of its items from another. So
    threads start reading half a row apart: threads with even numbers in one bank, the others in another bank. The idea,
    and much worse inputs, are in Berney and Sitchinava, Engineering Worst-Case Inputs for Pairwise Merge Sort on GPUs,
    2020. As there, a sorted sequence is taken apart from the last merge to the first.
    """
    size = tile * fan_in**levels
    items = np.arange(size)
    while size > tile:
        segment = size // fan_in
        place = np.arange(segment)
        of_run = (place % items_per_thread >= BANKS // 2).astype(np.int64)
        # Each run plays every part for one segment of the output, so all come out equally long.
        of_run = np.concatenate([(of_run + turn) % fan_in for turn in range(fan_in)])
        items = items.reshape(-1, size)[:, np.argsort(of_run, kind="stable")]
        size = segment
    return items.reshape(-1, tile)[:, ::-1].reshape(-1)


def merged_from(items: NDArray[Any], tile: int, fan_in: int) -> list[NDArray[np.int64]]:
    """For each merge of the sort of `items`, the last one first: the run of every output, counted from 0."""
    taken = []
    for start_size in _sizes(len(items), tile, fan_in):
        runs = items.reshape(-1, fan_in, start_size // fan_in)[0]
        owner = np.repeat(np.arange(fan_in), start_size // fan_in)
        taken.append(owner[np.argsort(runs.reshape(-1), kind="stable")])
    return taken


def _sizes(count: int, tile: int, fan_in: int) -> list[int]:
    sizes = []
    while count > tile:
        sizes.append(count)
        count //= fan_in
    return sizes
