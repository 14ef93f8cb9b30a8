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

_DIGITS = rb"\s*-?\.?[0-9]"
_NUMBERS: dict[Comparison, bytes] = {
    "numeric": _DIGITS,
    "human": _DIGITS,
    "general": rb"(?i)\s*[+-]?(\.?[0-9]|inf|nan)",
    "month": rb"(?i)\s*(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
}
"""The beginnings of keys that are numbers or months. All other keys of the same comparison are equal."""


def warn(sources: Sequence[Source], order: Order, content: Content, others: LineOrder | None = None) -> None:
    """Say on standard error what of the lines will surprise: one line for each kind of trouble.

    Commands that are as silent as GNU sort warn only on a terminal. others: see ItemRequest.lines_of_others.
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
