"""--nulls places the nulls of columns of tables, in each way to ask for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli import DisorderError, UsageError, check_files, merge_files, sort_files
from gpumerge_cli.cli.app import invoke


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
