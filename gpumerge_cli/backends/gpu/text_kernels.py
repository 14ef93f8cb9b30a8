"""The calls of the kernels for text: lines are found and numbered, made to rows, and gathered by sorted rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.launching import copy, queue
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.source import lines_order
from gpumerge_cli.backends.gpu.streams import current_stream
from gpumerge_cli.backends.gpu.tree import Context
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.errors import DisorderError

_THREADS = 256
_BYTES_PER_THREAD = kernel_size("BYTES_PER_THREAD")
_SUMMED_PER_THREAD = 16
_COUNTING = 4 * _THREADS  # bytes of shared memory
_TEXT, _ROWS = "text.cu", "rows.cu"


class TextKernels:
    """The kernels for lines and records of one order, on the current device and its current stream."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._order = kernels.order

    def begin(self) -> None:
        """Compile the kernels in the background."""
        if not self._order.item_bytes:
            self._kernels.ready("count_lines", _THREADS, 4, shared=_COUNTING, file=_TEXT)
        self._kernels.ready("make_rows", _THREADS, 4, file=_ROWS)

    def line_starts(self, text: int, nbytes: int) -> Any:
        """The offsets of all lines of a text that ends in a terminator, and of its end: int64. Waits for the device.

        The words of the order and their number lie ahead of them in the same memory (see lines.cuh).
        """
        layout = self._order.layout()
        assert layout.table is not None
        terminator, ahead = layout.terminator, lines_order(np.array(layout.table))
        blocks = self._text_blocks(nbytes)
        ends = cupy.empty(blocks, cupy.int64)
        self._run("count_lines", blocks, [text, nbytes, terminator, ends.data.ptr], shared=_COUNTING)
        self._running_sums(ends)
        room = cupy.empty(len(ahead) + int(ends[-1]) + 1, cupy.int64)
        room[: len(ahead)].set(ahead)
        starts = room[len(ahead) :]
        self._run("find_lines", blocks, [text, nbytes, terminator, ends.data.ptr, starts.data.ptr], shared=_COUNTING)
        return starts

    def line_numbers(self, starts: Any, offsets: Sequence[int]) -> list[int]:
        """The numbers of the lines that start at these offsets; the end has one, too. Waits for the device."""
        count = len(offsets)
        numbers = cupy.asarray(np.array(offsets, np.int64))
        self._run(
            "number_lines", ceil_div(count, _THREADS), [starts.data.ptr, starts.size - 1, numbers.data.ptr, count]
        )
        return [int(number) for number in numbers.get()]

    def make_rows(self, context: Context, lines: int, rows: int) -> None:
        """Write the rows of all lines or records to `rows`, in the text's order."""
        self._run("make_rows", ceil_div(lines, _THREADS), [*context, lines, rows], file=_ROWS)

    def gather(
        self, context: Context, rows: tuple[int, int], out: int, nbytes: int, whole: bool
    ) -> tuple[int, cupy.ndarray | None]:
        """Write the lines or records of `rows` to the `nbytes` at `out`, as far as they fit. Returns their bytes.

        whole: they should fill `nbytes`, because no row was dropped and the runs were in order. The second result is
        then the number of bytes that lines really have, on the device. Otherwise a call for lines waits for the device.
        """
        if rows[1] == 0:
            return 0, None
        text, starts = context
        if self._order.item_bytes:
            nbytes = rows[1] * self._order.item_bytes
            self._run("gather_records", self._text_blocks(nbytes + 3), [text, *rows, out], file=_ROWS)
            return nbytes, None
        ends = cupy.empty(rows[1], cupy.int64)
        self._run("line_lengths", ceil_div(rows[1], _THREADS), [*rows, starts, ends.data.ptr])
        self._running_sums(ends)
        taken = None
        if whole:
            taken = cupy.empty(1, cupy.int64)
            copy(taken.nbytes, current_stream(), (ends[-1:].data.ptr, taken.data.ptr), False)
        else:
            written = int(ends[-1])
            if written > nbytes:  # the runs were out of order
                raise out_of_order()
            nbytes = written
        self._run(
            "gather_lines", self._text_blocks(nbytes), [text, starts, rows[0], ends.data.ptr, rows[1], out, nbytes]
        )
        return nbytes, taken

    def _running_sums(self, numbers: cupy.ndarray) -> None:
        """Each of the int64 becomes the sum of all up to it. CuPy would compile a copy first, and load NVRTC for it."""
        blocks = ceil_div(numbers.size, _THREADS * _SUMMED_PER_THREAD)
        run, shared = (numbers.data.ptr, numbers.size), 8 * _THREADS
        sums = cupy.empty(blocks, cupy.int64)
        if blocks > 1:
            self._run("add_up", blocks, [*run, sums.data.ptr], shared=shared)
            self._running_sums(sums)
        self._run("running_sums", blocks, [*run, sums.data.ptr], shared=shared)

    def _text_blocks(self, nbytes: int) -> int:
        return ceil_div(nbytes, _THREADS * _BYTES_PER_THREAD)

    def _run(self, name: str, blocks: int, words: list[int], *, file: str = _TEXT, shared: int = 0) -> None:
        launch = self._kernels.ready(name, _THREADS, len(words), shared=shared, file=file)
        queue([(launch, blocks, words, False)], current_stream())


def out_of_order() -> DisorderError:
    """The error for merged lines that are not the lines of the inputs. Only inputs out of order lead to it."""
    what = "inputs are out of order: merged, some of their lines are there twice and others not at all"
    return DisorderError(what, way_out="leave --no-check out")
