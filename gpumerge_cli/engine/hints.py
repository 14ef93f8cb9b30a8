"""Hints for disorder: a hint is given only if samples of all inputs show that it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from gpumerge_cli.engine.headers import has_digit, is_header
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, wide_text
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.native.comparison import Comparison, key_bounds, key_by
from gpumerge_cli.order.base import Meant
from gpumerge_cli.order.kinds import Order

_STRETCH = 1 << 16
_TIME = (
    rb"[0-9]{1,4}[-/.][0-9A-Za-z]{1,3}[-/.][0-9]{2,4}(?![0-9.])|[0-9]:[0-9]{2}|[0-9]{8}T?[0-9]{4}|(?<![0-9])1[0-9]{9}(?![0-9])"
    rb"|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[ .-]+[0-9]"
    rb"|[0-9](st|nd|rd|th)?[ .-]?(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
)
"""Dates and times, in any place of a line."""
_FRACTION = rb"(?<![0-9.])[0-9]+[.,][0-9]+(?![0-9.])"
_UNIT = rb"\s+([kKMGTP]?i?B|[kKMGTP]|bytes?|[mun]?s|sec\w*|m|min\w*|h|hours?|days?|weeks?|months?|years?|AM|PM|am|pm)\b"
_NUMBER = rb"\s*-?[0-9]{1,18}\s*"
_LEADING = rb"\s*-?[0-9]+(?![0-9])(?!" + _UNIT + rb")(?=\s|[;|]|,[^0-9]|$)"
_DATE = (6, 8)
"""Digits of dates that are whole numbers, whose order may be another."""
_ENOUGH = 8
"""Lines, each behind the one ahead of it, that show an order. Fewer must be whole numbers."""
_MOST_MERGED = 2000
_SPACE = 32
_NEAR = 12
"""Bytes beside a key that may be the rest of a date."""
_DELIMITERS = ((".csv", b",", ""), (".csv", b";", " -t ';'"), (".tsv", b"\t", r" -t '\t'"))
"""Suffixes of tables, what separates their fields, and the option that says so."""


_Stretches = Sequence[Sequence[bytes]]
"""Items of a source: those of each of its sampled stretches."""


def order_hint(
    sources: Sequence[Source],
    order: Order,
    by: int | None,
    first_in: Callable[[Order], int | None],
    others: Sequence[Meant],
) -> str:
    """The proposal of one of `others`, if the first source and stretches of all are in it; "" if there is none.

    by: the number of the key that distinguishes the items, None if no key did. first_in: see disorder_error.
    """
    samples = [_sample(source, order) for source in sources]
    if not all(samples) or any(is_torn(source, order) for source in sources):
        return ""
    holding = [other for other in others if all(_in_order(stretches, other.order) for stretches in samples)]
    leaving = [other for other in holding if other.leaves_ties]
    if order.item_word and not leaving:
        holding = _plausible(holding, order, by, samples)
    return next((other.way_out for other in leaving or holding if first_in(other.order) is None), "")


def join_hint(
    sources: Sequence[Source],
    orders: Sequence[Order],
    by: int,
    first_in: Callable[[Order], int | None],
    holds: Callable[[Meant], bool],
    proposal: Callable[[Order], str],
) -> str:
    """The proposal to compare key `by` of a join otherwise, if samples of both files are in that order; else "".

    orders: those of the files. The first source is the one that is not in its order; first_in and holds check it.
    proposal: gives the way out for another order of the first source, which fits both.
    """
    others = [[other for other in order.meant(by) if other.by == by] for order in orders]
    kept = {number for number, other in enumerate(others[0]) if holds(other)}
    for source, order, its in zip(sources, orders, others, strict=True):
        if source.size:
            sample = _sample(source, order)
            holding = [other for other in its if sample and all(_in_order([lines], other.order) for lines in sample)]
            plausible = _plausible(holding, order, by, [sample])
            kept &= {number for number, other in enumerate(its) if other in plausible}
    fitting = [others[0][number].order for number in sorted(kept) if first_in(others[0][number].order) is None]
    return proposal(fitting[0]) if fitting else ""


def _plausible(others: Sequence[Meant], order: Order, by: int | None, samples: Sequence[_Stretches]) -> list[Meant]:
    """Those of `others` that the sampled lines, which are in them, are not in by chance."""
    lines = [line for stretches in samples for stretch in stretches for line in stretch]
    keys = [_part(order, by, line) for line in lines]
    if any(re.search(_TIME, key) for key in keys) or any(_is_cut(order, by, line) for line in lines):
        return []
    if any(is_header(stretches[0]) for stretches in samples if stretches):
        return []
    firsts = [stretches[0][0] for stretches in samples if stretches and stretches[0]]
    if len(firsts) > 1 and len(set(firsts)) == 1 and not re.fullmatch(_NUMBER, keys[0]):
        return []  # it may be a header, which would be merged with the lines
    whole = all(re.fullmatch(_NUMBER, key) for key in keys)
    dates = any(len(re.sub(rb"[^0-9]", b"", key)) in _DATE for key in keys)
    fractions = any(re.search(_FRACTION, key) for key in keys)
    found = []
    for other in others:
        compare = _comparison(other)
        shown = (whole and not dates) or (not fractions and _steps(other.order, samples) >= _ENOUGH - 1)
        if shown and _FITS[compare](keys) and not (compare in _BY_FIRST_WORDS and any(map(_has_unit, keys))):
            found.append(other)
    if whole:
        numeric = {_falls(other) for other in found if _comparison(other) != "bytes"}
        found = [other for other in found if _comparison(other) != "bytes" or _falls(other) not in numeric]
        found = [other for other in found if _orders_numbers(other.order, partial(_part, order, by), samples)]
    merged = {tuple(sorted(lines[:_MOST_MERGED], key=key_by(other.order))) for other in found[:_ENOUGH]}
    return found if len(merged) == 1 else []


def _comparison(other: Meant) -> str:
    """The way in which an order compares the key that decides."""
    keys = () if other.order.text is None else other.order.text.keys
    return keys[other.by or 0].compare if keys else "bytes"


def _falls(other: Meant) -> bool:
    """Whether an order has the key that decides in reverse."""
    text = other.order.text
    assert text is not None
    return text.keys[other.by or 0].reverse if text.keys else text.reverse


def _steps(order: Order, samples: Sequence[_Stretches]) -> int:
    """The number of sampled lines that are behind the line ahead of them, and not its equal."""
    compare = Comparison(order)
    return sum(compare(a, b) < 0 for stretches in samples for lines in stretches for a, b in pairwise(lines))


def _orders_numbers(order: Order, key: Callable[[bytes], bytes], samples: Sequence[_Stretches]) -> bool:
    """Whether an order merges lines, whose keys are whole numbers, by these numbers, if each source is in turn by them.

    key: gives the key of a line.
    """
    stretches = [[int(key(line)) for line in lines] for sample in samples for lines in sample]
    lines = [line for sample in samples for lines in sample for line in lines]
    merged = [int(key(line)) for line in sorted(lines[:_MOST_MERGED], key=key_by(order))]
    for rising in (True, False):
        if all(_in_turn(numbers, rising=rising) for numbers in stretches) and not _in_turn(merged, rising=rising):
            return False
    return True


def _first_words(keys: Iterable[bytes]) -> list[bytes]:
    return [re.split(rb"[\s,;|]", key.strip(), maxsplit=1)[0] for key in keys]


def _are_alike(keys: Sequence[bytes], pattern: bytes, value: Callable[[bytes], object]) -> bool:
    """Whether what `value` makes of the matches of a pattern is the same in all keys."""
    return len({tuple(value(match) for match in re.findall(pattern, key)) for key in keys}) <= 1


_FITS: dict[str, Callable[[Sequence[bytes]], bool]] = {
    # Bytes do not order numbers of several sizes.
    "bytes": lambda keys: all(re.fullmatch(_NUMBER, key) for key in keys) or _are_alike(keys, rb"[0-9]+", len),
    "numeric": lambda keys: all(re.match(_LEADING, key) for key in keys),
    "general": lambda keys: all(re.fullmatch(rb"[+-]?[0-9.]+(e[+-]?[0-9]+)?", word) for word in _first_words(keys)),
    "human": lambda keys: all(re.fullmatch(rb"[0-9]+[KMGTPE]", word) for word in _first_words(keys)),
    "version": lambda keys: _are_alike(_first_words(keys), rb"[^0-9]+", bytes) and all(map(has_digit, keys)),
}
"""Whether all keys are such that an order with this comparison is the one that people mean."""


_BY_FIRST_WORDS = ("general", "human", "version")
"""The comparisons for which a unit behind the first word counts for nothing, or as text."""


def _has_unit(key: bytes) -> bool:
    return re.search(rb"[0-9]" + _UNIT, key) is not None


def _part(order: Order, by: int | None, line: bytes) -> bytes:
    """The part of a line that decides: its key number `by`, or all of it."""
    part = None if by is None else order.part(by, line, partial(key_bounds, order))
    return line if part is None else part


def _is_cut(order: Order, by: int | None, line: bytes) -> bool:
    """Whether blanks cut a number off its unit or a date in pieces, so that a key is a part of what orders lines."""
    text = order.text
    if by is None or text is None or text.separator not in (None, _SPACE):
        return False
    begin, end = key_bounds(order, by, line)
    return (
        re.match(_UNIT, line[end:]) is not None
        or re.search(_TIME, line[max(0, begin - _NEAR) : end + _NEAR]) is not None
    )


def _in_order(stretches: Sequence[Sequence[bytes]], order: Order) -> bool:
    compare = Comparison(order)
    return all(compare(a, b) <= 0 for lines in stretches for a, b in pairwise(lines))


def _sample(source: Source, order: Order) -> list[list[bytes]]:
    """Whole items from the first, the middle and the last stretch of a source; [] if they are too large for one."""
    starts = sorted({0, max(0, source.size // 2 - _STRETCH // 2), max(0, source.size - _STRETCH)})
    stretches = []
    for start in map(source.item_start, starts):
        items = _items(source, start, order)
        if len(items) < 2 and source.size - start > _STRETCH:  # more items follow, and their order is unknown
            return []
        stretches.append(items)
    return stretches


def _items(source: Source, start: int, order: Order) -> list[bytes]:
    """Whole items from `start` on. They are read at once, since a read of a store is a request."""
    sample = np.empty(min(_STRETCH, source.size - start), np.uint8)
    source.read_into(start, sample)
    data, size = sample.tobytes(), order.item_bytes
    if order.end:
        return data.split(order.end)[:-1]
    return [data[at : at + size] for at in range(0, len(data) - size + 1, size)]


def is_headed(source: Source, order: Order) -> bool:
    """Whether the first line of a source is like a header, and no option says so."""
    sample = [] if order.item_word == "" or _has_header(source) or not source.size else _sample(source, order)
    return bool(sample) and is_header(sample[0])


def is_torn(source: Source, order: Order) -> bool:
    """Whether quotes enclose the ends of sampled lines, as in CSV whose records are taken for lines."""
    lines = order.item_word == "line" and order.end == b"\n"
    return lines and any(line.count(b'"') % 2 for stretch in _sample(source, order) for line in stretch)


def encoding_hint(source: Source, order: Order) -> str:
    """The conversion of a text whose characters have several bytes each; "" for others."""
    wide = wide_text(source.file.read(0, LOOKED_AT), order) if isinstance(source, LineSource) else ""
    return f"it looks like {wide}: convert it first, for example with iconv -f {wide} -t UTF-8" if wide else ""


def mark_hint(source: Source) -> str:
    """The way to sort a text whose byte order mark would move with its first line; "" for others."""
    marked = isinstance(source, LineSource) and source.mark
    return "remove its byte order mark, as tail -c +4 does, then sort it" if marked else ""


def table_hint(sources: Sequence[Source], order: Order) -> str:
    """The option that names the key of tables with one header in common; "" for others, or if a header is known."""
    if order.item_word != "line" or order.by_key() or any(_has_header(source) for source in sources):
        return ""
    firsts = {source.item_at(0).rstrip(b"\r") for source in sources if source.size}
    samples = [_sample(source, order) for source in sources if source.size]
    if len(firsts) != 1 or not all(sample and is_header(sample[0]) for sample in samples):
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
    header = "line 1 is a header:" if len(samples) > 1 else "if line 1 is a header,"
    # Letters of its own keep a field from -r.
    for numeric, field in ((True, f"{name}:n{'r' * any(order.ways[1:])}"), (False, name)):
        if _sorted_by_first(sources, order, delimiter, len(names), numeric=numeric):
            return f"{header} use --field {field}{option}"
    return f"{header} sort each file by gpumerge sort --field NAME{option}, and use --field NAME{option}"


def _has_header(source: Source) -> bool:
    return isinstance(source, LineSource) and source.requested_header > 0


def _sorted_by_first(sources: Sequence[Source], order: Order, delimiter: bytes, columns: int, *, numeric: bool) -> bool:
    """Whether stretches of all sources show the order of their first fields, so that it is not by chance.

    The fields have no quotes, and none occurs twice in a file. columns: the number of fields.
    """
    rising = not any(order.ways[1:])
    tables = [rows for source in sources for rows in _rows(source, order, delimiter)]
    if any(len(row) != columns for rows in tables for row in rows):
        return False
    values = [_values([row[0] for row in rows], numeric=numeric) for rows in tables]
    if not all(fields is not None and _in_turn(fields, rising=rising, strictly=True) for fields in values):
        return False
    if sum(max(0, len(rows) - 1) for rows in tables) >= _ENOUGH - 1:
        return True
    # A few rows may be in this order by chance: they must not be in that of another column, too.
    merged = sorted((row for rows in tables for row in rows), key=_key_of(numeric), reverse=not rising)
    return all(_goes_with(tables, merged, column) for column in range(1, columns))


def _rows(source: Source, order: Order, delimiter: bytes) -> list[list[list[bytes]]]:
    """The fields of sampled lines, without the header."""
    first = source.item_at(0) if source.size else b""
    return [
        [line.removesuffix(b"\r").split(delimiter) for line in lines[number == 0 or lines[:1] == [first] :]]
        for number, lines in enumerate(_sample(source, order))
    ]


def _key_of(numeric: bool) -> Callable[[list[bytes]], int | bytes]:
    return lambda row: int(row[0]) if numeric else row[0]


def _values(fields: Sequence[bytes], *, numeric: bool) -> list[int] | list[bytes] | None:
    """The fields as they compare; None if they are not whole numbers, or texts whose order is doubtful."""
    if numeric:
        return [int(field) for field in fields] if all(re.fullmatch(rb"-?[0-9]{1,15}", f) for f in fields) else None
    doubtful = any(b'"' in field or re.search(_TIME, field) for field in fields)
    return None if doubtful or not _are_alike(fields, rb"[0-9]+", len) else list(fields)


def _in_turn(values: Sequence[Any], *, rising: bool, strictly: bool = False) -> bool:
    pairs = pairwise(values if rising else values[::-1])
    return all(a < b or (a == b and not strictly) for a, b in pairs)


def _goes_with(tables: Sequence[list[list[bytes]]], merged: Sequence[list[bytes]], column: int) -> bool:
    """Whether merged rows are in an order of this column, if the rows of each table are."""
    kinds = [numeric for numeric in (True, False) if _values([row[column] for row in merged], numeric=numeric)]
    if not kinds:
        return False
    for rising in (True, False):
        tell = [_values([row[column] for row in rows], numeric=kinds[0]) for rows in tables]
        all_of_them = _values([row[column] for row in merged], numeric=kinds[0]) or []
        in_turn = all(_in_turn(values or [], rising=rising) for values in tell)
        if in_turn and not _in_turn(all_of_them, rising=rising):
            return False
    return True
