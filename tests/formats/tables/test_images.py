"""Images of Arrow values compare as the values do, and give the values back."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.images import (
    ascending_images,
    fixed_images,
    fixed_of_value,
    line_images,
    line_of_value,
    uint64_images,
    value_of_fixed,
    value_of_line,
)
from gpumerge_cli.formats.tables.key_columns import KeyColumn, NullPlace, key_array, named_columns
from gpumerge_cli.formats.tables.key_text import shown_value, value_of_word
from gpumerge_cli.order.rules import END, MARK
from tests.formats.tables.random_arrays import FLOATS, INTEGERS, TEXTS, TYPES, drawn_array, order_keys, positions

ROWS = 60
CHOICES: tuple[tuple[bool, NullPlace], ...] = ((False, "last"), (False, "first"), (True, "last"), (True, "first"))


@pytest.fixture
def rng(seed: int) -> random.Random:
    return random.Random(seed)


def column_of(type: pa.DataType, *, reverse: bool = False, nulls: NullPlace = "last") -> KeyColumn:
    return KeyColumn(("x",), values_type(type), reverse, nulls)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_images_order_as_python_does(type: pa.DataType, rng: random.Random) -> None:
    for (
        reverse,
        nulls,
    ) in ((False, "last"), (False, "first"), (True, "last"), (True, "first")):
        column = column_of(type, reverse=reverse, nulls=nulls)
        array = drawn_array(rng, type, ROWS)
        expected = positions(order_keys(array, reverse=reverse, nulls=nulls))
        texts = line_images(column, array).to_pylist()
        assert not any(byte in text for text in texts for byte in (MARK, END))
        forward = sorted(range(ROWS), key=texts.__getitem__)
        backward = sorted(range(ROWS), key=texts.__getitem__, reverse=True)
        assert (backward if reverse else forward) == expected
        values = [value_of_line(text, column) for text in texts]
        assert [value is None for value in values] == array.is_null().to_pylist()
        assert [line_of_value(value, column) for value in values] == texts
        if column.fixed_bytes is None:
            continue
        images = fixed_images(column, array, nullable=True)
        assert images.shape == (ROWS, column.fixed_bytes + 1)
        assert positions(images) == expected
        rows = [bytes(row) for row in images]
        assert [value_of_fixed(row, column, nullable=True) for row in rows] == values
        assert [fixed_of_value(value, column, nullable=True) for value in values] == rows


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_images_without_nulls(type: pa.DataType, rng: random.Random) -> None:
    for reverse in (False, True):
        column = column_of(type, reverse=reverse)
        if column.fixed_bytes is None:
            continue
        array = drawn_array(rng, type, ROWS, nulls=0)
        images = fixed_images(column, array, nullable=False)
        expected = positions(order_keys(array, reverse=reverse))
        assert positions(images) == expected
        rows = [bytes(row) for row in images]
        values = [value_of_fixed(row, column, nullable=False) for row in rows]
        assert [fixed_of_value(value, column, nullable=False) for value in values] == rows
        if column.fixed_bytes <= 8:
            numbers = uint64_images(column, array)
            assert numbers.dtype == np.uint64
            assert [number.tobytes()[::-1][8 - column.fixed_bytes :] for number in numbers] == rows


@pytest.mark.parametrize(
    "type", [*INTEGERS, *FLOATS[1:], *TEXTS[:2], pa.timestamp("us"), pa.decimal128(38, 10)], ids=str
)
def test_the_order_is_that_of_pyarrow(type: pa.DataType, rng: random.Random) -> None:
    """But for NaN, which pyarrow puts beside nulls."""
    array = drawn_array(rng, type, ROWS)
    if pa.types.is_floating(type):
        array = array.filter(pc.fill_null(pc.invert(pc.is_nan(array)), True))
    for reverse, nulls in CHOICES:
        column = column_of(type, reverse=reverse, nulls=nulls)
        place = "at_start" if nulls == "first" else "at_end"
        key = ("", "descending" if reverse else "ascending", place)
        expected = pc.sort_indices(array, sort_keys=[key]).to_pylist()
        texts = line_images(column, array).to_pylist()
        mine = sorted(range(len(array)), key=texts.__getitem__, reverse=reverse)
        assert [texts[at] for at in expected] == [texts[at] for at in mine]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_floats_order_as_numpy_sorts_them(dtype: str, rng: random.Random) -> None:
    values: Any = np.frombuffer(rng.randbytes(4000 * np.dtype(dtype).itemsize), dtype).copy()
    values[:50], values[50:60] = np.nan, [0.0, -0.0] * 5
    values = values[rng.sample(range(4000), 4000)]
    array = pa.array(values)
    images = uint64_images(column_of(array.type), array)
    assert np.array_equal(np.argsort(images, kind="stable"), np.argsort(values, kind="stable"))


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_chunks_and_slices(type: pa.DataType, rng: random.Random) -> None:
    column = column_of(type)
    parts = [drawn_array(rng, type, rows) for rows in (3, 0, 7)]
    whole = pa.chunked_array(parts, type)
    texts = [text for part in parts for text in line_images(column, part).to_pylist()]
    assert line_images(column, whole).to_pylist() == texts
    assert len(line_images(column, pa.chunked_array([], type))) == 0
    if column.fixed_bytes is not None:
        rows = np.concatenate([fixed_images(column, part, nullable=True) for part in parts])
        assert np.array_equal(fixed_images(column, whole, nullable=True), rows)


@pytest.mark.parametrize("type", TYPES, ids=str)
def test_values_are_shown_and_read_again(type: pa.DataType, rng: random.Random) -> None:
    column = column_of(type)
    for text in line_images(column, drawn_array(rng, type, ROWS)).to_pylist():
        value = value_of_line(text, column)
        word = shown_value(column, value)
        if value is None:
            assert word == b"null"
        else:
            assert value_of_word(column, word) == value


@pytest.mark.parametrize(
    ("type", "word", "way_out"),
    [
        (pa.int8(), b"128", "write it as 0"),
        (pa.float32(), b"x", "write it as 0"),
        (pa.bool_(), b"2", "write it as false"),
        (pa.timestamp("s"), b"soon", "write it as 1970-01-01 00:00:00"),
        (pa.time32("ms"), b"25:00", "write it as 00:00:00.000"),
        (pa.decimal128(5, 2), b"1.234", "write it as 0.00"),
        (pa.duration("s"), b"1h", "write it as 0"),
        (pa.binary(3), b"ab", "write all bytes"),
        (pa.int64(), b"\xff", "write it as 0"),
    ],
)
def test_invalid_words(type: pa.DataType, word: bytes, way_out: str) -> None:
    with pytest.raises(UsageError) as error:
        value_of_word(column_of(type), word)
    assert error.value.way_out == way_out


def test_a_null_struct_makes_its_fields_null() -> None:
    inner = pa.StructArray.from_arrays([pa.array([1, 2, 3])], ["b"], mask=pa.array([False, True, False]))
    outer = pa.StructArray.from_arrays([inner], ["a"], mask=pa.array([False, False, True]))
    for column in (outer, pa.chunked_array([outer, outer])):
        table = pa.table({"s": column})
        (key,) = named_columns(table.schema, ["s.a.b"], "--field")
        assert key.path == ("s", "a", "b")
        assert key_array(key, table).to_pylist() == [1, None, None] * (len(column) // 3)
    (key,) = named_columns(pa.schema([("a", inner.type)]), ["a.b"], "--field")
    assert key_array(key, pa.RecordBatch.from_arrays([inner], ["a"])).to_pylist() == [1, None, 3]


def named(schema: pa.Schema, *texts: str, **more: Any) -> list[tuple[str, bool, str]]:
    return [(key.name, key.reverse, key.kind) for key in named_columns(schema, texts, "--field", **more)]


SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("a", pa.struct([("b", pa.string()), ("c.d", pa.int8()), ("m", pa.list_(pa.int8())),
                         ("twice", pa.int8()), ("twice", pa.int8())])),
        ("a.x", pa.float32()), ("s", pa.string()), ("u:v", pa.int8()), ("w,x", pa.string()), ("r", pa.int8()),
        ("l", pa.list_(pa.int8())), ("map", pa.map_(pa.string(), pa.int8())), ("t", pa.timestamp("s")),
        ("two", pa.int8()), ("two", pa.int8()),
    ]
)  # fmt: skip


def test_names_of_keys() -> None:
    assert named(SCHEMA, "id:r,a.b") == [("id", True, ""), ("a.b", False, "")]
    assert named(SCHEMA, "id", "s:size,r", "t") == [("id", False, ""), ("s", True, "size"), ("t", False, "")]
    assert named(SCHEMA, "s:size,r,r") == [("s", True, "size"), ("r", False, "")]
    assert named(SCHEMA, "s,r") == [("s", False, ""), ("r", False, "")]
    assert named(SCHEMA, "a.x") == [("a.x", False, "")]
    assert named(SCHEMA, "a.c.d:r") == [("a.c.d", True, "")]
    assert named(SCHEMA, "u:v") == [("u:v", False, "")]
    assert named(SCHEMA, "u:v:r") == [("u:v", True, "")]
    assert named(SCHEMA, "w,x") == [("w,x", False, "")]
    assert named(SCHEMA, "w,x:r", "s:nr") == [("w,x", True, ""), ("s", True, "numeric")]
    assert named(SCHEMA, r"a\.x:r,id") == [("a.x", True, ""), ("id", False, "")]
    assert named(SCHEMA, r"a.c\.d") == [("a.c.d", False, "")]
    assert named(SCHEMA, r"w\,x:r,u\:v,s:time,r") == [("w,x", True, ""), ("u:v", False, ""), ("s", True, "time")]
    assert named(pa.schema([(r"a\b", pa.int8())]), r"a\b:r") == [(r"a\b", True, "")]
    assert named(pa.schema([("a.b", pa.int8()), ("a", pa.struct([("b", pa.int8())]))]), "a.b") == [("a.b", False, "")]
    assert named(SCHEMA, "id:n,t:time,r") == [("id", False, ""), ("t", True, "")]
    assert named(SCHEMA, "id:r,s", reverse=True) == [("id", False, ""), ("s", True, "")]
    for key in named_columns(SCHEMA, ["id:r", "s:size,r", "a.b:V"], "--field"):
        assert named(SCHEMA, key.option_text) == [(key.name, key.reverse, key.kind)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("idd", "--field idd: there is no column 'idd'; did you mean id?"),
        ("a.z", "--field a.z: there is no column 'a.z'"),
        ("l", "--field l: values of type list<item: int8> have no order; name another column"),
        ("map", "have no order"),
        ("a", "have no order; name one of its fields, as a.b"),
        ("a.m", "have no order"),
        ("id,id:r", "--field id,id:r: id is named twice; name each column once"),
        ("two", "--field two: 2 columns have the name 'two'; give them names of their own, or name another column"),
        ("a.twice", "--field a.twice: 2 columns have the name 'a.twice'"),
        (r"u\.x", r"there is no column 'u\.x'"),
        ("s:q", "--field s:q: invalid option 'q' of a key"),
        ("s:sise", "did you mean size?"),
        ("id:size", "--field id:size: values of type int64 are not texts; leave :size out"),
    ],
)
def test_refused_names(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        named(SCHEMA, text)
    assert message in str(error.value)


def test_listed_names_are_on_one_line() -> None:
    with pytest.raises(UsageError, match=r"columns: a\\x1bb, k\\nx$"):
        named(pa.schema([("a\x1bb", pa.int8()), ("k\nx", pa.int8())]), "z")


def test_a_kind_reads_the_text_itself() -> None:
    (key,) = named_columns(SCHEMA, ["s:size"], "--field")
    texts = line_images(key, pa.array(["1k", None, "\1"])).to_pylist()
    assert texts == [b"1k", b"", b"\2\4"]
    assert [value_of_line(text, key) for text in texts] == [b"1k", b"", b"\1"]


def test_a_decimal_of_too_many_digits_is_shown() -> None:
    """As a damaged file may hold it."""
    type = pa.decimal128(4, 2)
    value = pa.Array.from_buffers(type, 1, [None, pa.py_buffer((-123456789).to_bytes(16, "little", signed=True))])
    assert shown_value(column_of(type), ascending_images(type, value).tobytes()) == b"-123456789E-2"
