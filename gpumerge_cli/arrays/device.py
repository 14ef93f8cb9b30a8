"""Merges and sorts of CuPy arrays, on their own device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import judge_aligned
from gpumerge_cli.arrays.payload import contiguous, joined, moves_along, readable
from gpumerge_cli.arrays.remembered import Operation, again, kind_of, remember, remembered
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.keys import Keys


class Device:
    """Merges and sorts CuPy arrays of one device. Raises DeviceError if the device cannot be used."""

    def __init__(self, arrays: Sequence[Any], keys: ArrayKeys, backend: str) -> None:
        if backend not in ("auto", "gpu"):
            raise UsageError(f"backend {backend!r} cannot work on CuPy arrays", way_out='use "gpu", or NumPy arrays')
        if keys.dated or keys.order.is_rows:
            raise UsageError(f"arrays of {keys.dtype} cannot be sorted on a GPU", way_out="move them to the host")
        for array in arrays:
            judge_aligned(array, "an array")
        self._device = arrays[0].device
        self._keys = keys
        with self._device:
            self._backend = gpu.create(self._device.id)

    @contextmanager
    def current(self) -> Iterator[None]:
        """A context in which the device is the current one. All methods below need it.

        Arrays that are made in it are temporaries of the call, which a graph may capture. `empty` and `kept` give
        arrays that outlive it. Errors are those of `calls_on`.
        """
        from gpumerge_cli.backends.gpu.streams import calls_on, temporaries

        with calls_on(self._device), temporaries():
            yield

    def empty(self, count: int) -> Any:
        """A new array of `count` keys, of the arrays' dtype."""
        import cupy

        from gpumerge_cli.backends.gpu.streams import lasting

        with lasting():
            return cupy.empty(count, self._keys.dtype)

    @staticmethod
    def kept(array: Any) -> Any:
        """The array, or its copy if a graph that is captured takes its memory back."""
        from gpumerge_cli.backends.gpu.streams import lasting

        with lasting() as is_temporary:
            return array.copy() if is_temporary else array

    def run(self, array: Any) -> Any:
        """The array as the backend takes it: contiguous, of dtype ArrayKeys.items."""
        return contiguous(array).view(self._keys.items)

    def images(self, array: Any) -> Any:
        """The key images of an array: unsigned integers that ascend where its keys are in order."""
        order = self._keys.order
        assert isinstance(order, Keys), "a GPU takes numbers alone"
        return order.image_of_bits(self.run(array).view(order.unsigned))

    def called(self, operation: Operation, arrays: Sequence[Any], out: Any = None, values: Any = None) -> Any:
        """The call's result, as `again` has it, from a prepared call; None if none can be prepared for it.

        It is launched like all further calls of its kind, which find it prepared.
        """
        from gpumerge_cli.backends.gpu.streams import lasting

        arrays = [contiguous(array) for array in arrays]
        order = self._keys.order
        kind = kind_of(operation, arrays, order.descending, values, self._device.id)
        prepared = remembered(kind)
        if prepared is None:
            row = values[0].itemsize * prod(values[0].shape[1:]) if values is not None else None
            prepared = self._backend.prepared(operation, order, len(arrays), row)
            if prepared is None:
                return None
            remember(kind, prepared)
        if values is not None:
            values = [each.copy() if each.data.ptr % prepared.unit else each for each in values]
        with lasting():
            return again(operation, arrays, order.descending, out, values)

    def merge(self, runs: Sequence[Any], request: LaunchRequest, out: Any) -> None:
        """Merge runs into `out`, which has room for all of them. All have dtype ArrayKeys.items."""
        policy = self._backend.resolve(request, self._keys.order, len(runs))
        self._backend.merge_arrays(runs, self._keys.order, policy, out)

    def combined(
        self, arrays: Sequence[Any], equals: Equals, values: Sequence[Any] | None = None, out: Any = None
    ) -> tuple[Any, Sequence[Any] | None]:
        """(the keys of a set, of the arrays' dtype; their rows of values, None if there are none). Waits.

        More than two arrays are folded from the left. out: the keys become its first items; it has room for all that
        there can be.
        """
        order = self._keys.order
        runs = [self.run(array) for array in arrays]
        rows = None if values is None else [readable(each) for each in values]
        target = None if out is None else out.view(self._keys.items)
        two, along = runs[:2], None if rows is None else rows[:2]
        for behind in range(2, len(runs)):
            found, moved = self._backend.combined(two, order, equals, along)
            two, along = [found, runs[behind]], None if rows is None else [moved, rows[behind]]
        found, moved = self._backend.combined(two, order, equals, along, target)
        return found.view(self._keys.dtype), moved

    def sort(self, run: Any, request: SortRequest, out: Any) -> None:
        """Sort a run into `out`, which is as long. Both have dtype ArrayKeys.items."""
        policy = self._backend.resolve_sort(request, self._keys.order, run.nbytes)
        self._backend.sort_array(run, self._keys.order, policy, out)

    def merged_ranks(self, runs: Sequence[Any], request: LaunchRequest) -> Any:
        """The indices that merge the runs: int64, into the runs laid one behind the other."""
        # A stable sort of sorted runs is their merge.
        return self.sorted_ranks(joined(runs), SortRequest("auto", request))

    def sorted_ranks(self, run: Any, request: SortRequest) -> Any:
        """The indices that sort the run: int64."""
        policy = self._backend.resolve_sort(request, self._keys.order, run.nbytes)
        return self._backend.sort_ranks(run, self._keys.order, policy)

    def sort_along(self, run: Any, request: SortRequest, values: Sequence[Any], out: Any) -> Any:
        """Sort a run into `out`, as `sort` does. Returns the rows of its values, in the order of their keys."""
        policy = self._backend.resolve_sort(request, self._keys.order, run.nbytes)
        rows = joined(values)
        if policy.algorithm == "radix" and moves_along(rows):
            return self.kept(self._backend.sort_pairs(run, self._keys.order, rows, out))
        ranks = self._backend.sort_ranks(run, self._keys.order, policy)
        moved = rows[ranks]
        out[:] = run[ranks]
        return self.kept(moved)

    def in_order(self, run: Any) -> bool:
        """True if the run is in order."""
        return self._backend.first_disorder(run, self._keys.order) is None
