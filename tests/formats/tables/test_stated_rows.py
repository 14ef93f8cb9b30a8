"""Files that state more rows than they hold cost no memory in proportion to these."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.formats.tables import parquet_writer, row_sources, thrift  # noqa: E402
from gpumerge_cli.formats.tables.arrow_table import MOST_EMPTY_ROWS  # noqa: E402
from gpumerge_cli.formats.tables.items import Form  # noqa: E402
from gpumerge_cli.formats.tables.parquet_facts import GroupField  # noqa: E402
from gpumerge_cli.formats.tables.parquet_footer import composed, split  # noqa: E402
from gpumerge_cli.formats.tables.references import MOST_ROWS  # noqa: E402
from gpumerge_cli.formats.tables.thrift import I64, Field  # noqa: E402

SUFFIXES = (".arrow", ".arrows")


def write(path: Path, batch: Any) -> str:
    """An Arrow file or stream of one batch, however many rows it has."""
    make = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
    with make(str(path), batch.schema, options=pa.ipc.IpcWriteOptions(allow_64bit=True)) as out:
        out.write_batch(batch)
    return str(path)


def nulls(rows: int) -> Any:
    return pa.Array.from_buffers(pa.null(), rows, [None])


def runs(rows: int) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int64()), pa.array([7], pa.int32()))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("make", [nulls, runs])
def test_batches_of_rows_without_bytes(
    make: Any, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = write(tmp_path / f"a{suffix}", pa.record_batch([make(MOST_EMPTY_ROWS + 1)], ["key"]))
    assert invoke(["sort", "--field", "key", a, "-q", "-o", str(tmp_path / f"out{suffix}")]) == 2
    told = capsys.readouterr().err
    assert "a batch says that it has 2,147,483,648 rows, and its values take" in told
    assert told.endswith("; copy or write it again\n")
    most = write(tmp_path / f"b{suffix}", pa.record_batch([make(MOST_EMPTY_ROWS)], ["key"]))
    assert invoke(["info", most]) == 0
    assert "b" + suffix + ": 2,147,483,647 rows" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_nulls_are_rows(suffix: str, tmp_path: Path) -> None:
    rows = 300_000
    a = write(tmp_path / f"a{suffix}", pa.record_batch([nulls(rows), runs(rows)], ["key", "other"]))
    out = tmp_path / f"out{suffix}"
    assert invoke(["sort", "--field", "key", a, "-q", "-o", str(out)]) == 0
    reader = pa.ipc.open_file(str(out)) if suffix == ".arrow" else pa.ipc.open_stream(str(out))
    assert reader.read_all().num_rows == rows


def test_rows_of_no_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for suffix in SUFFIXES:
        batch = pa.record_batch([nulls(5)], ["key"]).select([])
        a = write(tmp_path / f"a{suffix}", batch)
        assert invoke(["info", a]) == 0
        assert "5 rows" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["merge", "union", "check"])
@pytest.mark.parametrize("nodes", [3, 4])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nulls_that_other_columns_do_not_have(
    suffix: str, nodes: int, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    stated, rows = 1_003, 1 << 20
    numbers = pa.array(range(stated), pa.int64())
    a = tmp_path / f"a{suffix}"
    write(a, pa.record_batch([nulls(stated), numbers], ["key", "other"]))
    data = a.read_bytes()  # the rows of the batch, rows and nulls of the first column, rows of the second one
    parts = data.split(struct.pack("<q", stated), nodes)
    a.write_bytes(struct.pack("<q", rows).join(parts))
    made = []
    monkeypatch.setattr(Form, "items", lambda *_: made.append(1))
    monkeypatch.setattr(row_sources, "_MANY_ROWS", stated)
    writes = [] if command == "check" else ["-q", "-o", str(tmp_path / f"out{suffix}")]
    assert invoke([command, "--field", "key", str(a), *writes]) == 2
    assert not made
    told = capsys.readouterr().err
    assert f"a{suffix}: " in told
    assert told.count("\n") == 1


def stating(path: Path, rows: int) -> str:
    """A Parquet file of 100 rows whose group states another number."""
    out = pa.BufferOutputStream()
    pq.write_table(pa.table({"key": range(100)}), out, compression="zstd")
    footer, (group,) = split(memoryview(out.getvalue()))
    struct = thrift.read(group.facts.description)
    struct[GroupField.num_rows] = Field(I64, rows)
    facts = parquet_writer.GroupFacts(rows, group.facts.size, thrift.written(struct), (b"",), (b"",))
    data = b"PAR1" + bytes(group.data)
    path.write_bytes(data + composed(footer, [(4, facts)], len(data)))
    return str(path)


@pytest.mark.parametrize("suffix", [".csv", ".arrow"])
def test_a_group_that_is_not_copied(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = stating(tmp_path / "a.parquet", MOST_ROWS)
    assert invoke(["merge", "--no-check", "--field", "key", a, "-q", "-o", str(tmp_path / f"o{suffix}")]) == 2
    assert f"it ends at row 100, and says that it has {MOST_ROWS}; copy or write it again" in capsys.readouterr().err


def test_a_group_that_is_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(parquet_writer, "_LEAST_COPIED", 1)
    words = ["merge", "--no-check", "--field", "key", "-q", "-o", str(tmp_path / "out.parquet")]
    assert invoke([*words, stating(tmp_path / "a.parquet", 101)]) == 2
    assert "row group 1: a column has fewer values than 101 rows" in capsys.readouterr().err
    assert invoke([*words, stating(tmp_path / "b.parquet", 100)]) == 0


@pytest.mark.parametrize("command", ["merge", "sort"])
def test_rows_that_are_missing(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = stating(tmp_path / "a.parquet", 101)
    assert invoke([command, "--field", "key", a, "-q", "-o", str(tmp_path / "out.parquet")]) == 2
    assert "it has 100 rows, and says that it has 101; copy or write it again" in capsys.readouterr().err


@pytest.mark.parametrize("rows", [MOST_ROWS + 1, -1])
def test_more_rows_than_references_number(rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = stating(tmp_path / "a.parquet", rows)
    for command in ("merge", "sort", "check"):
        writes = [] if command == "check" else ["-q", "-o", str(tmp_path / "out.csv")]
        assert invoke([command, "--field", "key", a, *writes]) == 2
        told = capsys.readouterr().err
        assert f"it says that it has {rows} rows; at most {MOST_ROWS} can be merged" in told, command
