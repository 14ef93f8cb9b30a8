"""Lines of a workspace, each with the number of its equals. On the CPU the library writes these lines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import CountingWorkspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.order.equals import Margin
from gpumerge_cli.order.kinds import Order

_BLOCK = 1 << 20
"""Bytes of lines that get their numbers at once. This takes some 40 times as much memory if they are short."""
_RETURN = 13
_POWERS = 10 ** np.arange(1, 19, dtype=np.int64)


class CountedLines:
    """The result of a workspace that has counted equal lines, with their numbers. See writers.Merged."""

    def __init__(self, workspace: CountingWorkspace, margin: Margin, order: Order) -> None:
        self._workspace = workspace
        self._end, self._ahead, self._separator = order.end[0], margin.count == "ahead", margin.separator
        self._numbers = np.asarray(workspace.equals()).view(np.int64)
        self.counts, self.dropped, self.spans = workspace.counts, workspace.dropped, workspace.spans
        blocks = (self._numbers[at : at + _BLOCK] for at in range(0, len(self._numbers), _BLOCK))
        self.merged_bytes = workspace.merged_bytes + sum(int(self._widths(block).sum()) for block in blocks)

    def outputs(self) -> Iterator[Bytes]:
        """See Merged."""
        first = 0
        for lines in map(np.asarray, by_lines(self._blocks(), self._end)):
            ends = np.flatnonzero(lines == self._end)
            yield self._beside(lines, np.diff(ends, prepend=-1), self._numbers[first : first + len(ends)])
            first += len(ends)

    def _blocks(self) -> Iterator[Bytes]:
        for part in self._workspace.outputs():
            yield from (part[at : at + _BLOCK] for at in range(0, max(1, len(part)), _BLOCK))

    def _widths(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bytes of the text added to each line."""
        digits = 1 + np.searchsorted(_POWERS, numbers, "right")
        width = len(self._separator) or 1
        return width + (np.maximum(digits, 7) if self._ahead and not self._separator else digits)

    def _beside(self, lines: Bytes, lengths: NDArray[np.int64], numbers: NDArray[np.int64]) -> Bytes:
        """The lines, each with its text at its begin, or ahead of its end."""
        widths = self._widths(numbers)
        if self._ahead:
            which, pieces = [True, False], [widths, lengths]
        else:
            tails = np.ones_like(lengths)
            if self._separator:
                tails[lengths > 1] += lines[(np.cumsum(lengths) - 2)[lengths > 1]] == _RETURN
            which, pieces = [False, True, False], [lengths - tails, widths, tails]
        is_text = np.repeat(np.tile(which, len(lengths)), np.stack(pieces, 1).reshape(-1))
        out = np.empty(len(is_text), np.uint8)
        out[is_text] = self._texts(numbers)
        out[~is_text] = lines
        return out

    def _texts(self, numbers: NDArray[np.int64]) -> Bytes:
        between = self._separator.replace(b"%", b"%%")
        form = between + b"%d" if between else b"\t%d"
        if self._ahead:
            form = b"%d" + between if between else b"%7d "
        different, places = np.unique(numbers, return_inverse=True)  # few, as most are small
        texts = [form % number for number in different.tolist()]
        return np.frombuffer(b"".join([texts[place] for place in places.tolist()]), np.uint8)
