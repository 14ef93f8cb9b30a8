"""The first or last rows of a sort: rows beyond the last wanted one so far are left out as they are read."""

from __future__ import annotations

from gpumerge_cli.backends.base import SelectingWorkspace
from gpumerge_cli.buffers import Bytes, uncleared
from gpumerge_cli.engine.selection import Selection
from gpumerge_cli.native.sieves import PADDING, Sieve
from gpumerge_cli.order.kinds import Order


class RowSieve:
    """Leaves out items of rows, which come in the order of the inputs."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._sieve: Sieve | None = None

    def bound(self, order: Order, workspace: SelectingWorkspace) -> None:
        """Take a bound from a workspace that has sorted items, if as many as are wanted are among them."""
        selection, kept = self._selection, sum(workspace.counts) - workspace.dropped
        if not 0 < selection.count <= kept:
            return
        number = kept - selection.count if selection.last else selection.count - 1
        start, stop = workspace.bytes_ahead(number), workspace.bytes_ahead(number + 1)
        self._sieve = self._sieve or Sieve(order, last=selection.last)
        item = bytes(workspace.receive(start, stop - start - len(order.end)))
        self._sieve.bound(item, equals=selection.first_counts)

    def sift(self, items: Bytes) -> Bytes:
        """The items that may be among the wanted ones."""
        given = memoryview(items).cast("B")
        if self._sieve is None or not len(given):
            return given
        block, out = uncleared(len(given) + PADDING), uncleared(len(given))
        block[: len(given)] = given
        return out[: self._sieve.sift(block, 0, len(given), out).made]

    def close(self) -> None:
        """Give the memory back."""
        if self._sieve is not None:
            self._sieve.close()
