"""Lines and records on the device: they are found, turned into rows, merged, and gathered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import cupy
import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.gpu.buffers import DeviceBuffer
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.folding import Folds
from gpumerge_cli.backends.gpu.launching import queue
from gpumerge_cli.backends.gpu.many_runs import merge_of_many
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.sorting import sort_of
from gpumerge_cli.backends.gpu.streams import current_stream, scratch
from gpumerge_cli.backends.gpu.text_kernels import TextKernels, out_of_order
from gpumerge_cli.backends.gpu.tree import Context, Run
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


class DeviceText:
    """The lines or records of one chunk's runs. All work goes to the current stream.

    Every run of lines must end in a terminator or be empty. Lines are found once a chunk. Rows are made for each merge,
    because they are part of the measured work, unless a check has just made them.
    """

    def __init__(self, order: Order, kernels: Kernels) -> None:
        self._order = order
        self._row = item_bytes(order)
        self._size = order.item_bytes
        self._kernels, self._text, self._checks = kernels, TextKernels(kernels), Checks(kernels)
        self._address = 0
        self._lengths: Sequence[int] = ()
        self._starts: cupy.ndarray | None = None
        self._edges: list[int] | None = None
        self._fresh = False
        self._taken: cupy.ndarray | None = None
        self._rows, self._merged = DeviceBuffer(), DeviceBuffer()
        self._folds = Folds(kernels)
        self.equals: NDArray[np.int64] = np.empty(0, np.int64)

    def reset(self, address: int, lengths: Sequence[int]) -> None:
        """Take a new chunk: runs of these lengths in bytes, back to back at `address`."""
        self._address = address
        self._lengths = lengths
        self._starts = self._edges = self._taken = None
        self._fresh = False

    @property
    def context(self) -> Context:
        """Addresses of the text and of its line starts, as the kernels take them; records have no starts.

        The order of lines lies ahead of their starts (see lines.cuh).
        """
        return self._address, 0 if self._starts is None else int(self._starts.data.ptr)

    def runs(self) -> list[Run]:
        """The runs as rows. The first call for a chunk of lines waits for the device."""
        edges = self._found()
        if not self._fresh and edges[-1]:
            self._rows.reserve(edges[-1] * self._row)
            self._text.make_rows(self.context, edges[-1], self._rows.address)
            self._fresh = True
        if not edges[-1]:
            return [(0, 0)] * len(self._lengths)
        return [(self._rows.address + begin * self._row, end - begin) for begin, end in pairwise(edges)]

    @property
    def counts(self) -> list[int]:
        """The number of rows of each run. For lines, the first call for a chunk waits for the device."""
        return [end - begin for begin, end in pairwise(self._found())]

    def offset_of(self, row: int) -> int:
        """The byte of the chunk at which a row starts. For lines it waits for the device."""
        return row * self._size if self._starts is None else int(self._starts[row])

    def merge(self, policy: LaunchPolicy, out: int, nbytes: int, equals: Equals, *, counted: bool) -> tuple[int, int]:
        """Merge the runs' rows into the `nbytes` at `out`; returns (bytes written, rows dropped).

        counted: equal rows are put out once, and `self.equals` gets their counts.
        """
        runs = self.runs()
        self._fresh = False
        lines = self._found()[-1]
        self._merged.reserve(lines * self._row)
        if equals.is_set:
            fold = self._folds.of(equals, len(runs))
            kept = fold(runs, self._merged.address, scratch, self.context)
            return self._gathered(self._counted(kept) if counted else kept, out, nbytes)
        merge = merge_of_many(self._kernels, policy)
        queue(merge.steps(runs, self._merged.address, scratch, self.context), current_stream())
        kept = self._counted(lines) if counted else self._dropped(lines, equals)
        return self._gathered(kept, out, nbytes)

    def sort(self, policy: SortPolicy, out: int, nbytes: int, equals: Equals) -> tuple[int, int]:
        """Sort the rows of all runs, and gather by them, as `merge` does."""
        self.runs()
        self._fresh = False  # the rows are sorted in place
        lines = self._found()[-1]
        self._merged.reserve(lines * self._row)
        sort, rows = sort_of(self._kernels, policy), (self._rows.address, lines)
        queue(sort.steps(rows, self._merged.address, scratch, self.context, overwrite=True), current_stream())
        return self._gathered(self._dropped(lines, equals), out, nbytes)

    def raise_disorder(self) -> None:
        """Raise DisorderError if the bytes gathered last are more or fewer than those of the chunk.

        This happens only if its runs were not in order. Waits for the device.
        """
        if self._taken is not None and int(self._taken[0]) != sum(self._lengths):
            raise out_of_order()

    def free(self) -> None:
        """Free the memory."""
        self._starts = self._edges = self._taken = None
        for buffer in (self._rows, self._merged):
            buffer.free()

    def _counted(self, lines: int) -> int:
        """Keep the first of equal rows, and store their counts. Returns the number of rows kept."""
        self.equals = self._checks.count_equals((self._merged.address, lines), self.context)
        return len(self.equals)

    def _dropped(self, lines: int, equals: Equals) -> int:
        """Drop the rows that `equals`, if it is a rule of places, leaves out. Returns the number of rows kept."""
        if equals.keeps_all:
            return lines
        return self._checks.keep((self._merged.address, lines), equals, self.context)

    def _gathered(self, kept: int, out: int, nbytes: int) -> tuple[int, int]:
        """Gather by the first `kept` merged rows."""
        lines = self._found()[-1]
        rows = (self._merged.address, kept)
        written, self._taken = self._text.gather(self.context, rows, out, nbytes, kept == lines)
        return written, lines - kept

    def _found(self) -> list[int]:
        """The number of each run's first row, and the number of all rows."""
        if self._edges is None:
            bounds = list(accumulate(self._lengths, initial=0))
            if self._size:
                self._edges = [bound // self._size for bound in bounds]
            elif bounds[-1] == 0:
                self._edges = [0] * len(bounds)
            else:
                self._starts = self._text.line_starts(self._address, bounds[-1])
                self._edges = self._text.line_numbers(self._starts, bounds)
        assert self._edges is not None
        return self._edges
