"""Tables whose columns differ: --schema, units of times, and columns that are null in some files."""

from __future__ import annotations

import datetime as dt
import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables import parquet_writer  # noqa: E402
from gpumerge_cli.formats.tables.common_types import common_type  # noqa: E402
from tests.formats.tables.random_tables import read  # noqa: E402

WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.int64(), pa.null()]
TEXTS = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
TIMES = [pa.timestamp(*one) for one in (("ms", "UTC"), ("us", "Asia/Tokyo"), ("ns", "UTC"))]
FAMILIES = (
    (WHOLE, lambda rng: rng.randrange(100)),
    ([pa.float32(), pa.float64(), pa.int16(), pa.uint16()], lambda rng: rng.randrange(50)),
    (TEXTS, lambda rng: rng.choice("xyz")),
    ([pa.decimal128(5, 2), pa.decimal128(9, 1), pa.decimal256(30, 4)], lambda rng: Decimal(rng.randrange(99))),
    (TIMES, lambda rng: dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=rng.randrange(999))),
    ([pa.list_(pa.int64()), pa.large_list(pa.int64())], lambda rng: [rng.randrange(9)] * rng.randrange(3)),
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, table: Any) -> str:
    if name.endswith(".parquet"):
        pq.write_table(table, name, row_group_size=7)
        return name
    with pa.ipc.new_file(name, table.schema) as writer:
        writer.write_table(table, 7)
    return name


def as_type(values: list[Any], type: Any) -> Any:
    if pa.types.is_dictionary(type):
        return pa.array(values, type.value_type).dictionary_encode().cast(type)
    return pa.array(values, type)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value.astimezone(dt.UTC) if isinstance(value, dt.datetime) else value for name, value in row.items()}


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columns_by_name(suffix: str, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 3)  # groups of files with all columns are copied
    rng = random.Random(seed)
    for _ in range(4):
        names, files, wanted = [], [], []
        for number in range(rng.choice([1, 2, 3, 4])):
            rows = rng.choice([0, 5, 30])
            first = rng.choice([0, 40 * number])
            ids = sorted(rng.randrange(first, first + 40) for _ in range(rows))
            types = [pa.int64()] if first >= 80 else [pa.int8(), pa.int64(), pa.uint16()]
            columns = {"id": as_type(ids, rng.choice(types))}
            for at in rng.sample(range(len(FAMILIES)), rng.randrange(len(FAMILIES) + 1)):
                types, draw = FAMILIES[at]
                type = rng.choice(types)
                values = [None if rng.random() < 0.2 or pa.types.is_null(type) else draw(rng) for _ in ids]
                columns[f"c{at}"] = as_type(values, type)
            wanted.append(list(columns))
            order = rng.sample(list(columns), len(columns))
            names.append(write(f"{number}{suffix}", pa.table({name: columns[name] for name in order})))
            files.append(pa.table({name: columns[name] for name in order}))
        for schema in ("union", "intersect"):
            every = dict.fromkeys(name for file in files for name in file.schema.names)
            kept = [name for name in every if schema == "union" or all(name in file.schema.names for file in files)]
            rows = [plain({name: row.get(name) for name in kept}) for file in files for row in file.to_pylist()]
            for words, key in (("merge --field id", 1), ("sort --field id:r", -1)):
                words = f"{words} --schema {schema} -q -o o{suffix}"
                assert invoke([*words.split(), *names]) == 0
                found = read(f"o{suffix}")
                assert found.schema.names == kept
                assert [plain(row) for row in found.to_pylist()] == sorted(rows, key=lambda row: key * row["id"])


def test_units_and_nulls_without_an_option(seed: int) -> None:
    """Times get the finer unit, also as keys, and a column without a type that of other files."""
    rng = random.Random(seed)
    start = dt.datetime(2020, 1, 1)
    for make in (pa.timestamp, pa.duration):
        files = []
        for number, unit in enumerate(rng.sample(["ms", "us", "ns"], 3)):
            steps = sorted(dt.timedelta(milliseconds=rng.randrange(999)) for _ in range(30))
            values = [start + step for step in steps] if make is pa.timestamp else steps
            texts = pa.nulls(31) if number == rng.randrange(3) else pa.array(["x"] * 31)
            files.append(pa.table({"at": pa.array([*values, None], make(unit)), "text": texts}))
            write(f"{number}.parquet", files[-1])
        rows = [tuple(row.values()) for file in files for row in file.to_pylist()]
        assert invoke(["merge", "--field", "at", "0.parquet", "1.parquet", "2.parquet", "-q", "-o", "o.parquet"]) == 0
        found = pq.read_table("o.parquet")
        assert found.schema.field("at").type == make("ns")
        expected = sorted(rows, key=lambda row: (row[0] is None, rows[0][0] if row[0] is None else row[0]))
        assert [tuple(row.values()) for row in found.to_pylist()] == expected
        assert invoke(["info", "--json", "--field", "at", "0.parquet", "1.parquet"]) == 0


def test_groups_of_other_units_are_apart_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of a file are in its own unit."""
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 1)
    for name, unit, first in (("a", "ns", 0), ("b", "ms", 50), ("c", "ns", 100)):
        values = pa.array([dt.datetime(2020, 1, 1) + dt.timedelta(hours=first + row) for row in range(60)])
        write(f"{name}.parquet", pa.table({"at": values.cast(pa.timestamp(unit))}))
    assert invoke(["merge", "--field", "at", "a.parquet", "b.parquet", "c.parquet", "-q", "-o", "o.parquet"]) == 0
    found = pq.read_table("o.parquet")["at"].to_pylist()
    assert len(found) == 180
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("merge a.parquet old.parquet", "differs from t timestamp[ns]; give all files the same columns, or add --schema"
         " union or intersect\n"),
        ("merge a.parquet late.parquet", "late.parquet: t: Casting from timestamp[us] to timestamp[ns] would result in "
         "out of bounds timestamp: 253402300799000000; write all files again with one type of t that holds its values\n"
         ),
        ("merge a.parquet zoned.parquet", "t timestamp[us, tz=UTC] differs from t timestamp[ns]; give all files the "
         "same columns: write zoned.parquet again with t as timestamp[ns]\n"),
        ("merge --schema union a.parquet zoned.parquet", "zoned.parquet: t timestamp[us, tz=UTC] differs from t "
         "timestamp[ns] of a.parquet; write it again with t as timestamp[ns], or rename one of the columns\n"),
        ("merge --schema union a.parquet keyless.parquet", "keyless.parquet: it has no column 'id', which is a key; "
         "leave the file out, or name keys that all files have\n"),
        ("merge --schema intersect a.parquet other.parquet", "other.parquet: it has no column that all files before "
         "it have, too; use --schema union, or leave it out\n"),
    ],
)  # fmt: skip
def test_messages(words: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    times = pa.array([dt.datetime(9999, 12, 31, 23, 59, 59)], pa.timestamp("us"))
    write("a.parquet", pa.table({"id": [1], "t": pa.array([1], pa.timestamp("ns"))}))
    write("old.parquet", pa.table({"id": [1], "more": [2], "t": pa.array([1], pa.timestamp("ns"))}))
    write("late.parquet", pa.table({"id": [1], "t": times}))
    write("zoned.parquet", pa.table({"id": [1], "t": pa.array([1], pa.timestamp("us", "UTC"))}))
    write("keyless.parquet", pa.table({"t": pa.array([1], pa.timestamp("ns"))}))
    write("other.parquet", pa.table({"other": [1]}))
    assert invoke([*words.split(), "--field", "id", "-q", "-o", "o.parquet"]) == 2
    found = capfd.readouterr().err
    assert found.endswith(told)
    assert found.count("\n") == 1
    assert not Path("o.parquet").exists()


def test_structs_without_nulls_in_them() -> None:
    """A struct that a file lacks is null, and a field of it that may not be null is not."""
    inner = [
        pa.field("number", pa.int64(), nullable=False), pa.field("text", pa.string(), nullable=False),
        pa.field("many", pa.list_(pa.int8()), nullable=False), pa.field("free", pa.float32()),
        pa.field("deep", pa.struct([pa.field("yes", pa.bool_(), nullable=False)]), nullable=False),
    ]  # fmt: skip
    value = {"number": 1, "text": "a", "many": [1], "free": None, "deep": {"yes": True}}
    write("a.parquet", pa.table({"id": pa.array([1, 3]), "s": pa.array([value, None], pa.struct(inner))}))
    write("b.parquet", pa.table({"id": [2]}))
    assert (
        invoke(["merge", "--schema", "union", "--field", "id", "a.parquet", "b.parquet", "-q", "-o", "o.parquet"]) == 0
    )
    found = pq.read_table("o.parquet")
    assert found.to_pylist() == [{"id": 1, "s": value}, {"id": 2, "s": None}, {"id": 3, "s": None}]
    assert found.schema.field("s").type == pa.struct(inner)


def test_spark_reads_the_new_columns(tmp_path: Path) -> None:
    """Spark reads the columns of its metadata alone, so that they go where columns are new."""
    spark = {b"org.apache.spark.sql.parquet.row.metadata": b"{}", b"kept": b"yes"}
    write("a.parquet", pa.table({"id": [1]}).replace_schema_metadata(spark))
    write("b.parquet", pa.table({"id": [1], "x": [2]}))
    assert invoke(["merge", "--field", "id", "a.parquet", "a.parquet", "-q", "-o", "o.parquet"]) == 0
    assert pq.read_schema("o.parquet").metadata == spark
    assert (
        invoke(["merge", "--schema", "union", "--field", "id", "a.parquet", "b.parquet", "-q", "-o", "o.parquet"]) == 0
    )
    assert pq.read_schema("o.parquet").metadata == {b"kept": b"yes"}


def test_pandas_reads_what_is_left_of_its_columns() -> None:
    pandas = library("pandas")
    frame = pandas.DataFrame({"id": [1, 2], "x": ["a", "b"], "y": [1.5, None]}, index=pandas.Index([7, 8], name="key"))
    frame.to_parquet("a.parquet")
    frame.drop(columns="y").reset_index(drop=True).to_parquet("b.parquet")
    for schema in ("union", "intersect"):
        assert invoke(f"merge --schema {schema} --field id a.parquet b.parquet -q -o o.parquet".split()) == 0
        found = pandas.read_parquet("o.parquet")
        assert found["id"].tolist() == [1, 1, 2, 2]
        assert ("y" in found.columns) == (schema == "union")
    assert json.loads(pq.read_schema("o.parquet").metadata[b"pandas"])["columns"]


@pytest.mark.parametrize(
    ("first", "other", "common"),
    [
        (pa.int8(), pa.uint8(), pa.int16()),
        (pa.int64(), pa.uint32(), pa.int64()),
        (pa.int64(), pa.uint64(), None),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.int64(), pa.float64(), None),
        (pa.float16(), pa.uint8(), pa.float16()),
        (pa.decimal128(38, 0), pa.decimal128(38, 5), pa.decimal256(43, 5)),
        (pa.decimal256(76, 0), pa.decimal256(76, 5), None),
        (pa.bool_(), pa.int8(), None),
        (pa.date32(), pa.timestamp("us"), None),
        (pa.time32("s"), pa.time64("ns"), pa.time64("ns")),
        (pa.timestamp("us", "UTC"), pa.timestamp("ms", "Asia/Tokyo"), pa.timestamp("us", "UTC")),
        (pa.list_(pa.int8()), pa.list_(pa.int32()), pa.list_(pa.int32())),
        (pa.null(), pa.struct([("a", pa.int8())]), pa.struct([("a", pa.int8())])),
    ],
)
def test_wider_types(first: Any, other: Any, common: Any) -> None:
    assert common_type(first, other, widens=True) == common
