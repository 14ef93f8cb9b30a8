"""Lines that begin with counts, as `uniq -c` writes them: blanks, a number, one blank, and the text that is compared.

A line becomes an item: the text, a newline, the number, and a byte that no file holds. Keys lie ahead of the newline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.format import PreparedSources, Written
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.record_ends import absent_byte
from gpumerge_cli.native.counted_lines import NoCountError, counted_text, items_of_lines
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, Spelling
from gpumerge_cli.units import quoted_value

_BLOCK = 1 << 20
_SHOWN = 40


def counted_sources(
    sources: Sequence[LineSource], items: Items, progress: Callable[[int, float], None]
) -> PreparedSources:
    """The items of such lines in place of the sources, which are closed. Raises InputError for a line without a count.

    progress: called with (number of the source, share of it gone through), again and again.
    """
    order = items.line_order
    way_out = "leave --counted out, or clean it"
    files = [source.file for source in sources]
    end = absent_byte(files, order.separator or b"", way_out, "to end the copy of a line behind its count")
    copied = [_copied(source, end, partial(progress, number)) for number, source in enumerate(sources)]
    spelling = Spelling("lines with counts", option="--counted", has_counts=True, requested=order)
    keys = order.keys or (LineKey(reverse=order.reverse),)
    made = replace(order, keys=keys, stable=True, terminator=end, first_line=True, spelling=spelling)
    return PreparedSources(tuple(copied), Order.lines(made), Written(partial(_shown, end=end)))


def _shown(items: bytes, *, end: int) -> bytes:
    return bytes(counted_text(items, end))


def _copied(source: LineSource, end: int, progress: Callable[[float], None]) -> LineSource:
    file, head = source.file, source.header or source.mark

    def write(out: IO[bytes]) -> None:
        out.write(head.replace(b"\n", bytes([end]))[: file.size])
        done = 0
        for lines in _blocks(source):
            try:
                out.write(items_of_lines(lines, end))
            except NoCountError as found:
                raise _error(source, done, found.position) from None
            done += len(lines)
            progress(done / file.size)

    copy = source.copied(write, end)
    copy.origin = source.held
    return copy


def _error(source: LineSource, done: int, position: int) -> InputError:
    line = source.item_at(done + position)
    shown = quoted_value(line[:_SHOWN].decode(errors="backslashreplace"))
    return InputError(
        f"--counted: {shown} does not begin with a count and a blank",
        where=source.location(done + position),
        way_out="count its lines first, with uniq -c or gpumerge merge --count",
    )


def _blocks(source: LineSource) -> Iterator[bytes]:
    """Whole lines, many at a time."""
    start = 0
    while start < source.size:
        stop = min(source.size, max(source.item_end(start), source.item_start(min(source.size, start + _BLOCK))))
        data = bytearray(stop - start)
        source.read_into(start, data)
        yield bytes(data)
        start = stop
