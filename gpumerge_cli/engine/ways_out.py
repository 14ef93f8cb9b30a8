"""Ways out of disorder: they are proposed only if stretches of all inputs show that they hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from gpumerge_cli.backends.cpu.comparison import Comparison, key_bounds
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, wide_encoding
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Meant

_STRETCH = 1 << 16
_TIME = re.compile(
    rb"[0-9]{1,4}[-/.][0-9A-Za-z]{1,3}[-/.][0-9]{2,4}(?![0-9.])|[0-9]:[0-9]{2}|[0-9]{8}T?[0-9]{4}|(?<![0-9])1[0-9]{9}(?![0-9])"
    rb"|(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]* +[0-9]"
)
"""Dates and times, in any place of a line."""
_FRACTION = re.compile(rb"(?<![0-9.])[0-9]+[.,][0-9]+(?![0-9.])")
_WHOLE = re.compile(rb"\s*-?[0-9]+(?![0-9.,A-Za-z])")
_ENOUGH = 8
"""Different lines that show an order. Fewer must begin with whole numbers."""
_DELIMITERS = ((".csv", b",", ""), (".csv", b";", " -t ';'"), (".tsv", b"\t", r" -t '\t'"))
"""Suffixes of tables, what separates their fields, and the option that says so."""


def order_way(
    sources: Sequence[Source],
    order: Order,
    by: int | None,
    first_in: Callable[[Order], int | None],
    others: Sequence[Meant],
) -> str:
    """The proposal of one of `others`, if the first source and stretches of all are in it; "" if there is none.

    by: the number of the key that told the items apart, None if no key did. first_in: see disorder_error.
    """
    samples = [_sample(source, order) for source in sources]

    def first(proposed: Sequence[Meant]) -> str:
        for other in proposed:
            if first_in(other.order) is None and all(_in_order(stretches, other.order) for stretches in samples):
                return other.told
        return ""

    found = first([other for other in others if other.leaves_ties])
    return found or ("" if _tells_nothing(order, by, samples) else first([o for o in others if not o.leaves_ties]))


def _tells_nothing(order: Order, by: int | None, samples: Sequence[Sequence[Sequence[bytes]]]) -> bool:
    """Whether an order that the sampled lines are in may be so by chance."""
    if not order.item_word:
        return False
    lines = {_part(order, by, line) for stretches in samples for stretch in stretches for line in stretch}
    if any(map(_TIME.search, lines)) or any(_is_header(stretches[0]) for stretches in samples if stretches):
        return True
    few = len(lines) < _ENOUGH or any(map(_FRACTION.search, lines))
    return few and not all(map(_WHOLE.match, lines))


def _part(order: Order, by: int | None, line: bytes) -> bytes:
    """The part of a line that decides: its key number `by`, or all of it."""
    part = None if by is None else order.part(by, line, partial(key_bounds, order))
    return line if part is None else part


def _in_order(stretches: Sequence[Sequence[bytes]], order: Order) -> bool:
    compare = Comparison(order)
    return all(compare(a, b) <= 0 for lines in stretches for a, b in pairwise(lines))


def _sample(source: Source, order: Order) -> list[list[bytes]]:
    """Whole items from the first, the middle and the last stretch of a source."""
    starts = sorted({0, max(0, source.size // 2 - _STRETCH // 2), max(0, source.size - _STRETCH)})
    return [_items(source, source.item_start(start), order) for start in starts]


def _items(source: Source, start: int, order: Order) -> list[bytes]:
    """Whole items from `start` on. They are read at once, since a read of a store is a request."""
    look = np.empty(min(_STRETCH, source.size - start), np.uint8)
    source.read_into(start, look)
    data, size = look.tobytes(), order.item_bytes
    if order.end:
        return data.split(order.end)[:-1]
    return [data[at : at + size] for at in range(0, len(data) - size + 1, size)]


def _is_header(lines: Sequence[bytes]) -> bool:
    return len(lines) > 1 and not has_digit(lines[0]) and all(map(has_digit, lines[1:20]))


def has_digit(line: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in line)


def encoding_way(source: Source) -> str:
    """The conversion of a text whose characters have several bytes each; "" for others."""
    wide = wide_encoding(source.file.read(0, LOOKED_AT)) if isinstance(source, LineSource) else ""
    return f"it looks like {wide}: convert it first, for example with iconv -f {wide} -t UTF-8" if wide else ""


def mark_way(source: Source) -> str:
    """The way to sort a text whose byte order mark would move with its first line; "" for others."""
    marked = isinstance(source, LineSource) and source.mark
    return "remove its byte order mark, as tail -c +4 does, then sort it" if marked else ""


def table_way(sources: Sequence[Source], order: Order) -> str:
    """The option that names the key of tables with one header in common; "" for others, or if a header is known."""
    if order.item_word != "line" or order.by_key() or any(_has_header(source) for source in sources):
        return ""
    firsts = {source.item_at(0).rstrip(b"\r") for source in sources if source.size}
    if len(firsts) != 1 or not all(_is_header(_sample(source, order)[0]) for source in sources if source.size):
        return ""
    (first,) = firsts
    names_of_files = [source.name.lower() for source in sources]
    kinds = (row for row in _DELIMITERS if row[1] in first and all(name.endswith(row[0]) for name in names_of_files))
    _, delimiter, option = next(kinds, ("", b"", ""))
    if not delimiter:
        return ""
    names = first.split(delimiter)
    if not all(re.fullmatch(rb"[A-Za-z_][A-Za-z0-9_]*", name) for name in names) or len(set(names)) != len(names):
        return ""
    name = names[0].decode()
    for field in (f"{name}:n", name):
        if _sorted_by_first(sources, order, delimiter, numeric=field.endswith(":n")):
            return f"line 1 is a header: use --field {field}{option}"
    return f"line 1 is a header: sort each file by gpumerge sort --field NAME{option}, and use --field NAME"


def _has_header(source: Source) -> bool:
    return isinstance(source, LineSource) and source.header_asked > 0


def _sorted_by_first(sources: Sequence[Source], order: Order, delimiter: bytes, *, numeric: bool) -> bool:
    """Whether stretches of all sources are in the order of their first fields, which have no quotes."""
    for source in sources:
        for number, lines in enumerate(_sample(source, order)):
            fields = [line.split(delimiter, 1)[0] for line in lines[number == 0 or lines[:1] == [source.item_at(0)] :]]
            if any(b'"' in field or (numeric and not re.fullmatch(rb"-?[0-9]{1,15}", field)) for field in fields):
                return False
            keys: list[int] | list[bytes] = [int(field) for field in fields] if numeric else fields
            if any(a > b for a, b in pairwise(keys)):  # type: ignore[operator]
                return False
    return True
