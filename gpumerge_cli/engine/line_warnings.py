"""Warnings about lines that may surprise. They go to standard error, and change nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import partial

from gpumerge_cli.buffers import allocate
from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, doubt_of
from gpumerge_cli.formats.format import Format
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import torn_way_out
from gpumerge_cli.formats.likely_header import is_header
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder

_LONG_SAMPLE = 1 << 16
_SHOWN = 40
_EXPONENT = rb"\s*-?[0-9]*\.?[0-9]+[eE][+-][0-9]+"
_END_OF_EXPONENT = rb"[0-9][eE][+-][0-9]"


def warn_about_lines(sources: Sequence[Source], order: Order, items: Items, format: Format) -> None:
    """Warn on standard error of lines that may not mean what they seem to: one line for each kind of trouble.

    Commands that are as silent as GNU sort warn only on a terminal.
    """
    others = items.lines_of_others
    if items.plain and (sys.stderr is None or not sys.stderr.isatty()):
        return
    orders = [order if others is None or not at else _by_keys_of(others, order) for at in range(len(sources))]
    found: dict[str, list[str]] = {}
    for source, its in zip(sources, orders, strict=True):
        if isinstance(source, LineSource) and source.doubted:
            start = source.file.read(0, LOOKED_AT)
            warning = doubt_of(start, its, source.header_count, plain=not source.marked)
            start = start.removeprefix(source.mark)
            warning = warning or key_warning(source, start, its) or exponent_warning(source, start, its)
            if not warning and its.text is not None:
                warning = format.key_warning(next(_samples(source, start, its.end), b""), its.text)
            if warning:
                found.setdefault(warning, []).append(source.name)
    warning = header_warning(sources, orders, joined=others is not None)
    if warning:
        found.setdefault(warning, []).extend(source.name for source in sources if source.size)
    for warning, names in found.items():
        from logging import getLogger

        more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
        getLogger("gpumerge").warning("gpumerge: %s%s: warning: %s", names[0], more, warning)


def key_warning(source: LineSource, start: bytes, order: Order) -> str:
    """A warning if lines at a file's start, middle and end have no key, or none with a number where the key needs one.

    They all compare equal then. "" if some line has such a key. start: the beginning of the file.
    """
    text = order.text
    if text is None or not text.keys:
        return ""
    from gpumerge_cli.native.comparison import key_bounds  # only here: the library is not loaded without need

    bounds = partial(key_bounds, order)
    count, filled = 0, False
    for line in _samples(source, start, order.end):
        count += 1
        for number, key in enumerate(text.keys):
            begin, end = bounds(number, line)
            pattern = key.kind.begins
            if begin < end and (pattern is None or re.match(pattern, line[begin:end])):
                return ""
            filled |= begin < end
    if count < 2 or (filled and not text.stable):  # one line may well have an empty key
        return ""
    word = order.item_word
    if not filled:
        return f"its first {word}s have an empty key, and so compare equal; check -t and the number of the field"
    nouns = {key.kind.noun for key in text.keys}
    what = nouns.pop() if len(nouns) == 1 else "number"
    return f"its first {word}s have no {what} in their keys, and so compare equal; check the type and place of the key"


def exponent_warning(source: LineSource, start: bytes, order: Order) -> str:
    """A warning if keys that compare as plain numbers have exponents, which do not count then; "" for others.

    start: the beginning of the file.
    """
    numeric = [at for at, key in enumerate(order.text.keys if order.text else ()) if key.compare == "numeric"]
    if not numeric:
        return ""
    from gpumerge_cli.native.comparison import key_bounds  # only here: the library is not loaded without need

    lines = list(_samples(source, start, order.end))
    if not re.search(_END_OF_EXPONENT, order.end.join(lines)):  # few files go on to their keys, which take longer
        return ""
    for line in lines:
        for number in numeric:
            begin, end = key_bounds(order, number, line)
            if re.match(_EXPONENT, line[begin:end]):
                return "its keys have exponents, as 1e-05 has, which n does not read; compare by g in place of n"
    return ""


def header_warning(sources: Sequence[Source], orders: Sequence[Order], *, joined: bool = False) -> str:
    """A warning if all files begin with a line that is like a header, and no option says so.

    The key of such a line holds no number where the keys of the lines behind it do; without a key that is a number, it
    is one line of several files, and like a header of them all: see is_header. orders: one for each source. joined: the
    header of each file is its own. "" too if lines are pieces of items of another format: --header would not help then.
    """
    if not sources or any(not isinstance(source, LineSource) or source.header_known for source in sources):
        return ""
    order = orders[0]
    keys = order.text.keys if order.text is not None else ()
    numeric = next((number for number, key in enumerate(keys) if key.kind.begins is not None), None)
    if numeric is None and joined:  # two headers go out as one
        return ""
    heads: list[bytes] = []
    more = False
    for source, its in zip(sources, orders, strict=True):
        if not source.size or not isinstance(source, LineSource):
            continue
        head, *lines = _first_lines(source, its.end) if numeric is None else _first_and_samples(source, its.end)
        head = head.rstrip(b"\r")
        if not head.strip() or (its.plain_lines and torn_way_out(lines)):
            return ""
        if numeric is None:
            if head != (heads or [head])[0] or not is_header([head, *lines]):
                return ""
        elif _is_number(its, numeric, head) or not all(_is_number(its, numeric, line) for line in lines):
            return ""
        heads.append(head)
        more |= bool(lines)
    if not more or (numeric is None and len(heads) < 2):
        return ""
    key, word = order.key_of(heads[0]), order.item_word
    shown = f"{word} 1, {order.quoted(key[:_SHOWN])}{'...' * (len(key) > _SHOWN)}"
    option = "--header" if joined else "--header 1"
    if numeric is None:
        return (
            f"{shown}, is like a header of the {word}s after it, and counts as one of them; if it is one, add {option}"
        )
    what = keys[numeric].kind.noun
    return f"{shown}, has no {what} in its key, but the {word}s after it do; if it is a header, add {option}"


def _first_lines(source: LineSource, end: bytes) -> list[bytes]:
    """The first line of a source and the lines behind it, as far as a sample goes; [b""] if it does not end there."""
    return source.file.read(0, LOOKED_AT).removeprefix(source.mark).split(end)[:-1] or [b""]


def _first_and_samples(source: LineSource, end: bytes) -> list[bytes]:
    """The first line of a source, and others; an empty one if the first is too long."""
    start = source.file.read(0, LOOKED_AT)
    if start.count(end) < 2:
        start = source.file.read(0, _LONG_SAMPLE)
    start = start.removeprefix(source.mark)
    return list(_samples(source, start, end)) or [b""]


def _is_number(order: Order, number: int, line: bytes) -> bool:
    """Whether the key `number` of a line begins as its comparison asks for."""
    from gpumerge_cli.native.comparison import key_bounds  # only here: the library is not loaded without need

    assert order.text is not None
    begin, end = key_bounds(order, number, line)
    return is_number_like(order.text.keys[number], line[begin:end])


def is_number_like(key: LineKey, text: bytes) -> bool:
    """Whether the text of a key begins as its kind asks for, be it of numbers or of months."""
    return key.kind.begins is None or re.match(key.kind.begins, text) is not None


def _by_keys_of(others: LineOrder, order: Order) -> Order:
    """The order by the keys of `others`, of lines as `order` has them."""
    return order if order.text is None else Order.lines(replace(order.text, keys=others.keys))


def _samples(source: LineSource, start: bytes, end: bytes) -> Iterator[bytes]:
    """Whole lines from a source's start, then from its middle and its end."""
    yield from start.split(end)[source.header_count : -1]
    for position in (source.size // 2, source.size - LOOKED_AT):
        if position > LOOKED_AT:
            sample = allocate(min(LOOKED_AT, source.size - position))
            source.read_into(position, sample)
            yield from sample.tobytes().split(end)[1:-1]
