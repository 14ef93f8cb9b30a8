"""The order of keys against NumPy's and against exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import DTYPES, Order
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
