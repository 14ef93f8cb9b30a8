"""gpumerge join --type asof of tables: all keys against Python, usual ones against DuckDB, polars and pandas."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke
from tests.asof import Row, float_or_none, partners, partners_of_descending

pytestmark = pytest.mark.usefixtures("small_chunks")
CASES = 12
MANY_CASES = 300
_DIRECTIONS = ("backward", "forward", "nearest")
_NANOS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_NUMBERS = (
    pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    pa.decimal128(30, 2), pa.decimal128(5, 0),
)  # fmt: skip
_TIMES = (
    pa.date32(), pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.timestamp("us"), pa.time32("ms"), pa.time64("ns"),
    pa.duration("ms"),
)  # fmt: skip
_OTHERS = (pa.string(), pa.binary(), pa.binary(3), pa.decimal256(50, 1), pa.bool_())
_EXACT = (pa.string(), pa.int32(), pa.dictionary(pa.int8(), pa.string()), pa.float64())


def _values(rng: random.Random, type: pa.DataType, count: int, nulls: float) -> list[Any]:
    """The values of a column as Python has them; of times the units since the first one."""
    least = 0 if pa.types.is_unsigned_integer(type) or pa.types.is_time(type) or type == pa.string() else -30
    found: list[Any] = []
    for _ in range(count):
        number = rng.randrange(least, 60)
        value: Any = number
        if pa.types.is_floating(type):
            value = rng.choice([number / 4, number / 4, math.inf, -math.inf, math.nan, -0.0])
        elif pa.types.is_decimal(type):
            value = Decimal(number).scaleb(-type.scale)
        elif type == pa.bool_():
            value = number % 2 == 0
        elif type not in (*_NUMBERS, *_TIMES, *_EXACT[1:2]):
            value = f"{number % 10}{'x' * (number % 3)}".ljust(3)
            value = value if type != pa.string() and "dictionary" not in str(type) else value.strip()
            value = value.encode() if pa.types.is_binary(type) or pa.types.is_fixed_size_binary(type) else value
        found.append(None if rng.random() < nulls else value)
    return found


def _array(values: list[Any], type: pa.DataType) -> pa.Array:
    if pa.types.is_temporal(type):
        ints = pa.int32() if type.bit_width == 32 else pa.int64()
        return pa.array(values, ints).cast(type) if type != pa.duration("ms") else pa.array(values, ints).view(type)
    return pa.array(values, type)


def _place(value: Any, nulls: str) -> Any:
    """The key by which Python orders values."""
    if value is None:
        return (-1 if nulls == "first" else 3, 0)
    if isinstance(value, float) and math.isnan(value):
        return (2, 0)
    return (1, value)


def _turned(value: Any, ranks: dict[Any, int], nulls: str) -> float:
    """The key by which Python orders values of a column that descends. Nulls stay where they are."""
    if value is None:
        return -math.inf if nulls == "first" else math.inf
    return -ranks[_place(value, nulls)]


def _write(rng: random.Random, table: pa.Table, path: Path) -> str:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=rng.choice([3, 50, 1000]))
    else:
        feather.write_feather(table, path, chunksize=rng.choice([3, 50]))
    return str(path)


def _tolerance(rng: random.Random, type: pa.DataType) -> tuple[str, Any] | None:
    """(the option's value, the same as a distance); None for no tolerance."""
    steps = rng.choice([None, 0, 1, 5, 20])
    if steps is None or type in _OTHERS[:4]:
        return None
    if type in _TIMES:
        unit = 86400 * 10**9 if type == pa.date32() else _NANOS[type.unit]
        return f"{steps * unit}ns" if rng.random() < 0.5 else f"{steps * unit / 10**9:.9f}s", steps
    if pa.types.is_floating(type):
        return str(steps / 4), steps / 4
    more = rng.choice(["", ".4"]) if not pa.types.is_decimal(type) else ""
    return f"{steps}{more}", Decimal(f"{steps}{more}")


def _float_distance(low: Any, high: Any) -> Any:
    return high - low


def _check(rng: random.Random, folder: Path) -> None:
    last = rng.choice([*_NUMBERS, *_TIMES, *_OTHERS])
    exact = rng.sample(_EXACT, rng.choice([0, 0, 1, 2]))
    direction = rng.choice(_DIRECTIONS[: 2 if last in _OTHERS[:4] else 3])
    nulls, share = rng.choice(["first", "last"]), rng.choice([0, 0, 0.2])
    tolerance, turned = _tolerance(rng, last), rng.random() < 0.4
    names = [f"k{number}" for number in range(len(exact))] + ["t"]
    files, sides = [], []
    for side in "ab":
        count = rng.choice([0, 1, 30, 500])
        columns = [_values(rng, type, count, share) for type in (*exact, last)]
        order = sorted(range(count), key=lambda at: [_place(column[at], nulls) for column in columns])
        if turned:
            ranks = {place: rank for rank, place in enumerate(sorted({_place(one, nulls) for one in columns[-1]}))}
            order = sorted(range(count), key=lambda at: [
                *(_place(column[at], nulls) for column in columns[:-1]), _turned(columns[-1][at], ranks, nulls),
            ])  # fmt: skip
        columns = [[column[at] for at in order] for column in columns]
        sides.append([*zip(*columns, strict=True)])
        arrays = [_array(column, type) for column, type in zip(columns, (*exact, last), strict=True)]
        table = pa.table({**dict(zip(names, arrays, strict=True)), side: pa.array(range(count), pa.int32())})
        files.append(_write(rng, table, folder / f"{side}{rng.choice(['.parquet', '.arrow'])}"))
    rows: list[list[Row]] = [
        [(_exact(row[:-1], side), _value(row[-1])) for row in rows] for side, rows in enumerate(sides)
    ]
    partners_of = partners_of_descending if turned else partners
    wanted = partners_of(*rows, direction, None if tolerance is None else tolerance[1], _float_distance)
    out = folder / "o.parquet"
    fields = [word for name in names for word in ("--field", name + ":r" * (turned and name == "t"))]
    options = ["--direction", direction, *([] if tolerance is None else ["--tolerance", tolerance[0]])]
    status = invoke(["join", "-q", "--type", "asof", *fields, *options, "--nulls", nulls, *files, "--output", str(out)])
    described = (str(last), [*map(str, exact)], direction, tolerance, nulls, turned)
    assert status == 0, described
    found = pq.read_table(out)
    assert found.schema.names == [*names, "a", "b"]
    assert found.column("a").to_pylist() == [*range(len(sides[0]))]
    assert found.column("b").to_pylist() == wanted, described


def _exact(values: tuple[Any, ...], side: int) -> tuple[Any, ...]:
    """Nulls equal nothing, NaNs equal each other."""
    return tuple(("null", side) if one is None else "nan" if one != one else one for one in values)


def _value(value: Any) -> Any:
    return float_or_none(value) if isinstance(value, float) else value


def test_all_types_of_last_keys(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(CASES):
        _check(rng, tmp_path)


@pytest.mark.thorough
def test_many_tables(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(MANY_CASES):
        _check(rng, tmp_path)


def _trades(rng: random.Random, rows: int, name: str) -> pa.Table:
    """Rows by symbol and time, with equal times."""
    made = sorted((rng.choice("abc"), rng.randrange(rows)) for _ in range(rows))
    times = pa.array([time for _, time in made], pa.int64()).cast(pa.timestamp("us"))
    return pa.table({"sym": [sym for sym, _ in made], "t": times, name: [*range(rows)]})


@pytest.mark.parametrize("direction", _DIRECTIONS)
def test_as_pandas_joins(direction: Any, tmp_path: Path, seed: int) -> None:
    import pandas as pd

    rng = random.Random(seed)
    a, b = _trades(rng, 600, "a"), _trades(rng, 400, "b")
    for table, name in ((a, "a"), (b, "b")):
        pq.write_table(table, tmp_path / f"{name}.parquet", row_group_size=100)
    out = tmp_path / "o.parquet"
    for tolerance in (None, 3):
        options = ["--tolerance", f"{tolerance}us"] if tolerance else []
        files = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet"), "--output", str(out)]
        assert invoke(
            ["join", "-q", "--type", "asof", "--field", "sym,t", "--direction", direction, *options, *files]
        ) == 0  # fmt: skip
        frames = [table.to_pandas().sort_values("t", kind="stable") for table in (a, b)]
        most = pd.Timedelta(tolerance, "us") if tolerance else None
        wanted = pd.merge_asof(*frames, on="t", by="sym", direction=direction, tolerance=most).sort_values("a")
        expected = [None if value != value else int(value) for value in wanted["b"]]
        assert pq.read_table(out).column("b").to_pylist() == expected


@pytest.mark.parametrize("direction", _DIRECTIONS)
def test_as_polars_and_duckdb_join(direction: Any, tmp_path: Path, seed: int) -> None:
    import duckdb
    import polars as pl

    rng = random.Random(seed)
    a, b = _trades(rng, 600, "a"), _trades(rng, 400, "b")
    # DuckDB takes any one of equal times, and polars the last one of those that are equally near.
    b = b.group_by(["sym", "t"]).aggregate([("b", "min")]).rename_columns(["sym", "t", "b"]).sort_by(
        [("sym", "ascending"), ("t", "ascending")]
    )  # fmt: skip
    names = [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    for table, name in ((a, names[0]), (b, names[1])):
        pq.write_table(table, name, row_group_size=100)
    out = str(tmp_path / "o.parquet")
    command = ["join", "-q", "--type", "asof", "--field", "sym,t", "--direction", direction, *names, "--output", out]
    assert invoke(command) == 0
    found = pq.read_table(out)
    frames = [pl.from_arrow(table) for table in (a, b)]
    joined = frames[0].join_asof(frames[1], on="t", by="sym", strategy=direction, check_sortedness=False)  # type: ignore[union-attr, arg-type]
    own, theirs = (_distances(one, b) for one in (found, joined.sort("a").to_arrow()))
    assert own == theirs
    if direction != "nearest":
        sign = ">=" if direction == "backward" else "<="
        query = f"select a, b from '{names[0]}' a asof left join '{names[1]}' b on a.sym = b.sym and a.t {sign} b.t"
        rows = duckdb.sql(f"{query} order by a").fetchall()
        assert [row[1] for row in rows] == found.column("b").to_pylist()


def _distances(found: pa.Table, b: pa.Table) -> list[int | None]:
    """How far apart the times of each row are."""
    times = dict(zip(b.column("b").to_pylist(), b.column("t").cast(pa.int64()).to_pylist(), strict=True))
    own = found.column("t").cast(pa.int64()).to_pylist()
    pairs = zip(own, found.column("b").to_pylist(), strict=True)
    return [None if other is None else abs(time - times[other]) for time, other in pairs]


@pytest.mark.parametrize(
    ("kind", "texts", "tolerance", "expected"),
    [
        ("n", (["1", "2.50", "10", None], ["none", "0.5", "2.4", "30", None]), "0.2", [None, 2, None, None]),
        ("time", (["2024-01-31T10:00:00Z", None], ["2024-01-31 09:59:58+00:00", None]), "2s", [0, None]),
        ("duration", (["90s", "2m"], ["1m29s", "3h"]), "1s", [0, None]),
        ("size", (["1k", "1Ki"], ["1000", "1020"]), "4", [0, 1]),
        ("g", (["nan", "1e2"], ["nan", "99.5"]), "1", [None, 1]),
    ],
)
def test_kinds_of_texts(kind: str, texts: Any, tolerance: str, expected: list[Any], tmp_path: Path) -> None:
    names = [str(tmp_path / f"{side}.parquet") for side in "ab"]
    for side, name, column in zip("ab", names, texts, strict=True):
        table = {"t": pa.array(column, pa.string()), side: pa.array(range(len(column)), pa.int32())}
        pq.write_table(pa.table(table), name)
    out = tmp_path / "o.parquet"
    command = ["join", "-q", "--type", "asof", "--field", f"t:{kind}", "--tolerance", tolerance, *names]
    assert invoke([*command, "--output", str(out)]) == 0
    assert pq.read_table(out).column("b").to_pylist() == expected
