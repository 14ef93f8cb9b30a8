"""Comparisons of single items, and the places of keys, against Python's keys. Lines have any length."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.native.comparison import Comparison, key_bounds, key_by
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import linekeys
from tests.line_cases import INEXACT, cases, lines
from tests.linekeys import key_of
from tests.strategies import Records, record_runs, special_values

EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "30"))


def agree(order: Order, items: list[bytes]) -> None:
    """Every pair of the items compares as Python's keys do."""
    compare, keys = Comparison(order), [linekeys.item_key(order, item) for item in items]
    for (a, x), (b, y) in product(zip(items, keys, strict=True), repeat=2):
        assert np.sign(compare(a, b)) == (x > y) - (x < y), (a, b)
    assert sorted(items, key=key_by(order)) == sorted(items, key=key_of(order))


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_lines(data: st.DataObject) -> None:
    text = data.draw(cases()).order
    drawn = data.draw(lines(text, 10))
    drawn += [line * 300 for line in drawn[:2]]
    if any(key.compare == "general" for key in text.keys):
        drawn = [line for line in drawn if not INEXACT.search(line)]
    agree(Order.lines(text), drawn)


@settings(max_examples=EXAMPLES)
@given(case=record_runs(sizes=(1, 3, 8, 12, 300)))
def test_records(case: Records) -> None:
    agree(case.order, case.all[:12])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [*DTYPES, "timedelta64[D]"])
def test_keys(dtype: str, descending: bool) -> None:
    values: Any = special_values(np.dtype(dtype))
    agree(Order.of(dtype, descending=descending), [value.tobytes() for value in values[:: max(1, len(values) // 20)]])


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_keys_lie_where_python_finds_them(data: st.DataObject) -> None:
    order = data.draw(cases(classed=data.draw(st.booleans()))).order
    for (number, key), line in product(enumerate(order.keys), data.draw(lines(order))):
        assert key_bounds(Order.lines(order), number, line) == linekeys.key_bounds(
            key, order.separator, linekeys.keys_part(order, line)
        )


def test_a_key_beyond_every_line() -> None:
    order = LineOrder((LineKey(start_char=1 << 62, end_field=1 << 62, end_char=1 << 62),))
    assert key_bounds(Order.lines(order), 0, b"a b") == (3, 3)
