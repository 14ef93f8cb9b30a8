"""Hypothesis strategies: orders of text lines with sort's options for them, and lines that reach their edges.

Some lines have few symbols, so that keys tie. Some hold numbers in every notation. Some share beginnings that are
longer than a prefix, or than the part of a long line's key that is held.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from gpumerge_cli.order.key_kinds import KIND_OF, KINDS, SALT_BYTES
from gpumerge_cli.order.rules import NEWLINE, NUL, LineKey, LineOrder
from tests.times_read import WITHOUT_FORMAT

OPTIONS: dict[str, str] = {
    "bytes": "", "numeric": "n", "human": "h", "general": "g", "month": "M", "version": "V", "random": "R",
    **{kind.name: "?" for kind in KINDS if kind.typed},
}  # fmt: skip
TYPED = tuple(kind.name for kind in KINDS if kind.typed)
KNOWN_TO_SORT = tuple(kind.name for kind in KINDS if kind.gnu)
# With these, sort takes neither -d nor -i.
_NUMBERS = ("numeric", "human", "general", "month", *(kind.name for kind in KINDS if kind.typed))
_COMMON = [b" ", b" ", b"\t", b"0", b"1", b"a", b"A", b","]
_TEXT = [
    b"",
    b"a",
    b"b",
    b"B",
    b"z",
    b"Z",
    b"~",
    b"!",
    b".",
    b"-",
    b"\0",
    b"\1",
    b"\2",
    b"\x7f",
    b"\x81",  # sort 9.1 takes 80 for a separator of thousands
    b"\xff",
    b"_",
]
_NUMBER = [
    b"-", b"-", b".", b".", b"+", b"0", b"00", b"1", b"2", b"9", b"10", b"19", b"001", b"-0", b"-.", b".5", b"0.50",
    b"-1", b"0.10", b".1", b"1.", b"-.5", b"\0", b"123456789.123456789", b"12345678901234567", b"12345678901234568",
    b"0.0001",
    b"00000000000000000000000000000000000000000000000000000000000000001", b"1" + b"0" * 61, b"9" * 62,
    b"1" + b"0" * 62,
    b"1,234", b"1.234,5", b",", b"'", b"1'000.5",
    b"1" * 300, b"1" * 300 + b"2", b"0." + b"0" * 62 + b"1", b"0." + b"0" * 64 + b"7",
]  # fmt: skip
_HUMAN = [b"K", b"k", b"M", b"m", b"G", b"T", b"P", b"E", b"Z", b"Y", b"R", b"Q", b"1K", b"1k", b"1023", b"-2M", b"0K"]
_GENERAL = [
    b"e", b"E", b"1e3", b"1000", b"1e-3", b"-1E+3", b".5e1", b"5", b"e5", b"1e", b"1e+", b"1e400", b"-1e400", b"1e-900",
    b"1e5000", b"-1e5000", b"1e-5000", b"0e9", b"1e99999999999999999999", b"1e-99999999999999999999", b"0x", b"x", b"p",
    b"0x3e8", b"0X1.8", b"1.5", b"0x1p1", b"0x.8", b"0x1p-3", b"0.125", b"-0x1P+70", b"0x1p-40", b"0x1p-27", b"0x1p-28",
    b"0xffffffffffffffff", b"18446744073709551615", b"0xfffffffffffffffff", b"0x1p2000", b"0x1p-2000", b"0x.p1",
    b"inf", b"INF", b"-inf", b"infinity", b"infinit", b"nan", b"NaN", b"-nan", b"nan(1)", b"nan(", b"\v", b"\f", b"\r",
]  # fmt: skip
_MONTH = [
    b"JAN",
    b"jan",
    b"Feb",
    b"MAR",
    b"april",
    b"MAY",
    b"jun",
    b"JUL",
    b"aUg",
    b"Sep",
    b"oct",
    b"NOV",
    b"dec",
    b"ja",
]
_VERSION = [
    b".", b".", b"..", b"~", b"~", b"-", b"0", b"00", b"9", b"10", b"012", b"a0", b"Z", b"z", b".a", b".~", b".tar.gz",
    b".c~", b".0", b"\0", b"\x82", b"\xff", b"_", b"+", b"1" * 260, b"2" + b"1" * 259, b"1" * 254, b"1" * 255,
]  # fmt: skip
_HEX = [
    b"0x", b"0X", b"0", b"00", b"f", b"F", b"aB", b"10", b"x", b"g", b"0xff", b"00FF", b"f" * 15, b"f" * 16, b"f" * 17,
    b"0" * 20, b"e" * 300, b"0x" + b"0" * 40 + b"1", b"7" * 31, b"7" * 31 + b"8",
]  # fmt: skip
_SIZE = [
    b"k", b"K", b"M", b"m", b"G", b"Ki", b"KiB", b"MiB", b"gib", b"B", b"b", b"kB", b"bytes", b"QiB", b"Y", b"1.5",
    b"1000", b"1024", b"1k", b"0.000009765625TiB", b"1" * 20 + b"PiB", b"0." + b"0" * 40 + b"1EiB", b"-1Mi", b"+",
]  # fmt: skip
_DURATION = [
    b"h", b"m", b"s", b"ms", b"ns", b"d", b"\xc2\xb5s", b"1h", b"60m", b"90s", b"1.5 hours", b":", b"00", b"59",
    b"PT1H30M", b"P1D", b"T", b"1w2d", b"0.0000000019s", b"9" * 9, b"9" * 20 + b"s", b"P", b"-1.5s", b"1.9999", b"1:3",
]  # fmt: skip
_ADDRESS = [
    b"10.0.0.1", b"10.0.0.10", b"255.255.255.255", b"0.0.0.0", b"::", b"::1", b"1:2:3:4:5:6:7:8", b"[::1]:80", b"/8",
    b"fe80::1", b"::ffff:1.2.3.4", b":80", b".", b":", b"/", b"[", b"]", b"65536", b"1::", b"FF", b"01", b"256",
    b"1:2:3:4:5:6:7::", b"/129", b"1:2:3:4:5:6:1.2.3.4",
]  # fmt: skip
TIME_PARTS = [
    b"2024-02-29", b"2023-02-29", b"2024/12/31", b"20240301", b"T", b" ", b"t10:20:30", b"10:20", b":30", b"235960",
    b"Z", b".5", b",123456789012", b"+01:00", b"-0930", b"+24", b" UTC", b"GMT", b"Jan", b"feb ", b"MAR 31 02:30:00",
    b"Oct 27 02:30", b"Dec 31 23:59:60", b"Fri, ", b"sun ", b"31/Jan/2024:", b"[", b"]", b"5-Nov-2023 01:30:00",
    b"1700000000", b"1700000000.5", b"17000000000001", b"-1", b"9223372036854775807", b"9223372036854775808",
    b"0001-01-01", b"9999-12-31T23:59:59", b" 2024",
]  # fmt: skip
LISTED = (b"high", b"1", b"low", b"medium or something longer", b"10")
_LIST = [*LISTED, b"lo", b"w", b"none"]
_SYMBOLS: dict[str, list[bytes]] = {
    "bytes": _TEXT, "numeric": _NUMBER, "human": _NUMBER + _HUMAN, "general": _NUMBER + _GENERAL, "month": _MONTH,
    "version": _VERSION, "random": _TEXT, "hex": _HEX,
    "length": [*_TEXT, b"\xc3\xa9", b"\xe2\x82\xac"], "bytes_length": _TEXT, "size": _NUMBER + _SIZE, "list": _LIST,
    "time": TIME_PARTS, "log_time": TIME_PARTS, "duration": _NUMBER + _DURATION, "address": _ADDRESS,
}  # fmt: skip
NULLS = (b"NA", b"-", b"0x", b"null values of more than eight bytes")
_SHARED = [b"a" * 7, b"a" * 8, b"~" * 9, b"0" * 9, b"1" * 17, b" " * 9, b"1a" * 20, b"\0" * 5, b"JAN" * 3]
_LONG = [b"a" * 256, b"a" * 257, b"0" * 300, b"7" * 300, b"." + b"3" * 260, b" " * 300, b"x1" * 150, b".a" * 150]
_SEPARATORS = [b",", b",", b"\t", b" ", b"a", b"1", b".", b"\0", b"\xff"]
_LONG_SEPARATORS = [*_SEPARATORS, b"||", b"::", b", ", b"\xc2\xa7", b"a1a", b"1234567"]

# Binary exponents and fractions whose decimal digits 64 bits do not hold: compiled code and Python round differently.
INEXACT = re.compile(rb"0x[0-9a-f.,]{13}|0x[0-9a-f.,]*p[+-]?[0-9]{2}", re.IGNORECASE)


def list_of(values: Sequence[bytes]) -> bytes:
    """The parameters of list keys with these values."""
    return KIND_OF["list"].words(b"\n".join(values), None)


@dataclass(frozen=True)
class Case:
    """An order, and the arguments of sort for it, without the file of the salt."""

    order: LineOrder
    arguments: tuple[bytes, ...]
    salt: bytes
    """The bytes of the file for --random-source."""


@dataclass(frozen=True)
class _Key:
    """A key, its notation, and whether sort would apply the global options to it."""

    key: LineKey
    letters: str
    notation: str
    inherits: bool


@st.composite
def _options(draw: st.DrawFn, comparisons: Sequence[str]) -> tuple[LineKey, str]:
    """A key that is the whole line, and its letters except b."""
    compare = draw(st.sampled_from(comparisons))
    letters = OPTIONS[compare]
    fold, reverse = draw(st.booleans()), draw(st.booleans())
    dictionary = compare not in _NUMBERS and draw(st.booleans())
    printable = compare not in _NUMBERS and draw(st.booleans())
    # Random wins over version.
    letters += "V" if compare == "random" and draw(st.booleans()) else ""
    letters += "f" * fold + "d" * dictionary + "i" * printable + "r" * reverse
    key = LineKey(compare, reverse=reverse, fold=fold, dictionary=dictionary, printable=printable)
    return key, "".join(draw(st.permutations(letters)))


@st.composite
def _keys(draw: st.DrawFn, comparisons: Sequence[str]) -> _Key:
    key, letters = draw(_options(comparisons))
    place = st.sampled_from([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 9, 1 << 62])
    key = replace(key, start_field=draw(place), start_char=draw(place), skip_start=draw(st.booleans()))
    inherits = not letters and not key.skip_start
    start = f"{key.start_field + 1}"
    if key.start_char or draw(st.booleans()):
        start += f".{key.start_char + 1}"
    notation = start + letters + "b" * key.skip_start
    if draw(st.integers(0, 3)):
        key = replace(key, end_field=draw(place), end_char=draw(place), skip_end=draw(st.booleans()))
        stop = f"{key.end_field + 1}" if key.end_field is not None else ""
        if key.end_char or draw(st.booleans()):
            stop += f".{key.end_char}"
        # Letters count wherever they stand; only b belongs to its end.
        ahead = draw(st.booleans())
        notation = start + letters * ahead + "b" * key.skip_start + "," + stop + letters * (not ahead)
        notation += "b" * key.skip_end
        inherits = inherits and not key.skip_end
    return _Key(key, letters, notation, inherits)


@st.composite
def _classed(draw: st.DrawFn, key: LineKey) -> LineKey:
    """The key, with places of nulls and of invalid values."""
    nulls, invalid = draw(st.sampled_from(["", "first", "last"])), draw(st.sampled_from(["", "first", "last"]))
    values = tuple(draw(st.lists(st.sampled_from(NULLS), max_size=3, unique=True)))
    if key.kind.separated and draw(st.booleans()):
        thousands, decimal = draw(
            st.sampled_from([(b",", b"."), (b".", b","), (b"'", b"\0"), (b"\0", b","), (b" ", b",")])
        )
        key = replace(key, thousands=thousands[0], decimal=decimal[0])
    return replace(key, nulls=nulls, null_values=values, invalid=invalid if key.kind.typed else "")


@st.composite
def cases(draw: st.DrawFn, comparisons: Sequence[str] = KNOWN_TO_SORT, *, classed: bool = False) -> Case:
    """Orders that sort takes; with other kinds or `classed`, whose keys may be null, orders that it does not take."""
    arguments: list[str] = []
    separator = draw(st.none() | st.sampled_from(_LONG_SEPARATORS if classed else _SEPARATORS))
    terminator = draw(st.sampled_from([NEWLINE, NEWLINE, NUL]))
    reverse, stable = draw(st.booleans()), draw(st.booleans())
    salt = draw(st.binary(min_size=SALT_BYTES, max_size=SALT_BYTES))
    keys: list[LineKey] = []
    if draw(st.integers(0, 3)):
        for key in draw(st.lists(_keys(comparisons), min_size=1, max_size=3)):
            keys.append(replace(key.key, reverse=reverse) if key.inherits else key.key)
            arguments.append(f"-k{key.notation}")
        arguments += ["-r"] * reverse
    else:
        whole, letters = draw(_options(comparisons))
        blanks = draw(st.booleans())
        whole, letters = replace(whole, skip_start=blanks, skip_end=blanks), letters + "b" * blanks
        reverse = whole.reverse
        if letters.replace("r", ""):
            keys.append(whole)
        arguments += [f"-{letter}" for letter in letters]
    arguments += ["-s"] * stable + ["-z"] * (terminator == NUL)
    keys = [replace(key, parameters=salt) if key.compare == "random" else key for key in keys]
    timed = [draw(st.sampled_from(WITHOUT_FORMAT)) if key.kind.timed else b"" for key in keys]
    keys = [replace(key, parameters=words) if key.kind.timed else key for key, words in zip(keys, timed, strict=True)]
    keys = [replace(key, parameters=list_of(LISTED)) if key.compare == "list" else key for key in keys]
    if classed:
        keys = [draw(_classed(key)) for key in keys]
    else:
        keys = [replace(key, invalid="last") if key.kind.typed else key for key in keys]
    given = [argument.encode() for argument in arguments]
    if separator is not None:
        given.append(b"-t" + (b"\\0" if separator == b"\0" else separator))
    first_line = classed and terminator == NUL and draw(st.booleans())
    order = LineOrder(tuple(keys), separator, reverse, stable, terminator, first_line=first_line)
    return Case(order, tuple(given), salt)


@st.composite
def lines(draw: st.DrawFn, order: LineOrder, most: int = 16) -> list[bytes]:
    """Lines without their terminators, in no order."""
    symbols = list(_COMMON)
    for key in order.keys or (LineKey(),):
        symbols += _SYMBOLS[key.compare]
        symbols += key.null_values
    symbols.append(b"\n" if order.terminator == NUL else b"\0")
    if order.separator is not None:
        symbols += [order.separator] * (1 + len(symbols) // 6)
    few = draw(st.lists(st.sampled_from(symbols), min_size=1, max_size=10)) if draw(st.booleans()) else symbols
    ahead = draw(st.just(b"") | st.sampled_from(_SHARED) | st.sampled_from(_LONG))
    line = st.builds(
        lambda shared, parts: ahead * shared + b"".join(parts),
        st.booleans(),
        st.lists(st.sampled_from(few), max_size=6),
    )
    drawn = draw(st.lists(line, min_size=draw(st.sampled_from([0, most // 2])), max_size=most))
    return [line.replace(bytes([order.terminator]), b"") for line in drawn]
