"""The methods that the three kinds of orders share. Callers use them without asking for the kind."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.dataclass import replace
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order, RecordOrder, TextOrder
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder
from tests.linekeys import item_key
from tests.strategies import Records as RecordCase
from tests.strategies import record_runs

LINES = [Order.lines(), Order.lines(numeric=True), Order.lines(LineOrder(terminator=NUL))]
ORDERS = [*map(Order.of, DTYPES), Order.records(8, 2, np.dtype(">f4")), Order.records(5, 0, 3), *LINES]


def test_each_constructor_makes_its_own_kind() -> None:
    assert isinstance(Order.of("int32"), KeyOrder)
    assert isinstance(Order.records(8, 0, 4), RecordOrder)
    assert isinstance(Order.lines(), TextOrder)


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_orders_are_values(order: Order) -> None:
    assert pickle.loads(pickle.dumps(order)) == order
    assert len({order, pickle.loads(pickle.dumps(order))}) == 1


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_a_sample_is_one_item(order: Order) -> None:
    run = np.frombuffer(2 * order.sample(), np.uint8)
    items = order.items(run)
    assert len(items) == 2
    assert [item + order.end for item in (items[0], items[1])] == 2 * [order.sample()]
    assert order.count(len(run)) in (2, None)
    assert (order.count(len(run)) is None) == (order.item_bytes == 0)


@given(lines=st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), max_size=9))
def test_lines_by_their_numbers(lines: list[bytes]) -> None:
    items = Order.lines().items(np.frombuffer(b"".join(line + b"\n" for line in lines), np.uint8))
    assert [items[number] for number in range(len(items))] == lines


def test_numbers_of_kinds_are_those_of_the_library() -> None:
    own = library()
    kinds = {"uint8": own.UNSIGNED_KEYS, "int8": own.SIGNED_KEYS, "float16": own.FLOAT_KEYS}
    for dtype, kind in kinds.items():
        assert Order.of(dtype).layout().kind == kind
        layout = Order.records(9, 1, np.dtype(dtype)).layout()
        assert (layout.kind, layout.key_kind) == (own.RECORDS, kind)
    assert Order.records(9, 1, 8).layout().key_kind == own.UNSIGNED_KEYS
    assert Order.lines().layout().kind == own.LINES
    assert order_spec(Order.lines()).terminator == ord("\n")


def test_an_order_has_one_structure_in_the_library() -> None:
    rules = LineOrder((LineKey("numeric", 1),), separator=b",")
    assert order_spec(Order.lines(rules)) is order_spec(Order.lines(replace(rules)))
    assert order_spec(Order.lines(rules)) is not order_spec(Order.lines(replace(rules, reverse=True)))
    assert order_spec(Order.of("int32")) is not order_spec(Order.of("uint32"))


@given(case=record_runs(sizes=(1, 3, 8, 12, 40)), data=st.data())
def test_keys_that_are_put_into_records_are_found_there(case: RecordCase, data: st.DataObject) -> None:
    order = case.order
    assert isinstance(order, RecordOrder)
    bits = 8 * order.made_of.itemsize
    drawn = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=1, max_size=8))
    numbers = np.array(drawn, f"u{order.made_of.itemsize}").view(order.made_of)
    records = np.full((len(numbers), order.size), 0xA5, np.uint8)
    order.put(numbers, records)
    beside = np.delete(records, range(order.offset, order.offset + order.width), axis=1)
    assert (beside == 0xA5).all()
    if order.key is not None:
        assert order.keys(records.reshape(-1)).tobytes() == numbers.tobytes()
    else:
        keys = [record[order.offset : order.offset + order.width].tobytes() for record in records]
        assert sorted(range(len(keys)), key=keys.__getitem__) == sorted(range(len(keys)), key=drawn.__getitem__)


@pytest.mark.parametrize("order", [order for order in ORDERS if order.item_bytes], ids=Order.describe)
def test_the_other_order_is_the_opposite(order: Order, rng: np.random.Generator) -> None:
    (other,) = order.others(keys_equal=False)
    assert other.ways == (False, True)
    for _ in range(20):
        a, b = (rng.bytes(order.item_bytes) for _ in range(2))
        assert (Comparison(order)(a, b) > 0) == (Comparison(other)(a, b) < 0)
        assert (item_key(order, a) < item_key(order, b)) == (Comparison(order)(a, b) < 0)


def test_what_lines_may_have_been_meant_by() -> None:
    assert [other.ways for other in Order.lines().others(keys_equal=False)] == [
        (True, False), (False, True), (True, True),
    ]  # fmt: skip
    by_field = Order.lines(LineOrder((LineKey(start_field=1),)))
    assert by_field.others(keys_equal=False) == []
    stable = Order.lines(LineOrder((LineKey(start_field=1),), stable=True))
    assert by_field.others(keys_equal=True) == [stable]
    assert stable.others(keys_equal=True) == []
    assert len(by_field.by_key()) == 1
    assert Order.of("int8").by_key() == ()


@pytest.mark.parametrize(
    ("order", "item", "number", "part"),
    [
        (Order.of("int16"), b"\x01\x02", "513", b"\x01\x02"),
        (Order.of("float32"), np.float32(1 / 3).tobytes(), "0.333333", np.float32(1 / 3).tobytes()),
        (Order.records(4, 1, np.dtype(">u2")), b".\x02\x01.", "513", b".\x02\x01."),
        (Order.records(4, 1, 2), b".ab.", None, b"ab"),
        (Order.lines(), b"line", None, b"line"),
    ],
    ids=str,
)
def test_what_messages_show_of_an_item(order: Order, item: bytes, number: str | None, part: bytes) -> None:
    assert order.number(item, short=True) == number
    assert order.key_of(item) == part


def test_lines_have_no_keys_of_one_size() -> None:
    for ask in (lambda: Order.lines().dtype, lambda: Order.lines().image(np.empty(0)), lambda: Order.lines().flip):
        with pytest.raises(TypeError, match="lines, bytewise: items have no key of one size"):
            ask()
