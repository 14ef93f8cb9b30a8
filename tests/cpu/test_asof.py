"""As-of joins of lines in memory by all kinds of last keys, in any ranges, against plain Python."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.native import comparison, cuts, joins, sources, specs
from gpumerge_cli.native.comparison import key_by, read_duration
from gpumerge_cli.native.cuts import Cuts
from gpumerge_cli.native.joins import Joins, JoinWorker
from gpumerge_cli.native.library import load_library
from gpumerge_cli.order.asof import (
    DIRECTIONS,
    FLOATS,
    NO_SCALE,
    NUMBERS,
    Asof,
    Measure,
    Tolerance,
    scale_of_kind,
)
from gpumerge_cli.order.joins import JOIN_TYPES, Join
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.record_joins import RecordJoin, joined_type, parts_of, turned_alike
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.asof import float_or_none, partners
from tests.cpu import libraries
from tests.cpu.test_joins import ROUNDS
from tests.cpu.test_joins import _Held as Held

CASES = 10 * ROUNDS
MANY_CASES = 10_000
_UNITS = {"": 1, "k": 1000, "KiB": 1024, "M": 10**6, "Mi": 1 << 20, "Gi": 1 << 30, "Qi": 1 << 100}


@pytest.fixture(autouse=True, scope="module")
def _library_under_test() -> Iterator[None]:
    path = libraries.path()
    loaded = load_library(path.parent, path.stem.removeprefix("gpumerge-"))
    with pytest.MonkeyPatch.context() as patched:
        for module in (joins, sources, specs, cuts, comparison):
            patched.setattr(module, "library", lambda: loaded)
        yield


_BYTES = LineKey()


@dataclass(frozen=True)
class Kind:
    """A kind of last keys. text: makes one, and says its value; None for one that is no value."""

    name: str
    text: Callable[[random.Random], tuple[str, Any]]
    tolerance: Callable[[random.Random], Tolerance] | None = None
    key: LineKey = _BYTES


def _number(chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.1:
        return chance.choice(["", "x", "-", ".", "-x"]), None
    long = chance.choice([1, 1, 1, 10**5, 10**19, 10**40])
    number = Fraction(chance.randrange(-40, 40) * long + chance.randrange(3), chance.choice([1, 2, 8, 10**9, 10**25]))
    text = _decimals(number)
    zeros = chance.choice(["", "", "0", "000"])
    sign, bare = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + zeros + bare + ("0" * chance.randrange(3) if "." in text else ""), number


def _decimals(number: Fraction) -> str:
    """All digits of a number whose denominator divides a power of ten."""
    power = next(power for power in range(60) if 10**power % number.denominator == 0)
    digits = str(abs(number.numerator) * (10**power // number.denominator)).rjust(power + 1, "0")
    sign = "-" if number < 0 else ""
    return sign + digits[: len(digits) - power] + "." * (power > 0) + digits[len(digits) - power :]


def _general(chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.2:
        infinite = [("inf", Infinite(1)), ("-inf", Infinite(-1))]
        return chance.choice([("nan", None), ("x", None), ("", None), ("0x1F", Fraction(31)), *infinite])
    exponent = chance.choice([0, 0, 0, 2, -3, 30, -30, 3000])
    digits = chance.randrange(-30, 30) * chance.choice([1, 1, 10**19]) + chance.randrange(2)
    return f"{digits}e{exponent}", Fraction(digits) * Fraction(10) ** exponent


def _size(chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.1:
        return chance.choice(["", " "]), None
    unit = chance.choice([*_UNITS])
    number = Fraction(chance.randrange(-60, 60), chance.choice([1, 2, 10]))
    return _decimals(number) + unit, number * _UNITS[unit]


def _time(chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.1:
        return chance.choice([("", None), ("no time", None)])
    second, nano = chance.randrange(100), chance.choice([0, 0, 500_000_000, 1, 999_999_999])
    minute = chance.choice([0, 1])
    text = f"2024-01-31T10:{minute:02}:{second % 60:02}" + (f".{nano:09}" if nano else "") + "Z"
    return text, (minute * 60 + second % 60) * 10**9 + nano


def _duration(chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.1:
        return chance.choice([("", None), ("soon", None)])
    sign, seconds, millis = chance.choice(["", "", "-"]), chance.randrange(90), chance.randrange(3)
    return f"{sign}{seconds}s{millis}ms", (-1 if sign else 1) * (seconds * 10**9 + millis * 10**6)


def _bytes(chance: random.Random) -> tuple[str, Any]:
    text = chance.choice("abcd") * chance.randrange(4)
    return text, text


def _of_number(chance: random.Random) -> Tolerance:
    text = _decimals(Fraction(chance.choice([0, 1, 2, 5, 17, 10**21]), chance.choice([1, 1, 2, 10**9])))
    return Tolerance(text, text)


def _of_time(chance: random.Random) -> Tolerance:
    text = chance.choice(["0s", "1s", "1ms", "1ns", "20s", "1m", "1500ms"])
    return Tolerance(text, None, read_duration(text) or 0)


class Infinite:
    """An infinite number among fractions."""

    def __init__(self, sign: int) -> None:
        self.sign = sign

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Infinite) and self.sign == other.sign

    def __hash__(self) -> int:
        return self.sign

    def _number(self, other: Any) -> tuple[int, int]:
        return self.sign, other.sign if isinstance(other, Infinite) else 0

    def __lt__(self, other: Any) -> bool:
        own, others = self._number(other)
        return own < others

    def __gt__(self, other: Any) -> bool:
        own, others = self._number(other)
        return own > others

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __sub__(self, other: Any) -> Infinite:
        return Infinite(1)

    __rsub__ = __sub__


KINDS = (
    Kind("bytes", _bytes),
    Kind("numeric", _number, _of_number, LineKey("numeric")),
    Kind("general", _general, _of_number, LineKey("general")),
    Kind("size", _size, _of_number, LineKey("size")),
    Kind("time", _time, _of_time, LineKey("time", invalid="last")),
    Kind("time first", _time, _of_time, LineKey("time", nulls="first", invalid="first")),
    Kind("duration", _duration, _of_time, LineKey("duration", invalid="first")),
    Kind("log_time", _time, _of_time, LineKey("log_time", invalid="last")),
    Kind("version", _bytes, None, LineKey("version")),
)


def _join(kind: Kind, asof: Asof, exact: int, reverse: bool) -> Join:
    """A join of lines of two exact keys, the last key and a number. reverse: exact keys descend."""
    fields = (*range(exact), 2)
    keys = (*(LineKey("bytes", reverse=reverse) for _ in range(exact)), kind.key)
    key = LineOrder(keys if exact or kind.name != "bytes" else (), stable=True)
    made = asof.by("t", "by kind", scale_of_kind(kind.key.compare), descending=False)
    return Join(
        (fields, fields), key, b",", b",", shows=JOIN_TYPES["left"], asof=made, columns=((1, 3), (2, 3)),
    )  # fmt: skip


def _rows(chance: random.Random, kind: Kind, exact: int, count: int) -> list[tuple[bytes, Any]]:
    made = []
    for _ in range(count):
        words = [chance.choice(["", "a", "b", "aa"]) for _ in range(2)]
        text, value = kind.text(chance)
        made.append((",".join([*words, text]).encode(), (tuple(words[:exact]), value)))
    return made


def found(join: Join | RecordJoin, held: Sequence[Held], capacity: int, tasks: int) -> bytes:
    """The result of the join in so many tasks, in any order."""
    total = sum(side.size for side in held)
    inner = Cuts(held, join.compared, groups=True, tables=join.tables).at(
        [total * number // tasks for number in range(1, tasks)]
    )
    edges = [(0, 0), *zip(inner[::2], inner[1::2], strict=True), tuple(side.size for side in held)]
    worker = JoinWorker(Joins(held, join), capacity)
    parts: dict[int, bytes] = {}
    ranges = [*enumerate(pairwise(edges))]
    for number, (low, high) in ranges[::-1]:
        worker.run([*zip(low, high, strict=True)], 0, 0)
        parts[number] = b"".join(part.tobytes() for part in worker.outputs())
    worker.close()
    return b"".join(parts[number] for number, _ in ranges)


def _check(chance: random.Random, kind: Kind) -> None:
    direction = chance.choice(DIRECTIONS) if kind.tolerance else chance.choice(["backward", "forward"])
    tolerance = kind.tolerance(chance) if kind.tolerance is not None and chance.random() < 0.5 else None
    exact = chance.choice([0, 0, 1, 2])
    join = _join(kind, Asof(direction, tolerance), exact, chance.random() < 0.3)  # type: ignore[arg-type]
    order = key_by(Order.lines(join.rules[0]))
    rows = [
        sorted(_rows(chance, kind, exact, chance.choice([0, 1, 3, 12, 40])), key=lambda one: order(one[0]))
        for _ in range(2)
    ]
    padding = b"p" * chance.choice([0, 0, 3000])
    sides = [
        [line + b",%s%d" % (name + padding, number) for number, (line, _) in enumerate(side)]
        for name, side in zip((b"a", b"b"), rows, strict=True)
    ]
    most = None
    if tolerance is not None:
        most = tolerance.nanos if tolerance.number is None else Fraction(tolerance.number)
    wanted = partners([row for _, row in rows[0]], [row for _, row in rows[1]], direction, most)
    expected = [
        b"a%s%d," % (padding, number) + (b"" if one is None else b"b%s%d" % (padding, one))
        for number, one in enumerate(wanted)
    ]
    capacity, tasks = chance.choice([0, 1 << 20]), chance.choice([1, 1, 2, 3, 10])
    joined = found(join, [Held(side) for side in sides], capacity, tasks).split(b"\n")[:-1]
    assert joined == expected, (kind.name, direction, tolerance, exact, rows)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_item_of_a_has_its_partner(kind: Kind, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(CASES):
        _check(chance, kind)


@pytest.mark.parametrize("last", ["<i4", ">i8", "<f2", "<f4", ">f8", "S3"])
@pytest.mark.parametrize("exact", [(), ("S3",), (">u2", "<i8")])
def test_records(exact: Sequence[str], last: str, seed: int) -> None:
    chance = random.Random(seed)
    names = [*(f"k{number}" for number in range(len(exact))), "t"]
    measure: Measure = "float" if "f" in last else "bytes" if last[0] == "S" else "whole"
    for _ in range(ROUNDS):
        sides = []
        for name in "ab":
            made = np.zeros(chance.choice([0, 1, 100]), [*zip(names, [*exact, last], strict=True), (name, "<i4")])
            for own in names:
                numbers = [chance.randrange(9) for _ in made]
                made[own] = [b"%d" % one for one in numbers] if made.dtype[own].kind == "S" else numbers
            if measure == "float" and len(made):
                made["t"][-1] = math.nan
            native = made.astype([(own, made.dtype[own].newbyteorder("=")) for own in made.dtype.names])
            sides.append(made[np.lexsort([native[own] for own in names[::-1]])])
            sides[-1][name] = range(len(made))
        orders = turned_alike([order_of(side.dtype, Key(fields=tuple(names))) for side in sides])
        direction = chance.choice(DIRECTIONS[: 2 if measure == "bytes" else 3])
        tolerance = None if measure == "bytes" else chance.choice([None, 0, 1])
        asof = Asof(direction, None if tolerance is None else Tolerance("", str(tolerance)))
        scale = {"float": FLOATS, "bytes": NO_SCALE, "whole": NUMBERS}[measure]
        asof = asof.by("t", measure, scale, descending=False, width=np.dtype(last).itemsize)
        join = RecordJoin(JOIN_TYPES["left"], b"\xff", orders, asof)
        joined = found(join, [Held([], side.tobytes()) for side in sides], chance.choice([0, 1 << 20]), 3)
        dtype = np.dtype(joined_type(sides[0].dtype, sides[1].dtype, parts_of(orders[1])))
        rows = [
            [(tuple(row[own].item() for own in names[:-1]), _of_record(row["t"].item())) for row in side]
            for side in sides
        ]
        wanted = partners(rows[0], rows[1], direction, tolerance)
        assert np.frombuffer(joined, dtype)["b"].tolist() == [-1 if one is None else one for one in wanted]


def _of_record(value: Any) -> Any:
    return float_or_none(value) if isinstance(value, float) else value


@pytest.mark.thorough
def test_many_cases(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(MANY_CASES):
        _check(chance, chance.choice(KINDS))
