"""Checks of the order of runs on the device, and the removal and counting of equal items."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import gcd
from typing import Any

import cupy
import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.gpu.launching import Launch, Step, queue
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.streams import current_stream
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Run
from gpumerge_cli.order.equals import Equals

_THREADS = 256
_BLOCKS = 16  # for each multiprocessor
_FILE = "check.cu"


class Checks:
    """Checks of runs of one order on the current device and its current stream. text: the context of rows."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels, self._size = kernels, item_bytes(kernels.order)
        self._most_blocks = _BLOCKS * kernels.limits.multiprocessors

    @staticmethod
    def no_disorder() -> Any:
        """The largest uint64, in device memory, for `check` to lower. CuPy's own functions would be compiled first."""
        first = cupy.empty(1, cupy.uint64)
        first.data.memset_async(0xFF, first.nbytes)
        return first

    def check(self, run: Run, base: int, first: int, text: Context = NO_TEXT, *, strict: bool = False) -> None:
        """Lower the uint64 at `first` to base + i, for the first item i that goes before item i - 1.

        strict: an item that equals its predecessor counts too.
        """
        queue(self.order(run, base, first, text, strict=strict), current_stream())

    def order(
        self, run: Run, base: int, first: int, text: Context = NO_TEXT, *, strict: bool = False
    ) -> Iterable[Step]:
        """The steps of `check`."""
        return self._steps("check_order", run[1], [*run, base, int(strict), first, *text]) if run[1] > 1 else ()

    def values(self, lines: int, first: int, text: Context) -> Iterable[Step]:
        """The steps that lower the uint64 at `first` to the number of the first line with an invalid key."""
        return self._steps("check_values", lines, [*text, lines, first]) if lines else ()

    def any_disorder(self, address: int, count: int, answer: int) -> Iterable[Step]:
        """Make the int64 at `answer` nonzero if items at an address are not in order."""
        blocks = min(-(-count // _THREADS), self._most_blocks)
        return ((self._any_disorder, blocks, [address, count, answer, *NO_TEXT], False),)

    @cached_property
    def _any_disorder(self) -> Launch:
        return self._kernels.ready("any_disorder", _THREADS, file=_FILE)

    def places(self, items: Run, equals: Equals, keeps: int, text: Context = NO_TEXT) -> Iterable[Step]:
        """Write to the bytes at `keeps` whether a rule of places keeps each of the sorted items."""
        return self._steps("mark_places", items[1], [*items, equals.value, keeps, *text])

    def keep(self, items: Run, equals: Equals, text: Context = NO_TEXT) -> int:
        """Move the sorted items that a rule of places keeps to the front, in place. Returns their number.

        Waits for the device.
        """
        return self._keep(items, self._kept(items, equals, text))

    def count_equals(self, items: Run, text: Context = NO_TEXT) -> NDArray[np.int64]:
        """Move the first of equal neighbours to the front of sorted items, in place. Returns the size of each group.

        The sizes lie in host memory. Waits for the device.
        """
        if not items[1]:
            return np.empty(0, np.int64)
        firsts = self._kept(items, Equals.FIRST, text)
        self._keep(items, firsts)
        places: NDArray[np.int64] = cupy.flatnonzero(firsts).get()
        return np.diff(places, append=items[1])

    def _kept(self, items: Run, equals: Equals, text: Context) -> Any:
        """Whether the rule keeps each item."""
        keeps = cupy.empty(items[1], cupy.uint8)
        queue(self.places(items, equals, keeps.data.ptr, text), current_stream())
        return keeps.view(cupy.bool_)

    def _steps(self, name: str, count: int, words: list[int]) -> Iterable[Step]:
        launch = self._kernels.ready(name, _THREADS, file=_FILE)
        return ((launch, min(-(-count // _THREADS), self._most_blocks), words, False),)

    def _keep(self, items: Run, which: Any) -> int:
        """Move some items to the front, in place. Returns their number."""
        address, count = items
        words = gcd(self._size, 8)
        memory = cupy.cuda.UnownedMemory(address, count * self._size, self)
        shape = (count, self._size // words)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        view = cupy.ndarray(shape, f"uint{8 * words}", memptr=pointer)
        kept = view[which]
        view[: len(kept)] = kept
        return len(kept)
