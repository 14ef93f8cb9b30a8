"""Runs in host memory, and the backend that works on them. GPUs, and items that are not numbers, need a workspace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.keys import Array, ArrayKeys
from gpumerge_cli.arrays.payload import concatenated
from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.backends.select import host
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

ItemIndices = NDArray[np.int64]
"""Indices into the concatenated runs."""
_KEY, _PLACE = "key", "place"
_PAIR_BYTES = (4, 8)
"""The bytes of keys and of values that the library merges together."""
_MOST_RUNS_OF_PAIRS = 32
"""Keys and values of more runs take longer to merge in pairs, level by level, than to sort."""


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

    def merge_values(self, request: LaunchRequest, values: Sequence[Array], out: Array) -> Array | None:
        """Merge the runs into `out`, and return their values in the same order; None if these do not move along.

        values: for each run an array with a row for each item.
        """
        policy = self._policy_of_pairs(request)
        like = values[0]
        plain = all(type(each) in (np.ndarray, np.memmap) for each in values) and not like.dtype.hasobject
        if policy is None or not plain or like.dtype.itemsize * math.prod(like.shape[1:]) not in _PAIR_BYTES:
            return None
        rows = [np.ascontiguousarray(each) for each in values]
        moved = np.empty((len(out), *like.shape[1:]), like.dtype)
        host().merge_pairs(self.arrays, rows, self.keys.order, policy, out, moved, threads=self.threads)
        return moved

    def _policy_of_pairs(self, request: LaunchRequest) -> LaunchPolicy | None:
        """The launch that merges the runs and moves a value along with each item; None if there is no such one."""
        few = len(self.arrays) <= _MOST_RUNS_OF_PAIRS
        if not few or not self._in_place() or self.keys.items.itemsize not in _PAIR_BYTES or any(self.nats()):
            return None
        return host().resolve_pairs(request, self.keys.order)

    def merged_ranks(self, request: LaunchRequest) -> ItemIndices:
        """The indices that merge the runs."""
        if self._policy_of_pairs(request) is not None:
            total = sum(map(len, self.arrays))
            numbers = np.split(np.arange(total), np.cumsum([len(run) for run in self.arrays])[:-1])
            ranks = self.merge_values(request, numbers, np.empty(total, self.keys.items))
            assert ranks is not None
            return ranks
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
