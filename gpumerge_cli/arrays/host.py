"""Calls on NumPy arrays. The CPU works on numbers in place; other items, and GPUs, need a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.call import Call
from gpumerge_cli.arrays.keys import Array, ArrayKeys, keys_in
from gpumerge_cli.arrays.payload import concatenated, gathered
from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.backends.select import host, select
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.asof_pairs import AsofRequest
    from gpumerge_cli.arrays.equal_pairs import How
    from gpumerge_cli.arrays.searching import Side

ArrayOrPair = Array | tuple[Array, Array]
"""The keys of a result, or with values (keys, values)."""
ItemIndices = NDArray[np.int64]
"""Indices into the concatenated runs."""
_KEY, _PLACE = "key", "place"


class HostCall:
    """Carries out a call on NumPy arrays, as DeviceCall does on CuPy's. Raises DeviceError for an unavailable GPU."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def merge(self, request: LaunchRequest) -> ArrayOrPair:
        """See gpumerge_cli.merge."""
        runs, out = self._runs(self.call.options.backend), self._target()
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
        from gpumerge_cli.arrays.host_selection import first_ranks

        return first_ranks(self.call, n)

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

    def asof_join(self, request: AsofRequest) -> Any:
        """See gpumerge_cli.asof_join. By the CPU."""
        from gpumerge_cli.arrays.host_asof import asof_indices

        return asof_indices(self.call, request)

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
        from gpumerge_cli.arrays.host_ranks import as_keys, as_texts
        from gpumerge_cli.arrays.interchange import is_cupy
        from gpumerge_cli.arrays.searching import search_ranks

        keys, items = self.call.keys, items.get() if is_cupy(items) else items
        if keys.text is None:
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
        return self.call.rows is not None or self.call.keys.text is not None

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
        if keys.text is None:
            return gathered(runs.arrays, ranks).view(keys.dtype)  # type: ignore[no-any-return]
        return gathered([array.astype(keys.dtype, copy=False) for array in self.call.arrays], ranks)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class HostRuns:
    """Runs in host memory, and the backend that works on them."""

    arrays: Sequence[Array]
    """One or more arrays, as ArrayKeys.run gives them."""
    keys: ArrayKeys
    backend: Backend
    threads: int
    """The host threads that share the work."""

    def nats(self) -> list[int]:
        """The number of NaTs at the end of each sorted run, or at its start if the order is descending."""
        return [self.keys.nats(run) for run in self.arrays] if self.keys.dated else [0] * len(self.arrays)

    def merge(self, request: LaunchRequest, out: Array) -> None:
        """Merge the runs into `out`, which has room for all of them."""
        keys, nats = self.keys, self.nats()
        dates, after = keys.split(out, sum(nats))
        parts = [keys.split(run, count) for run, count in zip(self.arrays, nats, strict=True)]
        runs = [run for run, _ in parts]
        policy = self.backend.resolve(request, keys.order, len(runs))
        if self._in_place():
            self.backend.merge_arrays(runs, keys.order, policy, dates, threads=self.threads)
        elif len(dates):
            workspace = self._filled(runs)
            try:
                workspace.merge(policy)
                dates.view(np.uint8)[:] = workspace.download()
            finally:
                workspace.close()
        position = 0
        for _, run in parts:
            after[position : position + len(run)] = run
            position += len(run)

    def merged_ranks(self, request: LaunchRequest) -> ItemIndices:
        """The indices that merge the runs."""
        if self._in_place():
            # A stable sort of sorted runs is their merge. For 10 M numbers, sorting the ranks took a tenth to all of
            # the time of a merge of records of number and index.
            return self._of([concatenated(self.arrays)], self.keys).sorted_ranks(SortRequest("auto", request))
        pairs = self._numbered()
        out = np.empty(sum(map(len, pairs.arrays)), pairs.arrays[0].dtype)
        pairs.merge(request, out)
        return np.ascontiguousarray(out[_PLACE])

    def sort(self, request: SortRequest, out: Array) -> None:
        """Sort the only run into `out`, which is as long."""
        [run] = self.arrays
        policy = self.backend.resolve_sort(request, self.keys.order, run.nbytes)
        if self._in_place():
            self.backend.sort_array(run, self.keys.order, policy, out, threads=self.threads)
        elif len(run):
            workspace = self._filled([run])
            try:
                workspace.sort(policy)
                out.view(np.uint8)[:] = workspace.download()
            finally:
                workspace.close()
        turned = self.keys.turned(run, out)
        if turned is not out:
            out[:] = turned

    def sorted_ranks(self, request: SortRequest) -> ItemIndices:
        """The indices that sort the only run."""
        [run] = self.arrays
        if self._in_place():
            policy = self.backend.resolve_sort(request, self.keys.order, run.nbytes)
            ranks = self.backend.sort_ranks(run, self.keys.order, policy, threads=self.threads)
            return self.keys.turned(run, ranks)
        pairs = self._numbered()
        out = np.empty(len(run), pairs.arrays[0].dtype)
        pairs.sort(request, out)
        return np.ascontiguousarray(out[_PLACE])

    def first_disorder(self) -> tuple[int, int] | None:
        """The first item that goes before its predecessor: (the number of its run, its index). None without any."""
        for number, run in enumerate(self.arrays):
            index = self._first_disorder(run)
            if index is not None:
                return number, index
        return None

    def _first_disorder(self, run: Array) -> int | None:
        keys, nats = self.keys, self.keys.nats(run)
        dates, _ = keys.split(run, nats)
        if keys.dated and keys.is_nat(dates).any():
            return keys.first_disorder_of_dates(run)
        if self._in_place():
            index = self.backend.first_disorder(dates, keys.order)
        elif len(dates):
            workspace = self._filled([dates])
            try:
                disorder = workspace.disorder()
                index = None if disorder is None else disorder.offset // run.itemsize
            finally:
                workspace.close()
        else:
            index = None
        return index if index is None or not keys.order.descending else index + nats

    def combine(self, equals: Equals, out: Array | None = None) -> Array:
        """The items of a set of runs without NaTs, in a new array, or at the front of `out`.

        out: has dtype ArrayKeys.items, and is long enough.
        """
        keys = self.keys
        if self._in_place():
            total = sum([len(run) for run in self.arrays])
            room = np.empty(total, keys.items) if out is None or len(out) < total else out
            count = host().combine_arrays(self.arrays, keys.order, equals, room, threads=self.threads)
            if out is None:
                room.resize(count, refcheck=False)
            elif room is not out:
                out[:count] = room[:count]
            return room if out is None else out[:count]
        workspace = self._filled(self.arrays)
        try:
            workspace.merge(self.backend.resolve(LaunchRequest(), keys.order, len(self.arrays), equals), equals)
            found = workspace.download()
            count = workspace.merged_bytes // keys.items.itemsize
            target = np.empty(count, keys.items) if out is None else out[:count]
            target.view(np.uint8)[:] = found
            return target
        finally:
            workspace.close()

    def combined_ranks(self, equals: Equals) -> ItemIndices:
        """The indices of the items of a set. NaTs may be among the items."""
        nats, pairs = self.nats(), self._numbered()
        parts = [pairs.keys.split(each, count) for each, count in zip(pairs.arrays, nats, strict=True)]
        kept = [nat[low:high] for (_, nat), (low, high) in zip(parts, equals.kept(nats), strict=True)]
        dates = self._of([each for each, _ in parts], pairs.keys).combine(equals)
        found = [*kept, dates] if self.keys.order.descending else [dates, *kept]
        return np.concatenate([np.ascontiguousarray(part[_PLACE]) for part in found])

    def _of(self, arrays: Sequence[Array], keys: ArrayKeys) -> HostRuns:
        return HostRuns(arrays, keys, self.backend, self.threads)

    def _in_place(self) -> bool:
        return not self.backend.remote and not self.keys.order.is_rows

    def _filled(self, runs: Sequence[Array]) -> Workspace:
        nbytes = sum([run.nbytes for run in runs])
        workspace = self.backend.workspace(self.keys.order, nbytes, threads=self.threads)
        staging = workspace.staging(nbytes)
        position = 0
        for run in runs:
            staging[position : position + run.nbytes] = run.view(np.uint8)
            position += run.nbytes
        workspace.upload([run.nbytes for run in runs])
        return workspace

    def _numbered(self) -> HostRuns:
        """Records of an item and its index, for all runs. Every backend merges and sorts them.

        A record takes a multiple of 4 bytes, so that GPUs move records of numbers whole.
        """
        keys = self.keys
        place = -(-keys.dtype.itemsize // 4) * 4
        layout: Any = {
            "names": [_KEY, _PLACE],
            "formats": [keys.dtype, np.int64],
            "offsets": [0, place],
            "itemsize": place + 8,
        }
        pairs = np.empty(sum(map(len, self.arrays)), np.dtype(layout))
        field = _KEY if keys.field is None else f"{_KEY}.{keys.field}"
        of_pairs = ArrayKeys.of([pairs], field, keys.order.descending)
        items = pairs.view(of_pairs.items)
        found, position = [], 0
        for run in self.arrays:
            part = items[position : position + len(run)]
            part[_KEY] = run
            part[_PLACE] = np.arange(position, position + len(run))
            found.append(part)
            position += len(run)
        return self._of(found, of_pairs)
