"""The first items of NumPy arrays, by the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.call import Call
from gpumerge_cli.arrays.first_items import first_candidates, sample_positions, worth_selecting
from gpumerge_cli.arrays.host_runs import HostRuns, ItemIndices
from gpumerge_cli.arrays.keys import Array, ArrayKeys, keys_in
from gpumerge_cli.arrays.options import in_native_order
from gpumerge_cli.backends.base import SELECT_EQUAL
from gpumerge_cli.backends.select import host
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.order.kinds import KeyOrder, Order

_WORD = 8


def first_on_host(call: Call, n: int) -> ItemIndices:
    """The indices of the first `n` items of the only array, in their stable order. Raises InputError: see runs."""
    [run], keys = call.runs()
    run = run[:0] if n == 0 else run
    count = len(run)
    candidates = None
    if worth_selecting(count, n):
        leading, exact = _leading(run, keys)
        items = _HostSearch(leading, descending=keys.order.descending, threads=call.threads)
        candidates = first_candidates(items, count, n, exact=exact)
    some = run if candidates is None else run[candidates]
    ranks = HostRuns([some], keys, host(), call.threads).sorted_ranks(SortRequest())[:n]
    return ranks if candidates is None else candidates[ranks]


def _leading(run: Array, keys: ArrayKeys) -> tuple[Array, bool]:
    """(numbers that order as the keys do, whether keys are equal where these are). Bytes have their first word."""
    dtype = keys.dtype
    for name in keys.path:
        dtype = dtype[name]
    found = keys_in(run, keys.path)
    if found.dtype.kind != "S":
        numbers = np.ascontiguousarray(found, in_native_order(found.dtype))
        return numbers.view(np.uint8 if dtype.kind == "b" else in_native_order(dtype)), True
    width = found.dtype.itemsize
    words = np.zeros((len(found), _WORD), np.uint8)
    taken = min(width, _WORD)
    if taken:
        words[:, :taken] = np.ascontiguousarray(found).view(np.uint8).reshape(len(found), width)[:, :taken]
    return words.view(">u8").reshape(-1).astype(np.uint64), width <= _WORD


class _HostSearch:
    """See BoundSearch. items: contiguous numbers, of any order."""

    def __init__(self, items: NDArray[Any], *, descending: bool, threads: int) -> None:
        self._items, self._threads = items, threads
        self._order: KeyOrder = Order.of(items.dtype, descending=descending)  # type: ignore[assignment]
        self._bound = items[:0]

    def take_bound(self, samples: int, rank: int) -> None:
        """See BoundSearch."""
        order, some = self._order, self._items[sample_positions(len(self._items), samples)]
        ranks = host().sort_ranks(some, order, host().resolve_sort(SortRequest(), order, some.nbytes))
        self._bound = some[ranks[rank : rank + 1]]

    def found(self, selects: int, room: int) -> tuple[ItemIndices, int]:
        """See BoundSearch."""
        return host().select(self._items, self._order, self._bound, selects, room, threads=self._threads)

    def first_equals(self, count: int) -> ItemIndices:
        """See BoundSearch."""
        return self.found(SELECT_EQUAL, count)[0]

    def joined(self, indices: ItemIndices, others: ItemIndices) -> ItemIndices:
        """See BoundSearch."""
        return np.sort(np.concatenate([indices, others]))
