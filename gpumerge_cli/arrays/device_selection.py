"""The first items of CuPy arrays, on their device."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.arrays.first_items import first_candidates, worth_selecting
from gpumerge_cli.backends.gpu.backend import GpuBackend
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.order.kinds import Order

_INDICES = Order.of(np.dtype(np.int64))


def first_on_device(backend: GpuBackend, run: Any, order: Order, n: int) -> Any:
    """The int64 indices of the first `n` items of a run in their stable order. Waits.

    run: 1-D, contiguous, of the order's dtype. The device is the current one.
    """
    run = run[:0] if n == 0 else run
    count = len(run)
    candidates = None
    if worth_selecting(count, n):
        candidates = first_candidates(_DeviceSearch(backend, run, order), count, n, exact=True)
    some = run if candidates is None else run[candidates]
    ranks = backend.sort_ranks(some, order, backend.resolve_sort(SortRequest(), order, some.nbytes))[:n]
    return ranks if candidates is None else candidates[ranks]


class _DeviceSearch:
    """See BoundSearch."""

    def __init__(self, backend: GpuBackend, run: Any, order: Order) -> None:
        self._backend, self._order = backend, order
        self._items = backend.selection(run, order)
        self._sample: Any = None  # it holds the bound

    def take_bound(self, samples: int, rank: int) -> None:
        """See BoundSearch."""
        self._sample = self._sorted(self._items.sample(samples), self._order)
        self._items.bound_by(self._sample[rank : rank + 1])

    def found(self, selects: int, room: int) -> tuple[Any, int]:
        """See BoundSearch."""
        indices, total = self._items.found(selects, room)
        return (indices if total > room else self._sorted(indices, _INDICES)), total

    def first_equals(self, count: int) -> Any:
        """See BoundSearch."""
        return self._sorted(self._items.first_equals(count), _INDICES)[:count]

    def joined(self, indices: Any, others: Any) -> Any:
        """See BoundSearch."""
        import cupy

        return self._sorted(cupy.concatenate([indices, others]), _INDICES)

    def _sorted(self, array: Any, order: Order) -> Any:
        policy = self._backend.resolve_sort(SortRequest(), order, array.nbytes)
        self._backend.sort_array(array, order, policy, array)
        return array
