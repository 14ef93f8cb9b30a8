"""The bytes that separate the digits of numbers, as options and parameters name them."""

from __future__ import annotations

import os

from gpumerge_cli.errors import UsageError


def number_separators(thousands: str | None, decimal: str | None, *, named: str = "--{}") -> tuple[int, int]:
    """The bytes between digits and ahead of the fraction, as LineKey has them; 0 for one that is not given.

    named: the form of a parameter's name in messages. Raises UsageError if a number may hold one anyway.
    """
    found = _byte(named.format("thousands"), thousands), _byte(named.format("decimal"), decimal)
    if thousands is not None and found[0] == (found[1] or ord(".")):
        what = f"{named.format('thousands')} and the fraction have the same separator {thousands!r}"
        raise UsageError(what, way_out=f"name another one by {named.format('decimal')}")
    return found


def _byte(name: str, text: str | None) -> int:
    if text is None:
        return 0
    byte = os.fsencode(text)
    if len(byte) != 1 or byte.isalnum() or byte in b"+-\n\0":
        way_out = "name one byte that is no digit, letter or sign, as , or ."
        raise UsageError(f"{name}: invalid separator {text!r}", way_out=way_out)
    return byte[0]
