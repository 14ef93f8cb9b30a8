"""Hints for disorder: a hint is given only if samples of all inputs show that it holds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from gpumerge_cli.buffers import uncleared
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, wide_text
from gpumerge_cli.formats.kinds.lookup import torn_way_out
from gpumerge_cli.formats.likely_header import has_digit, is_header
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.native.comparison import Comparison, key_bounds, key_by
from gpumerge_cli.order.base import Meant
from gpumerge_cli.order.kinds import Order

_STRETCH = 1 << 16
TIME = (
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
ENOUGH = 8
"""Lines, each behind the one ahead of it, that show an order. Fewer must be whole numbers."""
_MOST_MERGED = 2000
_SPACE = b" "
_NEAR = 12
"""Bytes beside a key that may be the rest of a date."""
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
    samples = [sampled_items(source, order) for source in sources]
    if not all(samples) or any(torn_hint(source, order) for source in sources):
        return ""
    holding = [other for other in others if all(is_in_order(stretches, other.order) for stretches in samples)]
    leaving = [other for other in holding if other.leaves_ties and not _may_have_headers(samples)]
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
            sample = sampled_items(source, order)
            holding = [other for other in its if sample and all(is_in_order([lines], other.order) for lines in sample)]
            plausible = _plausible(holding, order, by, [sample])
            kept &= {number for number, other in enumerate(its) if other in plausible}
    fitting = [others[0][number].order for number in sorted(kept) if first_in(others[0][number].order) is None]
    return proposal(fitting[0]) if fitting else ""


def _plausible(others: Sequence[Meant], order: Order, by: int | None, samples: Sequence[_Stretches]) -> list[Meant]:
    """Those of `others` that the sampled lines, which are in them, are not in by chance."""
    lines = [line for stretches in samples for stretch in stretches for line in stretch]
    keys = [_part(order, by, line) for line in lines]
    if any(re.search(TIME, key) for key in keys) or any(_is_cut(order, by, line) for line in lines):
        return []
    if _may_have_headers(samples):
        return []
    whole = all(re.fullmatch(_NUMBER, key) for key in keys)
    dates = any(len(re.sub(rb"[^0-9]", b"", key)) in _DATE for key in keys)
    fractions = any(re.search(_FRACTION, key) for key in keys)
    found = []
    for other in others:
        compare = _comparison(other)
        shown = (whole and not dates) or (not fractions and _steps(other.order, samples) >= ENOUGH - 1)
        if shown and _FITS[compare](keys) and not (compare in _BY_FIRST_WORDS and any(map(_has_unit, keys))):
            found.append(other)
    if whole:
        numeric = {_falls(other) for other in found if _comparison(other) != "bytes"}
        found = [other for other in found if _comparison(other) != "bytes" or _falls(other) not in numeric]
        found = [other for other in found if _orders_numbers(other.order, partial(_part, order, by), samples)]
    merged = {tuple(sorted(lines[:_MOST_MERGED], key=key_by(other.order))) for other in found[:ENOUGH]}
    return found if len(merged) == 1 else []


def _may_have_headers(samples: Sequence[_Stretches]) -> bool:
    """Whether first lines may be headers, which another order would have merged with the lines."""
    return any(is_header(stretches[0]) for stretches in samples if stretches) or _common_first(samples) is not None


def _common_first(samples: Sequence[_Stretches]) -> bytes | None:
    """The line with which all of several sources begin, unless it is a number; None if there is none."""
    firsts = [stretches[0][0] for stretches in samples if stretches and stretches[0]]
    is_common = len(firsts) > 1 and len(set(firsts)) == 1 and not re.fullmatch(_NUMBER, firsts[0])
    return firsts[0] if is_common else None


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
        if all(in_turn(numbers, rising=rising) for numbers in stretches) and not in_turn(merged, rising=rising):
            return False
    return True


def _first_words(keys: Iterable[bytes]) -> list[bytes]:
    return [re.split(rb"[\s,;|]", key.strip(), maxsplit=1)[0] for key in keys]


def are_alike(keys: Sequence[bytes], pattern: bytes, value: Callable[[bytes], object]) -> bool:
    """Whether what `value` makes of the matches of a pattern is the same in all keys."""
    return len({tuple(value(match) for match in re.findall(pattern, key)) for key in keys}) <= 1


_FITS: dict[str, Callable[[Sequence[bytes]], bool]] = {
    # Bytes do not order numbers of several sizes.
    "bytes": lambda keys: all(re.fullmatch(_NUMBER, key) for key in keys) or are_alike(keys, rb"[0-9]+", len),
    "numeric": lambda keys: all(re.match(_LEADING, key) for key in keys),
    "general": lambda keys: all(re.fullmatch(rb"[+-]?[0-9.]+(e[+-]?[0-9]+)?", word) for word in _first_words(keys)),
    "human": lambda keys: all(re.fullmatch(rb"[0-9]+[KMGTPE]", word) for word in _first_words(keys)),
    "version": lambda keys: are_alike(_first_words(keys), rb"[^0-9]+", bytes) and all(map(has_digit, keys)),
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
        or re.search(TIME, line[max(0, begin - _NEAR) : end + _NEAR]) is not None
    )


def is_in_order(stretches: Sequence[Sequence[bytes]], order: Order) -> bool:
    compare = Comparison(order)
    return all(compare(a, b) <= 0 for lines in stretches for a, b in pairwise(lines))


def sampled_items(source: Source, order: Order) -> list[list[bytes]]:
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
    sample = uncleared(min(_STRETCH, source.size - start))
    source.read_into(start, sample)
    data, size = sample.tobytes(), order.item_bytes
    if order.end:
        return data.split(order.end)[:-1]
    return [data[at : at + size] for at in range(0, len(data) - size + 1, size)]


def is_headed(source: Source, order: Order) -> bool:
    """Whether the first line of a source is like a header, and no option says so."""
    sample = (
        [] if order.item_word == "" or has_requested_header(source) or not source.size else sampled_items(source, order)
    )
    return bool(sample) and is_header(sample[0])


def has_common_header(sources: Sequence[Source], order: Order) -> bool:
    """Whether several sources begin with one line that is like a header, and samples of the others are in order."""
    if any(torn_hint(source, order) or has_requested_header(source) for source in sources):
        return False
    samples = [sampled_items(source, order) for source in sources if source.size]
    if not all(samples) or _common_first(samples) is None or not all(is_header(sample[0]) for sample in samples):
        return False
    return all(is_in_order([sample[0][1:], *sample[1:]], order) for sample in samples)


def torn_hint(source: Source, order: Order) -> str:
    """The way out where sampled lines are pieces of items of a format; "" for others."""
    if not order.plain_lines or order.end != b"\n":
        return ""
    return torn_way_out([line for stretch in sampled_items(source, order) for line in stretch])


def encoding_hint(source: Source, order: Order) -> str:
    """The conversion of a text whose characters have several bytes each; "" for others."""
    wide = wide_text(source.file.read(0, LOOKED_AT), order) if isinstance(source, LineSource) else ""
    return f"it looks like {wide}: convert it first, for example with iconv -f {wide} -t UTF-8" if wide else ""


def mark_hint(source: Source) -> str:
    """The way to sort a text whose byte order mark would move with its first line; "" for others."""
    marked = isinstance(source, LineSource) and source.mark
    return "remove its byte order mark, as tail -c +4 does, then sort it" if marked else ""


def has_requested_header(source: Source) -> bool:
    """Whether an option says that a file has a header, or its format that it has none."""
    return isinstance(source, LineSource) and source.header_known


def in_turn(values: Sequence[Any], *, rising: bool, strictly: bool = False) -> bool:
    """Whether values rise, or fall if not `rising`; `strictly`: and none equals the one ahead of it."""
    pairs = pairwise(values if rising else values[::-1])
    return all(a < b or (a == b and not strictly) for a, b in pairs)
