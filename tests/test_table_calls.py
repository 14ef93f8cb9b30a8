"""gpumerge_cli.merge_tables and sort_table against Python, polars, pandas and DuckDB."""

from __future__ import annotations

import doctest
import random
import sys
from collections.abc import Callable
from itertools import chain
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from gpumerge_cli import DisorderError, InputError, TextKey, UsageError, merge_tables, sort_table
from gpumerge_cli.arrays import merged_positions as merged_positions_module
from gpumerge_cli.arrays import taken_rows
from gpumerge_cli.arrays.merged_positions import merged_positions
from gpumerge_cli.arrays.string_ranks import host_texts, string_ranks
from tests.formats.tables.random_arrays import TYPES, drawn_array, order_keys

NAMES = ["Ann", "Bob", "Eve", None, "", "Zoë", "annex of the house", "annex of the horse"]
FLOATS = [1.5, -0.0, 0.0, float("nan")]


@pytest.fixture
def rng(seed: int) -> random.Random:
    return random.Random(seed)


def drawn_table(rng: random.Random, types: list[pa.DataType], rows: int, nulls: float = 0.2) -> pa.Table:
    """A table with these columns, called a, b and so on, and the number of each row."""
    columns = {chr(97 + number): drawn_array(rng, type, rows, nulls=nulls) for number, type in enumerate(types)}
    return pa.table({**columns, "row": pa.array(range(rows), pa.int64())})


def expected_rows(tables: list[pa.Table], by: list[tuple[str, bool]], nulls: str) -> list[tuple[int, int]]:
    """(the number of the table, the row) of each row in a stable order. by: names, and whether they descend."""
    keys = []
    for number, table in enumerate(tables):
        columns = [order_keys(table[name].combine_chunks(), reverse=reverse, nulls=nulls) for name, reverse in by]
        keys += [(key, (number, row)) for row, key in enumerate(zip(*columns, strict=True))]
    return [keys[at][1] for at in sorted(range(len(keys)), key=lambda at: keys[at][0])]


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_one_column_of_each_type(type: pa.DataType, rng: random.Random) -> None:
    for reverse in (False, True):
        nulls: Any = rng.choice(["first", "last"])
        by: Any = ("a", "descending") if reverse else "a"
        table = drawn_table(rng, [type], rng.randrange(40), rng.choice([0, 0.2]))
        table = pa.concat_tables([table.slice(0, 7), table.slice(7)])
        found = sort_table(table, by, nulls=nulls)
        assert found.schema == table.schema
        order = [row for _, row in expected_rows([table], [("a", reverse)], nulls)]
        assert found["row"].to_pylist() == [table["row"][row].as_py() for row in order]
        cut = rng.randrange(len(found) + 1)
        tables = [found.slice(cut), found.slice(0, cut)]
        merged = merge_tables(tables, by, nulls=nulls, check=True)
        expected = expected_rows(tables, [("a", reverse)], nulls)
        assert merged["row"].to_pylist() == [tables[number]["row"][row].as_py() for number, row in expected]


def test_several_columns_and_tables(rng: random.Random) -> None:
    for _ in range(40):
        types = rng.sample([type for type in TYPES if not pa.types.is_null(type)], rng.randint(1, 3))
        by = [(chr(97 + number), rng.random() < 0.4) for number in range(len(types))]
        nulls: Any = rng.choice(["first", "last"])
        words = [f"{name}:r" if reverse else name for name, reverse in by]
        tables = [sort_table(drawn_table(rng, types, rng.randrange(30)), words, nulls=nulls) for _ in range(4)]
        merged = merge_tables(iter(tables), ",".join(words), nulls=nulls, check=True, threads=rng.choice([None, 1]))
        expected = expected_rows(tables, by, nulls)
        assert merged["row"].to_pylist() == [tables[number]["row"][row].as_py() for number, row in expected]


@pytest.mark.parametrize("bits", [4, 40, 50, 61, 63, 64])
@pytest.mark.parametrize("dtype", ["i8", "u8", "f8", "i2", "V9"])
def test_merged_positions(dtype: str, bits: int, rng: random.Random) -> None:
    """The keys and positions fit one number, or the keys and the numbers of arrays, or neither."""
    for count in (1, 2, 5, 20):
        arrays = []
        for _ in range(count):
            values = np.array(
                [rng.getrandbits(bits) - (dtype == "i8") * (1 << bits - 1) for _ in range(rng.randrange(9))]
            )
            if dtype == "V9":
                arrays.append(np.array([int(value).to_bytes(9, "big") for value in values], "V9"))
            elif dtype == "i2":
                arrays.append(np.array([int(value) % 99 for value in values], dtype))
            else:
                arrays.append(np.array([int(value) for value in values], dtype))
        for descending in (False, True):
            keys = [sorted(array.tolist(), reverse=descending) for array in arrays]
            runs = [np.array(key, dtype) for key in keys]
            found = merged_positions(runs, descending=descending, threads=1)
            items = list(chain(*keys))
            assert found.tolist() == sorted(range(len(items)), key=items.__getitem__, reverse=descending)


@pytest.mark.parametrize("dtype", ["i8", "f8", "u4"])
def test_each_row_of_unsorted_tables_comes_once(dtype: str, rng: random.Random) -> None:
    runs = [np.frombuffer(rng.randbytes(800), dtype) for _ in range(3)]
    found = merged_positions(runs, descending=rng.random() < 0.5, threads=None)
    assert sorted(found.tolist()) == [*range(sum(map(len, runs)))]


def test_many_rows_have_64_bit_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [np.array([1, 3]), np.array([2, 9])]
    assert merged_positions(runs, descending=False, threads=None).dtype == np.uint32
    monkeypatch.setattr(merged_positions_module, "_SMALL", 4)
    found = merged_positions(runs, descending=False, threads=None)
    assert found.dtype == np.int64
    assert found.tolist() == [0, 2, 1, 3]


def test_ranks_of_strings(rng: random.Random) -> None:
    for _ in range(100):
        letters = rng.choice([b"\0a", b"ab", bytes(range(256)), b"\0"])
        some = [bytes(rng.choices(letters, k=rng.randrange(30))) for _ in range(rng.randrange(1, 40))]
        parts = [[rng.choice(some) for _ in range(rng.randrange(40))] for _ in range(rng.randrange(1, 4))]
        found = string_ranks([host_texts(pa.array([b"ahead", *part], pa.large_binary())[1:]) for part in parts], None)
        texts = list(chain(*parts))
        assert np.concatenate(found).tolist() == [sorted(texts).index(text) for text in texts]
        assert [len(each) for each in found] == [len(part) for part in parts]


def frame_of(rng: random.Random, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": pl.Series([rng.choice([None, rng.randrange(9)]) for _ in range(rows)], dtype=pl.Int64),
            "x": pl.Series([rng.choice([*FLOATS, rng.random()]) for _ in range(rows)], dtype=pl.Float64),
            "name": pl.Series([rng.choice(NAMES) for _ in range(rows)], dtype=pl.String),
            "kind": pl.Series([rng.choice(["low", "high", None]) for _ in range(rows)], dtype=pl.Enum(["low", "high"])),
            "tag": pl.Series([rng.choice(NAMES) for _ in range(rows)], dtype=pl.Categorical),
            "list": pl.Series([[rng.random()] for _ in range(rows)], dtype=pl.List(pl.Float64)),
            "row": pl.Series(range(rows), dtype=pl.Int64),
        }
    )


def test_frames_of_polars(rng: random.Random) -> None:
    for _ in range(20):
        by = rng.sample(["id", "x", "name", "kind", "tag"], rng.randint(1, 3))
        descends = [rng.random() < 0.5 for _ in by]
        nulls: Any = rng.choice(["first", "last"])
        words: Any = [(name, "descending" if down else "ascending") for name, down in zip(by, descends, strict=True)]
        more: Any = {"descending": descends, "nulls_last": nulls == "last", "maintain_order": True}
        frames = [frame_of(rng, rng.randrange(30)) for _ in range(3)]
        sorted_frames = [frame.sort(by, **more) for frame in frames]
        for frame, expected in zip(frames, sorted_frames, strict=True):
            assert sort_table(frame, words, nulls=nulls).equals(expected)
        merged = merge_tables(sorted_frames, words, nulls=nulls, check=True)
        assert isinstance(merged, pl.DataFrame)
        assert merged.equals(pl.concat(sorted_frames).sort(by, **more))


def test_merge_sorted_of_polars(rng: random.Random) -> None:
    for name in ("id", "x", "name"):
        # Its merge_sorted loses the order where NaNs are.
        a, b = (frame_of(rng, 50).drop_nulls().drop_nans().sort(name) for _ in range(2))
        keys = a.merge_sorted(b, key=name)[name]
        assert merge_tables([a, b], name)[name].equals(keys)


def test_frames_of_pandas(rng: random.Random) -> None:
    for _ in range(20):
        frames = []
        for _ in range(3):
            frame = frame_of(rng, rng.randrange(1, 30)).drop("kind", "tag").to_pandas()
            frame["kind"] = pd.Categorical(
                rng.choices(["low", "high", None], k=len(frame)), ["low", "high"], ordered=True
            )
            days = rng.choices(["2024-01-01", "1999-12-31", None], k=len(frame))
            frame["day"] = pd.Series(days, frame.index, "datetime64[us]")
            frame["id"] = frame["id"].astype("Int64")
            frame.index = [f"r{row}" for row in range(len(frame))]
            frame.attrs["of"] = "test"
            frames.append(frame)
        by = rng.sample(["id", "x", "name", "kind", "day"], rng.randint(1, 3))
        descends = rng.random() < 0.5  # pandas sorts several columns stably in one direction alone
        nulls: Any = rng.choice(["first", "last"])
        words = [f"{name}:r" if descends else name for name in by]
        more: Any = {"ascending": not descends, "na_position": nulls, "kind": "stable"}
        sorted_frames = [frame.sort_values(by, **more) for frame in frames]
        for frame, expected in zip(frames, sorted_frames, strict=True):
            pd.testing.assert_frame_equal(sort_table(frame, words, nulls=nulls), expected)
        merged = merge_tables(sorted_frames, words, nulls=nulls, check=True)
        pd.testing.assert_frame_equal(merged, pd.concat(sorted_frames).sort_values(by, **more))


def test_the_order_is_that_of_duckdb(rng: random.Random) -> None:
    names = frame_of(rng, 60).drop("kind", "tag", "list").to_arrow()
    for by, order in (
        (["x", "name:r"], "x, name DESC NULLS LAST"),
        (["name", "id:r"], "name NULLS LAST, id DESC NULLS LAST"),
        (["x:r", "id"], "x DESC NULLS LAST, id NULLS LAST"),
    ):
        expected = duckdb.sql(f"SELECT row FROM names ORDER BY {order}, row").fetchall()
        assert sort_table(names, by)["row"].to_pylist() == [row for (row,) in expected]


@pytest.mark.parametrize("function", [merge_tables, sort_table])
def test_examples_of_docstrings_run(function: Callable[..., object]) -> None:
    (test,) = doctest.DocTestFinder().find(function, function.__name__, globs={})
    assert len(test.examples) >= 3
    assert doctest.DocTestRunner().run(test).failed == 0
    assert "Parameters\n" in (function.__doc__ or "")
    assert "Raises\n" in (function.__doc__ or "")


def test_what_goes_in_comes_out() -> None:
    table = pa.table({"a": [2, 1], "s": pa.array(["x", "y"], pa.string_view())}).replace_schema_metadata({"k": "v"})
    found = sort_table(table, "a")
    assert found.schema.equals(table.schema, check_metadata=True)
    assert found["s"].to_pylist() == ["y", "x"]
    [batch] = table.to_batches()
    assert sort_table(batch, "a").equals(found.to_batches()[0])
    assert sort_table(batch.slice(0, 0), "a").equals(batch.slice(0, 0))
    relation = duckdb.sql("SELECT unnest([3, 1, 2]) AS a")
    assert sort_table(relation, "a")["a"].to_pylist() == [1, 2, 3]


def test_dictionaries_that_differ() -> None:
    a = pa.table({"s": pa.array(["a", "c"]).dictionary_encode()})
    b = pa.table({"s": pa.array(["b", "d"]).dictionary_encode()})
    assert merge_tables([a, b], "s")["s"].to_pylist() == ["a", "b", "c", "d"]
    ordered = [table.cast(pa.schema([("s", pa.dictionary(pa.int32(), pa.string(), ordered=True))])) for table in (a, b)]
    with pytest.raises(UsageError, match="by s: tables have different ordered categories; give all tables the same"):
        merge_tables(ordered, "s")


def test_fields_of_structs() -> None:
    values = [{"b": 2, "c": {"d": "x"}}, None, {"b": 1, "c": None}]
    table = pa.table({"a": values, "row": [0, 1, 2]})
    assert sort_table(table, "a.b")["row"].to_pylist() == [2, 0, 1]
    assert sort_table(table, "a.c.d", nulls="first")["row"].to_pylist() == [1, 2, 0]
    assert sort_table(pl.DataFrame(table), "a.b:r")["row"].to_list() == [0, 2, 1]


def test_kinds_of_text() -> None:
    table = pl.DataFrame({"size": ["10M", None, "900k", "1G"], "row": [0, 1, 2, 3]})
    assert sort_table(table, "size:size")["row"].to_list() == [2, 0, 3, 1]
    assert sort_table(table, "size:size,r", nulls="first")["row"].to_list() == [1, 3, 0, 2]
    assert merge_tables([table[2:], table[:1]], ["size:size", "row"])["row"].to_list() == [2, 0, 3]
    key = TextKey("size", null_values=["n/a"], nulls="first", invalid="last")
    more = pl.DataFrame({"size": ["5k", "n/a", "big", "1"], "row": [0, 1, 2, 3]})
    assert sort_table(more, ("size", key))["row"].to_list() == [1, 3, 0, 2]
    assert sort_table(more, [("size:r", key), "row"])["row"].to_list() == [1, 0, 3, 2]
    with pytest.raises(UsageError, match="by row: values of type int64 are not texts; leave the TextKey out"):
        sort_table(more, ("row", key))
    with pytest.raises(UsageError, match="'list' needs a list"):
        sort_table(more, "size:list")
    with pytest.raises(InputError, match="table 1, row 1: size: 'big' is not a size"):
        merge_tables([table, pl.DataFrame({"size": ["1", "big"], "row": [1, 2]})], "size:size")


def test_disorder_is_found() -> None:
    good, bad = pl.DataFrame({"a": [1, 2], "b": ["x", None]}), pl.DataFrame({"a": [1, 1], "b": ["y", "x"]})
    with pytest.raises(DisorderError) as error:
        merge_tables([good, bad], ["a", "b"], check=True)
    assert (error.value.where, error.value.what) == ("table 1, row 1", "disorder: 1, x comes after 1, y")
    with pytest.raises(DisorderError, match="table 0, row 1: disorder: 2 comes after 1; sort it first"):
        merge_tables([good], "a:r", check=True)
    assert merge_tables([good, bad], "a", check=True)["b"].to_list() == ["x", "y", "x", None]


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "no tables to merge"),
        (pl.DataFrame({"a": [1]}), r"tables: polars.* is not a list of tables; give a list, as \[table\]"),
        (3, "tables: int is not a list of tables"),
        ([np.arange(3)], "numpy.ndarray is not a table; give tables of pyarrow, polars or pandas"),
        ([pl.LazyFrame({"a": [1]})], "LazyFrame is not a table; collect it first"),
        ([pl.Series([1])], "Series is not a table"),
        ({"a": [1]}, "tables is a dict"),
        ([pl.DataFrame({"a": [1]}), pd.DataFrame({"a": [1]})], "table 1 is a pandas.DataFrame, and table 0 a polars"),
        ([pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]})], "table 1 has the column 'b' where table 0 has 'a'"),
        (
            [pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1.0]})],
            "the column 'a' of table 1 is Float64, and in table 0",
        ),
        ([pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1], "b": [1]})], "table 1 has 2 columns, and table 0 has 1"),
    ],
)
def test_wrong_tables(tables: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        merge_tables(tables, "a")


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("idd", "by idd: there is no column 'idd'; did you mean id"),
        ([], r"by=\[\] names no column"),
        (3, "by=3 names no column"),
        ([3], "by: 3 is not the name of a column"),
        (("id", "down"), "by down: there is no column 'down'"),
        ([("id", "down")], r"by: \('id', 'down'\) is not the name of a column"),
        (["id", "id:r"], "by: id is named twice"),
        ("list", "by list: values of type large_list<item: int64> have no order"),
        ("id:size", "by id:size: values of type int64 are not texts"),
        ("twin", "by: 2 columns are called 'twin'; rename them"),
    ],
)
def test_wrong_keys(by: Any, message: str) -> None:
    frame = pl.DataFrame({"id": [1], "list": [[1]]})
    table: Any = frame
    if by == "twin":
        table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["twin", "twin"])
    with pytest.raises(UsageError, match=message):
        sort_table(table, by)


@pytest.mark.parametrize(
    ("names", "first"), [([0, 1], "0"), (pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]), r"\('a', 'b'\)")]
)
def test_frames_without_names_of_texts(names: Any, first: str) -> None:
    frame = pd.DataFrame([[2, 1], [1, 3]], columns=names)
    with pytest.raises(UsageError, match=f"no column has a name of type str: the first one is {first}; rename the"):
        sort_table(frame, "0")


def test_other_wrong_options() -> None:
    table = pl.DataFrame({"id": [1]})
    for more, message in (
        ({"nulls": "end"}, "nulls='end' is not a place"),
        ({"check": "yes"}, "check='yes' is neither true nor false"),
        ({"threads": 0}, "threads=0 is not a whole number"),
    ):
        with pytest.raises(UsageError, match=message):
            merge_tables([table], "id", **more)  # type: ignore[arg-type]


def test_objects_of_other_columns_go_along() -> None:
    frame = pd.DataFrame({"id": [2, 1], "id thing": [object(), object()], 7: ["x", "y"]})
    found = sort_table(frame, "id")
    assert found[7].tolist() == ["y", "x"]
    assert found["id thing"].tolist() == frame["id thing"].tolist()[::-1]
    with pytest.raises(UsageError, match=r"pandas.DataFrame: .*; cast the column, or leave it out"):
        sort_table(frame, "id thing")


def test_columns_of_any_type_go_along() -> None:
    """Those of which pyarrow takes no rows, too."""
    table = pa.table(
        {
            "id": [2, 3, 1],
            "view": pa.array([["a"], None, ["b", "c"]], pa.list_(pa.string_view())),
            "lists": pa.array([[1], [2, 3], None], pa.list_view(pa.int8())),
            "map": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int8())),
            "uuid": pa.array([b"a" * 16, None, b"b" * 16], pa.uuid()),
            "mixed": pa.UnionArray.from_sparse(pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.nulls(3)]),
            "none": pa.nulls(3),
        }
    )  # fmt: skip
    found = sort_table(table, "id")
    assert found.schema.equals(table.schema)
    assert found.to_pylist() == [table.to_pylist()[row] for row in (2, 0, 1)]
    assert merge_tables([found, found], "id").to_pylist() == [row for row in found.to_pylist() for _ in range(2)]


def test_pyarrow_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"read by pyarrow, which is not installed; pip install 'gpumerge\[tables\]'"):
        sort_table(pl.DataFrame({"id": [1]}), "id")


def test_types_of_polars(rng: random.Random) -> None:
    rows = 40
    numbers = pl.Series("n", [rng.choice([None, *range(-3, 4)]) for _ in range(rows)], dtype=pl.Int64)
    for type in (
        pl.Int8, pl.Float32, pl.Decimal(20, 3), pl.Date, pl.Time, pl.Duration("ms"), pl.Datetime("us", "Europe/Berlin"),
        pl.Boolean, pl.String, pl.Binary,
    ):  # fmt: skip
        of_type = numbers.cast(pl.String).cast(type) if type in (pl.String, pl.Binary) else numbers.abs().cast(type)
        frame = pl.DataFrame({"a": of_type, "row": range(rows)})
        for down in (False, True):
            expected = frame.sort("a", descending=down, nulls_last=True, maintain_order=True)
            assert sort_table(frame, ("a", "descending" if down else "ascending")).equals(expected)


def test_texts_beyond_32_bit_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken_rows, "MOST_BYTES", 40)
    table = pa.table({"id": [5, 4, 3, 2, 1], "s": ["a" * 30, "b" * 30, "", None, "e" * 30]})
    found = sort_table(table, "id")
    assert found["s"].num_chunks > 1
    assert found["s"].to_pylist() == table["s"].to_pylist()[::-1]
