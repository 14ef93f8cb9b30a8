"""Lines of a workspace with the number of their equals beside each. The CPU's library writes its own."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import Bytes, CountingWorkspace
from gpumerge_cli.order import Order
from gpumerge_cli.order.equals import Margin


class CountedLines:
    """The result of a workspace that has counted equal lines, with their numbers beside them. See outlet.Merged."""

    def __init__(self, workspace: CountingWorkspace, margin: Margin, order: Order) -> None:
        self._workspace = workspace
        self._end, self._ahead = order.end[0], margin.count == "ahead"
        numbers, places = np.unique(workspace.equals().view(np.int64), return_inverse=True)
        self._texts = [b"%7d " % number if self._ahead else b"\t%d" % number for number in numbers.tolist()]
        self._places = places
        self._widths = np.array(list(map(len, self._texts)), np.int64)[places]
        self.counts, self.dropped, self.spans = workspace.counts, workspace.dropped, workspace.spans
        self.merged_bytes = workspace.merged_bytes + int(self._widths.sum())

    def outputs(self) -> Iterable[Bytes]:
        """See Merged. It takes several times the memory of the result."""
        parts = list(self._workspace.outputs())
        return [self._beside(parts[0] if len(parts) == 1 else np.concatenate(parts))]

    def _beside(self, lines: Bytes) -> Bytes:
        """The lines, each with its text at its begin, or ahead of its end."""
        lengths = np.diff(np.flatnonzero(lines == self._end), prepend=-1)
        if self._ahead:
            which, pieces = [True, False], [self._widths, lengths]
        else:
            which, pieces = [False, True, False], [lengths - 1, self._widths, np.ones_like(lengths)]
        is_text = np.repeat(np.tile(which, len(lengths)), np.stack(pieces, 1).reshape(-1))
        out = np.empty(self.merged_bytes, np.uint8)
        out[is_text] = self._joined()
        out[~is_text] = lines
        return out

    def _joined(self) -> NDArray[np.uint8]:
        return np.frombuffer(b"".join([self._texts[place] for place in self._places.tolist()]), np.uint8)
