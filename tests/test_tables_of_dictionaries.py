"""merge_tables and sort_table of dictionaries and categories that differ between tables, or hold nulls."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from gpumerge_cli import UsageError, merge_tables, sort_table
from tests.formats.tables.test_nested_dictionaries import TYPES, column, drawn

INDICES = (pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64(), pa.uint32())


def coded(values: list[Any], texts: list[Any], index: Any = None, type: Any = None) -> Any:
    """A dictionary of texts, which may be null."""
    places = pa.array([None if one is None else texts.index(one) for one in values], index or pa.int32())
    return pa.DictionaryArray.from_arrays(places, pa.array(texts, type or pa.string()))


@pytest.mark.parametrize("by", ["id", "c", "c:r"])
def test_categories_of_pandas_that_differ(by: str, seed: int) -> None:
    rng = random.Random(seed)
    frames = []
    for first in range(rng.randrange(2, 5)):
        kinds = [f"{rng.randrange(400)}" for _ in range(rng.choice([0, 1, 30, 300]))]
        words = [rng.choice([None, *kinds]) for _ in range(rng.randrange(50))]
        categories = pd.Index([*dict.fromkeys(kinds)], dtype="str") if kinds else None
        made = pd.Categorical(words, categories)
        frame = pd.DataFrame({"id": range(first, first + 4 * len(words), 4), "c": made, "n": 1.5})
        frames.append(frame if by == "id" else sort_table(frame, by))
    found = merge_tables(frames, by)
    plain = pd.concat([frame.assign(c=frame["c"].astype("str")) for frame in frames])
    usual = plain.sort_values(by.removesuffix(":r"), kind="stable", ascending=by != "c:r")
    assert isinstance(found["c"].dtype, pd.CategoricalDtype)
    pd.testing.assert_frame_equal(found.assign(c=found["c"].astype("str")), usual, check_dtype=False)
    assert set(found["c"].cat.categories) == {one for frame in frames for one in frame["c"].cat.categories}


@pytest.mark.parametrize("by", ["id", "c"])
def test_dictionaries_of_arrow_that_differ(by: str, seed: int) -> None:
    """Indices of several types, nulls among the values, and more values in all than the indices count."""
    rng = random.Random(seed)
    tables = []
    for first in range(rng.randrange(1, 5)):
        chunks = []
        for _ in range(rng.randrange(1, 4)):
            texts = rng.sample([None, *map(str, range(400))], rng.choice([1, 2, 100]))
            chunks.append([texts, [rng.choice([None, *texts]) for _ in range(rng.randrange(60))]])
        index = rng.choice(INDICES)
        values = pa.chunked_array([coded(some, texts, index) for texts, some in chunks])
        ids = pa.array(range(first, first + 4 * len(values), 4), pa.int64())
        table = pa.table({"id": ids, "c": values})
        tables.append(table if by == "id" else sort_table(table, by))
    found = merge_tables(tables, by)
    found.validate(full=True)
    rows = [row for table in tables for row in table.to_pylist()]
    assert found.to_pylist() == sorted(rows, key=lambda row: (row[by] is None, "" if row[by] is None else row[by]))
    used = {table.schema.field("c").type.index_type for table in tables}
    assert found.schema.field("c").type.value_type == pa.string()
    assert len(used) > 1 or found.schema.field("c").type.index_type.bit_width >= used.pop().bit_width


def test_the_indices_become_as_wide_as_they_must() -> None:
    tables = [
        pa.table({"id": [*range(n, 300, 3)], "c": coded(some := [f"{n}-{i}" for i in range(100)], some, pa.int8())})
        for n in range(3)
    ]
    for count, index in ((1, pa.int8()), (2, pa.int16()), (3, pa.int16())):
        found = merge_tables(tables[:count], "id")
        assert found.schema.field("c").type == pa.dictionary(index, pa.string())
        assert len(found["c"].unique()) == 100 * count
    [batch] = tables[0].to_batches()
    assert merge_tables([batch, *tables[1].to_batches()], "id").schema.field("c").type.index_type == pa.int16()


@pytest.mark.parametrize("kind", TYPES)
def test_dictionaries_inside_other_types(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    tables = []
    for first in range(2):
        parts = [column(TYPES[kind], [drawn(rng, kind, group + first) for _ in range(9)]) for group in range(3)]
        tables.append(pa.table({"id": range(first, 54, 2), "c": pa.chunked_array(parts)}))
    rows = [row for table in tables for row in table.to_pylist()]
    assert merge_tables(tables, "id").to_pylist() == sorted(rows, key=lambda row: row["id"])
    assert sort_table(tables[0], "id:r").to_pylist() == tables[0].to_pylist()[::-1]


def test_values_that_arrow_does_not_unify() -> None:
    """pyarrow 26 makes 15872 of a half float 1.5, and refuses lists."""
    for type, values in ((pa.float16(), [1.5, 2.5]), (pa.list_(pa.int8()), [[1], [2, 3]])):
        tables = [pa.table({"id": [n], "c": coded([one], [one], type=type)}) for n, one in enumerate(values)]
        assert merge_tables(tables, "id")["c"].to_pylist() == values
        both = pa.concat_tables(tables)
        assert sort_table(both, "id:r")["c"].to_pylist() == values[::-1]
        inside = [
            pa.table({"id": one["id"], "c": pa.StructArray.from_arrays([one["c"].chunk(0)], ["d"])}) for one in tables
        ]
        assert merge_tables(inside, "id")["c"].to_pylist() == [{"d": one} for one in values]


def test_columns_of_pandas_of_one_name() -> None:
    frames = [pd.DataFrame({"id": [n], "c": pd.Categorical([f"{n}"]), "d": pd.Categorical([n])}) for n in range(2)]
    frames = [frame.set_axis(["id", "c", "c"], axis=1) for frame in frames]
    found = merge_tables(frames, "id")
    assert found.to_numpy().tolist() == [[0, "0", 0], [1, "1", 1]]
    assert all(isinstance(type, pd.CategoricalDtype) for type in found.dtypes[1:])
    assert [len(frame.iloc[:, 1].cat.categories) for frame in frames] == [1, 1]


def test_categories_that_do_not_fit() -> None:
    ordered = [pd.DataFrame({"c": pd.Categorical(["a"], list(one), ordered=True)}) for one in ("ab", "ba")]
    with pytest.raises(UsageError, match="ordered categories of the column 'c' of table 1 differ from table 0; give"):
        merge_tables(ordered, "c")
    mixed = [pd.DataFrame({"c": pd.Categorical(one)}) for one in ([1], ["a"])]
    with pytest.raises(
        UsageError, match="'c' of table 1 is category of str, and in table 0 it is category of int64; cast"
    ):
        merge_tables(mixed, "c")
