"""gpumerge info FILE: the facts of tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there


def write(path: Path, keys: range, **settings: object) -> str:
    table = pa.table({"key": pa.array(keys, pa.int64()), "text": [str(key) for key in keys]})
    pq.write_table(table, path, **{"row_group_size": 10, "compression": "zstd", **settings})
    return str(path)


def test_groups_and_overlap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", range(30), sorting_columns=[pq.SortingColumn(0)])
    b = write(tmp_path / "b.parquet", range(25, 45), compression="snappy", use_dictionary=["text"])
    assert invoke(["info", a, b]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "a.parquet: 30 rows in 3 row groups, " in shown
    assert "; sorted by key " in shown
    assert "b.parquet: 20 rows in 2 row groups, " in shown
    assert "states no order" in shown
    assert "row group rows bytes least key greatest key merge" in shown
    assert "0 9 apart" in shown
    assert "20 29 overlaps" in shown
    assert "25 34 overlaps" in shown
    assert "key int64 snappy plain text string snappy dictionary" in shown
    assert "A merge by key decodes 2 of 5 row groups, with 20 of 50 rows." in shown
    assert invoke(["info", "--json", "--field", "key:r", a, b]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["key"] == "key:r"
    first = found["tables"][0]
    assert (first["rows"], first["sorted_by"], first["nbytes"]) == (30, ["key"], Path(a).stat().st_size)
    assert first["groups"][0] == {
        "rows": 10, "nbytes": first["groups"][0]["nbytes"], "least": "9", "greatest": "0", "apart": True,
    }  # fmt: skip


def test_orders_that_statistics_contradict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Either order, of numbers and of texts."""
    cases = [
        (range(40), 0, False, False), (range(40), 0, True, True), (range(39, -1, -1), 0, True, False),
        (range(9, 49), 1, False, True), (range(10, 50), 1, True, True), (range(49, 9, -1), 1, True, False),
    ]  # fmt: skip
    for number, (keys, column, descends, is_wrong) in enumerate(cases):
        sorting = [pq.SortingColumn(column, descends, bool(number % 2))]
        a = write(tmp_path / "a.parquet", keys, sorting_columns=sorting)
        assert invoke(["info", a]) == 0
        shown = capsys.readouterr().out
        assert (", which its statistics contradict" in shown) == is_wrong, number
        assert (", nulls first" in shown) == bool(number % 2)


def test_columns_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", range(30))
    pq.write_table(pa.table({"key": [1]}), tmp_path / "b.parquet")
    assert invoke(["info", "--field", "key", a, str(tmp_path / "b.parquet")]) == 0
    shown = capsys.readouterr().out
    assert "A merge refuses these files. " in shown
    assert "text string is in one of them; give all files the same columns, or add --schema union" in shown
    assert "decodes" not in shown


def test_without_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", range(300))
    assert invoke(["info", a]) == 0
    shown = capsys.readouterr().out
    assert "least" not in shown
    assert "and 10 row groups more, which --json lists" in shown


def test_groups_without_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", range(20), write_statistics=False)
    assert invoke(["info", "--json", "--field", "key", a]) == 0
    (first, _) = json.loads(capsys.readouterr().out)["tables"][0]["groups"]
    assert (first["least"], first["greatest"], first["apart"]) == ("", "", None)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["{}/a.txt"], "a.txt is not a table"),
        (["{}/a.parquet", "--field", "keys"], "there is no column 'keys'; did you mean key?"),
        (["{}/a.parquet", "--measure"], "--measure tells about this machine, not about files"),
        (["--field", "key"], "--field is a key of tables; name some"),
        (["{}/cut.parquet"], "cut.parquet: "),
    ],
)
def test_errors(words: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a.parquet", range(20))
    (tmp_path / "cut.parquet").write_bytes(Path(a).read_bytes()[:-20])
    (tmp_path / "a.txt").write_bytes(b"")
    assert invoke(["info", *(word.format(tmp_path) for word in words)]) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".arrow", ".arrows"])
@pytest.mark.parametrize("codec", [None, "zstd"])
def test_bytes_of_arrow(suffix: str, codec: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / f"a{suffix}"
    table = pa.table({"key": range(10_000), "text": pa.array(["a", "b"] * 5000).dictionary_encode()})
    make = pa.ipc.new_file if suffix == ".arrow" else pa.ipc.new_stream
    with make(str(path), table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as out:
        out.write_table(table, max_chunksize=3000)
    assert invoke(["info", "--json", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)["tables"][0]
    sizes = [group["nbytes"] for group in found["groups"]]
    assert found["nbytes"] == path.stat().st_size
    assert len(sizes) == 4
    assert sizes[0] > sizes[3] > (100 if codec else 12 * 1000)
    assert 0.7 * found["nbytes"] < sum(sizes) < found["nbytes"]
