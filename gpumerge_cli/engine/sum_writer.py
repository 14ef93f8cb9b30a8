"""The writer of items whose columns are summed over groups of equals, whatever chunks a group spans.

A chunk comes with all its items, and says for each whether it equals the one ahead of it. Threads sum the groups that
begin in their chunks. The first items of a chunk may belong to a group that began ahead of it: they are added once all
chunks ahead have been. So a group may be larger than the memory, and floats are added in the order of the merge.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.parts import by_lines
from gpumerge_cli.engine.task import Position
from gpumerge_cli.engine.writers import Merged, SinkWriter
from gpumerge_cli.errors import InputError
from gpumerge_cli.extents import Target
from gpumerge_cli.formats.base import Sink
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import CountingWorker
from gpumerge_cli.native.sums import SumFault, Sums, SumSpec
from gpumerge_cli.order.sums import SumRules

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.sink import RowPiece, RowSink
    from gpumerge_cli.formats.tables.summed import RowGroups

_FLAG_BYTES = 8


class InvalidSumError(InputError):
    """A column of some item has no number, or its sum is too large. Only a scan of the files can say where.

    fault: what was found. item: the item, or the record of a group whose sum does not fit; b"" for none.
    """

    def __init__(self, fault: SumFault, item: bytes) -> None:
        super().__init__("a column has no sum")
        self.fault = fault
        self.item = item

    def __reduce__(self) -> tuple[object, ...]:
        return InvalidSumError, (self.fault, self.item)


@dataclass(frozen=True)
class _Head:
    """The items at the beginning of a chunk that belong to a group which began ahead of it."""

    items: Bytes
    flags: Bytes
    count: int


class SumSink(Protocol):
    """The part of a Sink that takes items with sums."""

    seekable: bool
    exact: bool

    def encode(self, data: Bytes) -> Bytes:
        """See Sink."""

    def write_at(self, start: int, data: Bytes) -> None:
        """See Sink."""


class SumWriter(SinkWriter):
    """Writes items with sums to a sink. See ResultWriter."""

    targets: Sequence[Target] = ()

    def __init__(self, sinks: Sequence[SumSink], rules: SumRules) -> None:
        super().__init__(cast("Sequence[Sink]", sinks), planned=False)
        self._rules = rules
        self._spec = SumSpec(rules)
        self._open = Sums(self._spec)  # holds the group that is not over

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        flags = cast(CountingWorker, merged).equals()  # no others note groups
        left, written, groups = merged.merged_bytes, 0, 0
        for piece in self._pieces(merged):
            left -= len(piece)
            count = len(flags) // _FLAG_BYTES if not left else self._count(piece)
            head = self._spec.head(piece, flags, count)
            ahead = _Head(piece[: head.nbytes], flags, head.items)
            started = time.perf_counter()
            sums = Sums(self._spec)
            if count > head.items:
                rest = flags[_FLAG_BYTES * head.items :]
                self._add(sums, piece[head.nbytes :], rest, count - head.items)
            merged.spans.append(Span("sum", time.perf_counter() - started, len(piece)))
            more = self._follow(turn, position, ahead, sums, merged, ends=count > head.items, last=last and not left)
            if more is None:
                return None
            written += more
            groups += head.groups
            flags = flags[_FLAG_BYTES * count :]
        cast(Any, merged).dropped = sum(merged.counts) - groups
        return written

    def end(self) -> int:
        """Write the item of the last group, once all chunks are written; the bytes written."""
        self._end_group()
        data = self._sinks[0].encode(self._open.taken())
        if len(data):
            self._sinks[0].write_at(self._ends[0], data)
        self._open.close()
        return len(data)

    def _follow(
        self, turn: int, position: Position, head: _Head, sums: Sums, merged: Merged, *, ends: bool, last: bool
    ) -> int | None:
        """Write a piece behind all that lie ahead of it; the bytes written, None if it is over.

        head: its items that belong to the group that is not over. ends: whether this group ends in the piece. sums: of
        the other items.
        """
        sink = self._sinks[position.part]
        body = sink.encode(sums.taken()) if ends else b""
        with self._changed:
            self._changed.wait_for(lambda: self.is_over(turn) or self._turn == turn)
        if self.is_over(turn):
            sums.close()
            return None
        # No other thread comes here until the turn ends.
        self._add(self._open, head.items, head.flags, head.count)
        data = []
        if ends:
            self._end_group()
            data = [part for part in (sink.encode(self._open.taken()), body) if len(part)]
            self._open, sums = sums, self._open
        started, nbytes = time.perf_counter(), sum(map(len, data))
        for part in data:
            sink.write_at(self._ends[position.part], part)
            self._ends[position.part] += len(part)
        merged.spans.append(Span("write", time.perf_counter() - started, nbytes))
        sums.close()
        if last:
            with self._changed:
                self._next()
        return nbytes

    def _end_group(self) -> None:
        try:
            self._open.end()
        except SumFault as fault:
            raise InvalidSumError(fault, self._last_record(self._open)) from None

    def _add(self, sums: Sums, items: Bytes, flags: Bytes, count: int) -> None:
        try:
            sums.add(items, flags, count)
        except SumFault as fault:
            if fault.position < 0:
                raise InvalidSumError(fault, self._last_record(sums)) from None
            stop = bytes(items).find(self._rules.end, fault.position)
            raise InvalidSumError(fault, bytes(items[fault.position : stop])) from None

    def _last_record(self, sums: Sums) -> bytes:
        """The record that stands for a group whose sum does not fit; b"" for lines."""
        return bytes(sums.taken())[-self._rules.record :] if self._rules.record else b""

    def _pieces(self, merged: Merged) -> Iterator[Bytes]:
        """Whole items, by parts."""
        parts = merged.outputs()
        if isinstance(parts, list):  # the whole result
            return iter(parts)
        if self._rules.record:
            return iter([memoryview(b"".join(map(bytes, parts)))])
        return by_lines(parts, self._rules.end)

    def _count(self, piece: Bytes) -> int:
        return len(piece) // self._rules.record if self._rules.record else bytes(piece).count(self._rules.end)


class SummedRowWriter(SinkWriter):
    """Writes rows whose columns are summed as they are found. See ResultWriter, and SumWriter for chunks."""

    targets: Sequence[Target] = ()

    def __init__(self, sinks: Sequence[Sink]) -> None:
        super().__init__(sinks, planned=False)
        self._open: RowGroups | None = None  # the group that is not over
        self._sink = cast("RowSink", sinks[0])

    def put(self, turn: int, position: Position, merged: Merged, *, last: bool) -> int | None:
        parts = merged.outputs()
        items = parts[0] if isinstance(parts, list) else memoryview(b"".join(map(bytes, parts)))
        started = time.perf_counter()
        groups = self._sink.grouped(items, cast(CountingWorker, merged).equals())
        merged.spans.append(Span("sum", time.perf_counter() - started, len(items)))
        data = [self._sink.encode_groups(groups.ended(), len(items))] if len(groups) > 1 else []
        with self._changed:
            self._changed.wait_for(lambda: self.is_over(turn) or self._turn == turn)
        if self.is_over(turn):
            return None
        # No other thread comes here until the turn ends.
        assert self._open is not None or not len(groups.head), "a group begins in the first chunk that has a row of it"
        if self._open is not None:
            self._open.go_on(groups.head)
        if len(groups):
            if self._open is not None:
                data.insert(0, self._sink.encode_groups(self._open.all(), 0))
            self._open = groups.last()
        started = time.perf_counter()
        written = sum(map(self._write, data))
        merged.spans.append(Span("write", time.perf_counter() - started, written))
        if last:
            with self._changed:
                self._next()
        cast(Any, merged).dropped = sum(merged.counts) - len(groups)
        return written

    def end(self) -> int:
        """See SumWriter."""
        return 0 if self._open is None else self._write(self._sink.encode_groups(self._open.all(), 0))

    def _write(self, data: RowPiece) -> int:
        self._sink.write_at(self._ends[0], data)
        self._ends[0] += len(data)
        return len(data)
