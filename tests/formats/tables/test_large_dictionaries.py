"""Columns that Arrow types as dictionaries, of which large ones are read as plain values: rows and types stay."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa = library("pyarrow")

import pyarrow.parquet as pq  # noqa: E402 - behind the check that pyarrow is there

from gpumerge_cli.cli.app import invoke  # noqa: E402
from gpumerge_cli.formats.naming import open_input  # noqa: E402
from gpumerge_cli.formats.tables import parquet_dictionaries  # noqa: E402
from gpumerge_cli.formats.tables.alike import alike  # noqa: E402
from gpumerge_cli.formats.tables.parquet_table import ParquetTable  # noqa: E402
from tests.formats.tables.random_tables import read  # noqa: E402
from tests.formats.tables.test_uneven_rows import MEASURED  # noqa: E402

INDICES = (pa.int8(), pa.int32(), pa.uint16())
VALUES = (pa.string(), pa.binary())
COMMANDS = (
    "sort --field id",
    "sort --field d,id",
    "merge -q --field id",
    "merge -q --field id --unique",
    "merge -q --field id --row-group-size 7",
    "sort --field d:r --head 9",
)


def written(path: Path, rng: random.Random, type: Any, first: int, groups: int = 3) -> str:
    """A file of sorted ids, whose groups have dictionaries of their own."""
    schema = pa.schema([("id", pa.int64()), ("d", type), ("n", pa.int8())])
    with pq.ParquetWriter(path, schema) as made:
        for group in range(groups):
            texts = [f"{rng.randrange(9)}{group}{letter}" * rng.choice([1, 30]) for letter in "abcdef"]
            values = pa.array(texts, pa.string()).cast(type.value_type)
            rows = rng.randrange(1, 20)
            places = pa.array([rng.choice([None, *range(6)]) for _ in range(rows)], type.index_type)
            column = pa.DictionaryArray.from_arrays(places, values)
            ids = pa.array(range(first + 100 * group, first + 100 * group + 2 * rows, 2))
            made.write_table(pa.table([ids, column, pa.array([1] * rows, pa.int8())], schema=schema))
    return str(path)


@pytest.fixture
def all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    lower_limits(monkeypatch)


def lower_limits(monkeypatch: pytest.MonkeyPatch, most: int = -1) -> None:
    monkeypatch.setattr(parquet_dictionaries, "_MOST_HELD", most)
    monkeypatch.setattr(parquet_dictionaries, "_LARGE", -1 << 20)


@pytest.mark.parametrize(
    ("command", "suffix"),
    [
        *itertools.product(COMMANDS, [".parquet"]),
        *itertools.product(COMMANDS[1:3], [".arrow", ".arrows", ".jsonl"]),
    ],
)
def test_the_output_is_the_same(
    command: str, suffix: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    type = pa.dictionary(rng.choice(INDICES), rng.choice(VALUES) if suffix != ".jsonl" else pa.string())
    names = [written(tmp_path / f"{number}.parquet", rng, type, rng.choice([0, 1])) for number in range(2)]
    outs = [tmp_path / f"out{number}{suffix}" for number in range(2)]
    for out in outs:
        assert invoke([*command.split(), "-S", "1M", *names, "-o", str(out)]) == 0
        lower_limits(monkeypatch)
    if suffix == ".jsonl":
        assert outs[0].read_bytes() == outs[1].read_bytes()
        return
    usual, plain = (read(str(out)) for out in outs)
    assert plain.schema.equals(usual.schema, check_metadata=True)
    assert plain.schema.field("d").type == type
    assert plain.to_pylist() == usual.to_pylist()


def test_batches_have_plain_values(tmp_path: Path, seed: int, all_are_large: None) -> None:
    type = pa.dictionary(pa.int16(), pa.string())
    name = written(tmp_path / "a.parquet", random.Random(seed), type, 0)
    table = ParquetTable(open_input(name))
    assert table.schema.field("d").type == type
    batches = list(table.batches(None, 0, 4))
    assert {batch.schema.field("d").type for batch in batches} == {pa.string()}
    assert [value for batch in batches for value in batch.to_pylist()] == pq.read_table(name).to_pylist()


def test_all_files_have_plain_values_if_one_has(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    type = pa.dictionary(pa.int32(), pa.string())
    names = [written(tmp_path / f"{number}.parquet", rng, type, number, groups=1 + 9 * number) for number in range(2)]
    lower_limits(monkeypatch, sum(_chunk_bytes(names[0])))
    tables = [ParquetTable(open_input(name)) for name in names]
    assert [bool(table.plain_columns) for table in tables] == [False, True]
    assert [sorted(table.plain_columns) for table in alike(tables)] == [["d"], ["d"]]
    for command in COMMANDS[:3]:
        out = tmp_path / "out.parquet"
        assert invoke([*command.split(), *names, "-o", str(out)]) == 0
        rows = [row for name in names for row in pq.read_table(name).to_pylist()]
        assert pq.read_schema(out).field("d").type == type
        assert sorted(map(str, pq.read_table(out).to_pylist())) == sorted(map(str, rows))
        out.unlink()


def _chunk_bytes(name: str) -> list[int]:
    about = pq.read_metadata(name)
    return [about.row_group(number).column(1).total_uncompressed_size for number in range(about.num_row_groups)]


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["merge", "sort"])
def test_memory_is_bounded(command: str, tmp_path: Path) -> None:
    """Files of 10 groups, each with a dictionary of 16 texts of 1 MB."""
    names = [str(tmp_path / f"{number}.parquet") for number in range(2)]
    type = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("id", pa.int64()), ("d", type)])
    for number, name in enumerate(names):
        with pq.ParquetWriter(name, schema, dictionary_pagesize_limit=1 << 30) as made:
            for group in range(10):
                texts = pa.array([f"{number}{group}{place:02}" * (1 << 18) for place in range(16)])
                column = pa.DictionaryArray.from_arrays(pa.array([*range(16)] * 2, pa.int32()), texts)
                ids = pa.array(range(64 * group + number, 64 * group + 64, 2))
                made.write_table(pa.table([ids, column], schema=schema))
    out = str(tmp_path / "out.parquet")
    args = [command, *(["-q"] if command == "merge" else []), "-S", "48M", "--field", "id", *names, "-o", out]
    done = subprocess.run([sys.executable, "-c", MEASURED, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 150 << 20
    assert pq.read_schema(out).field("d").type == type
    assert pq.read_table(out, columns=["id"]).column("id").to_pylist() == list(range(640))


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".arrow"])
@pytest.mark.parametrize("command", ["merge -q", "sort"])
def test_dictionaries_of_views_become_those_of_texts(command: str, suffix: str, tmp_path: Path) -> None:
    """polars writes such dictionaries to Arrow files."""
    names = []
    for number in range(2):
        values = pa.array([f"{place:03}-{number}" for place in range(40)]).cast(pa.string_view())
        column = pa.DictionaryArray.from_arrays(pa.array(range(40), pa.uint32()), values)
        table = pa.table({"d": column, "n": range(40)})
        names.append(str(tmp_path / f"{number}.arrow"))
        with pa.ipc.new_file(names[-1], table.schema) as made:
            made.write_table(table)
    out = tmp_path / f"out{suffix}"
    assert invoke([*command.split(), "--field", "d", *names, "-o", str(out)]) == 0
    expected = sorted((f"{place:03}-{number}", place) for place in range(40) for number in range(2))
    if suffix in (".parquet", ".arrow"):
        found = read(str(out))
        assert pa.types.is_dictionary(found.schema.field("d").type)
        assert list(zip(found["d"].to_pylist(), found["n"].to_pylist(), strict=True)) == expected
        return
    *_, last = out.read_text().splitlines()
    assert last == ("039-1,39" if suffix == ".csv" else '{"d":"039-1","n":39}')


def test_a_dictionary_that_all_groups_have_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files whose groups have one dictionary, two by turns, or one of each group."""
    type = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("id", pa.int64()), ("d", type)])
    found = {}
    for name, kinds in (("one", [0] * 6), ("turns", [0, 1] * 3), ("two", [0] * 3 + [1] * 3)):
        with pq.ParquetWriter(tmp_path / f"{name}.parquet", schema) as made:
            for group, kind in enumerate(kinds):
                texts = pa.array([f"{kind}{letter}" * 100 for letter in "abcde"])
                column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 4], pa.int32()), texts)
                made.write_table(pa.table([range(5 * group, 5 * group + 5), column], schema=schema))
        found[name] = str(tmp_path / f"{name}.parquet")
    each = 1 + max(_chunk_bytes(found["one"]))
    monkeypatch.setattr(parquet_dictionaries, "_LARGE", 0)
    for most, expected in ((each, {"one"}), (2 * each, {"one", "two"}), (6 * each, {"one", "two", "turns"})):
        monkeypatch.setattr(parquet_dictionaries, "_MOST_HELD", most)
        held = {name for name, path in found.items() if not ParquetTable(open_input(path)).plain_columns}
        assert held == expected
    monkeypatch.setattr(parquet_dictionaries, "_MOST_HELD", each)
    for command in ("merge -q --field id", "sort --field d,id"):
        out = str(tmp_path / "out.parquet")
        assert invoke([*command.split(), found["one"], found["turns"], "-o", out]) == 0
        rows = [row for name in ("one", "turns") for row in pq.read_table(found[name]).to_pylist()]
        key = (lambda row: row["id"]) if "merge" in command else (lambda row: (row["d"], row["id"]))
        assert pq.read_table(out).to_pylist() == sorted(rows, key=key)
        assert pq.read_schema(out).field("d").type == type
