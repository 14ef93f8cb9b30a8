"""Bytes, seconds, throughput and quantiles: parse and format them as text. Also makes any text safe to print."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpumerge_cli.errors import UsageError
from gpumerge_cli.patterns import pattern
from gpumerge_cli.urls import redacted

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from fractions import Fraction

_BINARY = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_LONGEST_VALUE = 80  # characters
_LARGE_EXPONENT = pattern(r"e[+-]?\d{4,}", re.IGNORECASE)
_SIZE = pattern(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b|)\s*", re.IGNORECASE)


def parse_size(text: str, option: str) -> int:
    """The bytes that `text` names: "256M" and "256MiB" count 2^20, "256MB" counts 10^6, a bare number counts bytes.

    Raises UsageError, naming `option`, if `text` is not a size.
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{option}: {quoted_value(text)} is not a size", way_out="write for example 256M, 2GiB or 1500000"
        )
    number, prefix, unit = found.groups()
    scale = _DECIMAL if unit.lower() == "b" else _BINARY
    return int(float(number) * scale[prefix.lower()])


def parse_quantile(text: str) -> Fraction:
    """The part of all that `text` names, from 0 to 1: "0.5", "1/3" or "99.9%". Raises ValueError for anything else."""
    from fractions import Fraction  # it loads decimals

    if _LARGE_EXPONENT.search(text):  # Python would make all its digits
        raise ValueError(text)
    try:
        found = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ZeroDivisionError as error:
        raise ValueError(text) from error
    if not 0 <= found <= 1:
        raise ValueError(text)
    return found


def format_bytes(count: float) -> str:
    """`count` bytes with a decimal prefix: "5.4 GB"."""
    return _scaled(count, ("B", "kB", "MB", "GB", "TB", "PB"))


def format_throughput(count: float, seconds: float) -> str:
    """`count` bytes in `seconds` as "5.4 GB/s", or "-" where nothing was timed."""
    return f"{format_bytes(count / seconds)}/s" if seconds > 0 and count > 0 else "-"


def format_seconds(seconds: float) -> str:
    """`seconds` with a suitable unit: "1.23 s", "45.6 ms", "7.8 µs"."""
    if seconds == 0:
        return "0 s"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            return f"{_three_digits(seconds / scale)} {unit}"
    raise AssertionError("unreachable")


def format_count(count: int) -> str:
    """`count` with thousands separated: "1,048,576"."""
    return f"{count:,}"


def format_counted(count: int, noun: str) -> str:
    """`count` and its noun: "1 run", "1,048,576 items"."""
    return f"{format_count(count)} {noun}{'' if count == 1 else 's'}"


def visible(text: str) -> str:
    """`text` with escapes for line breaks, undecodable bytes and control characters that a terminal would obey."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def quoted_value(text: str) -> str:
    """A value in a message: as the user gave it, within quotes, on one line, and in short if it is long."""
    quote = '"' if "'" in text and '"' not in text else "'"
    return f"{quote}{in_short(text)}{quote}"


def in_short(text: str) -> str:
    """The same without quotes. A password of an address is left out, which could not be known by a part of it."""
    text = redacted(text)
    return visible(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}...")


def values_of_switch(words: Sequence[str]) -> str:
    """The values of a switch in a message: true, false and these words, if it takes any."""
    return ", ".join(["true", "false", *map(repr, words)]) if words else "true or false"


def visible_lines(text: str) -> str:
    """`text` of several lines, each of them `visible`."""
    return "\n".join(map(visible, text.split("\n")))


def _scaled(value: float, units: tuple[str, ...]) -> str:
    for unit in units[:-1]:
        if abs(value) < 999.5:
            return f"{_three_digits(value)} {unit}" if unit != "B" else f"{value:.0f} B"
        value /= 1000
    return f"{_three_digits(value)} {units[-1]}"


def _three_digits(value: float) -> str:
    if value >= 99.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"
