"""Warnings about lines that will surprise: they are told on standard error, and change nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from gpumerge_cli.buffers import room
from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, doubt_of
from gpumerge_cli.formats.format import Content
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order import Order
from gpumerge_cli.order.rules import Comparison, LineOrder

_LONG_LOOK = 1 << 16
_SHOWN = 40
_DIGITS = rb"\s*-?\.?[0-9]"
_NUMBERS: dict[Comparison, bytes] = {
    "numeric": _DIGITS,
    "human": _DIGITS,
    "general": rb"(?i)\s*[+-]?(\.?[0-9]|inf|nan)",
    "month": rb"(?i)\s*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
}
"""The beginnings of keys that are numbers or months. All other keys of the same comparison are equal."""


def warn(sources: Sequence[Source], order: Order, content: Content, others: LineOrder | None = None) -> None:
    """Warn on standard error of lines that may not mean what they seem to: one line for each kind of trouble.

    Commands that are as silent as GNU sort warn only on a terminal. others: see Items.lines_of_others.
    """
    if content.plain and (sys.stderr is None or not sys.stderr.isatty()):
        return
    order_of_others = order if others is None else _by_keys_of(others, order)
    told: dict[str, list[str]] = {}
    for number, source in enumerate(sources):
        if isinstance(source, LineSource):
            its, plain = order_of_others if number else order, content.plain and not content.csv
            start = source.file.read(0, LOOKED_AT)
            doubt = doubt_of(start, its, content.header_lines, plain=plain)
            doubt = doubt or doubt_of_keys(source, start.removeprefix(source.mark), its)
            if doubt:
                told.setdefault(doubt, []).append(source.name)
    doubt = "" if others is not None else doubt_of_header(sources, order)
    if doubt:
        told.setdefault(doubt, []).extend(source.name for source in sources if source.size)
    for doubt, names in told.items():
        from logging import getLogger

        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        getLogger("gpumerge").warning("gpumerge: %s%s: warning: %s", names[0], more, doubt)


def doubt_of_keys(source: LineSource, start: bytes, order: Order) -> str:
    """A warning if lines at a file's start, middle and end have no key, or none with a number where one is asked for.

    They all compare equal then. "" if some line has such a key. start: the beginning of the file.
    """
    text = order.text
    if text is None or not text.keys:
        return ""
    from gpumerge_cli.backends.cpu.comparison import key_bounds  # only here: the library is not loaded without need

    bounds = partial(key_bounds, order)
    count, filled = 0, False
    for line in _samples(source, start, order.end):
        count += 1
        for number, key in enumerate(text.keys):
            begin, end = bounds(number, line)
            pattern = _NUMBERS.get(key.compare)
            if begin < end and (pattern is None or re.match(pattern, line[begin:end])):
                return ""
            filled |= begin < end
    if count < 2 or (filled and not text.stable):  # one line may well have an empty key
        return ""
    word = order.item_word
    if not filled:
        return f"its first {word}s have an empty key, and so compare equal; check -t and the number of the field"
    what = "month" if all(key.compare == "month" for key in text.keys) else "number"
    return f"its first {word}s have no {what} in their keys, and so compare equal; check the type and place of the key"


def doubt_of_header(sources: Sequence[Source], order: Order) -> str:
    """A warning if all files begin with one line whose key holds no number, while the keys of the lines behind it do.

    "" if a header is known, or if quotes enclose ends of lines: without --csv, --header would not help then.
    """
    keys = order.text.keys if order.text is not None else ()
    asked = next((number for number, key in enumerate(keys) if key.compare in _NUMBERS), None)
    if asked is None:
        return ""
    first, more = b"", False
    for source in sources:
        if not isinstance(source, LineSource) or source.header_asked:
            return ""
        if not source.size:
            continue
        head, *lines = _first_and_samples(source, order.end)
        head = head.rstrip(b"\r")
        if not head.strip() or head != (first or head) or _is_number(order, asked, head):
            return ""
        torn = order.item_word == "line" and any(line.count(b'"') % 2 for line in lines)
        if torn or not all(_is_number(order, asked, line) for line in lines):
            return ""
        first, more = head, more or bool(lines)
    if not more:
        return ""
    what = "month" if keys[asked].compare == "month" else "number"
    key, word = order.key_of(first), order.item_word
    shown = order.quoted(key[:_SHOWN]) + "..." * (len(key) > _SHOWN)
    told = f"{word} 1, {shown}, has no {what} in its key, but the {word}s after it do"
    return f"{told}; if it is a header, add --header 1"


def _first_and_samples(source: LineSource, end: bytes) -> list[bytes]:
    """The first line of a source, and others; an empty one if the first is too long."""
    start = source.file.read(0, LOOKED_AT)
    if start.count(end) < 2:
        start = source.file.read(0, _LONG_LOOK)
    start = start.removeprefix(source.mark)
    return list(_samples(source, start, end)) or [b""]


def _is_number(order: Order, number: int, line: bytes) -> bool:
    """Whether the key `number` of a line begins as its comparison asks for."""
    from gpumerge_cli.backends.cpu.comparison import key_bounds  # only here: the library is not loaded without need

    assert order.text is not None
    begin, end = key_bounds(order, number, line)
    return re.match(_NUMBERS[order.text.keys[number].compare], line[begin:end]) is not None


def _by_keys_of(others: LineOrder, order: Order) -> Order:
    """The order by the keys of `others`, of lines as `order` has them."""
    return order if order.text is None else Order.lines(replace(order.text, keys=others.keys))


def _samples(source: LineSource, start: bytes, end: bytes) -> Iterator[bytes]:
    """Whole lines from a source's start, then from its middle and its end."""
    yield from start.split(end)[source.header_asked : -1]
    for place in (source.size // 2, source.size - LOOKED_AT):
        if place > LOOKED_AT:
            look = room(min(LOOKED_AT, source.size - place))
            source.read_into(place, look)
            yield from look.tobytes().split(end)[1:-1]
