"""Calls on CuPy arrays whose items are compared by images: bytes, records, and several keys. See key_parts.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpumerge_cli.arrays.call import Call
from gpumerge_cli.arrays.device import DeviceCall, check_uncaptured
from gpumerge_cli.arrays.key_parts import first_disorder_of_words, key_images, words_of
from gpumerge_cli.arrays.payload import concatenated
from gpumerge_cli.arrays.plain_items import contiguous, copied_to_gpu, from_plain, plain, taken_items
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.searching import Side


class ImagedDeviceCall(DeviceCall):
    """Carries out a call on CuPy arrays by the images of their items. Raises DeviceError for an unavailable GPU.

    Results are gathered. A graph cannot capture such calls.
    """

    def merge(self, request: LaunchRequest) -> Any:
        """See gpumerge_cli.merge. A stable sort of sorted arrays is their merge."""
        with self.current():
            return self._gathered(self._ranks(concatenated(self._runs()), SortRequest("auto", request)))

    def sort(self, request: SortRequest) -> Any:
        """See gpumerge_cli.sort."""
        with self.current():
            return self._gathered(self._ranks(self._runs()[0], request))

    def argsort(self, request: SortRequest) -> Any:
        """See gpumerge_cli.argsort."""
        with self.current():
            return self._ranks(self._runs()[0], request)

    def first_disorder(self) -> tuple[int, int] | None:
        """See DeviceCall. Waits."""
        import cupy

        from gpumerge_cli.backends.gpu.streams import check_waiting, current_stream

        with self.current():
            check_waiting(current_stream(), "a check of the order")
            for number, array in enumerate(self.call.arrays):
                index = first_disorder_of_words(cupy, words_of(cupy, array, self.call.keys.parts))
                if index is not None:
                    return number, index
        return None

    def is_sorted(self) -> bool:
        """See gpumerge_cli.is_sorted."""
        return self.first_disorder() is None

    def combine(self, equals: Equals) -> Any:
        """See gpumerge_cli.union. Waits."""
        import cupy

        with self.current():
            runs, start = self._runs(), 0
            places = []
            for run in runs:
                places.append(cupy.arange(start, start + len(run)))
                start += len(run)
            _, ranks = self._folded(runs, places, equals)
            return self._gathered(ranks)

    def ranks_of(self, items: Any, side: Side) -> Any:
        """See gpumerge_cli.rank_of."""
        import cupy

        from gpumerge_cli.arrays.host_ranks import as_items
        from gpumerge_cli.arrays.interchange import is_cupy
        from gpumerge_cli.arrays.options import same_side

        keys = self.call.keys
        wanted = as_items(items, keys.wanted.dtype)
        if is_cupy(wanted):
            same_side([*self.call.arrays, wanted])
        with self.current():
            there = wanted if is_cupy(wanted) else copied_to_gpu(wanted, self._device)
            words = [words_of(cupy, array, keys.parts) for array in self.call.arrays]
            words.append(words_of(cupy, contiguous(there).reshape(-1), keys.wanted.parts))
            check_uncaptured()
            *runs, images = key_images(cupy, self._backend, words)
            found = cupy.empty(wanted.shape, "int64")
            if images.size:
                self._backend.ranks_of(runs, images, self._order, side == "right", found)
            return found

    def _runs(self) -> list[Any]:
        return self.images()

    def _gathered(self, ranks: Any) -> Any:
        """The items of these ranks among all arrays, at the front of `out` if there is one; with their values."""
        call, given = self.call, self.call.options.out
        rows = concatenated([plain(array) for array in call.arrays])[ranks]
        found = from_plain(rows, call.keys.dtype)
        if given is not None:
            found = given[: len(ranks)]
            plain(found)[:] = rows
        return found if call.rows is None else (found, taken_items(concatenated(self._rows() or ()), ranks))


def device_call(call: Call) -> DeviceCall:
    """The object that carries out a call on CuPy arrays. Raises DeviceError for an unavailable GPU."""
    return ImagedDeviceCall(call) if call.keys.parts else DeviceCall(call)
