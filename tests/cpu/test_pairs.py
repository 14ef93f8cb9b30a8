"""The library's merges of keys with values against NumPy, with guards around all memory that it is given."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpumerge_cli.order.kinds import Order
from tests.cpu import keys_library as lib
from tests.cpu.test_keys import ROUNDS, keys, stable
from tests.seeds import given_or_random_seed

ORDERS = [
    Order.of(name, descending=down)
    for name in ("int32", "uint32", "float32", "int64", "uint64", "float64")
    for down in (False, True)
]


@pytest.fixture
def chance() -> random.Random:
    seed = given_or_random_seed()
    print(f"GPUMERGE_TEST_SEED={seed}")
    return random.Random(seed)


@pytest.mark.parametrize("kernel", ["vector", "path"])
@pytest.mark.parametrize("value", ["uint32", "uint64"])
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.describe())
def test_pairs_equal_a_stable_sort(order: Order, value: str, kernel: str, chance: random.Random) -> None:
    for turn in range(2 * ROUNDS):
        long = [chance.randrange(300, 5000) for _ in range(2)] if turn % 2 else []  # long enough for vectors
        short = [
            chance.choice([0, 1, chance.randrange(60), chance.randrange(4000)]) for _ in range(chance.randint(1, 3))
        ]
        sizes = long + short
        runs = [stable(keys(order, size, chance), order) for size in sizes]
        ends = np.cumsum(sizes)
        values = [np.arange(end - size, end).astype(value) for size, end in zip(sizes, ends, strict=True)]
        spec = lib.launch(kernel, tile=chance.choice([1, 900, 1 << 20]))
        found = lib.merged_pairs(runs, values, order, spec, chance.randint(1, 3), chance.choice([0, 0, 1]))
        whole = np.concatenate(runs)
        places = np.argsort(order.image(whole), kind="stable")
        assert found[0].tobytes() == whole[places].tobytes()
        assert np.array_equal(found[1], places)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.describe())
def test_pairs_of_unsorted_runs_stay_together(order: Order, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        runs = [keys(order, chance.randrange(5000), chance) for _ in range(2)]
        if chance.random() < 0.5 and len(runs[0]):  # all in order but one
            runs = [stable(run, order) for run in runs]
            runs[0][chance.randrange(len(runs[0]))] = keys(order, 1, chance)[0]
        whole = np.concatenate(runs)
        values = np.split(np.arange(len(whole)), [len(runs[0])])
        found, places = lib.merged_pairs(runs, values, order, lib.launch("vector", tile=1 << 20), 2)
        assert np.array_equal(np.sort(places), np.arange(len(whole)))
        assert found.tobytes() == whole[places].tobytes()
