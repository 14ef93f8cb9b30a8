"""Texts one behind the other on the device: see strings.cu."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.launching import Step, queue
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.streams import current_stream
from gpumerge_cli.backends.gpu.text_kernels import TextKernels
from gpumerge_cli.backends.kernel_sizes import kernel_size

_FILE = "strings.cu"
_THREADS = kernel_size("STRINGS_THREADS")
_WARP = kernel_size("WARP")
_BLOCKS = 16  # for each multiprocessor

DeviceTexts = tuple[Any, Any]
"""(bytes, starts) on the current device: text i lies in bytes[starts[i]:starts[i + 1]]. uint8 and int64, contiguous;
starts do not descend, and lie within the bytes."""


class DeviceStrings:
    """Searches in texts on the current device. Nothing here waits. kernels: those of Order.lines()."""

    def __init__(self, kernels: Kernels) -> None:
        self._most_blocks = _BLOCKS * kernels.limits.multiprocessors
        self._words = kernels.ready("text_words", _THREADS, file=_FILE)
        self._compare = kernels.ready("compare_with_pivots", _THREADS, file=_FILE)
        self._lines = TextKernels(kernels)

    def words(self, texts: DeviceTexts, some: Any, at: Any) -> tuple[Any, Any]:
        """(the 8 bytes at `at` in each of some texts as a number, zeros behind the end; the bytes left there, up to 9).

        some, at: int64, of one length. The results are uint64 and uint8.
        """
        words, left = cupy.empty(len(some), cupy.uint64), cupy.empty(len(some), cupy.uint8)
        if len(some):
            queue(self.words_step(texts, (some, at), (words, left)), current_stream())
        return words, left

    def words_step(self, texts: DeviceTexts, some: tuple[Any, Any], found: tuple[Any, Any]) -> Iterator[Step]:
        """See words. some: with their `at`. found: the arrays for the results."""
        numbers, at = some
        blocks = min(-(-len(numbers) // _THREADS), self._most_blocks)
        addresses = [each.data.ptr for each in (*texts, numbers, at)]
        yield self._words, blocks, [*addresses, len(numbers), *(each.data.ptr for each in found)], False

    def compared(self, texts: DeviceTexts, some: Any, pivots: Any, at: Any, most: int) -> Any:
        """Integers that order some texts as far as a comparison of each with its pivot says, int64: see strings.cu.

        some, pivots, at: int64, of one length: texts, and the bytes that they are known to share. most: more than the
        bytes of any text.
        """
        codes = cupy.empty(len(some), cupy.int64)
        if len(some):
            queue(self.compare_step(texts, (some, pivots, at), most, codes), current_stream())
        return codes

    def compare_step(self, texts: DeviceTexts, some: tuple[Any, Any, Any], most: int, codes: Any) -> Iterator[Step]:
        """See compared. some: with their pivots and `at`. codes: the array for the result."""
        blocks = min(-(-len(some[0]) * _WARP // _THREADS), self._most_blocks)
        addresses = [each.data.ptr for each in (*texts, *some)]
        yield self._compare, blocks, [*addresses, len(some[0]), most, codes.data.ptr], False

    def gathered(self, texts: DeviceTexts, indices: Any, starts: Any) -> Any:
        """The bytes of the texts of these indices, one behind the other, uint8. Waits for their number.

        indices: int64. starts: where each of these texts starts in the result, and the end, int64, the first one 0.
        """
        nbytes = int(starts[-1])
        out = cupy.empty(nbytes, cupy.uint8)
        if nbytes:
            some = cupy.flatnonzero(starts[1:] != starts[:-1])  # lines have at least one byte
            rows, ends = cupy.zeros((len(some), 2), cupy.int64), starts[1:][some]
            rows[:, 1] = indices[some]
            context = texts[0].data.ptr, texts[1].data.ptr
            self._lines.gather_to_ends(context, (rows.data.ptr, len(rows)), ends.data.ptr, out.data.ptr, nbytes)
        return out
