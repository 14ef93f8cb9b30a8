"""The launches of the kernels for text: lines are found, numbered, turned into rows, and gathered by sorted rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.launching import Allocate, Step, copy, queue
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.source import lines_order
from gpumerge_cli.backends.gpu.streams import current_stream, scratch
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Run
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.errors import DisorderError

_THREADS = 256
_BYTES_PER_THREAD = kernel_size("BYTES_PER_THREAD")
_SUMMED_PER_THREAD = kernel_size("SUMMED")
_COUNTING = 4 * _THREADS  # bytes of shared memory
_TEXT, _ROWS = "text.cu", "rows.cu"


class TextKernels:
    """The kernels for lines and records of one order, on the current device and its current stream."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._order = kernels.order

    def steps(self, items: int, allocate: Allocate) -> Iterator[Step]:
        """All steps of the methods below for a text of `items` lines or records, at unknown addresses."""
        if self._order.item_bytes:
            yield from self._rows(NO_TEXT, items, 0)
            yield from self._gathered_records(0, (0, items), 0)
            return
        yield from self._counts(0, items, 0, allocate)
        yield from self._finds(0, items, 0, 0)
        yield from self._numbers(0, items, 0, 1)
        yield from self._rows(NO_TEXT, items, 0)
        yield from self._lengths((0, items), 0, 0, allocate)
        yield from self._gathered_lines(NO_TEXT, (0, items), 0, 0, items)

    def line_starts(self, text: int, nbytes: int) -> Any:
        """The offsets of all lines of a text that ends in a terminator, and of its end: int64. Waits for the device.

        The words of the order and their number lie ahead of them in the same memory (see lines.cuh).
        """
        table = self._order.layout().table
        assert table is not None
        ahead = lines_order(np.array(table))
        ends = cupy.empty(_text_blocks(nbytes), cupy.int64)
        queue(self._counts(text, nbytes, ends.data.ptr, scratch), current_stream())
        room = cupy.empty(len(ahead) + int(ends[-1]) + 1, cupy.int64)
        room[: len(ahead)].set(ahead)
        starts = room[len(ahead) :]
        queue(self._finds(text, nbytes, ends.data.ptr, starts.data.ptr), current_stream())
        return starts

    def line_numbers(self, starts: Any, offsets: Sequence[int]) -> list[int]:
        """The numbers of the lines that start at these offsets; the end has one, too. Waits for the device."""
        count = len(offsets)
        numbers = cupy.asarray(np.array(offsets, np.int64))
        queue(self._numbers(starts.data.ptr, starts.size - 1, numbers.data.ptr, count), current_stream())
        return [int(number) for number in numbers.get()]

    def make_rows(self, context: Context, lines: int, rows: int) -> None:
        """Write the rows of all lines or records to `rows`, in the text's order."""
        queue(self._rows(context, lines, rows), current_stream())

    def gather(
        self, context: Context, rows: tuple[int, int], out: int, nbytes: int, whole: bool
    ) -> tuple[int, cupy.ndarray | None]:
        """Write the lines or records of `rows` to the `nbytes` at `out`, as far as they fit. Returns their bytes.

        whole: they should fill `nbytes`, because no row was dropped and the runs were in order. The second result is
        then the number of bytes that lines really have, on the device. Otherwise a call for lines waits for the device.
        """
        if rows[1] == 0:
            return 0, None
        if self._order.item_bytes:
            queue(self._gathered_records(context[0], rows, out), current_stream())
            return rows[1] * self._order.item_bytes, None
        ends = cupy.empty(rows[1], cupy.int64)
        queue(self._lengths(rows, context[1], ends.data.ptr, scratch), current_stream())
        taken = None
        if whole:
            taken = cupy.empty(1, cupy.int64)
            queue([(copy, taken.nbytes, (ends[-1:].data.ptr, taken.data.ptr), False)], current_stream())
        else:
            written = int(ends[-1])
            if written > nbytes:  # the runs were out of order
                raise out_of_order()
            nbytes = written
        queue(self._gathered_lines(context, rows, ends.data.ptr, out, nbytes), current_stream())
        return nbytes, taken

    def gather_to_ends(self, context: Context, rows: tuple[int, int], ends: int, out: int, nbytes: int) -> None:
        """Write the lines of `rows` to the `nbytes` at `out`, where each line ends at a known int64 at `ends`."""
        queue(self._gathered_lines(context, rows, ends, out, nbytes), current_stream())

    def _counts(self, text: int, nbytes: int, ends: int, allocate: Allocate) -> Iterator[Step]:
        """Write to the int64 at `ends` the numbers of lines up to the end of what each block reads."""
        blocks, terminator = _text_blocks(nbytes), self._order.layout().terminator
        yield self._step("count_lines", blocks, [text, nbytes, terminator, ends], shared=_COUNTING)
        yield from self._running_sums((ends, blocks), allocate)

    def _finds(self, text: int, nbytes: int, ends: int, starts: int) -> Iterator[Step]:
        words = [text, nbytes, self._order.layout().terminator, ends, starts]
        yield self._step("find_lines", _text_blocks(nbytes), words, shared=_COUNTING)

    def _numbers(self, starts: int, lines: int, numbers: int, count: int) -> Iterator[Step]:
        yield self._step("number_lines", ceil_div(count, _THREADS), [starts, lines, numbers, count])

    def _rows(self, context: Context, lines: int, rows: int) -> Iterator[Step]:
        yield self._step("make_rows", ceil_div(lines, _THREADS), [*context, lines, rows], file=_ROWS)

    def _gathered_records(self, text: int, rows: Run, out: int) -> Iterator[Step]:
        blocks = _text_blocks(rows[1] * self._order.item_bytes + 3)
        yield self._step("gather_records", blocks, [text, *rows, out], file=_ROWS)

    def _lengths(self, rows: Run, starts: int, ends: int, allocate: Allocate) -> Iterator[Step]:
        """Write to the int64 at `ends` where each line ends in the output."""
        yield self._step("line_lengths", ceil_div(rows[1], _THREADS), [*rows, starts, ends])
        yield from self._running_sums((ends, rows[1]), allocate)

    def _gathered_lines(self, context: Context, rows: Run, ends: int, out: int, nbytes: int) -> Iterator[Step]:
        yield self._step("gather_lines", _text_blocks(nbytes), [*context, rows[0], ends, rows[1], out, nbytes])

    def _running_sums(self, numbers: Run, allocate: Allocate) -> Iterator[Step]:
        """Replace each int64 by the sum of all up to it. CuPy's own function would load NVRTC to compile itself."""
        blocks, shared = ceil_div(numbers[1], _THREADS * _SUMMED_PER_THREAD), 8 * _THREADS
        sums = allocate(8 * blocks)
        if blocks > 1:
            yield self._step("add_up", blocks, [*numbers, sums.ptr], shared=shared)
            yield from self._running_sums((sums.ptr, blocks), allocate)
        yield self._step("running_sums", blocks, [*numbers, sums.ptr], shared=shared)

    def _step(self, name: str, blocks: int, words: list[int], *, file: str = _TEXT, shared: int = 0) -> Step:
        return self._kernels.ready(name, _THREADS, shared=shared, file=file), blocks, words, False


def _text_blocks(nbytes: int) -> int:
    return ceil_div(nbytes, _THREADS * _BYTES_PER_THREAD)


def out_of_order() -> DisorderError:
    """The error for merged lines that are not the lines of the inputs. Only inputs out of order lead to it."""
    what = "inputs are out of order: merged, some of their lines are repeated and others missing"
    return DisorderError(what, way_out="leave --no-check out")
