"""The order of keys against NumPy's and against exact arithmetic."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import DTYPES, LONG, Order
from tests.oracles import number_of, sorted_lines
from tests.strategies import special_values


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_images_order_as_numpy_does(dtype: str, descending: bool) -> None:
    values = special_values(np.dtype(dtype))
    order = Order.of(dtype, descending=descending)
    image = order.image(values).astype(object)
    assert [order.key(values[i : i + 1].tobytes()) for i in range(len(values))] == image.tolist()
    _, ranks = np.unique(values, return_inverse=True, equal_nan=True)
    ranks = -ranks if descending else ranks
    assert np.array_equal(image[:, None] < image[None, :], ranks[:, None] < ranks[None, :])
    assert np.array_equal(image[:, None] == image[None, :], ranks[:, None] == ranks[None, :])


@pytest.mark.parametrize("dtype", ["complex64", "bool", "datetime64[s]", "S3", "object", "float128", "no such"])
def test_dtypes_without_an_order(dtype: str) -> None:
    with pytest.raises(UsageError, match="use one of int8"):
        Order.of(dtype)


def test_every_dtype_the_tool_promises() -> None:
    kinds = {"int": (8, 16, 32, 64), "uint": (8, 16, 32, 64), "float": (16, 32, 64)}
    assert set(DTYPES) == {f"{kind}{bits}" for kind, widths in kinds.items() for bits in widths}


@given(st.lists(st.from_regex(rb"[ \t]{0,2}[-+]?[0-9]{0,20}\.?[0-9]{0,20}[ .x]?", fullmatch=True), max_size=8))
def test_numeric_keys_equal_exact_arithmetic(lines: list[bytes]) -> None:
    for descending in (False, True):
        order = Order.lines(numeric=True, descending=descending)
        assert sorted(lines, key=order.key) == sorted_lines(lines, numeric=True, descending=descending)


@pytest.mark.parametrize(
    ("line", "value"),
    [(b"12", "12"), (b" \t-.5x", "-0.5"), (b"+3", "0"), (b"1e5", "1"), (b"-", "0"), (b"007.10", "7.1"), (b"", "0")],
)
def test_the_number_that_a_line_begins_with(line: bytes, value: str) -> None:
    order = Order.lines(numeric=True)
    assert number_of(line) == number_of(value.encode())
    assert order.key(line)[0] == order.key(value.encode())[0]


@given(
    lines=st.lists(
        st.tuples(st.sampled_from([b"", b"12", b"-3.5", b"a" * 255, b"a" * 256]), st.binary(max_size=4)), max_size=4
    ),
    numeric=st.booleans(),
    descending=st.booleans(),
    stable=st.booleans(),
    long=st.lists(st.booleans(), min_size=4, max_size=4),
)
def test_keys_that_hold_only_the_beginning_of_a_line(
    lines: list[tuple[bytes, bytes]], numeric: bool, descending: bool, stable: bool, long: list[bool]
) -> None:
    order = Order.lines(numeric=numeric, descending=descending, stable=stable)
    whole = [
        (begin + b"b" * LONG * is_long + end).replace(b"\n", b"")
        for (begin, end), is_long in zip(lines, long, strict=False)
    ]
    keys = [order.key(line) for line in whole]
    lazy = [order.key(line, (lambda line=line: line) if len(line) > LONG else None) for line in whole]
    for x, y in product(range(len(whole)), repeat=2):
        assert (lazy[x] < lazy[y]) == (keys[x] < keys[y])
        assert (lazy[x] < keys[y]) == (keys[x] < keys[y])
        assert (keys[x] < lazy[y]) == (keys[x] < keys[y])
