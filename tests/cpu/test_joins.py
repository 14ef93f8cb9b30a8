"""Joins of lines in memory, line by line against Python: also the lines at the very end of what may be read."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.errors import InputError
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.native import joins, sources, specs
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.joins import Joins, JoinWorker
from gpumerge_cli.native.library import load_library
from gpumerge_cli.order.joins import JOIN_TYPES, ONLY_A, ONLY_B, PAIRS, Join
from gpumerge_cli.order.record_joins import RecordJoin, joined_type, parts_of, turned_alike
from gpumerge_cli.order.rules import LineOrder
from tests.cpu import libraries

_COMMA = b","
ROUNDS = int(os.environ.get("GPUMERGE_TEST_ROUNDS", "6"))
SIDE = 500 if os.environ.get("GPUMERGE_TEST_FEW") else 2000


@pytest.fixture(autouse=True, scope="module")
def _library_under_test() -> Iterator[None]:
    """Joins use the library that is tested, which may be one that a sanitizer watches."""
    path = libraries.path()
    loaded = load_library(path.parent, path.stem.removeprefix("gpumerge-"))
    with pytest.MonkeyPatch.context() as patched:
        for module in (joins, sources, specs):
            patched.setattr(module, "library", lambda: loaded)
        yield


class _Held:
    """A source of lines, or of other data, in memory."""

    name = "held"

    def __init__(self, lines: Sequence[bytes], data: bytes | None = None) -> None:
        if data is None:
            data = b"".join(line + b"\n" for line in lines)
        self._data = np.frombuffer(data, np.uint8)
        self.size = len(self._data)

    @property
    def extent(self) -> Extent:
        return Extent(-1, 0, self.size, memory=self._data)

    def location(self, offset: int) -> str:
        return f"{self.name}:{offset}"

    def read_into(self, start: int, out: Any) -> None:
        raise AssertionError("it is in memory")


class _Watched(_Held):
    """A source that is read by calls, which it counts. sizes: the bytes of each."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        super().__init__(lines)
        self.sizes: list[int] = []

    @property
    def extent(self) -> None:  # type: ignore[override]
        return None

    def read_into(self, start: int, out: Any) -> None:
        self.sizes.append(len(out))
        out[:] = self._data[start : start + len(out)]


def joined(join: Join, a: Sequence[bytes], b: Sequence[bytes], capacity: int = 1 << 20) -> list[bytes]:
    """The lines of the join, which is one chunk. capacity: see JoinWorker."""
    held = [_Held(a), _Held(b)]
    worker = JoinWorker(Joins(held, join), capacity)
    try:
        worker.run([(0, held[0].size), (0, held[1].size)], 0, 0)
        return b"".join(part.tobytes() for part in worker.outputs()).split(b"\n")[:-1]
    finally:
        worker.close()


def fields_of(line: bytes, join: Join) -> list[bytes]:
    if not line:
        return []
    if join.separator is not None:
        return line.split(join.separator)
    bare = line.lstrip(b" \t")
    return re.split(rb"[ \t]+", bare) if bare else []


def expected(join: Join, a: Sequence[bytes], b: Sequence[bytes]) -> list[bytes]:
    """The join of lines in bytewise order, pair by pair."""
    sides = [[fields_of(line, join) for line in lines] for lines in (a, b)]
    key_a, key_b = ([_key(line, at) for line in side] for side, at in zip(sides, join.fields, strict=True))
    found: list[bytes] = []
    for key in sorted(map(list, {*map(tuple, key_a), *map(tuple, key_b)})):
        some_a = [line for line, own in zip(sides[0], key_a, strict=True) if own == key]
        some_b = [line for line, own in zip(sides[1], key_b, strict=True) if own == key]
        if some_a and some_b:
            found += [_line(join, x, y) for x in some_a for y in some_b if join.shows & PAIRS]
            found += [_line(join, x, None) for x in some_a if join.shows & JOIN_TYPES["semi"]]
        elif join.shows & (ONLY_A if some_a else ONLY_B):
            found += [_line(join, x, None) for x in some_a] + [_line(join, None, y) for y in some_b]
    return found


def _field(line: Sequence[bytes], number: int) -> bytes:
    return line[number] if number < len(line) else b""


def _key(line: Sequence[bytes], numbers: Sequence[int]) -> list[bytes]:
    return [_field(line, number) for number in numbers]


def _line(join: Join, a: list[bytes] | None, b: list[bytes] | None) -> bytes:
    key = _key(b or [], join.fields[1]) if a is None else _key(a, join.fields[0])
    if join.columns is None:
        others = [
            field
            for line, at in zip((a or [], b or []), join.fields, strict=True)
            for number, field in enumerate(line)
            if number not in at
        ]
        words = [*key, *others]
    else:
        words = [key[at] if side == 0 else _field((a, b)[side - 1] or [], at) for side, at in join.columns]
    return join.between.join(word or join.filler for word in words)


def _lines(chance: random.Random, join: Join, at: Sequence[int], longest: int) -> list[bytes]:
    gap = join.separator or b" "
    made = []
    for _ in range(chance.randint(0, 60)):
        words = [bytes([chance.choice(b"abAB0")]) * chance.randint(0, longest) for _ in range(chance.randint(1, 5))]
        margin = chance.choice([b"", b"", b" ", b"\t "]) if join.separator is None else b""
        made.append(chance.choice([gap.join(words), margin + gap.join(words), gap.join(words) + margin, b""]))
    return sorted(made, key=lambda line: _key(fields_of(line, join), at))


@pytest.mark.one_of_each
@pytest.mark.parametrize("separator", [None, _COMMA, b"||", "§".encode()])
@pytest.mark.parametrize("longest", [2, 20, 100])
@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_every_way_out(kind: str, longest: int, separator: bytes | None, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        keys = chance.choice([1, 1, 2, 3])
        sides = chance.choices([0, 1, 2], k=4)
        columns = tuple((side, chance.randrange(keys if side == 0 else 6)) for side in sides)
        first, second = (tuple(chance.sample(range(4), keys)) for _ in range(2))
        join = Join(
            fields=(first, second),
            separator=separator,
            between=separator or b" ",
            shows=JOIN_TYPES[kind],
            columns=chance.choice([None, columns]),
            filler=chance.choice([b"", b"", b"none"]),
        )
        a, b = (_lines(chance, join, at, longest) for at in join.fields)
        assert joined(join, a, b, chance.choice([0, 1 << 20])) == expected(join, a, b)


_KEYS = (["<i4"], [">i4", "S3"], ["<f8"], ["S11"], ["u1", ">u2", "<f4"])


def _records(chance: random.Random, types: Sequence[str], *, swapped: bool) -> tuple[np.ndarray[Any, Any], list[str]]:
    """Records that are sorted by fields k0, k1, ..., between other fields, and their names."""
    names = [f"k{number}" for number in range(len(types))]
    fields = [(name, np.dtype(one).newbyteorder() if swapped else one) for name, one in zip(names, types, strict=True)]
    gaps = [(f"g{number}", f"S{chance.randint(1, 9)}") for number in range(chance.randint(0, 3))]
    layout = [*fields, *gaps]
    chance.shuffle(layout)
    made = np.zeros(chance.choice([0, 1, 100]), layout)
    for name in names:
        kind = made.dtype[name]
        made[name] = [chance.choice([b"", b"a", b"ab"]) if kind.kind == "S" else chance.randrange(4) for _ in made]
    for name, _ in gaps:
        made[name] = [chance.choice([b"x", b"yy", b"z"]) for _ in made]
    return np.sort(made, order=names, kind="stable"), names


@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize("types", _KEYS)
def test_records_of_other_layouts(types: list[str], kind: str, seed: int) -> None:
    """Groups that fit into the room and others; keys of other byte orders in either input."""
    chance = random.Random(seed)
    for _ in range(ROUNDS // 3):
        sides = [_records(chance, types, swapped=chance.random() < 0.5) for _ in range(2)]
        orders = turned_alike([order_of(side.dtype, Key(fields=tuple(names))) for side, names in sides])
        a, b = (side for side, _ in sides)
        join = RecordJoin(JOIN_TYPES[kind], b"\xee", orders)
        held = [_Held([], side.tobytes()) for side in (a, b)]
        worker = JoinWorker(Joins(held, join), chance.choice([0, 1 << 20]))
        worker.run([(0, each.size) for each in held], 0, 0)
        found = b"".join(part.tobytes() for part in worker.outputs())
        worker.close()
        dtype = np.dtype(joined_type(a.dtype, b.dtype, parts_of(orders[1]))) if join.has_rest else a.dtype
        assert found == _records_expected(a, b, dtype, join)


def _records_expected(a: Any, b: Any, dtype: np.dtype[Any], join: RecordJoin) -> bytes:
    names = [part.name for part in parts_of(join.orders[0])]
    keys = [[tuple(row[name] for name in names) for row in side] for side in (a, b)]
    found: list[tuple[int | None, int | None]] = []
    for key in sorted({*keys[0], *keys[1]}):
        some_a, some_b = ([at for at, own in enumerate(side) if own == key] for side in keys)
        if join.shows & PAIRS:
            found += [(x, y) for x in some_a for y in some_b]
        if join.shows & (JOIN_TYPES["semi"] if some_b else ONLY_A):
            found += [(x, None) for x in some_a]
        if join.shows & ONLY_B and not some_a:
            found += [(None, y) for y in some_b]
    made = np.frombuffer(bytearray(b"\xee" * dtype.itemsize * len(found)), dtype)
    others = [name for name in b.dtype.names if name not in names] if join.has_rest else []
    for row, (x, y) in zip(made, found, strict=True):
        for name in a.dtype.names:
            if x is not None or name in names:
                row[name] = a[x][name] if x is not None else b[y][name]
        for name, own in zip(others, dtype.names[len(a.dtype.names) :], strict=True) if y is not None else ():
            row[own] = b[y][name]
    return made.tobytes()


def test_threads_share_joins() -> None:
    """Each has a worker of its own, on the same sources."""
    held = [_Held([b"%03d %s" % (number // 3, name) for number in range(600)]) for name in (b"a", b"b")]
    joins = Joins(held, Join())

    def one(_: int) -> bytes:
        worker = JoinWorker(joins, 0)
        worker.run([(0, held[0].size), (0, held[1].size)], 0, 0)
        found = b"".join(part.tobytes() for part in worker.outputs())
        worker.close()
        return found

    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(one, range(6)))) == 1


def test_a_part_ends_where_the_lines_of_a_pair_do() -> None:
    """A product of many pairs goes out in parts of a little more than a megabyte."""
    held = [_Held([b"k a%04d" % number for number in range(SIDE)]), _Held([b"k b"] * SIDE)]
    worker = JoinWorker(Joins(held, Join()))
    worker.run([(0, held[0].size), (0, held[1].size)], 0, 0)
    total = 0
    for part in worker.outputs():
        assert len(part) < (1 << 20) + 100
        assert part[-1] == ord("\n")
        total += len(part)
    worker.close()
    assert total == SIDE**2 * len(b"k a0000 b\n")
    assert worker.counts == [SIDE, SIDE]
    assert worker.dropped == 2 * SIDE - SIDE**2


@pytest.mark.parametrize("columns", [None, ((0, 0), (2, 1), (1, 1))])
def test_groups_are_read_through_windows(columns: Any, seed: int) -> None:
    """Groups larger than the room, in either input or in both, and lines that are longer than it."""
    chance = random.Random(seed)
    for counts in ((300, 4), (4, 300), (70, 70)):
        sides = [
            [b"%s %s" % (key, chance.randbytes(chance.choice([1, 40, 400])).replace(b"\n", b"").hex().encode())
             for key, share in ((b"a", 2), (b"b", count), (b"c", 1), (b"d", count)) for _ in range(share)]
            for count in counts
        ]  # fmt: skip
        sides[0].insert(3, b"b " + b"long" * 4000)
        join = Join(shows=JOIN_TYPES["outer"], columns=columns)
        watched = [_Watched(side) for side in sides]
        worker = JoinWorker(Joins(watched, join), 0)
        worker.run([(0, side.size) for side in watched], 0, 0)
        assert b"".join(part.tobytes() for part in worker.outputs()).split(b"\n")[:-1] == expected(join, *sides)
        worker.close()
        assert max(watched[1].sizes) <= 1 << 12
        assert max(watched[0].sizes) <= 1 << 16  # a few times the long line


@pytest.mark.parametrize("way", ["bytes", "numeric", "version", "general", "human", "month"])
def test_disorder_in_either_input(way: Any) -> None:
    from gpumerge_cli.order.rules import LineKey

    order = LineOrder((LineKey(way),), stable=True) if way != "bytes" else LineOrder(stable=True)
    join = replace(Join(), key=order)
    rising, falling = [b"1 x", b"2 y"], [b"2 y", b"1 x"]
    if way == "month":
        rising, falling = [b"JAN x", b"FEB y"], [b"FEB y", b"JAN x"]
    assert len(joined(join, rising, rising)) == 2
    for number, inputs in enumerate([(falling, rising), (rising, falling)]):
        with pytest.raises(Disordered) as found:
            joined(join, *inputs)
        assert found.value.source == number


@pytest.mark.one_of_each
@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize("capacity", [1 << 12, 1 << 20])
def test_rows_of_csv_have_all_columns(capacity: int, kind: str, seed: int) -> None:
    """Rows as long as the first ones are copied as they lie; shorter ones are filled, in all sizes about a block."""
    chance = random.Random(seed)
    counts = (3, 2 if JOIN_TYPES[kind] & (PAIRS | ONLY_B) else 0)
    join = Join(separator=_COMMA, between=_COMMA, quoted=True, shows=JOIN_TYPES[kind], most=counts)
    join = replace(join, columns=join.all_columns(counts))
    sides = []
    for most in (3, 2):
        keys = sorted(b"%03d" % chance.randrange(SIDE // 4) for _ in range(SIDE))
        rows = [
            [key, *(chance.choice([b"", b'"q,"""', b"x" * chance.randrange(80)]) for _ in range(2))] for key in keys
        ]
        sides.append([row[: chance.choice([most, most, 1, 2])] for row in rows])
    a, b = ([b",".join(row) for row in side] for side in sides)
    whole = [[row + [b""] * (most - len(row)) for row in side] for most, side in zip((3, 2), sides, strict=True)]
    groups: dict[bytes, tuple[list[list[bytes]], list[list[bytes]]]] = {}
    for number, side in enumerate(whole):
        for row in side:
            groups.setdefault(row[0], ([], []))[number].append(row)
    rest, wanted = [b""] * (counts[1] > 0), []
    for key, (some_a, some_b) in sorted(groups.items()):
        wanted += [x + y[1:] for x in some_a for y in some_b if join.shows & PAIRS]
        wanted += [x + rest for x in some_a if join.shows & (JOIN_TYPES["semi"] if some_b else ONLY_A)]
        wanted += [[key, b"", b"", *y[1:]] for y in some_b if join.shows & ONLY_B and not some_a]
    assert joined(join, a, b, capacity) == [b",".join(row) for row in wanted]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("count", [3, 5000])
def test_a_row_of_csv_with_more_fields_is_an_error_with_its_place(count: int, side: int) -> None:
    join = Join(separator=_COMMA, between=_COMMA, quoted=True, most=(2, 2), columns=((0, 0), (1, 1), (2, 1)))
    rows = [b"k,%d" % number for number in range(count)]
    rows[-2] += b",,x"
    sides = [rows, [b"k,y"]] if side == 0 else [[b"k,y"], rows]
    with pytest.raises(InputError, match="has 4 fields, and line 1 has 2") as found:
        joined(join, *sides, capacity=1 << 12)
    assert found.value.where == f"held:{sum(len(row) + 1 for row in rows[:-2])}"
