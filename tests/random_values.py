"""Random texts of typed kinds, values and others, some of which are equal and most of which are near each other.

RANDOM has a function for each kind, (chance) -> a value.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random


def _hex(chance: Random) -> bytes:
    digits = f"{chance.getrandbits(chance.choice([1, 4, 8, 32, 64, 68, 128, 300])):x}"
    return (chance.choice(["", "", "0x", "0X", "00", "0x0"]) + chance.choice([digits, digits.upper()])).encode()


RANDOM: dict[str, Callable[[Random], bytes]] = {"hex": _hex}
INVALID = [b"?", b"x1", b"12 13", b"--5", b"0x", b"g" * 20, b"::::", b"1.2.3.4.5", b"\xff\xfe", b"P", b"1:2:3:4"]
"""Texts that no kind reads, but for those that read anything."""
NULLS = [b"", b" ", b"NA", b"n/a"]
