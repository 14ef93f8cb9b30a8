"""Cuts of merges. The library makes them on the sources themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.calls import Readable
from gpumerge_cli.backends.cpu.library import library
from gpumerge_cli.backends.cpu.sources import Sources
from gpumerge_cli.backends.cpu.specs import order_spec
from gpumerge_cli.order import Order

Row = NDArray[np.int64]


class Cuts:
    """Makes cuts of the merge of sources. groups: no cut lies between items that compare equal. tables: see Sources."""

    def __init__(
        self,
        sources: Sequence[Readable],
        order: Order,
        *,
        groups: bool = False,
        tables: Sequence[NDArray[np.int64]] = (),
    ) -> None:
        self._own = library()
        self._groups = groups
        self._sources = Sources(sources, tables)
        self._order = order_spec(order)
        self.sizes: Row = np.array([source.size for source in sources], np.int64)

    def between(self, low: Row, high: Row, targets: Row) -> NDArray[np.int64]:
        """A cut for each target: a row of positions, one in each source. Shape (targets, sources), int64, ascending.

        low, high: two cuts; the new ones lie between them. targets: about so many bytes of all sources lie ahead of a
        cut. A cut is exact under (key, source, position). Raises InputError, MemoryError.
        """
        inputs, count = len(self.sizes), len(targets)
        rows = [np.ascontiguousarray(row, np.int64) for row in (low, high, targets)]
        cuts = np.empty((count, inputs), np.int64)
        numbers = (inputs, count, len(os.sched_getaffinity(0)), self._groups)
        spec = self._own.CutSpec(self._sources.specs, *(row.ctypes.data for row in rows), *numbers)
        failure = self._own.Failure()
        self._sources.judge(self._own.gm_cut(self._order, spec, cuts.ctypes.data, failure), failure)
        return cuts

    def at(self, targets: Row, low: Row | None = None, high: Row | None = None) -> NDArray[np.int64]:
        """One cut for each target, as near to it as the edges of items allow, between two cuts if they are given."""
        low, high = np.zeros_like(self.sizes) if low is None else low, self.sizes if high is None else high
        # A cut may miss its target by a part of the way to the next target. So each target is there twice.
        return self.between(low, high, np.repeat(targets, 2))[::2]

    def bounds(self, item: bytes) -> tuple[Row, Row]:
        """The places of an item in each source: (ahead of all items that equal it, behind all of them).

        item: the native bytes of a key, a record, or a line without its terminator. Raises InputError, MemoryError.
        """
        kept = np.frombuffer(item or b"\0", np.uint8)
        spec = self._own.BoundSpec(self._sources.specs, kept.ctypes.data, len(self.sizes), len(item))
        ahead, behind = np.empty_like(self.sizes), np.empty_like(self.sizes)
        failure = self._own.Failure()
        status = self._own.gm_bounds(self._order, spec, ahead.ctypes.data, behind.ctypes.data, failure)
        self._sources.judge(status, failure)
        return ahead, behind

    def is_cut(self, positions: Sequence[int]) -> bool:
        """True if the bytes ahead of `positions`, which must be in order, are the first ones of the merge.

        A plan's cuts may fail this if sources are out of order. Raises InputError, MemoryError.
        """
        row = np.array(positions, np.int64)
        failure = self._own.Failure()
        status = self._own.gm_is_cut(self._order, self._sources.specs, row.ctypes.data, len(row), failure)
        if status != self._own.DISORDER:
            self._sources.judge(status, failure)
        return bool(status == self._own.DONE)
