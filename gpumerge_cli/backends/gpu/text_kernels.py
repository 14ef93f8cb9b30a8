"""The calls of the kernels for text: lines are found and numbered, made to rows, and gathered by sorted rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.gpu.buffers import copy_on_device
from gpumerge_cli.backends.gpu.source import lines_order
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.order import Order

Address = int
Context = tuple[Address, Address]
"""The addresses of a text and of its line starts, 0 for records: see lines.cuh."""
NO_TEXT: Context = (0, 0)
"""That of items which move whole."""

_THREADS = 256
_BYTES_PER_THREAD = 16  # rows.cu, text.cu
_SUMMED_PER_THREAD = 16


class TextKernels:
    """The kernels for lines and records of one order. launch: module.Kernels._launch."""

    def __init__(self, launch: Callable[..., None], order: Order) -> None:
        self._launch = launch
        self._order = order

    def line_starts(self, text: Address, nbytes: int) -> Any:
        """The offsets of all lines of a text that ends in a terminator, and of its end: int64. Waits for the device.

        The words of the order and their number lie ahead of them in the same memory (see lines.cuh).
        """
        layout = self._order.layout()
        assert layout.table is not None
        terminator, ahead = layout.terminator, lines_order(np.array(layout.table))
        blocks = self._text_blocks(nbytes)
        ends = cupy.empty(blocks, cupy.int64)
        self._launch(
            "count_lines", blocks, _THREADS, (text, nbytes, terminator, ends.data.ptr),
            file="text.cu", shared=4 * _THREADS,
        )  # fmt: skip
        self._running_sums(ends)
        room = cupy.empty(len(ahead) + int(ends[-1]) + 1, cupy.int64)
        room[: len(ahead)].set(ahead)
        starts = room[len(ahead) :]
        self._launch(
            "find_lines", blocks, _THREADS, (text, nbytes, terminator, ends.data.ptr, starts.data.ptr),
            file="text.cu", shared=4 * _THREADS,
        )  # fmt: skip
        return starts

    def line_numbers(self, starts: Any, offsets: Sequence[int]) -> list[int]:
        """The numbers of the lines that start at these offsets; the end has one, too. Waits for the device."""
        count = len(offsets)
        numbers = cupy.asarray(np.array(offsets, np.int64))
        self._launch(
            "number_lines", ceil_div(count, _THREADS), _THREADS,
            (starts.data.ptr, starts.size - 1, numbers.data.ptr, count), file="text.cu",
        )  # fmt: skip
        return [int(number) for number in numbers.get()]

    def make_rows(self, context: Context, lines: int, rows: Address) -> None:
        """Write the rows of all lines or records to `rows`, in the text's order."""
        self._launch("make_rows", ceil_div(lines, _THREADS), _THREADS, (*context, lines, rows), file="rows.cu")

    def gather(
        self, context: Context, rows: tuple[Address, int], out: Address, nbytes: int, whole: bool
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
            self._launch("gather_records", self._text_blocks(nbytes + 3), _THREADS, (text, *rows, out), file="rows.cu")
            return nbytes, None
        ends = cupy.empty(rows[1], cupy.int64)
        self._launch(
            "line_lengths", ceil_div(rows[1], _THREADS), _THREADS, (*rows, starts, ends.data.ptr), file="text.cu"
        )
        self._running_sums(ends)
        taken = None
        if whole:
            taken = cupy.empty(1, cupy.int64)
            copy_on_device(ends[-1:].data.ptr, taken.data.ptr, taken.nbytes)
        else:
            written = int(ends[-1])
            if written > nbytes:  # the runs were out of order
                raise out_of_order()
            nbytes = written
        self._launch(
            "gather_lines", self._text_blocks(nbytes), _THREADS,
            (text, starts, rows[0], ends.data.ptr, rows[1], out, nbytes), file="text.cu",
        )  # fmt: skip
        return nbytes, taken

    def _running_sums(self, numbers: cupy.ndarray) -> None:
        """Each of the int64 becomes the sum of all up to it. CuPy would compile a copy first, and load NVRTC for it."""
        blocks = ceil_div(numbers.size, _THREADS * _SUMMED_PER_THREAD)
        run, shared = (numbers.data.ptr, numbers.size), 8 * _THREADS
        sums = cupy.empty(blocks, cupy.int64)
        if blocks > 1:
            self._launch("add_up", blocks, _THREADS, (*run, sums.data.ptr), file="text.cu", shared=shared)
            self._running_sums(sums)
        self._launch("running_sums", blocks, _THREADS, (*run, sums.data.ptr), file="text.cu", shared=shared)

    def _text_blocks(self, nbytes: int) -> int:
        return ceil_div(nbytes, _THREADS * _BYTES_PER_THREAD)


def ceil_div(count: int, size: int) -> int:
    """The number of groups of `size` that hold `count`, the last one perhaps in part."""
    return -(-count // size)


def out_of_order() -> DisorderError:
    """The error for merged lines that are not the lines of the inputs. Only inputs out of order lead to it."""
    what = "inputs are out of order: merged, some of their lines are there twice and others not at all"
    return DisorderError(what, way_out="leave --no-check out")
