"""Records: what options say of them, and files of them by position."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpumerge_cli.errors import GpumergeError, InputError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import format_named
from gpumerge_cli.formats.record_options import Key, RecordRequest, item_name, order_of, parse_dtype, record_format
from gpumerge_cli.formats.registry import layout_of, open_source
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder

Write = Callable[[str, Any], str]


@pytest.mark.parametrize(
    "text", ["u4,f8", "u4, >f8", " [('id','<u4'),('name','S10')]", "[('a',[('b','f4')]),('c','V3',(2,))]", "i4,"]
)
def test_structured_dtypes_in_numpys_spellings(text: str) -> None:
    spelled = ast.literal_eval(text.strip()) if "[" in text else text
    assert parse_dtype(text) == np.dtype(spelled)


@pytest.mark.parametrize(
    "text",
    ["[", "[('a','zz')]", "[('a',)]", "[(1,2,3,4)]", "[('a','u4'),('a','u4')]", "[open('x')]", "," * 9999],
)
def test_what_is_no_structured_dtype(text: str) -> None:
    with pytest.raises(UsageError, match="is not a structured dtype; write for example u4,f8"):
        parse_dtype(text)


@example("a")
@example("01")
@given(st.one_of(st.text(max_size=12), st.text("[]()',fiu48S<> ", max_size=30)))
def test_no_spelling_fails_otherwise(text: str) -> None:
    try:
        dtype = parse_dtype(text)
    except UsageError:
        return
    native = dtype.newbyteorder("=")
    assert dtype.names is not None or dtype.kind in "bmM" or dtype.name in DTYPES or native.name in DTYPES


@given(
    size=st.one_of(st.none(), st.integers(-1, 20), st.just(2**31)),
    offset=st.one_of(st.none(), st.integers(-1, 20)),
    width=st.one_of(st.none(), st.integers(-1, 20)),
    field=st.sampled_from([None, "f0", "f1", "a.b", "", "."]),
    dtype=st.sampled_from([None, "int32", ">f8", "u4,f8", "S3", "[('a',[('b','i2')]),('c','U2')]"]),
    name=st.sampled_from(["a", "a.bin", "a.npy", "a.i32", "a.txt", "-"]),
    format=st.sampled_from([None, "raw", "npy", "text"]),
    numeric=st.booleans(),
)
def test_options_fit_together_or_say_why(
    size: int | None,
    offset: int | None,
    width: int | None,
    field: str | None,
    dtype: str | None,
    name: str,
    format: str | None,
    numeric: bool,
) -> None:
    """All options give an order whose key lies in its record, or one line of error."""
    request = RecordRequest(size, offset, width, field)
    wrong: GpumergeError | None = None
    try:
        chosen = layout_of(name, Items(format, dtype, LineOrder() if numeric else None, records=request))
        if chosen.dtype is None:
            return
        order = order_of(chosen.dtype, chosen.key)
    except GpumergeError as error:
        wrong = error
    if wrong is not None:
        assert "\n" not in str(wrong)
        assert wrong.way_out or "records have" in wrong.what
        return
    assert bool(request.first_option) <= bool(order.record)
    if order.record:
        assert not numeric
        assert order.record == chosen.dtype.itemsize
        assert order.offset >= 0
        assert order.offset + order.width <= order.record
        if field is None and dtype is None:
            assert (order.record, order.offset) == (size, offset or 0)
            assert order.width == (size - (offset or 0) if width is None else width)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("request_", "dtype", "order"),
    [
        (RecordRequest(100, None, 10), None, Order.records(100, 0, 10)),
        (RecordRequest(100, 7), None, Order.records(100, 7, 93)),
        (RecordRequest(16, 3), ">f8", Order.records(16, 3, np.dtype(">f8"))),
        (RecordRequest(16, 3, 8), "f8", Order.records(16, 3, np.dtype("f8"))),
        (RecordRequest(fields=("f1",)), "u4,f8", Order.records(12, 4, np.dtype("f8"))),
        (RecordRequest(fields=("a.c",)), "[('a',[('b','i2'),('c','S4')])]", Order.records(6, 2, 4)),
        (RecordRequest(fields=("b",)), "[('a','u1'),('b','V2')]", Order.records(3, 1, 2)),
    ],
)
def test_the_order_that_options_say(request_: RecordRequest, dtype: str | None, order: Order) -> None:
    items, key = record_format(dtype, request_)
    assert items is not None
    assert order_of(items, key) == order


def test_fields_may_lie_apart_and_have_dots_in_their_names() -> None:
    aligned = np.dtype([("a.b", "u1"), ("c", "f8")], align=True)
    assert order_of(aligned, Key("c")) == Order.records(16, 8, np.dtype("f8"))
    assert order_of(aligned, Key("a.b")) == Order.records(16, 0, np.dtype("u1"))


def test_what_items_are_called() -> None:
    assert item_name(np.dtype(">i4")) == "int32"
    assert item_name(np.dtype("V100")) == "records of 100 bytes"
    assert item_name(np.dtype("u4,>f8")) == "records of 12 bytes (f0 <u4, f1 >f8)"
    many = np.dtype([(f"field{number}", "u1") for number in range(99)])
    assert item_name(many).endswith("...)")


def test_a_source_of_records_by_position(write: Write) -> None:
    records = [b"%03d-%s" % (number, b"xyz") for number in range(30)]
    path = write("a.rec", b"".join(records))
    source = open_source(path, layout_of(path, Items(records=RecordRequest(7, 0, 3))))
    assert (source.size, source.count(), source.dtype) == (210, 30, np.dtype("V7"))
    for number, record in enumerate(records):
        assert source.item_at(7 * number) == record
        assert source.item_before(7 * number + 7) == record
        assert source.item_start(7 * number - 3) == 7 * number
        assert source.item_end(7 * number) == 7 * number + 7
        assert source.location(7 * number) == f"{path}@{number}"
    out = np.empty(70, np.uint8)
    source.read_into(14, out)
    assert out.tobytes() == b"".join(records[2:12])
    source.close()


def test_records_keep_their_byte_order(write: Write) -> None:
    array = np.array([(1, 2.5), (258, -1)], [("id", ">u4"), ("x", ">f8")])
    path = write("a.npy", array)
    source = open_source(path, layout_of(path, Items(records=RecordRequest(fields=("id",)))))
    out = np.empty(source.size, np.uint8)
    source.read_into(0, out)
    assert out.tobytes() == array.tobytes()
    assert source.item_at(12) == array[1:].tobytes()
    source.close()


def test_headers_of_npy_say_the_fields() -> None:
    npy = format_named("npy")
    with pytest.raises(OutputError, match="write raw records, or give fields other names"):
        npy.header(np.dtype([("\u03b1", "u4")]), 3)
    assert b"'descr': [('a', '<u4'), ('b', '|S3')]" in npy.header(np.dtype([("a", "<u4"), ("b", "S3")]), 3)


def test_names_beyond_latin_1_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    with pytest.warns(UserWarning, match="format 3.0"):
        np.save(path, np.zeros(3, [("\u043a\u043b\u044e\u0447", "i4")]))
    with pytest.raises(InputError, match="names that are not Latin-1"):
        open_source(str(path), layout_of(str(path), Items()))
