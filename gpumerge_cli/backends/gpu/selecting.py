"""Searches by a bound on the device: see select.cu."""

from __future__ import annotations

from typing import Any

import cupy

from gpumerge_cli.backends.base import SELECT_EQUAL
from gpumerge_cli.backends.gpu.launching import Step, queue
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.streams import current_stream
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size

_FILE = "select.cu"
_THREADS = kernel_size("SELECTING_THREADS")
_BLOCKS = 16  # for each multiprocessor
_FIRST_WINDOW, _LAST_WINDOW = 1 << 20, 1 << 24
"""Items that are searched at once for the first equals, which may be all items."""


class DeviceSelection:
    """Searches in a CuPy array of keys, on the current device and its current stream. See first_items.Selection.

    items: 1-D, contiguous and aligned to its items. Every search waits for the number of items that it finds.
    """

    def __init__(self, items: Any, kernels: Kernels) -> None:
        self._items = items
        self._most_blocks = _BLOCKS * kernels.limits.multiprocessors
        self._sample = kernels.ready("sample_items", _THREADS, file=_FILE)
        self._select = kernels.ready("select_items", _THREADS, file=_FILE)
        self._size = item_bytes(kernels.order)
        self._bound = 0

    def sample(self, samples: int) -> Any:
        """An item of each of so many stretches of the array. samples: at least 1, and at most all items."""
        out = cupy.empty(samples, self._items.dtype)
        queue((self.sample_step(out.data.ptr, samples),), current_stream())
        return out

    def sample_step(self, out: int, samples: int) -> Step:
        """The launch of `sample`, which writes to an address."""
        words = [self._items.data.ptr, len(self._items), out, samples]
        return self._sample, -(-samples // _THREADS), words, False

    def bound_by(self, bound: Any) -> None:
        """Search by this item from now on, an array of one, which must last as long."""
        self._bound = bound.data.ptr

    def found(self, selects: int, room: int) -> tuple[Any, int]:
        """See Selection. The indices are in any order."""
        return self._found_in(0, len(self._items), selects, room)

    def first_equals(self, count: int) -> Any:
        """See Selection. The indices are those of a part of the array that begins with it, in any order."""
        parts: list[Any] = []
        start, window, left = 0, _FIRST_WINDOW, count
        while left > 0 and start < len(self._items):
            stop = min(start + window, len(self._items))
            indices, _ = self._found_in(start, stop, SELECT_EQUAL, stop - start)
            parts.append(indices)
            start, window, left = stop, min(2 * window, _LAST_WINDOW), left - len(indices)
        return cupy.concatenate(parts) if parts else cupy.empty(0, cupy.int64)

    def _found_in(self, start: int, stop: int, selects: int, room: int) -> tuple[Any, int]:
        indices, count = cupy.empty(room, cupy.int64), cupy.zeros(1, cupy.uint64)
        queue((self.select_step(start, stop, selects, (indices.data.ptr, room), count.data.ptr),), current_stream())
        total = int(count.get()[0])
        return indices[:total], total

    def select_step(self, start: int, stop: int, selects: int, indices: Run, count: int) -> Step:
        """The launch of a search in [start, stop). indices: their address and room. count: the address of `found`."""
        units = -(-(stop - start) * self._size // kernel_size("VECTOR")) + 1
        words = [self._items.data.ptr + start * self._size, stop - start, start, self._bound, selects, *indices, count]
        return self._select, max(1, min(-(-units // _THREADS), self._most_blocks)), words, False
