"""Merges, sorts and sets of runs in host memory. The CPU works on numbers in place, all else needs a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.payload import joined
from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

Array = NDArray[Any]
Ranks = NDArray[np.int64]
"""Indices into runs that are laid one behind the other."""
_KEY, _PLACE = "key", "place"


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
        return [self.keys.nats(run) for run in self.arrays]

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

    def merged_ranks(self, request: LaunchRequest) -> Ranks:
        """The indices that merge the runs."""
        if self._in_place():
            # A stable sort of sorted runs is their merge. For 10 M numbers, sorting the ranks took a tenth to all of
            # the time of a merge of records of number and index.
            return replace(self, arrays=[joined(self.arrays)]).sorted_ranks(SortRequest("auto", request))
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

    def sorted_ranks(self, request: SortRequest) -> Ranks:
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

    def in_order(self) -> bool:
        """True if the only run is in order."""
        [run], keys = self.arrays, self.keys
        run, _ = keys.split(run, keys.nats(run))
        if keys.dated and keys.is_nat(run).any():
            return False
        if self._in_place():
            return self.backend.first_disorder(run, keys.order) is None
        if not len(run):
            return True
        workspace = self._filled([run])
        try:
            return workspace.disorder() is None
        finally:
            workspace.close()

    def combine(self, equals: Equals, out: Array | None = None) -> Array:
        """The items of a set of runs without NaTs, in an array of their own, or at the front of `out`.

        out: has dtype ArrayKeys.items, and room for them.
        """
        keys = self.keys
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

    def combined_ranks(self, equals: Equals) -> Ranks:
        """The indices of the items of a set. NaTs may be among the items."""
        nats, pairs = self.nats(), self._numbered()
        parts = [pairs.keys.split(each, count) for each, count in zip(pairs.arrays, nats, strict=True)]
        kept = [nat[low:high] for (_, nat), (low, high) in zip(parts, equals.kept(nats), strict=True)]
        dates = replace(pairs, arrays=[each for each, _ in parts]).combine(equals)
        found = [*kept, dates] if self.keys.order.descending else [dates, *kept]
        return np.concatenate([np.ascontiguousarray(part[_PLACE]) for part in found])

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
        """Records of an item and its index, laid one behind the other. Every backend merges and sorts them.

        Their sizes are multiples of 4 bytes, so GPUs move those of numbers whole.
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
        return replace(self, arrays=found, keys=of_pairs)
