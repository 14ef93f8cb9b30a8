"""Ranks by searches in sorted arrays. `xp` is the module of the arrays, NumPy or CuPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

Side = Literal["left", "right"]
_FEW = 1024
"""Up to so many ranks are searched byte by byte, by 255 searches at once; more are searched bit by bit."""


def search_ranks(xp: Any, runs: Sequence[Any], wanted: Any, side: Side, *, descending: bool = False) -> Any:
    """The number of items of all runs ahead of each wanted one; with side "right", also those that equal it.

    runs: 1-D, each in order. wanted: items of their dtype. descending: see merge; images ascend always. The result is
    int64, of the shape of `wanted`.
    """
    ranks = xp.zeros(wanted.shape, np.int64)
    for run in runs:
        if descending:  # the run from its end is in ascending order, and "behind" is "ahead" there
            ranks += len(run) - xp.searchsorted(run[::-1], wanted, "right" if side == "left" else "left")
        else:
            ranks += xp.searchsorted(run, wanted, side)
    return ranks


def co_ranks_of_images(xp: Any, runs: Sequence[Any], ranks: Any) -> Any:
    """The number of items of each run among the first `ranks` of their merge.

    runs: ascending images, 1-D. ranks: int64, 1-D, none beyond the number of all items. The result is int64, of shape
    (ranks, runs). The image of the last of these items is found digit by digit, the highest one first. Its equals are
    then taken from the runs in turn.
    """
    dtype = runs[0].dtype
    bits = 8 if ranks.size <= _FEW else 1
    digits = xp.arange(1, 1 << bits).astype(dtype)
    last = xp.zeros(ranks.shape, dtype)
    for place in reversed(range(0, 8 * dtype.itemsize, bits)):
        # For each digit the largest image with a lesser one. The digit is the number of those up to which there are too
        # few items.
        below = last[:, None] | ((digits << dtype.type(place)) - dtype.type(1))
        too_few = search_ranks(xp, runs, below.reshape(-1), "right").reshape(below.shape) < ranks[:, None]
        last = last | (too_few.sum(axis=1).astype(dtype) << dtype.type(place))
    ahead = [xp.searchsorted(run, last, "left") for run in runs]
    equal = [xp.searchsorted(run, last, "right") - count for run, count in zip(runs, ahead, strict=True)]
    left = ranks - sum(ahead)
    found = []
    for count, more in zip(ahead, equal, strict=True):
        taken = xp.minimum(left, more)
        found.append(count + taken)
        left = left - taken
    return xp.stack(found, axis=1)
