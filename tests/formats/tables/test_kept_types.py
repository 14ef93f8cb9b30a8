"""A merged file has the types that its writer gave the first one, as that reads them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.needs import library

pa, pq = library("pyarrow"), library("pyarrow.parquet")

from gpumerge_cli.cli.app import invoke  # noqa: E402 - behind the check that pyarrow is there

OF_DUCKDB = (
    "interval 3 day", "'01:00:00+02'::TIMETZ", "'01:00:00'::TIME", "uuid()", "1::VARIANT", "'{}'::JSON", "'a'::BLOB",
    "'2020-01-01'::TIMESTAMP_NS", "'2020-01-01'::TIMESTAMPTZ", "1.5::DECIMAL(30, 4)", "1::UTINYINT", "map{'a': 1}",
    "{'a': 1, 'b': [{'c': interval 2 day}]}",
)  # fmt: skip
OUT = "o.parquet"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def merge(*words: str) -> None:
    assert invoke(["merge", "--field", "id", *words, "-q", "-o", OUT]) == 0


@pytest.mark.parametrize("value", OF_DUCKDB)
def test_of_duckdb(value: str) -> None:
    """Also beside columns that a merge adds."""
    duckdb = library("duckdb")
    duckdb.sql(f"copy (select 1 as id, {value} as v) to 'a.parquet'")
    pq.write_table(pa.table({"id": [2], "more": [1]}), "b.parquet")

    def known(name: str, what: str) -> Any:
        return duckdb.sql(f"{what} from '{name}' where id = 1").fetchall()

    for words in (["a.parquet"], ["--schema", "union", "a.parquet", "b.parquet"], ["--count", "a.parquet"]):
        merge(*words)
        assert known(OUT, "describe select v")[0][1] == known("a.parquet", "describe select v")[0][1], words
        assert known(OUT, "select v") == known("a.parquet", "select v")


def test_intervals_have_no_order(capfd: pytest.CaptureFixture[str]) -> None:
    duckdb = library("duckdb")
    duckdb.sql("copy (select {'v': interval 3 day} as s, 1 as id) to 'a.parquet'")
    assert invoke(["merge", "--field", "s.v", "a.parquet", "-o", OUT]) == 2
    told = "gpumerge: a.parquet: --field s.v: values of type INTERVAL have no order; name another column\n"
    assert capfd.readouterr().err == told


def test_of_polars() -> None:
    polars = library("polars")
    start = dt.datetime(2020, 1, 1)
    frame = polars.DataFrame(
        {
            "id": polars.Series([1, 2], dtype=polars.UInt16),
            "text": polars.Series(["a", None], dtype=polars.Categorical),
            "rank": polars.Series(["low", "high"], dtype=polars.Enum(["low", "high"])),
            "price": polars.Series([Decimal("1.50"), None], dtype=polars.Decimal(20, 2)),
            "took": polars.Series([dt.timedelta(1), None], dtype=polars.Duration("ms")),
            "at": polars.Series([start, None], dtype=polars.Datetime("ms", "Asia/Tokyo")),
            "time": [dt.time(1), None],
            "half": polars.Series([1.5, None], dtype=polars.Float16),
            "none": polars.Series([None, None], dtype=polars.Null),
            "two": polars.Series([[1, 2], None], dtype=polars.Array(polars.Int8, 2)),
            "many": [[{"a": b"x"}], None],
        }
    )
    frame.write_parquet("a.parquet")
    merge("a.parquet")
    found = polars.read_parquet(OUT)
    assert found.schema == frame.schema
    assert found.equals(frame)
    frame.write_ipc("a.arrow")
    assert invoke(["merge", "--field", "id", "a.arrow", "-q", "-o", "o.arrow"]) == 0
    assert polars.read_ipc("o.arrow").equals(frame)


@pytest.mark.parametrize("engine", ["pyarrow", "fastparquet"])
@pytest.mark.filterwarnings("ignore:The 'fastparquet' engine", "ignore:Series.values returning")
def test_of_pandas(engine: str) -> None:
    pandas = library("pandas")
    library(engine)
    frame = pandas.DataFrame(
        {
            "id": pandas.array([1, 2, None], "Int32"),
            "text": pandas.Categorical(["b", "a", "b"], categories=["b", "a"], ordered=engine == "pyarrow"),
            "at": pandas.date_range("2020-01-01", periods=3, tz="Asia/Tokyo"),
            "took": pandas.to_timedelta([1, 2, None], unit="s"),
            "flag": pandas.array([True, None, False], "boolean"),
            "words": pandas.array(["x", None, "y"], "string"),
        },
        index=pandas.Index(["p", "q", "r"], name="key"),
    )
    if engine == "pyarrow":
        frame["month"] = pandas.period_range("2020-01", periods=3, freq="M")
        frame["span"] = pandas.interval_range(0, 3)
    frame.to_parquet("a.parquet", engine=engine)
    merge("a.parquet")
    pandas.testing.assert_frame_equal(
        pandas.read_parquet(OUT, engine=engine), pandas.read_parquet("a.parquet", engine=engine)
    )


def test_integers_of_128_bits_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    polars = library("polars")
    polars.DataFrame({"id": polars.Series([1], dtype=polars.Int128)}).write_parquet("a.parquet")
    assert invoke(["merge", "--field", "id", "a.parquet", "-o", OUT]) == 2
    assert capfd.readouterr().err == (
        "gpumerge: a.parquet: Integers with more than 64 bits not implemented; write it again with types that pyarrow "
        "reads, as decimals for integers of 128 bits\n"
    )
