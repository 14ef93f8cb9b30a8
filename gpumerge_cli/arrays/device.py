"""Calls on CuPy arrays, on their own device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

from gpumerge_cli.arrays.call import Call, CallOptions
from gpumerge_cli.arrays.key_parts import key_images, leaf_parts, words_of
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.payload import concatenated, gathered, moves_along
from gpumerge_cli.arrays.plain_items import contiguous, from_plain, plain, readable, taken_items
from gpumerge_cli.arrays.prepared_calls import (
    find_prepared,
    keep_prepared,
    kind_of,
    ranks_kind,
    run_prepared,
    set_kind,
)
from gpumerge_cli.backends.gpu import access as gpu
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.keys import KeyOrder
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpumerge_cli.arrays.asof_pairs import AsofRequest
    from gpumerge_cli.arrays.equal_pairs import How
    from gpumerge_cli.arrays.searching import Side
    from gpumerge_cli.backends.gpu.prepared import PreparedOperation

_USUAL = SortRequest()


def check_uncaptured() -> None:
    """Raises UsageError if a graph captures the current stream."""
    from gpumerge_cli.backends.gpu.streams import current_stream, is_captured

    if is_captured(current_stream()):
        what = "a graph cannot capture calls on bytes, records or several keys"
        raise UsageError(what, way_out="call it outside of the capture")


class DeviceCall:
    """Carries out a call on CuPy arrays, as HostCall does on NumPy's. Raises DeviceError for an unavailable GPU."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._order = call.keys.device_order
        self._device = call.arrays[0].device
        with self._device:
            self._backend = gpu.create(self._device.id)

    def merge(self, request: LaunchRequest) -> Any:
        """See gpumerge_cli.merge."""
        with self.current():
            rows = self._rows()
            found = self._prepared("merge", rows) if request == _USUAL.launch else None
            if found is not None:
                return found
            runs, out = self._runs(), self._target()
            if rows is None:
                policy = self._backend.resolve(request, self._order, len(runs))
                self._backend.merge_arrays(runs, self._order, policy, out.view(self.call.keys.items))
                return out
            # A stable sort of sorted runs is their merge.
            if request == _USUAL.launch:
                return out, self._sort_along(concatenated(runs), _USUAL, rows, out)
            ranks = self._ranks(concatenated(runs), SortRequest("auto", request))
            moved = gathered([plain(each) for each in rows], ranks)
            out.view(self.call.keys.items)[:] = concatenated(runs)[ranks]
            return out, from_plain(self.kept(moved), rows[0].dtype)

    def sort(self, request: SortRequest) -> Any:
        """See gpumerge_cli.sort."""
        with self.current():
            rows = self._rows()
            found = self._prepared("sort", rows) if request == _USUAL else None
            if found is not None:
                return found
            [run], out = self._runs(), self._target()
            if rows is not None:
                return out, self._sort_along(run, request, rows, out)
            policy = self._backend.resolve_sort(request, self._order, run.nbytes)
            self._backend.sort_array(run, self._order, policy, out.view(self.call.keys.items))
            return out

    def argsort(self, request: SortRequest) -> Any:
        """See gpumerge_cli.argsort."""
        with self.current():
            found = self._prepared("argsort") if request == _USUAL else None
            return self.kept(self._ranks(self._runs()[0], request)) if found is None else found

    def argtopk(self, n: int) -> Any:
        """See gpumerge_cli.argtopk. Waits."""
        from gpumerge_cli.arrays.device_selection import first_on_device
        from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

        with self.current():
            check_waiting(current_stream(), "topk")
            return first_on_device(self._backend, self._runs()[0], self._order, n)

    def topk(self, n: int) -> Any:
        """See gpumerge_cli.topk. Waits."""
        ranks = self.argtopk(n)
        with self.current():
            rows, [array] = self._rows(), self.call.arrays
            found = taken_items(array, ranks)
            return found if rows is None else (found, taken_items(rows[0], ranks))

    def first_disorder(self) -> tuple[int, int] | None:
        """The first item that goes before its predecessor: (the number of its array, its index). None without any.

        Waits.
        """
        from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

        with self.current():
            check_waiting(current_stream(), "a check of the order")
            for number, run in enumerate(self._runs()):
                index = self._backend.first_disorder(run, self._order)
                if index is not None:
                    return number, index
        return None

    def is_sorted(self) -> bool:
        """See gpumerge_cli.is_sorted."""
        with self.current():
            found = self._prepared("is_sorted")
            if found is None:
                return self._backend.first_disorder(self._runs()[0], self._order) is None
            return bool(found)

    def combine(self, equals: Equals) -> Any:
        """See gpumerge_cli.union. Waits. More than two arrays are folded from the left."""
        out = self.call.options.out
        with self.current():
            target = None if out is None else out.view(self.call.keys.items)
            kind = set_kind(equals, self.call.keys.dtype, self._order.descending, self._device.id)
            if find_prepared(kind) is None:
                keep_prepared(kind, self._backend.prepared_set(self._order, equals))
            found, moved = self._folded(self._runs(), self._plain_rows(), equals, target)
            combined = found.view(self.call.keys.dtype)
            return combined if self.call.rows is None else (combined, from_plain(moved, self.call.rows[0].dtype))

    def join(self, how: How) -> Any:
        """See gpumerge_cli.join. Waits."""
        import cupy

        from gpumerge_cli.arrays.equal_pairs import equal_pairs
        from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

        with self.current():
            check_waiting(current_stream(), "join")
            a, b = self.images()
            return equal_pairs(cupy, a, b, how, descending=False)

    def diff(self, *, multi: bool) -> tuple[Any, Any, Any, Any]:
        """See gpumerge_cli.diff. Waits."""
        import cupy

        from gpumerge_cli.arrays.key_pairs import check_unique, diff_of, partners_in_order
        from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

        with self.current():
            check_waiting(current_stream(), "diff")
            a, b = self.images()
            if not multi:
                check_unique(cupy, (a, b))
            return diff_of(cupy, partners_in_order(cupy, a, b, descending=False), len(b), self._compared_rows())

    def asof_join(self, request: AsofRequest) -> Any:
        """See gpumerge_cli.asof_join. Waits."""
        import cupy

        from gpumerge_cli.arrays.asof_pairs import check_groups, grouped, in_one_order, partners
        from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

        with self.current():
            check_waiting(current_stream(), "asof_join")
            keys, dated = self.call.keys, self.call.keys.dated
            x, y = self.images()
            a, b = (x, y) if keys.parts else map(plain, self.call.arrays)
            if request.groups is None:
                return partners(cupy, (a, b), (x, y), None, request, dated=dated)
            by = Call.of(request.groups, CallOptions())
            by_a, by_b = self._images_of(by.arrays, by.keys)
            found = grouped(cupy, (by_a, by_b), self._argsorted)
            of_a, of_b = found.places
            a, b, x, y = a[of_a], b[of_b], x[of_a], y[of_b]
            if request.check:
                check_groups(cupy, (x, y), found)
            ranked = in_one_order(cupy, (x, y), found)
            return found.ungrouped(cupy, partners(cupy, (a, b), ranked, found.numbers, request, dated=dated))

    def _argsorted(self, images: Any) -> Any:
        order = Order.of(images.dtype)
        return self._backend.sort_ranks(images, order, self._backend.resolve_sort(_USUAL, order, images.nbytes))

    def co_ranks(self, ranks: NDArray[np.int64]) -> Any:
        """See gpumerge_cli.rank."""
        import cupy

        from gpumerge_cli.arrays.searching import co_ranks_of_images

        with self.current():
            images = self.images()
            found = co_ranks_of_images(cupy, images, cupy.asarray(ranks.reshape(-1)))
            return self.kept(found.reshape(*ranks.shape, len(images)))

    def ranks_of(self, items: Any, side: Side) -> Any:
        """See gpumerge_cli.rank_of."""
        import cupy

        from gpumerge_cli.arrays.host_ranks import as_keys
        from gpumerge_cli.arrays.interchange import is_cupy
        from gpumerge_cli.arrays.options import check_aligned, same_side

        if is_cupy(items):
            same_side([*self.call.arrays, items])
            check_aligned(items, "the array of items")
        with self.current():
            wanted = as_keys(cupy, items, self.call.keys.dtype)
            keys = contiguous(wanted.view(self.call.keys.items).reshape(-1))
            found = cupy.empty(wanted.shape, "int64")
            kind = ranks_kind(self.call.keys.dtype, self._order.descending, self._device.id)
            if find_prepared(kind) is None:
                keep_prepared(kind, self._backend.prepared_ranks(self._order))
            if keys.size:
                self._backend.ranks_of(self._runs(), keys, self._order, side == "right", found)
            return self.kept(found)

    @contextmanager
    def current(self) -> Iterator[None]:
        """A context in which the device is the current one.

        Arrays that are made in it are temporaries of the call, which a graph may capture; `kept` gives an array that
        outlives it. Errors are those of `calls_on`.
        """
        from gpumerge_cli.backends.gpu.streams import calls_on, temporaries

        with calls_on(self._device), temporaries():
            yield

    @staticmethod
    def kept(array: Any) -> Any:
        """The array, or its copy if the graph that is being captured owns its memory. Needs `current`."""
        from gpumerge_cli.backends.gpu.streams import lasting

        with lasting() as is_temporary:
            return array.copy() if is_temporary else array

    def images(self) -> list[Any]:
        """For each array the images of its keys: unsigned integers that ascend where keys are in order.

        They compare with those of the other arrays. Needs `current`.
        """
        return self._images_of(self.call.arrays, self.call.keys)

    def _images_of(self, arrays: Sequence[Any], keys: ArrayKeys) -> list[Any]:
        """See images. keys: those of the arrays."""
        order = keys.device_order
        if keys.parts:
            import cupy

            check_uncaptured()
            return key_images(cupy, self._backend, [words_of(cupy, array, keys.parts) for array in arrays])
        assert isinstance(order, KeyOrder), "kernels of arrays accept only numbers"
        return [order.image_of_bits(contiguous(array).view(order.unsigned)) for array in arrays]

    def _folded(
        self, runs: Sequence[Any], rows: Sequence[Any] | None, equals: Equals, target: Any = None
    ) -> tuple[Any, Any]:
        """(the items of a set, their rows), the items at the front of `target` if there is one."""
        two, along = runs[:2], None if rows is None else rows[:2]
        for behind in range(2, len(runs)):
            found, moved = self._backend.combined(two, self._order, equals, along)
            two, along = [found, runs[behind]], None if rows is None else [moved, rows[behind]]
        combined: tuple[Any, Any] = self._backend.combined(two, self._order, equals, along, target)
        return combined

    def _runs(self) -> list[Any]:
        """The arrays as the backend takes them: contiguous, of dtype ArrayKeys.items."""
        return [contiguous(array).view(self.call.keys.items) for array in self.call.arrays]

    def _rows(self) -> list[Any] | None:
        return None if self.call.rows is None else [readable(each) for each in self.call.rows]

    def _plain_rows(self) -> list[Any] | None:
        """The values as CuPy's kernels take them: see plain_items.plain."""
        return None if self.call.rows is None else [plain(each) for each in self._rows() or ()]

    def _compared_rows(self) -> list[Any] | None:
        """The values as rows of numbers that are equal where values are. The fields of records become their images."""
        rows = self._plain_rows()
        if rows is None or self.call.rows is None or not self.call.rows[0].dtype.names:
            return rows
        import cupy

        parts = leaf_parts(self.call.rows[0].dtype)
        found = []
        for each in self.call.rows:
            words = words_of(cupy, contiguous(each).reshape(-1), parts)
            found.append(cupy.stack(words, axis=1).reshape(len(each), len(words) * prod(each.shape[1:])))
        return found

    def _target(self) -> Any:
        if self.call.options.out is not None:
            return self.call.options.out
        import cupy

        from gpumerge_cli.backends.gpu.streams import lasting

        with lasting():
            return cupy.empty(self.call.total, self.call.keys.items).view(self.call.keys.dtype)

    def _prepared(self, operation: PreparedOperation, values: Sequence[Any] | None = None) -> Any:
        """The result of a prepared call, as from `run_prepared`; None if this call cannot be prepared.

        Further calls of the same kind find it prepared.
        """
        from gpumerge_cli.backends.gpu.streams import lasting

        arrays = [contiguous(array) for array in self.call.arrays]
        kind = kind_of(operation, arrays, self._order.descending, values, self._device.id)
        prepared = find_prepared(kind)
        if prepared is None:
            row = values[0].itemsize * prod(values[0].shape[1:]) if values is not None else None
            prepared = self._backend.prepared(operation, self._order, len(arrays), row)
            if prepared is None:
                return None
            keep_prepared(kind, prepared)
        if values is not None:
            values = [
                from_plain(plain(each).copy(), each.dtype) if each.data.ptr % prepared.unit else each for each in values
            ]
        with lasting():
            return run_prepared(operation, arrays, self._order.descending, self.call.options.out, values)

    def _ranks(self, run: Any, request: SortRequest) -> Any:
        """The indices that sort a run: int64."""
        policy = self._backend.resolve_sort(request, self._order, run.nbytes)
        return self._backend.sort_ranks(run, self._order, policy)

    def _sort_along(self, run: Any, request: SortRequest, values: Sequence[Any], out: Any) -> Any:
        """Sort a run into `out`, which is as long. Returns the rows of its values, in the order of their keys."""
        policy = self._backend.resolve_sort(request, self._order, run.nbytes)
        rows, items = plain(concatenated(values)), out.view(self.call.keys.items)
        if policy.algorithm == "radix" and moves_along(rows):
            moved = self._backend.sort_pairs(run, self._order, rows, items)
        else:
            ranks = self._backend.sort_ranks(run, self._order, policy)
            moved = rows[ranks]
            items[:] = run[ranks]
        return from_plain(self.kept(moved), values[0].dtype)
