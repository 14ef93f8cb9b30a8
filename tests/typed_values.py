"""The values of typed kinds as Python reads them: the oracle of kernels/typed_keys.cuh, with which it shares no code.

READ has a function for each kind, (text without blanks at its ends, key) -> an object that compares as the values do.
It raises ValueError for a text that is no value.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from fractions import Fraction
from ipaddress import ip_address
from typing import Any

from gpumerge_cli.order.rules import LineKey
from tests import times_read

BLANKS = b" \t\n"


def _hex(text: bytes, key: LineKey) -> Any:
    if re.fullmatch(rb"(?:0[xX])?[0-9a-fA-F]+", text) is None:
        raise ValueError
    return int(text, 16)


def _size(text: bytes, key: LineKey) -> Any:
    found = re.fullmatch(
        rb"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)[ \t\n]*(?:([kmgtpezyrq])(i?))?(b?|(?<![a-z])bytes?)", text, re.I
    )
    if found is None:
        raise ValueError
    sign, digits, letter, binary, word = found.groups()
    if letter and len(word) > 1:
        raise ValueError
    power = 1 + b"kmgtpezyrq".index(letter.lower()) if letter else 0
    value = Fraction(digits.decode()) * (1024 if binary else 1000) ** power
    return -value if sign == b"-" else value


_UNITS = {
    "weeks week w": 604800, "days day d": 86400, "hours hour hr h": 3600, "minutes minute min m": 60,
    "seconds second sec s": 1, "ms": Fraction(1, 1000), "us \u00b5s \u03bcs": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}  # fmt: skip
UNITS = {name.encode(): Fraction(value) for names, value in _UNITS.items() for name in names.split()}


def _duration(text: bytes, key: LineKey) -> Any:
    """Nanoseconds."""
    bare = text[1:] if text[:1] in (b"+", b"-") else text
    parts: list[tuple[bytes, Fraction]] = []
    clock = re.fullmatch(rb"(?:([0-9]+):)?([0-9]+):([0-5][0-9](?:\.[0-9]*)?)", bare)
    iso = re.fullmatch(
        rb"p(?:([0-9]+[.,]?[0-9]*)w)?(?:([0-9]+[.,]?[0-9]*)d)?"
        rb"(t(?:([0-9]+[.,]?[0-9]*)h)?(?:([0-9]+[.,]?[0-9]*)m)?(?:([0-9]+[.,]?[0-9]*)s)?)?", bare, re.I,
    )  # fmt: skip
    if clock is not None:
        hours, minutes, seconds = clock.groups()
        if hours is not None and not re.fullmatch(rb"[0-5][0-9]", minutes):
            raise ValueError
        parts = [(hours or b"0", Fraction(3600)), (minutes, Fraction(60)), (seconds, Fraction(1))]
    elif iso is not None:
        weeks, days, time, hours, minutes, seconds = iso.groups()
        if (time is not None and len(time) == 1) or not (weeks or days or time):
            raise ValueError
        numbers = zip((weeks, days, hours, minutes, seconds), (604800, 86400, 3600, 60, 1), strict=True)
        parts = [(number.replace(b",", b"."), Fraction(unit)) for number, unit in numbers if number]
    else:
        words = rb"([0-9]+\.?[0-9]*)[ \t\n]*([a-zA-Z\x80-\xff]+)[ \t\n]*"
        if re.fullmatch(rb"(?:" + words + rb")+", bare) is None:
            raise ValueError
        for number, word in re.findall(words, bare):
            if word.lower() not in UNITS:
                raise ValueError
            parts.append((number, UNITS[word.lower()]))
    nanos = sum(int(Fraction(number.decode()) * unit * 10**9) for number, unit in parts)
    if nanos // 10**9 > 2**61 or any(int(number.split(b".")[0]) > 9223372036854775799 for number, _ in parts):
        raise ValueError
    return -nanos if text[:1] == b"-" else nanos


def _address(text: bytes, key: LineKey) -> Any:
    """Version, number, and what is behind it: nothing, the length of a prefix, or a port."""
    written = text.decode("ascii")
    if "%" in written:
        raise ValueError
    bare, behind = written, 0
    port = re.fullmatch(r"(?:\[(.*)\]|([0-9.]+)):([0-9]{1,5})", written, re.S)
    prefix = re.fullmatch(r"([^/\[]*)/([0-9]{1,3})", written, re.S)
    if port is not None:
        bare, behind = port[1] if port[2] is None else port[2], 200 + int(port[3])
        if int(port[3]) > 65535:
            raise ValueError
    elif prefix is not None:
        bare, behind = prefix[1], 1 + int(prefix[2])
    elif re.fullmatch(r"\[.*\]", written, re.S):
        bare = written[1:-1]
    found = ip_address(bare)
    if written.startswith("[") and found.version != 6:
        raise ValueError
    if prefix is not None and int(prefix[2]) > found.max_prefixlen:
        raise ValueError
    return found.version, int(found), behind


def listed(key: LineKey) -> list[bytes]:
    """The values of a list key in their order, read back from its parameters."""
    parameters = key.parameters or key.kind.default
    words = array("q", parameters)
    entries = [words[1 + 3 * at : 4 + 3 * at] for at in range(words[0])]
    by_rank = sorted(entries, key=lambda entry: entry[2])
    return [parameters[8 * begin : 8 * begin + size] for begin, size, _ in by_rank]


def _list(text: bytes, key: LineKey) -> Any:
    values = listed(key)
    return (values.index(text), b"") if text in values else (len(values), text)


READ: dict[str, Callable[[bytes, LineKey], Any]] = {
    "hex": _hex, "size": _size, "duration": _duration, "address": _address, "list": _list,
    "time": lambda text, key: times_read.read(text, key.parameters),
    "log_time": lambda text, key: times_read.first(text, key.parameters),
    "length": lambda text, key: sum(byte & 0xC0 != 0x80 for byte in text), "bytes_length": lambda text, key: len(text),
}  # fmt: skip


def bare_of(key: LineKey, text: bytes) -> bytes:
    """The text of a key without the blanks that do not count."""
    return text if key.kind.blanks else stripped(text)


def stripped(text: bytes) -> bytes:
    """A text without the blanks at its ends, and the carriage return of a newline."""
    return text.lstrip(BLANKS).rstrip(BLANKS + b"\r")


def class_of(key: LineKey, text: bytes) -> str:
    """ "null", "invalid" or "value"."""
    bare = stripped(text)
    if key.null_place and (bare == b"" or bare in key.null_values):
        return "null"
    if key.compare in READ:
        try:
            READ[key.compare](bare_of(key, text), key)
        except ValueError:
            return "invalid"
    return "value"


def place_of(key: LineKey, found: str) -> int:
    """The place of a class among the keys: that of values is in the middle."""
    value = 2 if key.null_place == "first" else 1
    if found == "null":
        return 0 if key.null_place == "first" else 3
    return value + {"value": 0, "invalid": -1 if key.invalid == "first" else 1}[found]


def is_classed(key: LineKey) -> bool:
    """Whether a class goes ahead of the key."""
    return key.compare in READ or key.null_place != ""


def without_separators(key: LineKey, text: bytes) -> bytes:
    """The text with the number at its start as it is without separators."""
    if not (key.thousands or key.decimal):
        return text
    between = re.escape(bytes([key.thousands])) if key.thousands else rb"(?!)"
    point = re.escape(bytes([key.decimal or ord(".")]))
    if key.compare == "general":
        return _general_without(text, between, point)
    pattern = rb"[ \t\n]*(-?)((?:[0-9](?:" + between + rb"(?=[0-9]))?)*)(?:(" + point + rb")([0-9]*))?"
    found = re.match(pattern, text)
    assert found is not None
    minus, whole, has_point, fraction = found.groups(default=b"")
    digits = bytes(byte for byte in whole if byte in b"0123456789")
    rest = text[found.end() :]
    ends = b"x" if rest[:1] in (b".", *(b"%d" % digit for digit in range(10))) else b""
    return minus + digits + (b"." + fraction if has_point else b"") + ends + rest


def _general_without(text: bytes, between: bytes, point: bytes) -> bytes:
    """The same of a number for `g`, which may be hexadecimal. Those have no separators, but the same point."""
    begin = re.match(rb"[ \t\n\v\f\r]*[+-]?", text)
    assert begin is not None
    rest = text[begin.end() :]
    if rest[:3].lower() in (b"inf", b"nan"):
        return text
    found = re.match(rb"0x(?=(?:" + point + rb")?[0-9a-f])([0-9a-f]*)(?:(" + point + rb")([0-9a-f]*))?", rest, re.I)
    if found is None:
        decimal = rb"((?:[0-9](?:" + between + rb"(?=[0-9]))?)*)(?:(" + point + rb")([0-9]*))?"
        found = re.match(decimal, rest)
        assert found is not None
        digits = bytes(byte for byte in found[1] if byte in b"0123456789")
    else:
        digits = b"0x" + found[1]
    fraction = b"." + found[3] if found[2] else b""
    ends = b"?" if rest[found.end() :][:1] == b"." else b""
    return begin[0] + digits + fraction + ends + rest[found.end() :]
