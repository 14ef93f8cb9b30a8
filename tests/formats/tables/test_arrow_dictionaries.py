"""Dictionaries of any values are written to Arrow files and streams, extended from group to group."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pd, pl = library("pyarrow"), library("pandas"), library("polars")

import pyarrow.parquet as pq  # noqa: E402 - behind the check that pyarrow is there

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables.arrow_writers import arrow_writer  # noqa: E402
from gpumerge_cli.formats.tables.settings import TableSettings  # noqa: E402

VALUES = {
    "texts": pa.array(["a", "b"]),
    "half floats": pa.array([1.5, 2.5], pa.float16()),
    "views": pa.array(["a", "b"], pa.string_view()),
    "decimals": pa.array([Decimal("1.5"), Decimal("2.5")], pa.decimal32(5, 1)),
    "lists": pa.array([[1], [2, 3]]),
    "structs": pa.array([{"a": 1}, {"a": 2}]),
}


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
@pytest.mark.parametrize("values", VALUES)
def test_dictionaries(values: str, suffix: str, tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1, 0, 0], pa.int8()), VALUES[values])
    table = pa.table({"key": range(6), "of": column})
    a, out = tmp_path / f"a{suffix}", tmp_path / f"out{suffix}"
    with (pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream)(str(a), table.schema) as made:
        made.write_table(table)
    assert invoke(["merge", "--field", "key", "--row-group-size", "2", str(a), "-q", "-o", str(out)]) == 0
    found: Any = (pa.ipc.open_file if suffix == ".arrow" else pa.ipc.open_stream)(str(out)).read_all()
    index = pa.int32() if values == "half floats" else pa.int8()
    assert found.schema.field("of").type == pa.dictionary(index, VALUES[values].type)
    assert found.to_pylist() == table.to_pylist()
    assert len(found.column("of").chunk(0).dictionary) == 2


def test_dictionaries_of_half_floats_become_one(tmp_path: Path) -> None:
    """pyarrow 26 unifies them as integers: 1.5 becomes 15872."""
    names = []
    for number in range(2):
        values = pa.array([1.5 + number, None, math.nan], pa.float16())
        column = pa.DictionaryArray.from_arrays([0, 1, 2], values)
        table = pa.table({"key": [number, number + 2, number + 4], "of": column})
        names.append(str(tmp_path / f"{number}.arrow"))
        with pa.ipc.new_file(names[-1], table.schema) as made:
            made.write_table(table)
    out = str(tmp_path / "out.arrow")
    for command in ("merge -q", "sort"):
        assert invoke([*command.split(), "--field", "key", *names, "-o", out]) == 0
        found = pa.ipc.open_file(out).read_all()["of"].to_pylist()
        assert str(found) == "[1.5, 2.5, None, None, nan, nan]"


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("stream", [False, True])
def test_a_first_group_of_nulls(values: str, stream: bool) -> None:
    """pyarrow extends no dictionary without values."""
    some = VALUES[values]
    groups = [pa.DictionaryArray.from_arrays(pa.array([None], pa.int8()), some[:0]), *(
        pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), some[at : at + 1]) for at in range(2)
    )]  # fmt: skip
    tables = [pa.table({"of": group, "in": pa.StructArray.from_arrays([group], ["d"])}) for group in groups]
    writer = arrow_writer(tables[0].schema, TableSettings(), stream=stream)
    data = writer.head
    for table in tables:
        data += writer.appended(writer.encoded(table), len(data))
    data += writer.end(len(data))
    found = (pa.ipc.open_stream if stream else pa.ipc.open_file)(data).read_all()
    found.validate(full=True)
    assert found.to_pylist() == [row for table in tables for row in table.to_pylist()]


@pytest.mark.parametrize("compression", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("command", ["merge -q", "sort"])
def test_other_programs_read_files_of_many_groups(command: str, compression: str, tmp_path: Path) -> None:
    """polars reads no dictionaries that are extended."""
    names = []
    for number in range(2):
        texts = pa.array([f"{number}-{place}" for place in range(300)]).dictionary_encode()
        columns = {
            "id": range(number, 600, 2),
            "d": texts,
            "s": pa.StructArray.from_arrays([texts, pa.array(range(300))], ["d", "n"]),
            "l": pa.ListArray.from_arrays(pa.array(range(301), pa.int32()), texts),
        }
        names.append(str(tmp_path / f"{number}.parquet"))
        pq.write_table(pa.table(columns), names[-1], row_group_size=50)
    out = str(tmp_path / "out.arrow")
    options = ["--row-group-size", "40", "--compression", compression]
    assert invoke([*command.split(), "--field", "id", *options, *names, "-o", out]) == 0
    with pa.ipc.open_file(out) as opened:
        assert opened.num_record_batches > 5
        found = opened.read_all()
    found.validate(full=True)
    rows = found.to_pylist()
    assert [row["id"] for row in rows] == [*range(600)]
    assert all(row["d"] == f"{row['id'] % 2}-{row['id'] // 2}" == row["s"]["d"] == row["l"][0] for row in rows)
    assert pl.read_ipc(out).to_dicts() == pl.scan_ipc(out).collect().to_dicts() == rows
    assert pd.read_feather(out)["d"].tolist() == found["d"].to_pylist()


def test_a_file_without_rows(tmp_path: Path) -> None:
    a, out = str(tmp_path / "a.parquet"), str(tmp_path / "out.arrow")
    table = pa.table({"id": pa.array([], pa.int64()), "d": pa.array([], pa.string()).dictionary_encode()})
    pq.write_table(table, a)
    assert invoke(["sort", "--field", "id", a, "-o", out]) == 0
    with pa.ipc.open_file(out) as opened:
        assert opened.read_all().equals(table)
    assert pl.read_ipc(out).shape == (0, 2)
