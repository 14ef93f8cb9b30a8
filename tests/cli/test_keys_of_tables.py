"""Options of keys that are columns of tables: places of nulls, and kinds of texts with their parameters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli import DisorderError, GpumergeError, UsageError, check_files, merge_files, sort_files
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.format import Layout
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import format_named
from gpumerge_cli.formats.record_options import Key
from gpumerge_cli.formats.tables.key_columns import key_columns
from gpumerge_cli.order.rules import LineOrder


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """The rows of a.parquet, whose nulls are first in id and in name."""
    monkeypatch.chdir(tmp_path)
    rows = pa.table({"id": [None, 1, 3], "name": [None, "b", "c"], "row": [0, 1, 2]})
    pq.write_table(rows, "a.parquet")
    return rows


@pytest.mark.parametrize("field", ["id", "name"])
def test_nulls_first(field: str, table: pa.Table) -> None:
    assert check_files("a.parquet", field=field, nulls="first").items == 3
    for option in (None, "last"):
        with pytest.raises(DisorderError, match=r"row 1: disorder: [1b] comes after null"):
            check_files("a.parquet", field=field, nulls=option)
    merge_files(["a.parquet", "a.parquet"], "o.parquet", field=field, nulls="first")
    assert pq.read_table("o.parquet")["row"].to_pylist() == [0, 0, 1, 1, 2, 2]
    sort_files("a.parquet", "o.parquet", field=f"{field}:r", nulls="first")
    assert pq.read_table("o.parquet")["row"].to_pylist() == [0, 2, 1]
    sort_files("a.parquet", "o.parquet", field=f"{field}:r")
    assert pq.read_table("o.parquet")["row"].to_pylist() == [2, 1, 0]


def test_a_setting_places_them_too(place: Callable[..., None], table: pa.Table) -> None:
    pq.write_table(table, "a.parquet")
    command = ["merge", "-q", "a.parquet", "--field", "id", "-o", "o.parquet"]
    assert invoke(command) == 2
    place(GPUMERGE_NULLS="first")
    assert invoke(command) == 0


def test_other_options_of_nulls_are_for_lines(table: pa.Table) -> None:
    with pytest.raises(UsageError, match="--null-values needs a key of lines"):
        merge_files("a.parquet", "o.parquet", field="id", null_values="NA")


TEXTS = pa.table(
    {
        "size": ["10M", "900k", None, "big", "n/a"],
        "time": ["2024-01-01 00:30", "2024-01-01T03:00Z", None, "2023-05-05", "2024-02-01"],
        "level": ["high", "low", None, "mid", "low"],
        "number": ["1.000,5", "20", None, "-3", "1e3"],
        "row": [0, 1, 2, 3, 4],
    }
)


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"field": "size:size", "invalid": "last"}, [1, 0, 3, 4, 2]),
        ({"field": "size:size,r", "invalid": "first", "nulls": "first"}, [2, 4, 3, 0, 1]),
        ({"field": "size:size", "invalid": "first", "null_values": "n/a"}, [3, 1, 0, 2, 4]),
        ({"field": "time:time"}, [3, 0, 1, 4, 2]),
        ({"field": "time:time", "zone": "America/New_York"}, [3, 1, 0, 4, 2]),
        ({"field": "level:list,number:n", "order_list": "levels.txt"}, [4, 1, 3, 0, 2]),
        ({"field": "number:n", "thousands": ".", "decimal": ","}, [3, 4, 1, 0, 2]),
        ({"field": "row:n,size:V"}, [0, 1, 2, 3, 4]),
    ],
)
def test_kinds_of_texts(
    options: dict[str, str], rows: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("levels.txt").write_text("low\nmid\nhigh\n")
    pq.write_table(TEXTS, "a.parquet")
    sort_files("a.parquet", "o.parquet", **options)
    assert pq.read_table("o.parquet")["row"].to_pylist() == rows
    assert check_files("o.parquet", **options).items == len(rows)
    merge_files(["o.parquet", "o.parquet"], "twice.parquet", **options)
    assert sorted(pq.read_table("twice.parquet")["row"].to_pylist()) == sorted(rows * 2)
    assert check_files("twice.parquet", **options).items == 2 * len(rows)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"field": "size:size"},
            "a.parquet: row group 0, row 3: 'big' is not a size, by --field size:size; add",
        ),
        ({"field": "level:list"}, ":list needs a file; name it by --order-list"),
        ({"field": "size", "zone": "UTC"}, "--zone: no key is a time"),
        ({"field": "size", "invalid": "last"}, "--invalid needs a key"),
        ({"field": "row:size"}, "a.parquet: --field row:size: values of type int64 are not texts; leave :size out"),
    ],
)
def test_wrong_options_of_kinds(
    options: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pq.write_table(TEXTS, "a.parquet")
    for call in (merge_files, sort_files):
        with pytest.raises(GpumergeError) as error:
            call("a.parquet", "o.parquet", **options)
        assert message in str(error.value)
    assert not Path("o.parquet").exists()


def test_a_locale_is_not_for_texts_of_tables(table: pa.Table) -> None:
    items = Items(lines=LineOrder(locale="sv_SE.UTF-8"))
    for fields, message in ((("id",), ""), (("id", "name"), "--locale: the texts in name compare by their bytes")):
        layout = Layout(format_named("parquet"), items, key=Key(fields=fields))
        with pytest.raises(UsageError, match=message) if message else nullcontext():
            key_columns(table.schema, layout)
