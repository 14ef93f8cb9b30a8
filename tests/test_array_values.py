"""Values that the library moves along with their keys lie where stable sorts put them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gpumerge_cli
from gpumerge_cli.order.kinds import Order
from tests.seeds import given_or_random_seed

KEYS = ("int32", "uint32", "float32", "int64", "uint64", "float64", "datetime64[s]", "int16")
ROWS: tuple[Any, ...] = ("int32", "float64", "S4", "V8", ("float32", 2), "datetime64[s]", "int16", "S20", "O")
"""Types of values, some of which the library moves along; others are gathered."""


def drawn(chance: random.Random, draw: np.random.Generator, dtype: str, count: int) -> NDArray[Any]:
    """Keys in any order: with ties, special floats, NaT; or one far from the others."""
    width = np.dtype(dtype).itemsize
    bits = draw.integers(0, 256, count * width, np.uint8).view(f"u{width}")
    shape = chance.randrange(5)
    if shape == 1:
        bits = bits % np.array(chance.choice([1, 5, 100]), bits.dtype)
    elif shape == 2:
        bits = bits >> np.array(4 * width, bits.dtype)
    elif shape == 3 and dtype.startswith("float"):
        some = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1], dtype)
        return draw.choice(some, count)
    elif shape == 4 and dtype.startswith("datetime"):
        return draw.choice(np.array([np.datetime64("NaT"), 0, 7, -9], dtype), count)
    return bits.view(dtype)


def rows(draw: np.random.Generator, kind: Any, count: int) -> NDArray[Any]:
    dtype, shape = (np.dtype(kind[0]), (count, kind[1])) if isinstance(kind, tuple) else (np.dtype(kind), (count,))
    if dtype.kind == "O":
        return np.array([object() for _ in range(count)], object)
    items = int(np.prod(shape))
    numbers = draw.integers(1, 127, items * dtype.itemsize, np.uint8)
    return numbers.view(dtype).reshape(shape)


def stable(keys: NDArray[Any], *, descending: bool) -> NDArray[np.int64]:
    """The indices that sort keys stably, NaN and NaT at their ends."""
    return np.argsort(Order.of(keys.dtype, descending=descending).image(keys), kind="stable")


@pytest.mark.parametrize("kernel", ["auto", "vector", "path", "basic"])
def test_values_go_where_their_keys_go(kernel: str) -> None:
    seed = given_or_random_seed()
    print(f"GPUMERGE_TEST_SEED={seed}")
    chance, draw = random.Random(seed), np.random.default_rng(seed)
    for turn in range(60):
        dtype, kind = KEYS[turn % len(KEYS)], chance.choice(ROWS)
        descending, most = chance.random() < 0.5, chance.choice([3, 300, 6000])
        runs = [drawn(chance, draw, dtype, chance.randrange(most)) for _ in range(chance.choice([1, 2, 2, 2, 3, 6]))]
        runs = [run[stable(run, descending=descending)] for run in runs]
        values = [rows(draw, kind, len(run)) for run in runs]
        options: dict[str, Any] = {"kernel": kernel, "descending": descending, "threads": chance.choice([1, 3])}
        if chance.random() < 0.3:  # neither contiguous nor aligned
            values = [np.repeat(each, 2, axis=0)[::2] for each in values]
            runs = [np.frombuffer(b"x" + run.tobytes(), np.uint8)[1:].view(dtype) for run in runs]
        found, moved = gpumerge_cli.merge(*runs, values=values, backend="cpu", **options)
        keys, payload = np.concatenate(runs), np.concatenate(values)
        order = stable(keys, descending=descending)
        assert found.tobytes() == keys[order].tobytes(), (turn, dtype, kind)
        assert moved.dtype == payload.dtype
        assert moved.shape == payload.shape
        same = (moved == payload[order]).all() if kind == "O" else moved.tobytes() == payload[order].tobytes()
        assert same, (turn, dtype, kind)


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("values", ["uint32", "int64"])
def test_unsorted_keys_keep_their_values(dtype: str, values: str) -> None:
    seed = given_or_random_seed()
    print(f"GPUMERGE_TEST_SEED={seed}")
    chance, draw = random.Random(seed), np.random.default_rng(seed)
    for count in (10, 3000, 20_000):
        keys = [drawn(chance, draw, dtype, count) for _ in range(2)]
        if chance.random() < 0.5:
            keys = [np.sort(each) for each in keys]
            keys[0][draw.integers(0, count)] = 1
        numbers = [np.arange(count, dtype=values) + count * number for number in (0, 1)]
        found, moved = gpumerge_cli.merge(*keys, values=numbers, backend="cpu", threads=2)
        assert np.array_equal(np.sort(moved), np.arange(2 * count))
        assert np.concatenate(keys)[moved].tobytes() == found.tobytes()


def test_masks_of_values_move_along() -> None:
    values = [np.ma.array([1, 2], mask=[0, 1]), np.ma.array([3], mask=[0])]
    found, moved = gpumerge_cli.merge(np.array([1, 4]), np.array([2]), values=values)
    assert found.tolist() == [1, 2, 4]
    assert moved.mask.tolist() == [False, False, True]
