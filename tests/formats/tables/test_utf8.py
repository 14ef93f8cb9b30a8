"""Texts that are not UTF-8, in values and in names of columns."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

import gpumerge_cli  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.cli.app import invoke  # noqa: E402

TEXTS = [b"a", b"b", b"c\xff", b"\xff\xfe"]
FORMS = {
    "string": lambda texts: texts,
    "dictionary": lambda texts: texts.dictionary_encode(),
    "inner": lambda texts: pa.StructArray.from_arrays([texts], ["x"]),
    "list": lambda texts: pa.ListArray.from_arrays(pa.array(range(len(texts) + 1), pa.int32()), texts),
}


def as_string(texts: list[bytes]) -> Any:
    """An array of strings with any bytes."""
    return pa.Array.from_buffers(pa.string(), len(texts), pa.array(texts, pa.binary()).buffers())


def write(path: Path, texts: list[bytes], form: str, first: int) -> str:
    rows = pa.table({"id": range(first, first + len(texts)), "text": FORMS[form](as_string(texts))})
    pq.write_table(rows, path, row_group_size=3)
    return str(path)


@pytest.mark.one_of_each
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("command", ["merge", "sort"])
@pytest.mark.parametrize("suffix", [".jsonl", ".arrow", ".arrows", ".jsonl.gz", ".csv"])
def test_values_are_refused_with_their_place(
    suffix: str, command: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    if suffix == ".csv" and form in ("inner", "list"):
        return  # CSV has no place for them
    row = random.Random(seed).randrange(9)
    texts = [b"a"] * 9
    texts[row] = b"c\xff"
    a = write(tmp_path / "a.parquet", [b"b"] * 9, form, 0)
    b = write(tmp_path / "b.parquet", texts, form, 5)
    out = tmp_path / f"out{suffix}"
    assert invoke([command, "--field", "id", a, b, "-q", "-o", str(out)]) == 2
    assert capsys.readouterr().err == (
        f"gpumerge: {b}: row group {row // 3}, row {row % 3}: the column text holds bytes that are not UTF-8; "
        "write Parquet, which keeps them, or make them a column of binary\n"
    )
    assert not out.exists()


@pytest.mark.parametrize("command", ["merge", "sort"])
def test_parquet_keeps_them(command: str, tmp_path: Path) -> None:
    a = write(tmp_path / "a.parquet", TEXTS, "string", 0)
    b = write(tmp_path / "b.parquet", TEXTS, "string", 1)
    out = tmp_path / "out.parquet"
    for field in ("id", "text"):
        assert invoke([command, "--field", field, a, b, "-q", "-o", str(out)]) == 0
        found = pq.read_table(out).column("text").cast(pa.binary()).to_pylist()
        assert sorted(found) == sorted(TEXTS * 2)
        assert field == "id" or found == sorted(found)


def test_names_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.arrows"
    table = pa.table({"id": [1], "outer_name": [2]})
    with pa.ipc.new_stream(str(path), table.schema) as out:
        out.write_table(table)
    path.write_bytes(path.read_bytes().replace(b"outer_name", b"\xdfuter_name"))
    damaged = pa.ipc.open_stream(path.read_bytes()).read_all()
    with pytest.raises(gpumerge_cli.UsageError, match="the name of a column is not UTF-8"):
        gpumerge_cli.sort_table(damaged, by="id")
    with pytest.raises(gpumerge_cli.UsageError, match="the name of a column is not UTF-8"):
        gpumerge_cli.merge_tables([damaged, damaged], by="id")


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
def test_a_time_zone_that_is_not_utf8(tmp_path: Path, suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    name = tmp_path / f"a{suffix}"
    table = pa.table({"at": pa.array([1, 2], pa.timestamp("us", "Europe/Oslo"))})
    with (pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream)(name, table.schema) as out:
        out.write_table(table)
    name.write_bytes(name.read_bytes().replace(b"Europe/Oslo", b"\xb3urope/Oslo"))
    assert invoke(["merge", "--field", "at", str(name), "-o", str(tmp_path / "out.parquet")]) == 2
    told = capfd.readouterr().err
    assert "the time zone of a column is not UTF-8" in told
    assert told.count("\n") == 1
