"""The items that go out of equal ones, by the library alone: whatever is held, and however many items have one hash."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.buffers import allocate
from gpumerge_cli.native import seen, specs
from gpumerge_cli.native.calls import Disordered
from gpumerge_cli.native.library import load_library
from gpumerge_cli.native.seen import SeenItems
from gpumerge_cli.order.base import Order
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_kinds import CHOSEN_KINDS, TEXT_PADDING
from gpumerge_cli.order.lines import TextOrder
from gpumerge_cli.order.rules import LineOrder
from tests import line_cases
from tests.cpu import libraries
from tests.line_orders import LINE_ORDERS
from tests.linekeys import is_at_fault, key_of
from tests.seeds import given_or_random_seed

ROUNDS = int(os.environ.get("GPUMERGE_TEST_ROUNDS", "6"))
EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "60"))
RULES = (Equals.FIRST, Equals.LAST, Equals.DUPLICATES, Equals.ALL_DUPLICATES, Equals.SINGLES)


@pytest.fixture(autouse=True, scope="module")
def _library_under_test() -> Iterator[None]:
    """The library that is tested may be one that a sanitizer watches."""
    path = libraries.path()
    loaded = load_library(path.parent, path.stem.removeprefix("gpumerge-"))
    with pytest.MonkeyPatch.context() as patched:
        for module in (seen, specs):
            patched.setattr(module, "library", lambda: loaded)
        yield


def plainly(items: Sequence[Any], key: Callable[[Any], Any], rule: Equals) -> list[Any]:
    """The items that the rule keeps, where they stand."""
    groups: dict[Any, list[int]] = {}
    for place, item in enumerate(items):
        groups.setdefault(key(item), []).append(place)
    kept = set()
    for places in groups.values():
        ((start, stop),) = rule.kept([len(places)])
        kept.update(places[start:stop])
    return [item for place, item in enumerate(items) if place in kept]


def decided(
    text: bytes, order: Order, rule: Equals, most: int, *, window: int = 1 << 16, room: int = 1 << 10, bits: int = 64
) -> bytes:
    """The items that go out. most, room: see SeenItems. window: the bytes of a text. bits: those of a hash."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile() as file:
        patch.setattr(seen, "HASH_BITS", bits)
        one = SeenItems(order, rule, most, 0, file.fileno())
        left: list[tuple[bytearray, int]] = []

        def take_all(data: bytes | bytearray, depth: int) -> None:
            one.begin(4, room, depth)
            parts: dict[int, bytearray] = {}
            at, size = 0, window
            while at < len(data):
                here = data[at : at + size]
                held = allocate(len(here) + TEXT_PADDING)
                held[: len(here)] = here
                low = 0
                while True:
                    taken = one.take(held, low, len(here), records=depth > 0)
                    low += taken.nbytes
                    if taken.part < 0:
                        break
                    parts.setdefault(taken.part, bytearray()).extend(taken.piece)
                at, size = at + low, 2 * size if not low else window
            while (taken := one.flush()).part >= 0:
                parts.setdefault(taken.part, bytearray()).extend(taken.piece)
            left.extend((part, depth + 1) for part in parts.values())

        try:
            take_all(text, 0)
            while left:
                take_all(*left.pop())
            out = allocate(len(text))
            held = allocate(len(text) + TEXT_PADDING)
            held[: len(text)] = text
            return bytes(one.put(held, 0, len(text), out).piece)
        finally:
            one.close()


@settings(max_examples=EXAMPLES)
@given(data=st.data(), rule=st.sampled_from(RULES), most=st.sampled_from([1, 200, 20_000, 1 << 20]))
def test_keys_of_every_kind(data: st.DataObject, rule: Equals, most: int) -> None:
    kinds = (data.draw(st.sampled_from(list(CHOSEN_KINDS))), "bytes", "numeric")
    order = data.draw(line_cases.cases(kinds, classed=data.draw(st.booleans()))).order
    lines = data.draw(line_cases.lines(order, 12)) + data.draw(line_cases.lines(order, 12))
    end = bytes([order.terminator])
    text, key = b"".join(line + end for line in lines), key_of(order)
    bits = data.draw(st.sampled_from([0, 1, 3, 64]))
    window = data.draw(st.sampled_from([1, 40, 1 << 16]))
    if any(is_at_fault(order, line) for line in lines):
        with pytest.raises(Disordered):
            decided(text, TextOrder.by(order), rule, most, window=window, bits=bits)
        return
    found = decided(text, TextOrder.by(order), rule, most, window=window, room=64, bits=bits)
    assert found == b"".join(line + end for line in plainly(lines, key, rule))


@pytest.mark.parametrize("order", LINE_ORDERS, ids=LineOrder.describe)
def test_any_memory_gives_the_same(order: LineOrder) -> None:
    seed = given_or_random_seed()
    rng, end, key = random.Random(seed), bytes([order.terminator]), key_of(order)
    for _ in range(ROUNDS):
        distinct = rng.choice([1, 3, 50, 3000])
        lines = [
            b"%d,%x,%s" % (value % 7, value, b"y" * (400 * (value % 41 == 0)))
            for value in (rng.randrange(distinct) for _ in range(rng.choice([1, 10, 2000])))
        ]
        rule, most, bits = rng.choice(RULES), rng.choice([1, 500, 1 << 14, 1 << 20]), rng.choice([2, 8, 64])
        text = b"".join(line + end for line in lines)
        found = decided(text, TextOrder.by(order), rule, most, bits=bits, room=rng.choice([64, 1 << 12]))
        expected = b"".join(line + end for line in plainly(lines, key, rule))
        assert found == expected, (seed, rule, most, bits)


@pytest.mark.parametrize("dtype", ["u1", "i2", "<f4", "f8", "i8"])
def test_numbers(dtype: str) -> None:
    seed = given_or_random_seed()
    rng = np.random.default_rng(seed)
    values = rng.integers(-100, 100, 3000).astype(dtype)
    if values.dtype.kind == "f":
        values[::7] = np.nan
        values[1::7] = -0.0
        values[2::7] = 0.0
    order, size = Order.of(values.dtype.name), values.dtype.itemsize
    items = [values[at : at + 1].tobytes() for at in range(len(values))]
    key = key_of(order)
    for rule in RULES:
        for most, bits in ((1, 64), (300, 2), (1 << 20, 64)):
            found = decided(values.tobytes(), order, rule, most, window=size * 100 + 1, bits=bits)
            assert found == b"".join(plainly(items, key, rule)), (seed, rule, most, bits)


@pytest.mark.parametrize(
    "order",
    [Order.records(24, 3, 5), Order.records(24, 3, 20, descending=True), Order.records(24, 8, np.dtype(">f8"))],
    ids=Order.describe,
)
def test_records(order: Order) -> None:
    seed = given_or_random_seed()
    rng = random.Random(seed)
    items = [bytes(rng.choice(b"\0\1\x80") if at % 5 == 0 else 0 for at in range(24)) for _ in range(2000)]
    for rule in RULES:
        for most, bits in ((1, 64), (300, 2), (1 << 20, 64)):
            found = decided(b"".join(items), order, rule, most, bits=bits)
            assert found == b"".join(plainly(items, key_of(order), rule)), (seed, rule, most, bits)


def test_bits_in_a_file() -> None:
    """The bits of 100,000 items take four pages, one of which lies in memory."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 90_000, 100_000).astype("u4")
    found = np.frombuffer(decided(values.tobytes(), Order.of("uint32"), Equals.LAST, 1 << 26, window=1 << 20), "u4")
    _, behind = np.unique(values[::-1], return_index=True)
    assert np.array_equal(found, values[np.sort(len(values) - 1 - behind)])
