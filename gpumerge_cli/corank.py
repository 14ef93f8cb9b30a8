"""Cuts of sorted runs under the total order (key, run number, position).

A cut names one position in each run. The items before these positions are the first items of the merge. For two runs,
with A first on ties, a cut is the co-rank. For more runs the same total order makes every cut unique, ties included.
Sources: Siebert and Traeff, Efficient MPI Implementation of a Parallel, Stable Merge Algorithm (2012); for k runs,
Varman et al., Merging Multiple Lists on Hierarchical-Memory Multiprocessors (1991).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gpumerge_cli.dataclass import dataclass


class SortedRun(Protocol):
    """A sorted run. Items are found by byte positions, and may differ in length."""

    size: int

    def item_start(self, position: int) -> int:
        """The first position at or after `position` where an item starts; `size` if there is none."""

    def item_end(self, start: int) -> int:
        """The position just after the item that starts at `start`."""

    def key_at(self, start: int) -> Any:
        """The comparable key of the item that starts at `start`."""


def bound(run: SortedRun, key: Any, low: int, high: int, *, after_equals: bool) -> int:
    """The first position in [low, high] whose item does not go before `key`: a binary search over bytes.

    after_equals: items equal to the key go before it too. Preconditions: low and high are cuts; items before low go
    before the key, and items from high on do not. Reads O(log(high - low)) keys.
    """
    answer, limit = high, high
    while low < limit:
        middle = (low + limit) // 2
        start = run.item_start(middle)
        if start >= limit:
            limit = middle  # no item starts in [middle, limit)
            continue
        found = run.key_at(start)
        if found < key or (after_equals and not key < found):
            low = run.item_end(start)
        else:
            answer, limit = start, middle
    return answer


@dataclass(frozen=True)
class Probe:
    """A step of `co_rank`: it tries i in [low, high]."""

    low: int
    high: int
    i: int
    b_first: bool
    """Whether B[rank - 1 - i] goes before A[i]."""


def co_rank(rank: int, m: int, n: int, b_first: Callable[[int, int], bool]) -> tuple[int, list[Probe]]:
    """The number of outputs from A among the first `rank` outputs of the merge of A and B, and the steps to it.

    m, n: the numbers of items of A and B; rank lies in [0, m + n]. b_first(j, i): whether B[j] goes before A[i]; False
    if they are equal. The steps are those of kernels/corank.cuh.
    """
    low, high = max(0, rank - n), min(rank, m)
    probes: list[Probe] = []
    while low < high:
        i = (low + high) // 2
        probes.append(Probe(low, high, i, b_first(rank - 1 - i, i)))
        if probes[-1].b_first:
            high = i
        else:
            low = i + 1
    return low, probes
