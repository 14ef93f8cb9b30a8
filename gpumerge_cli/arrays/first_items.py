"""The first items of an array in its stable order, without sorting all others.

A sample of the array gives a bound that a few more than the wanted items do not go behind. One pass finds these. They
are then sorted. If many items equal the bound, the items ahead of it are found, and the first ones of its equals.

Source: the sampling of Floyd and Rivest, Expected time bounds for selection, 1975.
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import SELECT_EQUAL, SELECT_LESS

FEW = 1 << 12
"""Up to so many items are sorted."""
_SORTED = 4  # if more than a quarter of the items are wanted, all are sorted
_SHARE = 64  # items for each of the sample
_LEAST_SAMPLE, _MOST_SAMPLE = 256, 1 << 14
_DEVIATIONS, _SPARE = 4, 4
"""The rank of the bound in the sample is so many standard deviations and items above the expected one."""
_ROOM = 4
"""Room for found items, in multiples of the expected ones."""


class BoundSearch(Protocol):
    """An array of any order, where it lies: a search for items by a bound."""

    def take_bound(self, samples: int, rank: int) -> None:
        """Sort a sample of so many items, and take the one of this rank as the bound."""

    def found(self, selects: int, room: int) -> tuple[Any, int]:
        """The int64 indices of items before the bound or equal to it, ascending, and the number of all of them.

        selects: a sum of SELECT_LESS and SELECT_EQUAL. room: if there are more, the indices mean nothing.
        """

    def first_equals(self, count: int) -> Any:
        """The indices of the first so many items that equal the bound, ascending. There are as many."""

    def joined(self, indices: Any, others: Any) -> Any:
        """All of the indices of two arrays, ascending."""


def worth_selecting(count: int, n: int) -> bool:
    """Whether the first `n` of so many items are found sooner by a bound than by sorting all items."""
    return count > FEW and 0 < n <= count // _SORTED


def first_candidates(items: BoundSearch, count: int, n: int, *, exact: bool) -> Any:
    """The ascending indices of a few items, of which the first `n` in stable order are the first ones of all.

    None if they are too many, or the sample misled. count: of the items; worth_selecting holds. exact: items that equal
    the bound equal it in their order, too.
    """
    samples = min(max(count // _SHARE, _LEAST_SAMPLE), _MOST_SAMPLE)
    expected = n * samples / count
    rank = ceil(expected + _DEVIATIONS * sqrt(expected)) + _SPARE
    if rank >= samples:
        return None
    items.take_bound(samples, rank)
    room = min(_ROOM * (rank + 1) * -(-count // samples), count)
    indices, total = items.found(SELECT_LESS | SELECT_EQUAL, room)
    if n <= total <= room:
        return indices
    if total < n or not exact:
        return None
    indices, total = items.found(SELECT_LESS, room)
    if total >= n:
        return indices if total <= room else None
    # An array that changes during the call may have fewer equals now.
    return items.joined(indices, items.first_equals(n - total))


def sample_positions(count: int, samples: int) -> NDArray[np.int64]:
    """A position in each of `samples` stretches of so many items, as kernels/gpu/select.cu takes them."""
    edges = np.arange(samples + 1) * (count // samples) + np.arange(samples + 1) * (count % samples) // samples
    chance = (np.arange(1, samples + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)
    return np.asarray(edges[:-1] + (chance % np.diff(edges).astype(np.uint64)).astype(np.int64))
