"""Numbers that users write as text, against NumPy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpumerge_cli.engine.item_text import format_item, parse_item
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.kinds.lookup import format_named
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.strategies import special_values


def texts(dtype: np.dtype[np.generic], rng: np.random.Generator) -> Iterator[str]:
    """Texts of numbers, of which the dtype has some."""
    values = rng.integers(0, 256, 50 * dtype.itemsize, np.uint8).view(dtype)
    yield from map(str, [*special_values(dtype), *values])
    yield from ("1e400", "-1e39", "65520", "65519", "0.1", "-0", "2147483648", "9" * 25, "-9", "1_0", "x", "")


@pytest.mark.parametrize("name", DTYPES)
def test_numbers_are_those_of_numpy(name: str, rng: np.random.Generator) -> None:
    dtype, order, plain = np.dtype(name), Order.of(name), format_named("raw")
    for text in texts(dtype, rng):
        try:
            with np.errstate(over="ignore"):
                number = np.array([float(text) if dtype.kind == "f" else int(text)], dtype)
        except (ValueError, OverflowError):
            number = None
        if number is None or (dtype.kind == "f" and np.isinf(number[0]) and "inf" not in text):
            with pytest.raises(UsageError):
                parse_item(text, order, plain)
            continue
        item = parse_item(text, order, plain)
        assert item == number.tobytes(), text
        assert format_item(item, order) == str(number[0])


@pytest.mark.parametrize("big", [False, True])
@pytest.mark.parametrize("name", DTYPES)
def test_keys_of_records_are_those_of_numpy(name: str, big: bool, rng: np.random.Generator) -> None:
    dtype = np.dtype(name).newbyteorder(">" if big else "<")
    width = dtype.itemsize
    order = Order.records(width + 5, 3, dtype)
    keys = rng.integers(0, 256, 20 * width, np.uint8).view(dtype)
    for number, value in enumerate(keys):
        text = str(value)
        item = parse_item(text, order, format_named("raw"))
        assert item == bytes(3) + keys[number : number + 1].tobytes() + bytes(2) or text == "nan"
        assert format_item(item, order) == text
