"""What is said of a disorder: which items, where, by which key, and in which order the file would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gpumerge_cli.backends.cpu.comparison import Comparison, key_bounds
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.csv_records import between_fields, shown
from gpumerge_cli.order import Order
from gpumerge_cli.order.rules import Comparison as LineComparison
from gpumerge_cli.order.rules import LineKey, LineOrder

_SHOWN = 40
_BLOCK = 1 << 16
_OPTIONS = ("-n", "-r", "-s")
_SWITCHED: dict[LineComparison, LineComparison] = {"bytes": "numeric", "numeric": "bytes"}
"""Users often write one of these and mean the other."""
_OTHER_KEYS = {
    "-f": LineKey(fold=True),
    "-h": LineKey("human"),
    "-V": LineKey("version"),
    "-g": LineKey("general"),
}
"""Options that name the whole line's order, tried where lines have no key."""


def disorder_error(
    source: Source, offset: int, order: Order, first_in: Callable[[Order], int | None], *, unique: bool = False
) -> DisorderError:
    """The error for the disorder at `offset`: where it is, what stands there, and what order would hold.

    first_in: the position of the first disorder in another order, None if there is none. unique: equal items are in
    disorder, too.
    """
    where = source.place(offset)
    here, ahead = source.item_at(offset), source.item_before(offset)
    way_out = _sorting(where, here, ahead, order, unique=unique)
    equal = Comparison(order)(here, ahead) == 0
    by = _deciding_key(here, ahead, order)
    empty = by is None and order.text is not None and _keys_are_empty(here, ahead, order)
    if empty:
        way_out = "check -t and the number of the field"
    for other, told in [] if equal or empty else _others(here, ahead, order, by):
        found = first_in(other)
        if found is None:
            way_out = told
            break
        if order.text is not None and other.text == replace(order.text, stable=True):
            way_out += f"; with -s, {_line(source.place(found), order.text)} would be the first out of order"
    why = ", its equal" if equal else ", with empty keys" if empty else _why(here, ahead, order, by)
    first, second = _shown(_whole(here, order), _whole(ahead, order), order)
    if order.text is not None:
        second += f" ({_line(where, order.text, back=1)})"
    error = DisorderError(f"disorder: {first} comes after {second}{why}", where=where, way_out=way_out)
    error.item = None if order.text is None else shown(here, order.text)
    return error


def _sorting(where: str, here: bytes, ahead: bytes, order: Order, *, unique: bool) -> str:
    """The way out where no other order is known that would hold."""
    if unique:
        return "sort it with -u first"
    if order.text is None:
        return "sort it first"
    if where.endswith(":2") and _has_digit(here) and not _has_digit(ahead):
        return "if line 1 is a header, add --header 1 or --field NAME; else sort it first"
    if order.text == LineOrder():
        return "name its key with -k, or sort it first, as LC_ALL=C sort does"
    return "sort it first"


def _has_digit(line: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in line)


def _line(place: str, text: LineOrder, *, back: int = 0) -> str:
    """What messages call the line at `place`, "FILE:LINE", or so many lines ahead of it: "line 7"."""
    number = int(place.rpartition(":")[2]) - back
    return f"{'line' if text.of_records is None else 'record'} {number}"


def _whole(item: bytes, order: Order) -> bytes:
    """What is shown of an item: the record that a line of CSV was made of, a record's key, or all of it."""
    return order.key_of(item) if order.text is None else shown(item, order.text)


def _deciding_key(here: bytes, ahead: bytes, order: Order) -> int | None:
    """The number of the first of the keys of lines by which two of them differ; None if none does."""
    keys = enumerate(order.by_key())
    return next((number for number, alone in keys if Comparison(alone)(here, ahead) != 0), None)


def _keys_are_empty(here: bytes, ahead: bytes, order: Order) -> bool:
    """Whether both lines have nothing at the places of all keys, of which there are some."""
    count = len(order.by_key())
    bounds = [key_bounds(order, number, line) for number in range(count) for line in (here, ahead)]
    return count > 0 and all(start >= end for start, end in bounds)


def _why(here: bytes, ahead: bytes, order: Order, by: int | None) -> str:
    """What of the lines says that they are out of order, where it is not all of both."""
    text = order.text
    if text is None or not text.keys:
        return ""
    if by is None:
        return ", with equal keys"
    key = text.keys[by]
    if (key.start_field, key.start_char, key.end_field) == (0, 0, None):
        return ""
    parts = [between_fields(line[slice(*key_bounds(order, by, line))], text) for line in (here, ahead)]
    return f", key {' after '.join(_shown(parts[0], parts[1], order))} by {_said(text, by)}"


def _said(text: LineOrder, number: int) -> str:
    """A key as the command line has it."""
    said = (text.of_records or text).keys[number].describe()
    start = "" if said[:1].isdigit() else "1"  # of CSV's records from their first field on
    return f"-k {start}{said}"


def _others(here: bytes, ahead: bytes, order: Order, by: int | None) -> list[tuple[Order, str]]:
    """Orders that the user may have meant, each with the way out. by: the key that tells lines apart, if one does."""
    text = order.text
    if by is not None and text is not None and not text.simple:
        return [(other, told) for other, told in _other_keys(text, by) if _deciding_key(here, ahead, other) == by]
    others = order.others(keys_equal=by is None)
    told = [(other, f"the file is in {_options(other)} order: {_change(order, other)}") for other in others]
    if text == LineOrder():
        named = _OTHER_KEYS.items()
        told += [(Order.lines(LineOrder((key,))), f"the file is in {way} order: add {way}") for way, key in named]
    return told


def _other_keys(text: LineOrder, by: int) -> Iterator[tuple[Order, str]]:
    """The orders in which key `by`, a part of lines, is the other way round, a number, or no number."""
    key = text.keys[by]
    if (key.start_field, key.start_char, key.end_field) == (0, 0, None) or key.compare not in _SWITCHED:
        return
    switched = _SWITCHED[key.compare]
    for compare, reverse in ((switched, key.reverse), (key.compare, not key.reverse), (switched, not key.reverse)):
        other = _with_key(text, by, compare, reverse)
        if other.of_records is not None:
            other = replace(other, of_records=_with_key(other.of_records, by, compare, reverse))
        told = f"the file is in the order of {_said(other, by)}: use that for {_said(text, by)}"
        yield Order.lines(other), told + _as_field(other, by)


def _as_field(text: LineOrder, number: int) -> str:
    """How --field says the letters of a key of CSV."""
    asked = text.of_records
    if asked is None:
        return ""
    letters = replace(asked.keys[number], start_field=0, start_char=0, end_field=None).describe()
    return f", or NAME{':' * bool(letters)}{letters} with --field"


def _with_key(text: LineOrder, by: int, compare: LineComparison, reverse: bool) -> LineOrder:
    key = replace(text.keys[by], compare=compare, reverse=reverse)
    return replace(text, keys=(*text.keys[:by], key, *text.keys[by + 1 :]))


def _options(order: Order) -> str:
    named = [name for name, on in zip(_OPTIONS, order.ways, strict=True) if on]
    return " ".join(named) or order.plain_way


def _change(order: Order, other: Order) -> str:
    changes = []
    for option, before, after in zip(_OPTIONS, order.ways, other.ways, strict=True):
        if before != after:
            changes.append(f"add {option}" if after else f"leave {option} out")
    return " and ".join(changes)


def _shown(here: bytes, ahead: bytes, order: Order) -> tuple[str, str]:
    """Two items, keys of records or parts of lines in short, from a little ahead of where they differ."""
    first, second = order.number(here), order.number(ahead)
    if first is not None and second is not None:
        return first, second
    common = _common(here, ahead)
    start = common - _SHOWN // 4 if common > _SHOWN // 2 and max(len(here), len(ahead)) > _SHOWN else 0
    return _in_short(here, start, order), _in_short(ahead, start, order)


def _common(a: bytes, b: bytes) -> int:
    """How many bytes two items have in common at their start."""
    shorter = min(len(a), len(b))
    low = next((at for at in range(0, shorter, _BLOCK) if a[at : at + _BLOCK] != b[at : at + _BLOCK]), shorter)
    return next((at for at in range(low, min(shorter, low + _BLOCK)) if a[at] != b[at]), shorter)


def _in_short(item: bytes, start: int, order: Order) -> str:
    part = item[start : start + _SHOWN]
    return "..." * (start > 0) + order.quoted(part) + "..." * (len(item) > start + _SHOWN)
