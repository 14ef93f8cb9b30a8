"""Keys of text lines as Python objects: the oracle of the compiled kernels.

A line's key is a tuple with one part for each LineKey and one for the last resort; a part is a tuple of integers and
bytes, or the bytes themselves, and is exact for numbers of any length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, partial, total_ordering
from hashlib import md5
from typing import Any

import numpy as np

from gpumerge_cli.order.kinds import FieldsOrder, Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.typed_values import READ, bare_of, class_of, is_classed, place_of, without_separators

_ALNUM = bytes(c for c in range(128) if chr(c).isalnum())
_UPPER = bytes(range(256)).upper()
_NOT_DICTIONARY = bytes(c for c in range(256) if c not in b" \t\n" and c not in _ALNUM)
_NOT_PRINTABLE = bytes(c for c in range(256) if not 32 <= c <= 126)
_NUMBER = re.compile(rb"[ \t\n]*(-?)([0-9]*)(?:\.([0-9]*))?")
_GENERAL = re.compile(
    rb"""[ \t\n\v\f\r]*([+-]?)(?:
        (inf) | (nan)
        | 0x(?=\.?[0-9a-f]) ([0-9a-f]*) (?:\.([0-9a-f]*))? (?:p([+-]?[0-9]+))?
        | (?=\.?[0-9]) ([0-9]*) (?:\.([0-9]*))? (?:e([+-]?[0-9]+))?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
# (decimal exponent, digits) of numbers 0.DIGITS * 10**exponent; a long double has no finite number as large as the
# first, and no nonzero one below the second.
_INFINITE = (4933, b"1189731495357231765")
_TINY = (-4950, b"1822599765941237302")
_HEX_DIGITS = 16
_LEADING_DIGITS = 60
_FAR = 20_000
_UNITS = b" KMGTPEZY"
_MONTHS = (b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV", b"DEC")
_BLANKS = re.compile(rb"[ \t\n]*")
_BLANK_FIELD = re.compile(rb"[ \t\n]*[^ \t\n]*")
_PART = re.compile(rb"([^0-9]*)0*([0-9]*)")
_SUFFIXES = re.compile(rb"(?:\.[A-Za-z~][A-Za-z0-9~]*)+")
_PART_END = b"\1"


def _version_ranks() -> bytes:
    """The places of bytes in version sort: '~', then the end of a part (_PART_END), then letters, then all others."""
    letters = bytes(c for c in _ALNUM if c > ord("9"))
    others = bytes(c for c in range(256) if c not in _ALNUM and c != ord("~"))
    ranks = bytearray(256)
    for at, c in enumerate(letters + others):
        ranks[c] = 3 + at
    return bytes(ranks)


_VERSION_RANKS = _version_ranks()


@total_ordering
class Reversed:
    """A key with the reverse order."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: Reversed) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and bool(other.key == self.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"Reversed({self.key!r})"


def item_key(order: Order | LineOrder, item: bytes) -> Any:
    """A Python object with the item's order. item: a key's native bytes, a record, or a line without terminator."""
    if isinstance(order, LineOrder):
        return _line_key(order, item)
    if order.text is not None:
        return _line_key(order.text, item)
    if isinstance(order, FieldsOrder):
        return tuple(item_key(part, item) for part in order.parts)
    if order.record:
        item = item[order.offset : order.offset + order.width]
    if order.kind == "bytes":
        return Reversed(item) if order.descending else item
    number = int.from_bytes(item, "big" if order.record and order.swapped else "little")
    return int(order.image(np.array([number], order.unsigned).view(order.dtype))[0])


def key_of(order: Order | LineOrder) -> Callable[[bytes], Any]:
    """`item_key` for one order, as the key function of `sorted`. It keeps its results, as many items are equal."""
    return cache(partial(item_key, order))


def _line_key(order: LineOrder, line: bytes) -> tuple[Any, ...]:
    parts = []
    for key in order.keys:
        text = key_text(key, order.separator, keys_part(order, line))
        found = class_of(key, text)
        if is_classed(key):
            parts.append(place_of(key, found))
        if found == "null":
            part: Any = None
        elif found == "invalid":
            part = text
        elif key.compare in READ:
            part = READ[key.compare](bare_of(key, text), key)
        else:
            part = _COMPARED[key.compare](_translated(key, without_separators(key, text)), key)
        parts.append(Reversed(part) if key.reverse and part is not None else part)
    if not (order.stable and order.keys):
        parts.append(Reversed(line) if order.reverse else line)
    return tuple(parts)


def is_at_fault(order: LineOrder, line: bytes) -> bool:
    """Whether a key of the line is invalid, and that is an error."""
    keys = [key for key in order.keys if key.checked]
    return any(class_of(key, key_text(key, order.separator, keys_part(order, line))) == "invalid" for key in keys)


def keys_part(order: LineOrder, line: bytes) -> bytes:
    """The part of the line in which keys lie."""
    return line.split(b"\n", 1)[0] if order.first_line else line


def key_text(key: LineKey, separator: bytes | None, line: bytes) -> bytes:
    """The part of the line that the key compares."""
    begin, end = key_bounds(key, separator, line)
    return line[begin:end]


def key_bounds(key: LineKey, separator: bytes | None, line: bytes) -> tuple[int, int]:
    """The begin and end of that part in the line."""
    begin = _field(line, separator, key.start_field)
    if key.skip_start:
        begin = after_blanks(line, begin)
    begin = min(len(line), begin + key.start_char)
    if key.end_field is None:
        return begin, len(line)
    if key.end_char:
        end = _field(line, separator, key.end_field)
        if key.skip_end:
            end = after_blanks(line, end)
        end = min(len(line), end + key.end_char)
    else:
        end = _field(line, separator, key.end_field + 1, last=True)
    return begin, max(begin, end)


def _field(line: bytes, separator: bytes | None, fields: int, *, last: bool = False) -> int:
    """The position behind that many fields and their separators; `last`: without the last of these separators."""
    at = 0
    for number in range(fields):
        if at >= len(line):
            break
        if separator is None:
            found = _BLANK_FIELD.match(line, at)
            assert found is not None
            at = found.end()
            continue
        end = line.find(separator, at)
        if end < 0:
            return len(line)
        at = end if last and number == fields - 1 else end + len(separator)
    return at


def after_blanks(line: bytes, at: int) -> int:
    """The position of the first byte that is no blank, from `at` on."""
    found = _BLANKS.match(line, at)
    assert found is not None
    return found.end()


def _translated(key: LineKey, text: bytes) -> bytes:
    if not (key.fold or key.dictionary or key.printable):
        return text
    ignored = _NOT_DICTIONARY if key.dictionary else _NOT_PRINTABLE if key.printable else b""
    return text.translate(_UPPER if key.fold else None, ignored)


# For each comparison: (text, its key) -> part.


def _bytes(text: bytes, key: LineKey) -> Any:
    return text


def _numeric(text: bytes, key: LineKey) -> Any:
    found = _NUMBER.match(text)
    assert found is not None
    minus, whole, fraction = found.groups(default=b"")
    return _signed(minus, *_decimal(whole, fraction))


def _human(text: bytes, key: LineKey) -> Any:
    found = _NUMBER.match(text)
    assert found is not None
    minus, whole, fraction = found.groups(default=b"")
    exponent, digits = _decimal(whole, fraction)
    unit = text[found.end() : found.end() + 1]
    # 'k' is the one small letter among the units.
    order = max(0, _UNITS.find(b"K" if unit == b"k" else unit)) if digits and unit else 0
    return (-order if minus else order, *_signed(minus, exponent, digits))


def _general(text: bytes, key: LineKey) -> Any:
    found = _GENERAL.match(text)
    if found is None:
        return (0,)
    sign, infinity, nan, hex_whole, hex_fraction, hex_exponent, whole, fraction, exponent = found.groups(default=b"")
    minus = sign == b"-"
    if nan:
        return 1, 1 if minus else 0
    if found[4] is not None:
        number = _hexadecimal(hex_whole, hex_fraction, _clamped(hex_exponent))
    else:
        number = _decimal(whole, fraction, _clamped(exponent))
    if infinity or (number[1] and number >= _INFINITE):
        return (2,) if minus else (4,)
    if number < _TINY:
        number = 0, b""
    return (3, *_signed(minus, *number))


def _month(text: bytes, key: LineKey) -> Any:
    at = after_blanks(text, 0)
    name = text[at : at + 3].upper()
    return _MONTHS.index(name) + 1 if name in _MONTHS else 0


def _version(name: bytes, key: LineKey) -> Any:
    if name in (b"", b".", b".."):
        return (len(name),)
    return (3 if name.startswith(b".") else 4, *_version_parts(name[: _stem_length(name)]), *_version_parts(name))


def _random(text: bytes, key: LineKey) -> Any:
    return md5((key.parameters or key.kind.default) + text, usedforsecurity=False).digest(), text


_COMPARED: dict[str, Callable[[bytes, LineKey], Any]] = {
    "bytes": _bytes,
    "numeric": _numeric,
    "human": _human,
    "general": _general,
    "month": _month,
    "version": _version,
    "random": _random,
}


def _decimal(whole: bytes, fraction: bytes, exponent: int = 0) -> tuple[int, bytes]:
    """(e, digits) of a number, which is 0.DIGITS * 10**e; the first and last digits are not 0. Zero has none."""
    digits = whole + fraction
    significant = digits.lstrip(b"0")
    if not significant:
        return 0, b""
    return len(whole) - (len(digits) - len(significant)) + exponent, significant.rstrip(b"0")


def _hexadecimal(whole: bytes, fraction: bytes, exponent: int) -> tuple[int, bytes]:
    """See `_decimal`. The digits suffice to tell any two of these numbers apart."""
    digits = (whole + fraction).lstrip(b"0")
    mantissa = int(digits[:_HEX_DIGITS] or b"0", 16)
    if not mantissa:
        return 0, b""
    power = exponent + 4 * (max(0, len(digits) - _HEX_DIGITS) - len(fraction))
    zeros = (mantissa & -mantissa).bit_length() - 1
    mantissa, power = mantissa >> zeros, power + zeros
    if not -_FAR < power < _FAR:
        return _INFINITE if power > 0 else (0, b"")
    # m / 2 is 5 m / 10.
    whole_number = mantissa << power if power >= 0 else mantissa * 5**-power
    left_out = max(0, int(whole_number.bit_length() * 0.30103) - _LEADING_DIGITS)
    leading = b"%d" % (whole_number // 10**left_out)
    return _decimal(leading, b"", left_out + min(0, power))


def _clamped(exponent: bytes) -> int:
    """The value of an exponent. If it is far out of every range, another value that is out of range."""
    digits = exponent.lstrip(b"+-").lstrip(b"0")
    value = int(digits or b"0") if len(digits) < 18 else 10**18
    return -value if exponent.startswith(b"-") else value


def _signed(minus: bytes | bool, exponent: int, digits: bytes) -> tuple[Any, ...]:
    """A part for a result of `_decimal`."""
    if not digits:
        return (0,)
    magnitude = exponent, digits
    return (-1, Reversed(magnitude)) if minus else (1, magnitude)


def _stem_length(name: bytes) -> int:
    """Bytes of a name ahead of its suffixes (".tar.gz")."""
    for found in _SUFFIXES.finditer(name):
        if found.end() == len(name):
            return found.start()
    return len(name)


def _version_parts(name: bytes) -> list[Any]:
    """[a part that is no number, the digits of the number behind it, the number, ...]

    The last three stand for the end of a name, which compares as an empty part and a 0.
    """
    parts: list[Any] = []
    for text, number in _split(name):
        parts += (text.translate(_VERSION_RANKS) + _PART_END, len(number), number)
    return parts


def _split(name: bytes) -> Iterator[tuple[bytes, bytes]]:
    for found in _PART.finditer(name):
        yield found[1], found[2]
