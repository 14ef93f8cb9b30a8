"""The settings of an output: by default its columns are stored as those of the first input."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there
from gpumerge_cli.cli.options.commands import command  # noqa: E402
from gpumerge_cli.formats.tables.group_sizes import USUAL_GROUP  # noqa: E402


def numbers(count: int = 1000) -> Any:
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "word": [f"word {number % 10}" for number in range(count)],
            "value": pa.array([number / 7 for number in range(count)]),
        }
    )


def column(path: Path, name: str) -> Any:
    group = pq.read_metadata(path).row_group(0)
    return next(group.column(at) for at in range(group.num_columns) if group.column(at).path_in_schema == name)


def written(tmp_path: Path, table: Any, *words: str, field: str = "id", **settings: Any) -> Path:
    """A file that holds the rows of two others. settings: of the first one."""
    half = len(table) // 2
    a, b, out = (tmp_path / f"{name}.parquet" for name in ("a", "b", "out"))
    pq.write_table(table.slice(0, half), a, **settings)
    pq.write_table(table.slice(half), b)
    assert invoke(["merge", "--field", field, *words, "-q", str(a), str(b), "-o", str(out)]) == 0
    assert pq.read_table(out).equals(table)
    return out


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "brotli", "none"])
def test_compression(codec: str, tmp_path: Path) -> None:
    wanted = {"none": "UNCOMPRESSED"}.get(codec, codec.upper())
    assert column(written(tmp_path, numbers(), compression=codec), "word").compression == wanted
    assert column(written(tmp_path, numbers(), "--compression", codec), "word").compression == wanted


def test_each_column_keeps_its_compression_and_encoding(tmp_path: Path) -> None:
    out = written(
        tmp_path,
        numbers(),
        compression={"id": "zstd", "word": "snappy", "value": "none"},
        use_dictionary=["word"],
        column_encoding={"id": "DELTA_BINARY_PACKED", "value": "BYTE_STREAM_SPLIT"},
    )
    assert [column(out, name).compression for name in ("id", "word", "value")] == ["ZSTD", "SNAPPY", "UNCOMPRESSED"]
    assert "DELTA_BINARY_PACKED" in column(out, "id").encodings
    assert "BYTE_STREAM_SPLIT" in column(out, "value").encodings
    assert column(out, "word").has_dictionary_page


def test_a_dictionary_of_distinct_values_is_not_kept(tmp_path: Path) -> None:
    out = written(tmp_path, numbers(60_000))
    assert [column(out, name).has_dictionary_page for name in ("id", "word", "value")] == [False, True, False]


def test_level(tmp_path: Path) -> None:
    table = numbers(50_000)
    sizes = [
        written(tmp_path, table, "--compression-level", level, compression="zstd").stat().st_size
        for level in ("1", "19")
    ]
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--compression-level", "40"), "--compression-level 40: the levels of zstd go from 1 to 22; use one of these"),
        (("--compression", "snappy", "--compression-level", "1"), "snappy has no levels; leave it out, or use zstd"),
        (("--compression", "none", "--compression-level", "1"), "what is not compressed has no levels"),
        (
            ("--compression", "xz"),
            "columns of tables have no such compression; use zstd, snappy, gzip, lz4, brotli, none",
        ),
        (("--row-group-size", "0"), "a group holds a row at least"),
        (("--row-group-size", "5X"), "is not a size"),
    ],
)
def test_settings_that_are_refused(
    words: tuple[str, ...], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, out = tmp_path / "a.parquet", tmp_path / "out.parquet"
    pq.write_table(numbers(), a, compression="zstd")
    assert invoke(["merge", "--field", "id", *words, str(a), "-o", str(out)]) == 2
    assert error in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--compression", "snappy"), "--compression snappy: only the columns of tables are compressed so; use bgzf"),
        (("--compression-level", "3"), "--compression-level: the output is not a table; leave it out"),
        (("--row-group-size", "3"), "--row-group-size: the output is not a table; leave it out"),
    ],
)
def test_text_has_no_such_settings(
    words: tuple[str, ...], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_bytes(b"1\n")
    assert invoke(["merge", *words, str(tmp_path / "a.txt"), "-o", str(tmp_path / "out.txt")]) == 2
    assert error in capsys.readouterr().err
    assert not (tmp_path / "out.txt").exists()


@pytest.mark.parametrize(("size", "most", "least"), [("100", 100, 26), ("3000", 1000, 1000), ("4K", 400, 20)])
def test_row_groups(size: str, most: int, least: int, tmp_path: Path) -> None:
    groups = pq.read_metadata(written(tmp_path, numbers(), "--row-group-size", size))
    rows = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
    assert max(rows) <= most
    assert min(rows[:-1], default=most) >= least


def test_sorting_columns(tmp_path: Path) -> None:
    """They are those of the keys, up to the first one whose order is not that of its type."""
    table = pa.table({"a": ["x", "y"], "b": [{"c": 1}, {"c": 2}], "d": ["2", "10"]})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path)
    found = tmp_path / "found.parquet"
    cases = {
        "a": ((0, False, False),),
        "b.c,a": ((1, False, False), (0, False, False)),
        "a,d:n": ((0, False, False),),
        "d:n,a": (),
    }
    for field, wanted in cases.items():
        assert invoke(["sort", "--field", field, "-q", str(path), "-o", str(found)]) == 0
        assert pq.read_metadata(found).row_group(0).sorting_columns == tuple(pq.SortingColumn(*one) for one in wanted)
    assert invoke(["sort", "--field", "a:r", "--nulls", "first", "-q", str(path), "-o", str(found)]) == 0
    assert pq.read_metadata(found).row_group(0).sorting_columns == (pq.SortingColumn(0, True, True),)
    assert invoke(["merge", "--field", "a", "--no-check", "-q", str(path), "-o", str(found)]) == 0
    assert pq.read_metadata(found).row_group(0).sorting_columns == ()


def test_page_index_and_statistics_are_written(tmp_path: Path) -> None:
    found = column(written(tmp_path, numbers()), "id")
    assert found.has_column_index
    assert found.has_offset_index
    assert (found.statistics.min, found.statistics.max, found.statistics.null_count) == (0, 999, 0)


def test_metadata_are_kept(tmp_path: Path) -> None:
    table = numbers().replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": "{}", "mine": "text"})
    out = written(tmp_path, table)
    assert pq.read_schema(out).metadata == table.schema.metadata


def test_the_index_of_pandas(tmp_path: Path) -> None:
    """Numbers of rows are made anew; other indexes are kept."""
    pandas = library("pandas")
    frame = pandas.DataFrame({"id": [1, 2, 3], "name": ["a", "b", "c"]})
    a, b, out = (str(tmp_path / f"{name}.parquet") for name in ("a", "b", "out"))
    frame.to_parquet(a)
    frame.to_parquet(b)
    assert invoke(["merge", "--field", "id", "-q", a, b, "-o", out]) == 0
    found = pandas.read_parquet(out)
    assert list(found.index) == list(range(6))
    in_memory = io.BytesIO(Path(out).read_bytes())
    assert list(library("fastparquet").ParquetFile(in_memory).to_pandas().index) == list(range(6))
    assert json.loads(pq.read_schema(out).metadata[b"pandas"])["index_columns"] == []
    for path in (a, b):
        frame.set_index("name").to_parquet(path)
    assert invoke(["merge", "--field", "id", "-q", a, b, "-o", out]) == 0
    assert list(pandas.read_parquet(out).index) == ["a", "a", "b", "b", "c", "c"]


def test_old_timestamps_and_decimals_keep_their_form(tmp_path: Path) -> None:
    cents = pa.array([1, 2, 3, 4], pa.decimal128(8, 2))
    table = pa.table({"id": pa.array([1, 2, 3, 4], pa.timestamp("ns")), "cost": cents})
    settings = {"use_deprecated_int96_timestamps": True, "store_decimal_as_integer": True}
    out = written(tmp_path, table, **settings)
    assert [column(out, name).physical_type for name in ("id", "cost")] == ["INT96", "INT32"]
    out = written(tmp_path, table)
    assert [column(out, name).physical_type for name in ("id", "cost")] == ["INT64", "FIXED_LEN_BYTE_ARRAY"]


def test_help_says_the_usual_size_of_groups() -> None:
    words = " ".join(option.help for option in command("merge").options if option.name == "row-group-size")
    assert f"{(USUAL_GROUP.nbytes or 0) >> 20} MiB, but at most {USUAL_GROUP.rows:,} rows" in words


def test_the_program_does_not_import_pandas(tmp_path: Path) -> None:
    """pyarrow would, for its first array, which takes longer than a small merge."""
    library("pandas")
    a, out = tmp_path / "a.parquet", tmp_path / "out.parquet"
    pq.write_table(numbers(), a)
    words = [sys.executable, "-X", "importtime", "-m", "gpumerge_cli", "merge", "--field", "id", str(a), "-o", str(out)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "pyarrow" in loaded
    assert "pandas.core" not in loaded
    assert pq.read_table(out).equals(numbers())
