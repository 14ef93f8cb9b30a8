"""Messages of disorder: they name the items, their places, the key, and an order that the file does have."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from gpumerge_cli.backends.cpu.comparison import Comparison, key_bounds
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import wide_encoding
from gpumerge_cli.order import Order

_SHOWN = 40
_BLOCK = 1 << 16
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
_DELIMITERS = ((".csv", b","), (".csv", b";"), (".tsv", b"\t"))


def disorder_error(
    source: Source,
    offset: int,
    order: Order,
    first_in: Callable[[Order], int | None],
    *,
    unique: bool = False,
    beside: Sequence[Source] = (),
) -> DisorderError:
    """The error for the disorder at `offset`. It says where it is, shows both items, and names an order that holds.

    first_in: the position of the first disorder in another order, None if there is none. unique: equal items are in
    disorder, too. beside: the other inputs, stretches of which must be in an order, too, before it is proposed.
    """
    where = source.place(offset)
    here, ahead = source.item_at(offset), source.item_before(offset)
    way_out = _sorting(where, here, ahead, order, unique=unique)
    equal = Comparison(order)(here, ahead) == 0
    by = _deciding_key(here, ahead, order)
    empty = by is None and _keys_are_empty(here, ahead, order)
    if empty:
        way_out = "check -t and the number of the field"
    sources = [source, *(other for other in beside if other is not source)]
    table = _table_way(sources, order)
    wide = wide_encoding(_first_bytes(source))
    if wide:
        way_out = f"it looks like {wide}: convert it first, for example with iconv -f {wide} -t UTF-8"
    elif table:
        way_out = table
    elif not (equal or empty):
        way_out = _proposed(sources, order, by, first_in, (here, ahead)) or way_out
    if getattr(source, "mark", b"") and "sort it" in way_out and not table:
        way_out = "remove its byte order mark, as tail -c +4 does, then sort it"
    why = ", its equal" if equal else ", with empty keys" if empty else _why(here, ahead, order, by)
    first, second = _shown(order.key_of(here), order.key_of(ahead), order)
    if order.item_word:
        second += f" ({_counted(where, order, back=1)})"
    error = DisorderError(f"disorder: {first} comes after {second}{why}", where=where, way_out=way_out)
    error.item = order.key_of(here) if order.item_word else None
    return error


def doubt_of_keys(start: bytes, order: Order, header_lines: int) -> str:
    """A warning if the lines at a file's start have no key at all, so that they all compare equal; else ""."""
    keys = order.by_key()
    if not keys or order.item_word != "line":
        return ""
    lines = start.split(order.end)[header_lines:-1]
    if len(lines) < 2:  # one line may well have an empty key
        return ""
    for line in lines:
        if any(begin < end for begin, end in (key_bounds(order, number, line) for number in range(len(keys)))):
            return ""
    return "its first lines have an empty key, and so compare equal; check -t and the number of the field"


def _proposed(
    sources: Sequence[Source],
    order: Order,
    by: int | None,
    first_in: Callable[[Order], int | None],
    pair: tuple[bytes, bytes],
) -> str:
    """The proposal of an order if the first source and stretches of the others are in it; "" if no order is known."""
    samples = [_sample(source) for source in sources] if order.item_word else []

    def holds(other: Order) -> bool:
        return first_in(other) is None and all(_in_order(stretches, other) for stretches in samples)

    for other in order.meant(by):
        if other.leaves_ties and holds(other.order):
            return other.told
    lines = {_part(order, by, line) for stretches in samples for stretch in stretches for line in stretch}
    whole = all(map(_WHOLE.match, lines))
    if order.item_word and not whole and (len(lines) < _ENOUGH or any(map(_FRACTION.search, lines))):
        return ""
    if any(map(_TIME.search, lines)) or any(_is_header(stretches[0]) for stretches in samples if stretches):
        return ""
    for other in order.meant(by):
        if other.leaves_ties or (other.by is not None and _deciding_key(*pair, other.order) != by):
            continue
        if holds(other.order):
            return other.told
    return ""


def _part(order: Order, by: int | None, line: bytes) -> bytes:
    """The part of a line that decides: its key number `by`, or all of it."""
    part = None if by is None else order.part(by, line, partial(key_bounds, order))
    return line if part is None else part


def _in_order(stretches: Sequence[Sequence[bytes]], order: Order) -> bool:
    compare = Comparison(order)
    return all(compare(a, b) <= 0 for lines in stretches for a, b in pairwise(lines))


def _sample(source: Source) -> list[list[bytes]]:
    """Whole lines from the first, the middle and the last stretch of a source."""
    starts = sorted({0, max(0, source.size // 2 - _STRETCH // 2), max(0, source.size - _STRETCH)})
    return [_lines(source, source.item_start(start)) for start in starts]


def _lines(source: Source, start: int) -> list[bytes]:
    lines, at = [], start
    while at < source.size and at < start + _STRETCH:
        lines.append(source.item_at(at))
        at = source.item_end(at)
    return lines


def _is_header(lines: Sequence[bytes]) -> bool:
    return len(lines) > 1 and not _has_digit(lines[0]) and all(map(_has_digit, lines[1:20]))


def _first_bytes(source: Source) -> bytes:
    file = getattr(source, "file", None)
    return b"" if file is None else bytes(file.read(0, 512))


def _table_way(sources: Sequence[Source], order: Order) -> str:
    """The option that names the key of tables with one header in common; "" for others, or if a header is known."""
    if order.item_word != "line" or order.by_key() or any(getattr(source, "header_asked", 0) for source in sources):
        return ""
    firsts = {source.item_at(0).rstrip(b"\r") for source in sources if source.size}
    if len(firsts) != 1 or not all(_is_header(_sample(source)[0]) for source in sources if source.size):
        return ""
    (first,) = firsts
    for suffix, delimiter in _DELIMITERS:
        if delimiter in first and all(source.name.lower().endswith(suffix) for source in sources):
            break
    else:
        return ""
    names = first.split(delimiter)
    if not all(re.fullmatch(rb"[A-Za-z_][A-Za-z0-9_]*", name) for name in names) or len(set(names)) != len(names):
        return ""
    separator = {b",": "", b"\t": r" -t '\t'", b";": " -t ';'"}[delimiter]
    name = names[0].decode()
    for field in (f"{name}:n", name):
        if _sorted_by_first(sources, delimiter, numeric=field.endswith(":n")):
            return f"line 1 is a header: use --field {field}{separator}"
    return f"line 1 is a header: sort each file by gpumerge sort --field NAME{separator}, and use --field NAME"


def _sorted_by_first(sources: Sequence[Source], delimiter: bytes, *, numeric: bool) -> bool:
    """Whether stretches of all sources are in the order of their first fields, which have no quotes."""
    for source in sources:
        for number, lines in enumerate(_sample(source)):
            fields = [line.split(delimiter, 1)[0] for line in lines[number == 0 or lines[:1] == [source.item_at(0)] :]]
            if any(b'"' in field or (numeric and not re.fullmatch(rb"-?[0-9]{1,15}", field)) for field in fields):
                return False
            keys: list[int] | list[bytes] = [int(field) for field in fields] if numeric else fields
            if any(a > b for a, b in pairwise(keys)):  # type: ignore[operator]
                return False
    return True


def _counted(place: str, order: Order, *, back: int = 0) -> str:
    """The name of the line at `place`, "FILE:LINE"; or that of an earlier line of the same file: "line 7"."""
    return f"{order.item_word} {int(place.rpartition(':')[2]) - back}"


def _sorting(where: str, here: bytes, ahead: bytes, order: Order, *, unique: bool) -> str:
    """The way out if no known order fits the items."""
    if unique:
        return "sort it with -u first"
    if not order.item_word:
        return "sort it first"
    if order.text is not None and any(key.compare == "random" for key in order.text.keys):
        return "sort it first, and give both commands the same --random-source"
    if where.endswith(":2") and _has_digit(here) and not _has_digit(ahead):
        return "if line 1 is a header, add --header 1 or --field NAME; else sort it first"
    if not order.by_key() and not any(order.ways):
        return "name its key with -k, or sort it first, as LC_ALL=C sort does"
    return "sort it first"


def _has_digit(line: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in line)


def _deciding_key(here: bytes, ahead: bytes, order: Order) -> int | None:
    """The number of the first key by which two items differ; None if no key that the user named tells them apart."""
    keys = enumerate(order.by_key())
    return next((number for number, alone in keys if Comparison(alone)(here, ahead) != 0), None)


def _keys_are_empty(here: bytes, ahead: bytes, order: Order) -> bool:
    """Whether there are keys, and all of them are empty in both lines."""
    count = len(order.by_key()) if order.item_word else 0
    bounds = [key_bounds(order, number, line) for number in range(count) for line in (here, ahead)]
    return count > 0 and all(start >= end for start, end in bounds)


def _why(here: bytes, ahead: bytes, order: Order, by: int | None) -> str:
    """The key by which items are out of order, as the end of a sentence; "" if the items themselves show it."""
    if by is None:
        return ", with equal keys" if order.by_key() else ""
    bounds = partial(key_bounds, order)
    first, second = (order.part(by, item, bounds) for item in (here, ahead))
    if first is not None and second is not None:
        return f", key {' after '.join(_shown(first, second, order))} by {order.key_said(by)}"
    return f" by {order.key_said(by)}" if not order.item_word else ""


def _shown(here: bytes, ahead: bytes, order: Order) -> tuple[str, str]:
    """Two items in short: keys of records, or parts of lines from a little ahead of the first difference."""
    first, second = order.number(here), order.number(ahead)
    if first is not None and second is not None:
        return first, second
    common = _common(here, ahead)
    start = common - _SHOWN // 4 if common > _SHOWN // 2 and max(len(here), len(ahead)) > _SHOWN else 0
    return _in_short(here, start, order), _in_short(ahead, start, order)


def _common(a: bytes, b: bytes) -> int:
    """The number of bytes that two items have in common at their start."""
    shorter = min(len(a), len(b))
    low = next((at for at in range(0, shorter, _BLOCK) if a[at : at + _BLOCK] != b[at : at + _BLOCK]), shorter)
    return next((at for at in range(low, min(shorter, low + _BLOCK)) if a[at] != b[at]), shorter)


def _in_short(item: bytes, start: int, order: Order) -> str:
    part = item[start : start + _SHOWN]
    return "..." * (start > 0) + order.quoted(part) + "..." * (len(item) > start + _SHOWN)
