"""Calls on NumPy arrays. Its methods are those of Device."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.call import Call
from gpumerge_cli.arrays.payload import gathered
from gpumerge_cli.arrays.runs import HostRuns
from gpumerge_cli.backends.select import select
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

Array = NDArray[Any]
Found = Array | tuple[Array, Array]
"""The keys of a result, or with values (keys, values)."""


class Host:
    """Carries out a call on NumPy arrays. Its methods raise DeviceError for a GPU that cannot be had."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def merge(self, request: LaunchRequest) -> Found:
        """See gpumerge_cli.merge."""
        runs, out = self._runs(self._call.backend), self._target()
        if self._call.rows is not None:
            return self._gathered(runs, runs.merged_ranks(request), out)
        runs.merge(request, out.view(runs.keys.items))
        return out

    def sort(self, request: SortRequest) -> Found:
        """See gpumerge_cli.sort."""
        runs, out = self._runs(self._call.backend), self._target()
        if self._call.rows is not None:
            return self._gathered(runs, runs.sorted_ranks(request), out)
        runs.sort(request, out.view(runs.keys.items))
        return out

    def argsort(self, request: SortRequest) -> NDArray[np.int64]:
        """See gpumerge_cli.argsort."""
        return self._runs(self._call.backend).sorted_ranks(request)

    def is_sorted(self) -> bool:
        """See gpumerge_cli.is_sorted."""
        return self._runs("cpu").in_order()

    def combine(self, equals: Equals) -> Found:
        """See gpumerge_cli.union."""
        call = self._call
        runs = self._runs("cpu" if call.backend == "auto" else call.backend)  # as for sets of files
        keys, out = runs.keys, call.out
        if call.rows is None and not any(runs.nats()):
            return runs.combine(equals, None if out is None else out.view(keys.items)).view(keys.dtype)
        ranks = runs.combined_ranks(equals)
        found = gathered(runs.arrays, ranks).view(keys.dtype)
        if out is not None:
            out[: len(found)] = found
            found = out[: len(found)]
        return found if call.rows is None else (found, gathered(call.rows, ranks))

    def _runs(self, backend: str) -> HostRuns:
        """The arrays as a backend takes them, with the one of this name. "auto": the best one for so many bytes."""
        call = self._call
        runs = [call.keys.run(array) for array in call.arrays]
        selected = select(backend, call.device, call.keys.order, sum([run.nbytes for run in runs]))
        return HostRuns(runs, call.keys, selected.backend, call.threads or cores())

    def _target(self) -> Array:
        call = self._call
        return np.empty(call.total, call.keys.dtype) if call.out is None else call.out

    def _gathered(self, runs: HostRuns, ranks: NDArray[np.int64], out: Array) -> tuple[Array, Array]:
        """(the keys of these ranks, in `out`; their values)."""
        moved = gathered(self._call.rows or (), ranks)
        out.view(runs.keys.items)[:] = gathered(runs.arrays, ranks)
        return out, moved
