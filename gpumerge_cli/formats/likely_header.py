"""Headers that no option names: first lines that look like names of columns above lines with numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LOOKED_AT = 20
"""Lines that tell."""
_DELIMITERS = (b"\t", b",", b";", b"|")
_NUMBER = re.compile(rb"[+-]?\.?[0-9]")


def is_header(lines: Sequence[bytes]) -> bool:
    """Whether the first of `lines` is like a header of the others.

    No digit is in it, and one is in every other line; or none of its fields begins with a number, and one field of all
    other lines does.
    """
    first, others = lines[0] if lines else b"", lines[1:_LOOKED_AT]
    if not first.strip() or not others:
        return False
    if not has_digit(first):
        return all(map(has_digit, others))
    names = _fields(first, first)
    if any(map(_NUMBER.match, names)):
        return False
    rows = [_fields(line, first) for line in others]
    return any(name and all(at < len(row) and _NUMBER.match(row[at]) for row in rows) for at, name in enumerate(names))


def has_digit(line: bytes) -> bool:
    """Whether an ASCII digit is in a line."""
    return any(48 <= byte <= 57 for byte in line)


def _fields(line: bytes, first: bytes) -> list[bytes]:
    """The fields of a line, without quotes, between what separates those of `first`."""
    delimiter = next((each for each in _DELIMITERS if each in first), None)
    return [field.strip(b'" \r') for field in line.split(delimiter)]
