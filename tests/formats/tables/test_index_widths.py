"""Dictionaries whose values in all files are more than the indices of each count: the output has wider indices."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa = library("pyarrow")

import pyarrow.parquet as pq  # noqa: E402 - behind the check that pyarrow is there

from gpumerge_cli.cli.app import invoke  # noqa: E402
from gpumerge_cli.formats.naming import open_input  # noqa: E402
from gpumerge_cli.formats.tables.parquet_table import ParquetTable  # noqa: E402
from tests.formats.tables.random_tables import SUFFIXES, read  # noqa: E402
from tests.formats.tables.test_large_dictionaries import lower_limits  # noqa: E402

COMMANDS = ("merge -q --field id", "sort --field id", "sort --field c,id", "merge -q --row-group-size 50 --field id")
VALUES = (pa.string(), pa.binary())
INDICES = ((pa.int8(), 127), (pa.uint8(), 255))


def written(path: Path, first: int, values: list[int], type: Any, *, groups: int = 1) -> list[dict[str, Any]]:
    """A file of sorted ids whose values are given, one a row; returns its rows."""
    whole = []
    texts = pa.array([f"{one:06d}" for one in values])
    is_number = pa.types.is_integer(type.value_type) or pa.types.is_floating(type.value_type)
    plain = (
        texts.cast(pa.int64()).cast(pa.float32()).cast(type.value_type) if is_number else texts.cast(type.value_type)
    )
    size = -(-len(values) // groups)
    for at in range(0, len(values), size):
        some = plain[at : at + size]
        indices = pa.array(range(len(some)), type.index_type)
        column = pa.DictionaryArray.from_arrays(indices, some, ordered=type.ordered)
        ids = range(first + 2 * at, first + 2 * (at + len(column)), 2)
        whole.append(pa.table({"id": pa.array(ids, pa.int64()), "c": column}))
    if path.suffix == ".parquet":
        with pq.ParquetWriter(path, whole[0].schema) as made:
            for table in whole:
                made.write_table(table)
    else:
        options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        make = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        with make(path, whole[0].schema, options=options) as made:
            for table in whole:
                made.write_table(table)
    return [row for table in whole for row in table.to_pylist()]


def expected(rows: list[dict[str, Any]], command: str) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["c"], row["id"]) if "c," in command else row["id"])


@pytest.mark.parametrize(("command", "suffix"), [*itertools.product(COMMANDS, SUFFIXES)])
def test_indices_become_wider(command: str, suffix: str, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    index, most = rng.choice(INDICES)
    type = pa.dictionary(index, rng.choice(VALUES), ordered=rng.random() < 0.2)
    for more in (0, 1):
        names = [tmp_path / f"{number}{suffix}" for number in range(2)]
        middle = rng.randrange(1, most)
        parts = [[*range(middle)], [*range(middle - 1, most + more)]]
        rows = [row for number, name in enumerate(names) for row in written(name, number, parts[number], type)]
        for output in SUFFIXES:
            out = str(tmp_path / f"out{output}")
            assert invoke([*command.split(), *map(str, names), "-o", out]) == 0
            found = read(out)
            found.validate(full=True)
            assert found.to_pylist() == expected(rows, command)
            usual = pa.dictionary(pa.int16() if more else index, type.value_type, type.ordered)
            assert found.schema.field("c").type == usual


@pytest.mark.parametrize("values", [pa.large_string(), pa.string_view(), pa.int64(), pa.float16()])
def test_values_of_other_types(values: Any, tmp_path: Path) -> None:
    names = [tmp_path / f"{number}.arrow" for number in range(2)]
    type = pa.dictionary(pa.int8(), values)
    rows = [row for at, name in enumerate(names) for row in written(name, at, [*range(99 * at, 99 * at + 100)], type)]
    out = str(tmp_path / "out.arrow")
    assert invoke(["merge", "-q", "--field", "id", *map(str, names), "-o", out]) == 0
    index = pa.int32() if pa.types.is_float16(values) else pa.int16()  # which are read as values
    assert read(out).schema.field("c").type == pa.dictionary(index, values)
    assert read(out).to_pylist() == expected(rows, "id")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_groups_of_one_file(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each group has a dictionary of its own, which are also read as plain values."""
    name, out = tmp_path / "a.parquet", str(tmp_path / "out.parquet")
    rows = written(name, 0, [*range(200)], pa.dictionary(pa.int8(), pa.string()), groups=4)
    for _ in range(2):
        assert invoke([*command.split(), str(name), "-o", out]) == 0
        assert pq.read_table(out).to_pylist() == expected(rows, command)
        assert pq.read_schema(out).field("c").type == pa.dictionary(pa.int16(), pa.string())
        assert len(pq.read_table(out).to_pandas()["c"].cat.categories) == 200
        lower_limits(monkeypatch)


def test_more_values_than_16_bits_count(tmp_path: Path) -> None:
    names = [tmp_path / f"{number}.parquet" for number in range(2)]
    for number, name in enumerate(names):
        written(
            name, number, [*range(20_000 * number, 20_000 * number + 20_000)], pa.dictionary(pa.int16(), pa.string())
        )
    out = str(tmp_path / "out.parquet")
    assert invoke(["merge", "-q", "--field", "id", *map(str, names), "-o", out]) == 0
    assert pq.read_schema(out).field("c").type == pa.dictionary(pa.int32(), pa.string())
    assert len(set(pq.read_table(out)["c"].to_pylist())) == 40_000


def test_a_check_keeps_the_types(tmp_path: Path) -> None:
    name = tmp_path / "a.parquet"
    written(name, 0, [*range(200)], pa.dictionary(pa.int8(), pa.string()), groups=2)
    assert invoke(["check", "--field", "c", str(name)]) == 0


def test_files_may_know_the_number_of_values(tmp_path: Path) -> None:
    name = tmp_path / "a.parquet"
    type = pa.dictionary(pa.int8(), pa.string())
    written(name, 0, [*range(100)], type, groups=4)
    table = ParquetTable(open_input(str(name)))
    assert table.most_values("c") == 100
    pq.write_table(pq.read_table(name), name, use_dictionary=False)
    assert ParquetTable(open_input(str(name))).most_values("c") is None


@pytest.mark.parametrize("schema", ["union", "intersect"])
def test_columns_by_their_names(schema: str, tmp_path: Path) -> None:
    names = [tmp_path / f"{number}.parquet" for number in range(3)]
    type = pa.dictionary(pa.int8(), pa.string())
    rows = [row for at in range(2) for row in written(names[at], at, [*range(100 * at, 100 * at + 100)], type)]
    pq.write_table(pa.table({"id": [1000], "n": [1]} | ({} if schema == "union" else {"c": ["x"]})), names[2])
    out = str(tmp_path / "out.parquet")
    assert invoke(["merge", "-q", "--schema", schema, "--field", "id", *map(str, names), "-o", out]) == 0
    index = pa.int16() if schema == "union" else pa.int32()  # plain texts have no indices of their own
    assert pq.read_schema(out).field("c").type == pa.dictionary(index, pa.string())
    last = [None if schema == "union" else "x"]
    assert pq.read_table(out)["c"].to_pylist() == [row["c"] for row in expected(rows, "id")] + last
