"""Merges and sorts of NumPy arrays. The CPU works on numbers in place; other items go through a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import judge_place
from gpumerge_cli.arrays.payload import joined
from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.backends.select import select
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order

Array = NDArray[Any]
_KEY, _PLACE = "key", "place"


@dataclass(frozen=True)
class Host:
    """Merges and sorts runs that ArrayKeys.run made of NumPy arrays. threads: the host threads that share the work."""

    backend: Backend
    threads: int

    @classmethod
    def of(cls, backend: str, device: int, order: Order, nbytes: int, threads: int) -> Host:
        """The host with the backend that is asked for, or that is best for so many bytes.

        Raises UsageError for a name or a number that stands for none, DeviceError for a GPU that cannot be had.
        """
        judge_place(backend, device)
        return cls(select(backend, device, order, nbytes).backend, threads)

    def merge(self, runs: Sequence[Array], keys: ArrayKeys, request: LaunchRequest, out: Array) -> None:
        """Merge runs into `out`, which has room for all of them."""
        nats = [keys.nats(run) for run in runs]
        dates, after = keys.split(out, sum(nats))
        parts = [keys.split(run, count) for run, count in zip(runs, nats, strict=True)]
        policy = self.backend.resolve(request, keys.order, len(runs))
        if self._in_place(keys):
            self.backend.merge_arrays([run for run, _ in parts], keys.order, policy, dates, threads=self.threads)
        elif len(dates):
            workspace = self._filled([run for run, _ in parts], keys)
            try:
                workspace.merge(policy)
                dates.view(np.uint8)[:] = workspace.download()
            finally:
                workspace.close()
        position = 0
        for _, run in parts:
            after[position : position + len(run)] = run
            position += len(run)

    def combined(self, runs: Sequence[Array], keys: ArrayKeys, equals: Equals, out: Array | None = None) -> Array:
        """The items of a set of runs without NaTs, in an array of their own, or at the front of `out`.

        out: has dtype ArrayKeys.items, and room for them.
        """
        workspace = self._filled(runs, keys)
        try:
            workspace.merge(self.backend.resolve(LaunchRequest(), keys.order, len(runs), equals), equals)
            found = workspace.download()
            count = workspace.merged_bytes // keys.items.itemsize
            target = np.empty(count, keys.items) if out is None else out[:count]
            target.view(np.uint8)[:] = found
            return target
        finally:
            workspace.close()

    def sort(self, run: Array, keys: ArrayKeys, request: SortRequest, out: Array) -> None:
        """Sort a run into `out`, which is as long."""
        policy = self.backend.resolve_sort(request, keys.order, run.nbytes)
        if self._in_place(keys):
            self.backend.sort_array(run, keys.order, policy, out, threads=self.threads)
        elif len(run):
            workspace = self._filled([run], keys)
            try:
                workspace.sort(policy)
                out.view(np.uint8)[:] = workspace.download()
            finally:
                workspace.close()
        turned = keys.turned(run, out)
        if turned is not out:
            out[:] = turned

    def merged_ranks(self, runs: Sequence[Array], keys: ArrayKeys, request: LaunchRequest) -> NDArray[np.int64]:
        """The indices that merge the runs: int64, into the runs laid one behind the other."""
        if self._in_place(keys):
            # A stable sort of sorted runs is their merge. For 10 M numbers, sorting the ranks took a tenth to all of
            # the time of a merge of records of number and index.
            return self.sorted_ranks(joined(runs), keys, SortRequest("auto", request))
        pairs, of_pairs = numbered(runs, keys)
        out = np.empty(sum(map(len, runs)), pairs[0].dtype)
        self.merge(pairs, of_pairs, request, out)
        return np.ascontiguousarray(out[_PLACE])

    def sorted_ranks(self, run: Array, keys: ArrayKeys, request: SortRequest) -> NDArray[np.int64]:
        """The indices that sort the run: int64."""
        if self._in_place(keys):
            policy = self.backend.resolve_sort(request, keys.order, run.nbytes)
            ranks = self.backend.sort_ranks(run, keys.order, policy, threads=self.threads)
            return keys.turned(run, ranks)
        [pairs], of_pairs = numbered([run], keys)
        out = np.empty(len(pairs), pairs.dtype)
        self.sort(pairs, of_pairs, request, out)
        return np.ascontiguousarray(out[_PLACE])

    def in_order(self, run: Array, keys: ArrayKeys) -> bool:
        """True if the run is in order."""
        run, _ = keys.split(run, keys.nats(run))
        if keys.dated and keys.is_nat(run).any():
            return False
        if self._in_place(keys):
            return self.backend.first_disorder(run, keys.order) is None
        if not len(run):
            return True
        workspace = self._filled([run], keys)
        try:
            return workspace.disorder() is None
        finally:
            workspace.close()

    def _in_place(self, keys: ArrayKeys) -> bool:
        return not self.backend.remote and not keys.order.is_rows

    def _filled(self, runs: Sequence[Array], keys: ArrayKeys) -> Workspace:
        nbytes = sum(run.nbytes for run in runs)
        workspace = self.backend.workspace(keys.order, nbytes, threads=self.threads)
        staging = workspace.staging(nbytes)
        position = 0
        for run in runs:
            staging[position : position + run.nbytes] = run.view(np.uint8)
            position += run.nbytes
        workspace.upload([run.nbytes for run in runs])
        return workspace


def numbered(runs: Sequence[Array], keys: ArrayKeys) -> tuple[list[Array], ArrayKeys]:
    """Records of an item and its index, laid one behind the other, and their keys. Every backend merges and sorts them.

    Their sizes are multiples of 4 bytes, so GPUs move those of numbers whole.
    """
    place = -(-keys.dtype.itemsize // 4) * 4
    layout: Any = {
        "names": [_KEY, _PLACE],
        "formats": [keys.dtype, np.int64],
        "offsets": [0, place],
        "itemsize": place + 8,
    }
    pairs = np.empty(sum(len(run) for run in runs), np.dtype(layout))
    field = _KEY if keys.field is None else f"{_KEY}.{keys.field}"
    of_pairs = ArrayKeys.of([pairs], field, keys.order.descending)
    items = pairs.view(of_pairs.items)
    found, position = [], 0
    for run in runs:
        part = items[position : position + len(run)]
        part[_KEY] = run
        part[_PLACE] = np.arange(position, position + len(run))
        found.append(part)
        position += len(run)
    return found, of_pairs
