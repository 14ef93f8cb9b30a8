"""Records of several lines: a line that begins none belongs to the record before it.

A record becomes one item: a byte that no file holds stands in place of the newline behind it. Keys lie in its first
line. Lines ahead of the first record of a file are a record of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.record_ends import absent_byte
from gpumerge_cli.native.record_starts import RecordStarts
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder, Spelling
from gpumerge_cli.order.times import ONE_YEAR, with_years
from gpumerge_cli.shell_words import quoted

_TIME = "time"
_BLOCK = 1 << 20
_COUNTED = 1 << 18
_LEAP_YEAR = 2000


class RecordSource(LineSource):
    """The records of a file. Places are told by lines."""

    def location(self, start: int) -> str:
        lines = sum(self._bytes(at, min(at + _COUNTED, start)).count(b"\n") for at in range(0, start, _COUNTED))
        return f"{self.name}:{self.header_count + lines + self._items_before(start) + 1}"


def pattern_of(record_start: str) -> bytes | None:
    """The regular expression that lines which begin records match; None if they are those that have a time."""
    return None if record_start == _TIME else record_start.encode("utf-8", "surrogateescape")


def records_of_lines(
    sources: Sequence[LineSource], items: Items, newline: bytes, progress: Callable[[int, float], None]
) -> tuple[list[LineSource], LineOrder, Callable[[bytes], bytes]]:
    """The sources of records in place of those of lines, which are closed; their order; and what makes lines of them.

    newline: what lines end in then. progress: called with (number of the source, share of it gone through), again and
    again. Raises InputError for a file that has no record.
    """
    order = items.line_order
    way_out = "leave --record-start out, or clean it"
    end = absent_byte([source.file for source in sources], order.separator or b"", way_out)
    starts = RecordStarts(pattern_of(items.record_start), Order.lines(LineOrder((_time_key(order),))))
    try:
        records = [_copied(source, starts, end, partial(progress, number)) for number, source in enumerate(sources)]
    finally:
        starts.close()
    option = f"--record-start {quoted(items.record_start)}"
    spelling = Spelling("records of lines", option=option, requested=order)  # places are those of lines
    made = replace(order, terminator=end, first_line=True, spelling=spelling)
    return records, made, partial(with_newlines, end=bytes([end]), newline=newline)


def with_newlines(lines: bytes, *, end: bytes, newline: bytes) -> bytes:
    """The lines of records that end in the byte `end`, all of them with these newlines."""
    text = lines.replace(end, b"\n")
    return text if newline == b"\n" else text.replace(b"\n", newline)


def _time_key(order: LineOrder) -> LineKey:
    """The key that finds a time in a line: in the format of the order's own times, in whatever year."""
    own = next((key.parameters for key in order.keys if key.kind.timed), b"")
    return LineKey("log_time", parameters=with_years(own, ONE_YEAR, _LEAP_YEAR))


def _copied(source: LineSource, starts: RecordStarts, end: int, progress: Callable[[float], None]) -> LineSource:
    file, head = source.file, source.header or source.mark

    def write(out: IO[bytes]) -> None:
        out.write(head.replace(b"\n", bytes([end]))[: file.size])
        newline, found = b"", False
        for lines in _blocks(file, len(head)):
            begins, some = starts.mark(lines, end)
            out.write(bytes([end]) if begins and newline else newline)
            out.write(lines)
            newline, found = b"\n", found or some
            progress(len(lines) / file.size)
        if newline and not found:
            what = "no line of it begins a record"
            raise InputError(what, where=source.name, way_out="check --record-start")
        if newline and file.read(file.size - 1, 1) == b"\n":
            out.write(bytes([end]))

    copy = source.copied(write, end, RecordSource)
    if copy.returns is not None:
        copy.returns.ends += bytes([end])
    return copy


def _blocks(file: SeekableInput, start: int) -> Iterator[bytearray]:
    """The lines from byte `start` on, many at a time, without the newline behind the last one."""
    held: list[bytes] = []
    for at in range(start, file.size, _BLOCK):
        data = file.read_exactly(at, min(_BLOCK, file.size - at))
        stop = data.rfind(b"\n")
        if stop >= 0:
            yield bytearray().join((*held, data[:stop]))
            held = []
        held.append(data[stop + 1 :])
    rest = bytearray().join(held)
    if rest:
        yield rest
