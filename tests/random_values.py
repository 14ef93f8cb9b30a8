"""Random texts of typed kinds, values and others, some of which are equal and most of which are near each other.

RANDOM has a function for each kind, (chance) -> a value.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from random import Random

from gpumerge_cli.order.key_kinds import KIND_OF
from tests import times_read


def _hex(chance: Random) -> bytes:
    digits = f"{chance.getrandbits(chance.choice([1, 4, 8, 32, 64, 68, 128, 300])):x}"
    return (chance.choice(["", "", "0x", "0X", "00", "0x0"]) + chance.choice([digits, digits.upper()])).encode()


def _number(chance: Random, most: int = 2000) -> str:
    whole = str(chance.randrange(chance.choice([3, 30, most])))
    return whole + chance.choice(["", "", ".5", ".25", ".0", ".0000000001", "." + str(chance.randrange(10**6))])


def _size(chance: Random) -> bytes:
    letter = chance.choice(["", "k", "K", "M", "G", "T"])
    unit = letter + chance.choice(["", "i"] if letter else [""]) + chance.choice(["", "B"])
    return f"{chance.choice(['', '', '-'])}{_number(chance)}{chance.choice(['', ' '])}{unit}".encode()


def _duration(chance: Random) -> bytes:
    parts = [f"{_number(chance, 90)}{unit}" for unit in ("d", "h", "m", "s", "ms", "us", "ns") if chance.random() < 0.4]
    hours, minutes, seconds = (chance.randrange(most) for most in (30, 60, 60))
    forms = [
        chance.choice(["", " "]).join(parts or ["0s"]),
        f"{hours:02}:{minutes:02}:{seconds:02}{chance.choice(['', '.5', '.123456789'])}",
        f"{minutes}:{seconds:02}",
        f"PT{hours}H{minutes}M",
        f"P{hours}DT{seconds}.5S",
    ]
    return (chance.choice(["", "", "-"]) + chance.choice(forms)).encode()


def _address(chance: Random) -> bytes:
    four = IPv4Address(chance.choice([chance.getrandbits(32), chance.getrandbits(3) | 10 << 24]))
    bits = chance.choice([chance.getrandbits(128), chance.getrandbits(2), 0xFE80 << 112 | chance.getrandbits(20)])
    six = IPv6Address(bits)
    port, length = chance.randrange(65536), chance.randrange(33)
    forms = [f"{four}", f"{four}", f"{four}:{port}", f"{four}/{length}", f"{six}", f"[{six}]:{port}", f"{six}/{length}"]
    return chance.choice([*forms, six.exploded, f"::ffff:{four}"]).encode()


def _text(chance: Random) -> bytes:
    return "".join(chance.choices("ab\u00e9\u20acx", k=chance.randrange(12))).encode()


def _time(chance: Random) -> bytes:
    return _valid(times_read.written, times_read.read, chance)


def _log_time(chance: Random) -> bytes:
    return _valid(times_read.in_log, times_read.first, chance)


def _valid(draw: Callable[[Random], bytes], read: Callable[[bytes, bytes], int], chance: Random) -> bytes:
    """A time without a comma."""
    while True:
        made = draw(chance)
        with suppress(ValueError):
            read(made, times_read.USUAL)
            if b"," not in made:
                return made


def parameters_of(kind: str) -> bytes:
    """The parameters of keys whose values RANDOM draws."""
    if KIND_OF[kind].timed:
        return times_read.USUAL
    return KIND_OF["list"].words(b"\n".join(LISTED), None) if kind == "list" else b""


RANDOM: dict[str, Callable[[Random], bytes]] = {
    "hex": _hex, "length": _text, "bytes_length": _text, "size": _size, "duration": _duration, "address": _address,
    "time": _time, "log_time": _log_time,
    "list": lambda chance: chance.choice([*LISTED, b"other", b"a", b"zz"]),
}  # fmt: skip
LISTED = (b"high", b"medium", b"low", b"10", b"9")
"""The values of list keys in their order."""
INVALID = [
    b"?", b"x1", b"12 13", b"--5", b"0x", b"g" * 20, b"::::", b"1.2.3.4.5", b"1.2.3.4:80/8", b"\xff\xfe", b"P",
    b"1:2:3:4",
]  # fmt: skip
"""Texts that no kind reads, but for those that read anything."""
NULLS = [b"", b" ", b"NA", b"n/a"]
