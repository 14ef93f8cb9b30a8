"""Messages about tables name the true fault and a way out."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cli.app import invoke

UNTOLD = ", and its suffix does not say so"
TABLE = pa.table({"id": [1, 2], "l": [[1], [2]], "s": [{"x": 1, "m": [2]}] * 2, "name": ["a", "b"]})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def parquet(table: pa.Table = TABLE) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def arrow(table: pa.Table = TABLE) -> bytes:
    out = io.BytesIO()
    pyarrow.feather.write_feather(table, out)
    return out.getvalue()


def stream() -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return out.getvalue()


def npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(3))
    return out.getvalue()


def error(words: str, capfd: pytest.CaptureFixture[str]) -> str:
    """The message of a command that ends by 2."""
    assert invoke(words.split()) == 2
    found = capfd.readouterr().err
    assert found.count("\n") == 1, found
    return found


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.arrow", parquet(), "it holds .parquet data, not Arrow; use --format parquet"),
        ("a.arrows", parquet(), "it holds .parquet data, not Arrow; use --format parquet"),
        ("a.parquet", arrow(), "it holds .arrow data, not Parquet; use --format arrow"),
        ("a.parquet", stream(), "it holds .arrows data, not Parquet; use --format arrows"),
        ("a.parquet", npy(), "it holds .npy data, not Parquet; use --format npy"),
        (
            "a.parquet",
            gzip.compress(parquet(), mtime=0),
            "it holds gzip data, not Parquet; decompress it first, or name it .gz",
        ),
        ("a.parquet", b'{"id":1}\n' * 9, "it holds JSON, not Parquet; use --format jsonl, if each line is a value"),
        ("a.arrow", b'\n[{"id":1}]\n', "it holds JSON, not Arrow; use --format jsonl, if each line is a value"),
        ("a.arrows", b"id,name\n1,a\n", "it holds text, not Arrow; use --format csv, or --format text"),
        ("a.csv --format parquet", b"id,name\n1,a\n", "it holds text, not Parquet; use --format csv, or --format text"),
        ("a.arrow", b"FEA1\0\0\0\0" * 9, "not Arrow; write it again as version 2, with pyarrow.feather"),
        ("a.parquet", b"", "it is empty: it has no schema"),
        ("a.arrow", b"", "it is empty: it has no schema"),
        ("a.arrows", b"", "it is empty: it has no schema"),
        ("a.arrow", arrow()[:200], "a.arrow: "),
        ("a.parquet", parquet(pa.table({})), "the table has no columns; leave it out"),
        ("a.arrow", arrow(pa.table({})), "the table has no columns; leave it out"),
    ],
)
def test_other_files(name: str, data: bytes, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path(name.split()[0]).write_bytes(data)
    assert told in error(f"merge --field id {name} -o o.parquet", capfd)
    assert not Path("o.parquet").exists()


@pytest.mark.parametrize("data", [parquet(), arrow(), stream()])
def test_the_format_named_is_the_way_out(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """The option of the message reads the file."""
    for name in ("a.parquet", "a.arrow"):
        Path(name).write_bytes(data)
        if invoke(["merge", "--field", "id", name, "-o", "o.parquet"]) == 2:
            option = capfd.readouterr().err.rpartition("; use ")[2].split()
            assert invoke(["merge", "--field", "id", name, *option, "-o", "o.parquet"]) == 0
        assert pq.read_table("o.parquet").column("id").to_pylist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--field l", "have no order; name another column: id, s.x, name\n"),
        ("--field s", "have no order; name one of its fields, as s.x\n"),
        ("--field q", "there is no column 'q'; name one of its columns: id, s.x, name\n"),
        ("", "rows need a key; name one of their columns as the key (--field): id, s.x, name\n"),
    ],
)
def test_options(options: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    pq.write_table(TABLE, "a.parquet")
    assert error(f"merge {options} a.parquet -o o.parquet", capfd).endswith(told)


def test_no_column_has_an_order(capfd: pytest.CaptureFixture[str]) -> None:
    pq.write_table(TABLE.select(["l"]), "a.parquet")
    assert "none of its columns has an order" in error("merge --field l a.parquet", capfd)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".arrows"])
def test_lines_without_columns_are_not_written_as_a_table(suffix: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("id\n1\n")
    told = error(f"merge a.csv -o o{suffix}", capfd)
    assert f"lines of text cannot be written as {suffix}; name it .txt, or name their columns by --field" in told


def test_ordered_dictionaries_compare_by_value() -> None:
    """Files have one order, whatever the dictionary of each batch."""
    codes = pa.DictionaryArray.from_arrays([0, 1, 2], ["low", "high", "middle"], ordered=True)
    for suffix in (".parquet", ".arrow"):
        name, out = f"a{suffix}", "o.parquet"
        data = pa.table({"id": codes})
        Path(name).write_bytes(parquet(data) if suffix == ".parquet" else arrow(data))
        assert invoke(["sort", "--field", "id", "-q", name, "-o", out]) == 0
        assert pq.read_table(out).column("id").to_pylist() == ["high", "low", "middle"]


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("b.txt", parquet(), f"b.txt: it holds .parquet data{UNTOLD}; use --format parquet, or the suffix .parquet"),
        ("b", arrow(), f"b: it holds .arrow data{UNTOLD}; use --format arrow, or the suffix .arrow"),
        ("b.log", b'{"id":1}\n', f"b.log: it holds JSON data{UNTOLD}; use --format jsonl, or the suffix .jsonl, if"),
        ("b.txt", b"id,name\n1,a\n", "b.txt is text, its lines have no such key; use --csv, or another --format"),
        ("b", b"id,name\n1,a\n", "b is text, its lines have no such key; use --csv, or another --format"),
    ],
)  # fmt: skip
def test_a_table_beside_a_file_whose_name_does_not_tell(
    name: str, data: bytes, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("a.parquet").write_bytes(parquet())
    Path(name).write_bytes(data)
    for files in (f"a.parquet {name}", f"{name} a.parquet"):
        assert told in error(f"merge -q --field id {files}", capfd)
        assert told in error(f"union -q --field id {files}", capfd)
