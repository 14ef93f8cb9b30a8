"""Tables that are written as CSV and JSON Lines, and as one another."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables.text_values import csv_fields, json_values  # noqa: E402

WORDS = ["", "a", 'q"q', "a,b", "x\ny", "t\tt", "\r", "\\", "\0\1\x1f", "é€😀", "null", " b "]


def converted(tmp_path: Path, table: Any, name: str, *words: str) -> Path:
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=7)
    out = tmp_path / name
    assert invoke(["merge", "--field", "id", *words, "-q", str(tmp_path / "t.parquet"), "-o", str(out)]) == 0
    return out


def table_of(rng: random.Random, rows: int) -> Any:
    def some(draw: Any) -> list[Any]:
        return [None if rng.random() < 0.2 else draw() for _ in range(rows)]

    return pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            'a "name", of two': pa.array(some(lambda: rng.choice(WORDS)), pa.string()),
            "value": pa.array(some(lambda: rng.choice([0.1, 1e300, -0.0, 1e-7])), pa.float64()),
            "flag": pa.array(some(lambda: rng.random() < 0.5), pa.bool_()),
            "day": pa.array(some(lambda: dt.date(2024, 2, 29)), pa.date32()),
            "at": pa.array(some(lambda: dt.datetime(2024, 1, 1, 12, 0, 0, 5)), pa.timestamp("us")),
            "cost": pa.array(some(lambda: decimal.Decimal("1.20")), pa.decimal128(9, 2)),
            "word": pa.array(some(lambda: rng.choice(WORDS)), pa.string()).dictionary_encode(),
        }
    )


def as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    return str(value)


def test_csv(seed: int, tmp_path: Path) -> None:
    table = table_of(random.Random(seed), 100)
    text = converted(tmp_path, table, "out.csv").read_bytes().decode()
    header, *rows = csv.reader(text.splitlines(keepends=True), strict=True)
    assert header == table.column_names
    expected = [[as_text(value) for value in row.values()] for row in table.to_pylist()]
    floats = header.index("value")
    for row, wanted in zip(rows, expected, strict=True):
        if row[floats]:
            row[floats] = str(float(row[floats]))
        assert row == wanted


def test_a_null_is_not_an_empty_text(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "text": ["", None]})
    assert converted(tmp_path, table, "out.csv").read_bytes() == b'id,text\n1,""\n2,\n'
    assert converted(tmp_path, table, "out.tsv").read_bytes() == b'id\ttext\n1\t""\n2\t\n'
    alone = pa.table({"id": pa.array([1, None], pa.int64())})
    assert converted(tmp_path, alone, "out.csv").read_bytes() == b'id\n1\n""\n'


def test_json_lines(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    table = table_of(rng, 100)
    nested = pa.array(
        [
            rng.choice(
                [
                    None,
                    {"list": rng.choice([None, [], [1, None]]), "inner": rng.choice([None, {"x": rng.choice(WORDS)}])},
                ]
            )
            for _ in range(100)
        ],
        pa.struct({"list": pa.list_(pa.int32()), "inner": pa.struct({"x": pa.string()})}),
    )
    table = table.append_column("nested", nested)
    maps = [rng.choice([None, [], [("k", 1), ('"', None)]]) for _ in range(100)]
    table = table.append_column("map", pa.array(maps, pa.map_(pa.string(), pa.int8())))
    found = [json.loads(line) for line in converted(tmp_path, table, "out.jsonl").read_text().splitlines()]
    for row, wanted, pairs in zip(found, table.to_pylist(), maps, strict=True):
        for name in ("day", "at"):
            wanted[name] = None if wanted[name] is None else as_text(wanted[name])
        if wanted["cost"] is not None:
            wanted["cost"] = float(wanted["cost"])
        if wanted["at"] is not None:
            assert row["at"] == wanted["at"]
        wanted["map"] = None if pairs is None else dict(pairs)
        assert row == wanted


@pytest.mark.parametrize(
    ("array", "texts"),
    [
        (pa.array([1.5, float("nan"), float("inf"), None]), ["1.5", "null", "null", "null"]),
        (pa.array([[1, 2], [], None], pa.large_list(pa.int64())), ["[1,2]", "[]", "null"]),
        (pa.array([[1, 2], None], pa.list_(pa.int64(), 2)), ["[1,2]", "null"]),
        (pa.array([["a"], None], pa.list_view(pa.string())), ['["a"]', "null"]),
        (pa.array([[(1, "a")], []], pa.map_(pa.int8(), pa.string())), ['[[1,"a"]]', "[]"]),
        (pa.array([{}, None], pa.struct([])), ["{}", "null"]),
        (pa.nulls(2), ["null", "null"]),
        (pa.array([b"x", None], pa.binary()), ['"x"', "null"]),
        (pa.array([b"xy"], pa.binary(2)), ['"xy"']),
        (pa.array(["x"], pa.string_view()), ['"x"']),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([decimal.Decimal("1.20")], pa.decimal256(50, 2)), ["1.20"]),
        (pa.array([5], pa.timestamp("s", "UTC")), ['"1970-01-01 00:00:05Z"']),
        (pa.array([["a", "b"], ["c"]]).slice(1), ['["c"]']),
        (pa.array([], pa.list_(pa.int8())), []),
        (pa.array(["b", "a", None]).dictionary_encode(), ['"b"', '"a"', "null"]),
    ],
)
def test_values_as_json(array: Any, texts: list[str]) -> None:
    assert json_values(array).to_pylist() == texts


def test_fields_of_csv() -> None:
    assert csv_fields(pa.array([*WORDS, None]), ",").to_pylist() == [
        '""', "a", '"q""q"', '"a,b"', '"x\ny"', "t\tt", '"\r"', "\\", "\0\1\x1f", "é€😀", "null", " b ", "",
    ]  # fmt: skip


def test_compressed_text(tmp_path: Path) -> None:
    table = pa.table({"id": range(100)})
    lines = "".join(f"{number}\n" for number in range(100))
    assert gzip.decompress(converted(tmp_path, table, "out.csv.gz").read_bytes()).decode() == f"id\n{lines}"
    out = converted(tmp_path, table, "out.jsonl", "--compression", "gzip")
    assert [json.loads(line)["id"] for line in gzip.decompress(out.read_bytes()).splitlines()] == list(range(100))


@pytest.mark.parametrize("name", ["out.arrow", "out.feather", "out.arrows"])
def test_arrow(name: str, tmp_path: Path) -> None:
    table = table_of(random.Random(1), 30)
    out = converted(tmp_path, table, name)
    back = tmp_path / "back.parquet"
    assert invoke(["merge", "--field", "id", "-q", str(out), "-o", str(back)]) == 0
    assert pq.read_table(back).equals(table.cast(pq.read_schema(tmp_path / "t.parquet")))


@pytest.mark.parametrize(
    ("column", "name", "words", "error"),
    [
        (
            pa.array([[1]]),
            "out.csv",
            (),
            "int64>, which a field of CSV cannot hold; write JSON",
        ),
        (pa.array([b"\xff"]), "out.csv", (), "a value cannot be written as text"),
        (pa.array([b"\xff"]), "out.jsonl", (), "a value cannot be written as text"),
        (pa.array([1]), "out.csv", ("--compression", "snappy"), "only the columns of tables are compressed so"),
        (pa.array([1]), "out.csv", ("--row-group-size", "5"), "--row-group-size: the output is text, not a table"),
        (pa.array([1]), "out.npy", (), "rows cannot be written as .npy"),
        (pa.array([1]), "out.txt", (), "rows cannot be written as .txt"),
    ],
)
def test_outputs_that_are_refused(
    column: Any, name: str, words: tuple[str, ...], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"id": [1], "x": column}), tmp_path / "t.parquet")
    assert invoke(["merge", "--field", "id", *words, str(tmp_path / "t.parquet"), "-o", str(tmp_path / name)]) == 2
    assert error in capsys.readouterr().err
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".csv"])
@pytest.mark.parametrize("place", ["columns", "struct", "structs in a list"])
def test_names_that_stand_twice_are_no_members(
    place: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    structs = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    table = {
        "columns": pa.table([[1], [1], [2]], names=["id", "x", "x"]),
        "struct": pa.table([[1], structs], names=["id", "s"]),
        "structs in a list": pa.table([[1], pa.ListArray.from_arrays([0, 1], structs)], names=["id", "s"]),
    }[place]
    source, output = tmp_path / "t.arrow", tmp_path / f"out{suffix}"
    with pa.ipc.new_file(source, table.schema) as file:
        file.write_table(table)
    code = invoke(["merge", "--field", "id", str(source), "-o", str(output)])
    if suffix == ".csv" and place == "columns":
        assert code == 0
        assert output.read_text() == "id,x,x\n1,1,2\n"
        return
    assert code == 2
    assert not output.exists()
    if suffix != ".csv":
        assert "2 columns have the name 'x', and readers of JSON keep one" in capsys.readouterr().err
