"""Cuts of merges. The library makes them on the sources themselves."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Sequence

from gpumerge_cli.buffers import address_of
from gpumerge_cli.native.calls import Readable
from gpumerge_cli.native.library import library
from gpumerge_cli.native.sources import Sources
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.kinds import Order

Cut = tuple[int, ...]
"""A position in each source."""


class Cuts:
    """Makes cuts of the merge of sources. groups: no cut lies between items that compare equal. tables: see Sources."""

    def __init__(
        self,
        sources: Sequence[Readable],
        order: Order,
        *,
        groups: bool = False,
        tables: Sequence[array[int]] = (),
    ) -> None:
        self._library = library()
        self._groups = groups
        self._sources = Sources(sources, tables)
        self._order = order_spec(order)
        self.sizes: Cut = tuple(source.size for source in sources)

    def between(self, low: Iterable[int], high: Iterable[int], targets: Sequence[int]) -> array[int]:
        """The positions of a cut for each target, ascending, cut after cut.

        low, high: two cuts; the new ones lie between them. targets: about so many bytes of all sources lie ahead of a
        cut. A cut is exact under (key, source, position). Raises InputError, MemoryError.
        """
        inputs, count = len(self.sizes), len(targets)
        rows = [array("q", row) for row in (low, high, targets)]
        cuts = array("q", bytes(8 * inputs * count))
        numbers = (inputs, count, len(os.sched_getaffinity(0)), self._groups)
        spec = self._library.CutSpec(self._sources.specs, *(row.buffer_info()[0] for row in rows), *numbers)
        failure = self._library.Failure()
        self._sources.check_status(self._library.gm_cut(self._order, spec, cuts.buffer_info()[0], failure), failure)
        return cuts

    def at(
        self, targets: Sequence[int], low: Iterable[int] | None = None, high: Iterable[int] | None = None
    ) -> array[int]:
        """The same, each as near to its target as the edges of items allow.

        low, high: by default all zeros and the sizes.
        """
        low, high = (0,) * len(self.sizes) if low is None else low, self.sizes if high is None else high
        inputs, wanted = len(self.sizes), array("q", targets)
        # A cut may miss its target by a part of the way to the next target. So each target is there twice.
        twice = array("q", bytes(16 * len(wanted)))
        twice[::2] = twice[1::2] = wanted
        found = self.between(low, high, twice)
        cuts = array("q", bytes(8 * inputs * len(wanted)))
        for number in range(inputs):
            cuts[number::inputs] = found[number :: 2 * inputs]
        return cuts

    def bounds(self, item: bytes) -> tuple[Cut, Cut]:
        """The places of an item in each source: (ahead of all items that equal it, behind all of them).

        item: the native bytes of a key, a record, or a line without its terminator. Raises InputError, MemoryError.
        """
        kept = item or b"\0"
        spec = self._library.BoundSpec(self._sources.specs, address_of(kept), len(self.sizes), len(item))
        ahead, behind = array("q", self.sizes), array("q", self.sizes)
        failure = self._library.Failure()
        status = self._library.gm_bounds(self._order, spec, ahead.buffer_info()[0], behind.buffer_info()[0], failure)
        self._sources.check_status(status, failure)
        return tuple(ahead), tuple(behind)

    def is_cut(self, positions: Sequence[int]) -> bool:
        """True if the bytes ahead of `positions`, which must be in order, are the first ones of the merge.

        A plan's cuts may fail this if sources are out of order. Raises InputError, MemoryError.
        """
        row = array("q", positions)
        failure = self._library.Failure()
        status = self._library.gm_is_cut(self._order, self._sources.specs, row.buffer_info()[0], len(row), failure)
        if status != self._library.DISORDER:
            self._sources.check_status(status, failure)
        return bool(status == self._library.DONE)
