"""Calls on NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.host_runs import HostRuns, ItemIndices
from gpumerge_cli.arrays.key_parts import first_disorder_of_words, words_of
from gpumerge_cli.arrays.keys import Array, keys_in
from gpumerge_cli.arrays.payload import gathered
from gpumerge_cli.arrays.plain_items import on_host
from gpumerge_cli.backends.select import select
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.asof_pairs import AsofRequest
    from gpumerge_cli.arrays.equal_pairs import How
    from gpumerge_cli.arrays.searching import Side

ArrayOrPair = Array | tuple[Array, Array]
"""The keys of a result, or with values (keys, values)."""


class HostCall:
    """Carries out a call on NumPy arrays, as DeviceCall does on CuPy's. Raises DeviceError for an unavailable GPU."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def merge(self, request: LaunchRequest) -> ArrayOrPair:
        """See gpumerge_cli.merge."""
        runs, out = self._runs(self.call.options.backend), self._target()
        if self.call.rows is not None and not self.call.keys.by_images:
            moved = runs.merge_values(request, self.call.rows, out.view(runs.keys.items))
            if moved is not None:
                return out, moved
        if self._by_ranks:
            return self._gathered(runs, runs.merged_ranks(request), out)
        runs.merge(request, out.view(runs.keys.items))
        return out

    def sort(self, request: SortRequest) -> ArrayOrPair:
        """See gpumerge_cli.sort."""
        runs, out = self._runs(self.call.options.backend), self._target()
        if self._by_ranks:
            return self._gathered(runs, runs.sorted_ranks(request), out)
        runs.sort(request, out.view(runs.keys.items))
        return out

    def argsort(self, request: SortRequest) -> ItemIndices:
        """See gpumerge_cli.argsort."""
        return self._runs(self.call.options.backend).sorted_ranks(request)

    def argtopk(self, n: int) -> ItemIndices:
        """See gpumerge_cli.argtopk. By the CPU."""
        from gpumerge_cli.arrays.host_selection import first_on_host

        return first_on_host(self.call, n)

    def topk(self, n: int) -> ArrayOrPair:
        """See gpumerge_cli.topk. By the CPU."""
        [array], rows, ranks = self.call.arrays, self.call.rows, self.argtopk(n)
        found = array[ranks].astype(self.call.keys.dtype, copy=False)
        return found if rows is None else (found, gathered(rows, ranks))

    def merged_ranks(self, request: LaunchRequest) -> ItemIndices:
        """The indices of the merged items in the concatenation of all arrays."""
        return self._runs(self.call.options.backend).merged_ranks(request)

    def is_sorted(self) -> bool:
        """See gpumerge_cli.is_sorted."""
        return self.first_disorder() is None

    def first_disorder(self) -> tuple[int, int] | None:
        """The first item that goes before its predecessor: (the number of its array, its index). None without any."""
        if self.call.keys.parts:
            for number, array in enumerate(self.call.arrays):
                index = first_disorder_of_words(np, words_of(np, array, self.call.keys.parts))
                if index is not None:
                    return number, index
            return None
        return self._runs("cpu").first_disorder()

    def combine(self, equals: Equals) -> ArrayOrPair:
        """See gpumerge_cli.union."""
        call = self.call
        runs = self._runs("cpu" if call.options.backend == "auto" else call.options.backend)  # as for sets of files
        keys, out = runs.keys, call.options.out
        if not self._by_ranks and not any(runs.nats()):
            return runs.combine(equals, None if out is None else out.view(keys.items)).view(keys.dtype)
        ranks = runs.combined_ranks(equals)
        found = self._items(runs, ranks)
        if out is not None:
            out[: len(found)] = found
            found = out[: len(found)]
        return found if call.rows is None else (found, gathered(call.rows, ranks))

    def join(self, how: How) -> Any:
        """See gpumerge_cli.join. By the CPU."""
        from gpumerge_cli.arrays.equal_pairs import pairs_by_threads  # only here: few calls need these modules

        a, b = self.call.comparable()
        return pairs_by_threads(a, b, how, self.call.keys.order.descending, self.call.threads)

    def diff(self, *, multi: bool) -> tuple[Any, Any, Any, Any]:
        """See gpumerge_cli.diff. By the CPU."""
        from gpumerge_cli.arrays.host_asof import only_partners
        from gpumerge_cli.arrays.key_pairs import check_unique, diff_of, partners_by_threads

        call = self.call
        sides = call.comparable()
        if not multi:
            check_unique(np, sides)
        (a, b), descending = sides, call.keys.order.descending
        if multi or a.dtype.kind == "S":
            found = partners_by_threads(a, b, descending, call.threads)
        else:
            found = only_partners(a, b, descending=descending, threads=call.threads)
        return diff_of(np, found, len(b), call.rows)

    def asof_join(self, request: AsofRequest) -> Any:
        """See gpumerge_cli.asof_join. By the CPU."""
        from gpumerge_cli.arrays.host_asof import asof_indices

        def argsorted(keys: Array) -> ItemIndices:
            options = CallOptions(threads=self.call.options.threads, backend="cpu")
            return HostCall(Call.of([keys], options)).argsort(SortRequest())

        return asof_indices(self.call, request, argsorted)

    def co_ranks(self, ranks: ItemIndices) -> ItemIndices:
        """See gpumerge_cli.rank. By the CPU."""
        from gpumerge_cli.arrays.host_ranks import co_ranks_of_runs

        call = self.call
        wanted, places = np.unique(ranks.reshape(-1), return_inverse=True)
        runs, keys = call.runs()
        found = co_ranks_of_runs(runs, wanted, keys)
        return found[places.reshape(-1)].reshape(*ranks.shape, len(call.arrays))

    def ranks_of(self, items: Any, side: Side) -> ItemIndices:
        """See gpumerge_cli.rank_of. By the CPU."""
        from gpumerge_cli.arrays.host_ranks import as_items, as_keys, as_texts
        from gpumerge_cli.arrays.searching import search_ranks

        keys, items = self.call.keys, on_host(items)
        if keys.parts:
            wanted = as_items(items, keys.wanted.dtype)
        elif keys.text is None:
            wanted = as_keys(np, items, keys_in(self.call.arrays[0][:0], keys.path).dtype)
        else:
            wanted = as_texts(items)
        *runs, found = self.call.comparable(wanted.reshape(-1))
        return np.asarray(search_ranks(np, runs, found.reshape(wanted.shape), side, descending=keys.order.descending))

    def _runs(self, backend: str) -> HostRuns:
        """The arrays as a backend takes them, with the one of this name. "auto": the best one for so many bytes."""
        call = self.call
        runs, keys = call.runs()
        backend = backend if call.keys.text is None else "cpu"
        selected = select(backend, call.options.device, keys.order, sum([run.nbytes for run in runs]))
        return HostRuns(runs, keys, selected.backend, call.threads)

    @property
    def _by_ranks(self) -> bool:
        """Whether backends give the ranks of items, by which the result is gathered."""
        return self.call.rows is not None or self.call.keys.by_images

    def _target(self) -> Array:
        call = self.call
        return np.empty(call.total, call.keys.dtype) if call.options.out is None else call.options.out

    def _gathered(self, runs: HostRuns, ranks: ItemIndices, out: Array) -> ArrayOrPair:
        """The items of these ranks, in `out`; with values (items, values)."""
        moved = None if self.call.rows is None else gathered(self.call.rows, ranks)
        out[:] = self._items(runs, ranks)
        return out if moved is None else (out, moved)

    def _items(self, runs: HostRuns, ranks: ItemIndices) -> Array:
        """The items of these ranks, of the arrays' dtype. runs: of this call."""
        keys = self.call.keys
        if not keys.by_images:
            return gathered(runs.arrays, ranks).view(keys.dtype)  # type: ignore[no-any-return]
        return gathered([array.astype(keys.dtype, copy=False) for array in self.call.arrays], ranks)  # type: ignore[no-any-return]
