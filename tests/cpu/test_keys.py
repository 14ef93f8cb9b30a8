"""The library's keys against NumPy: merges of every kernel, sorts of every algorithm, checks, dropped equals."""

from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.cpu import keys_library as lib
from tests.cpu.keys_library import Array
from tests.rungs import RUNGS
from tests.seeds import given_or_random_seed

KERNELS = [rung.replace(" ", "_") for rung in RUNGS]
OUTPUT_TILES = ("path", "vector")
ALGORITHMS = ["SORT_MERGE", "SORT_BOTTOM_UP", "SORT_ITERATIVE", "SORT_RECURSIVE", "SORT_RADIX"]
ORDERS = [Order.of(name, descending=down) for name in (*DTYPES, "datetime64[s]") for down in (False, True)]
if os.environ.get("GPUMERGE_TEST_FEW"):  # one of each width, kind and direction
    ORDERS = [Order.of("uint8"), Order.of("float16", descending=True), Order.of("int32"), Order.of("float64")]
ROUNDS = int(os.environ.get("GPUMERGE_TEST_ROUNDS", "6"))


@pytest.fixture(params=ORDERS, ids=lambda order: order.describe())
def order(request: pytest.FixtureRequest) -> Order:
    return request.param


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    seed = given_or_random_seed()
    print(f"GPUMERGE_TEST_SEED={seed}")
    return random.Random(seed)


def keys(order: Order, count: int, chance: random.Random) -> Array:
    """Keys of one of many shapes: all bits random, few values, a narrow range, skewed, special floats."""
    draw = np.random.default_rng(chance.randrange(1 << 62))
    bits = draw.integers(0, 256, count * order.width, np.uint8).view(order.unsigned)
    shape = chance.randrange(7)
    if shape == 1:
        bits = bits % order.unsigned.type(chance.choice([1, 2, 5, 100]))
    elif shape == 2:
        bits = bits[:1].repeat(count) ^ (bits & order.unsigned.type(0x3F))
    elif shape == 3:  # small numbers are many
        bits = bits >> draw.integers(0, 8 * order.width, count).astype(order.unsigned)
    elif shape == 4 and order.kind == "float":
        return draw.standard_normal(count).astype(order.dtype)
    elif shape == 5 and order.kind == "float":
        some = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1, -1], order.dtype)
        return draw.choice(some, count)
    elif shape == 6:
        few = bits[: max(1, count // 50)]
        bits = np.where(draw.random(count) < 0.9, few[draw.integers(0, len(few), count)], bits) if count else bits
    return bits.view(order.dtype)


def stable(items: Array, order: Order) -> Array:
    return items[np.argsort(order.image(items), kind="stable")]


def same(found: Array, expected: Array) -> bool:
    return found.tobytes() == expected.tobytes()


def permutation(found: Array, runs: list[Array], order: Order) -> bool:
    bits = np.concatenate([run.view(order.unsigned) for run in runs])
    return np.array_equal(np.sort(found.view(order.unsigned)), np.sort(bits))


def runs_of(order: Order, count: int, most: int, chance: random.Random) -> list[Array]:
    sizes = [chance.choice([0, 1, 2, 3, chance.randrange(60), chance.randrange(most)]) for _ in range(count)]
    return [stable(keys(order, size, chance), order) for size in sizes]


def shapes(kernel: str, chance: random.Random) -> Any:
    tile = chance.choice([1, 2, 5, 64, 1000, 65536]) if kernel not in OUTPUT_TILES else chance.choice([4, 300, 65536])
    return lib.launch(kernel, block_size=chance.choice([1, 3, 32]), items=chance.choice([0, 1, 7, 500]), tile=tile)


@pytest.mark.parametrize("kernel", KERNELS)
def test_two_runs(order: Order, kernel: str, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        runs = runs_of(order, 2, chance.choice([4, 300, 5000]), chance)
        found = lib.merged(runs, order, shapes(kernel, chance), chance.randint(1, 3), chance.choice([0, 0, 1]))
        assert same(found, stable(np.concatenate(runs), order))


@pytest.mark.parametrize("kernel", KERNELS)
def test_many_runs(order: Order, kernel: str, chance: random.Random) -> None:
    for _ in range(ROUNDS // 3):
        runs = runs_of(order, chance.randint(0, 40), chance.choice([4, 300, 3000]), chance)
        found = lib.merged(runs, order, shapes(kernel, chance), chance.randint(1, 3))
        assert same(found, stable(np.concatenate([np.empty(0, order.dtype), *runs]), order))


@pytest.mark.one_in(3)
def test_merges_shared_by_threads(order: Order, chance: random.Random) -> None:
    for count in (2, 3, 17):
        runs = [stable(keys(order, chance.randrange(400_000 // count), chance), order) for _ in range(count)]
        found = lib.merged(runs, order, lib.launch(tile=65536), 3)
        assert same(found, stable(np.concatenate(runs), order))


@pytest.mark.thorough
def test_thousands_of_runs(chance: random.Random) -> None:
    order = Order.of("int32")
    runs = [stable(keys(order, chance.randrange(60), chance), order) for _ in range(10_000)]
    assert same(lib.merged(runs, order, lib.launch(), 2), stable(np.concatenate(runs), order))


def test_disjoint_and_blocky_runs(chance: random.Random) -> None:
    order = Order.of("int64")
    whole = np.arange(300_000)
    for length in (1, 2, 3, 700, 1300, 30_000, 150_000):
        owner = whole // length % 2 == chance.randrange(2)
        runs = [whole[owner], whole[~owner]]
        assert same(lib.merged(runs, order, lib.launch(tile=65536), 2), whole)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unsorted_runs_come_out_whole(order: Order, kernel: str, chance: random.Random) -> None:
    for _ in range(ROUNDS // 3):
        most = chance.choice([4, 300, 100_000 if kernel in OUTPUT_TILES else 3000])
        count = chance.choice([1, 2, 2, 3, 9])
        runs = [keys(order, chance.randrange(most), chance) for _ in range(count)]
        found = lib.merged(runs, order, shapes(kernel, chance), chance.randint(1, 3))
        assert permutation(found, runs, order)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sorts(order: Order, algorithm: str, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        items = keys(order, chance.choice([0, 1, 2, 3, 20, 500, chance.randrange(20_000)]), chance)
        spec = lib.launch(chance.choice(KERNELS), algorithm, sort_tile=chance.choice([1, 50, 4096]), items=64)
        if algorithm == "SORT_MERGE":
            spec.sort_tile = max(2, spec.sort_tile)
        found = lib.sorted_by(items, order, spec, chance.randint(1, 3), chance.choice([0, 0, 1]))
        assert same(found, stable(items, order))


@pytest.mark.one_in(5)
def test_large_sorts(order: Order, chance: random.Random) -> None:
    items = keys(order, chance.randrange(1 << 20, 1 << 21), chance)
    if chance.randrange(4) == 0:
        items = stable(items, order)[:: chance.choice([1, -1])]
    expected = stable(items, order)
    for algorithm in ("SORT_RADIX", "SORT_MERGE"):
        spec = lib.launch("path", algorithm, sort_tile=65536, tile=65536)
        assert same(lib.sorted_by(items, order, spec, chance.randint(1, 3)), expected)


@pytest.mark.thorough
def test_large_sorts_of_skewed_words(chance: random.Random) -> None:
    order = Order.of("uint64")
    draw = np.random.default_rng(chance.randrange(1 << 62))
    count = 1_500_000
    heavy = np.where(draw.random(count) < 0.7, draw.integers(0, 1 << 20, count), draw.integers(0, 1 << 62, count))
    # Words that few bits tell apart, at both ends: buckets that are dealt out again, and again.
    ends = draw.integers(0, 4, count) | draw.integers(0, 4, count) << 30 | draw.integers(0, 3, count) << 61
    for words in (heavy, ends, heavy << 40, heavy + (1 << 62)):
        items = words.astype(np.uint64)
        assert same(lib.sorted_by(items, order, lib.launch(), 2), np.sort(items))


@pytest.mark.thorough
def test_buckets_that_threads_deal_out_again(chance: random.Random) -> None:
    """Buckets that are too large for a cache and no more than a thread's share, beside one that is far more."""
    draw = np.random.default_rng(chance.randrange(1 << 62))
    order, count = Order.of("uint64"), 4_400_000
    group = np.minimum(draw.integers(0, 14, count), 10).astype(np.uint64)
    items = group << np.uint64(59) | draw.integers(0, 1 << chance.choice([8, 30, 35]), count, np.uint64)
    assert same(lib.sorted_by(items, order, lib.launch(), 2), np.sort(items))


def test_ranks(order: Order, chance: random.Random) -> None:
    for most in (3, 300, 20_000, 400_000):
        items = keys(order, chance.randrange(most), chance)
        found = lib.ranks_of(items, order, lib.launch(), chance.randint(1, 3), chance.choice([0, 0, 1]))
        assert np.array_equal(found, np.argsort(order.image(items), kind="stable"))


def falls(items: Array, order: Order, strict: bool) -> Array:
    image = order.image(items)
    return np.flatnonzero(image[1:] <= image[:-1] if strict else image[1:] < image[:-1]) + 1


def test_selected_items(order: Order, chance: random.Random) -> None:
    """Few and many items by a bound, also if there is no room for all, by threads that share one array."""
    for count in (0, 1, 255, 256, 257, 1000, 140_000, 190_000):
        some = keys(order, min(count, 1000), chance)
        items = np.resize(some, count)
        bound = items[count // 2 : count // 2 + 1] if count else np.zeros(1, order.dtype)
        images, edge = order.image(items), order.image(bound)
        for selects, wanted in ((1, images < edge), (2, images == edge), (3, images <= edge)):
            indices = np.flatnonzero(wanted)
            room = chance.choice([0, 1, len(indices), count, max(len(indices) - 300, 0)])
            found, total = lib.selected(
                items, order, bound, selects, room, chance.choice([1, 3]), chance.choice([0, 1])
            )
            assert total == len(indices)
            assert np.array_equal(found, indices[:room])


@pytest.mark.parametrize("strict", [False, True])
def test_first_disorder(order: Order, strict: bool, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        items = stable(keys(order, chance.choice([0, 1, 2, 3, 9000, chance.randrange(20_000)]), chance), order)
        if strict:
            items = items[np.unique(order.image(items), return_index=True)[1]]
        for _ in range(chance.randrange(3)):
            if len(items):
                items[chance.randrange(len(items))] = keys(order, 1, chance)[0]
        expected = [*falls(items, order, strict).tolist(), -1][0]
        assert lib.first_disorder(items, order, strict, chance.choice([0, 1])) == expected
        runs = [items[:0], items[: len(items) // 2], items[len(items) // 2 :]]
        failure = lib.library().Failure()
        with lib.workspace(order, runs, chance.randint(1, 3)) as opened:
            status = lib.library().gm_disorder(opened, strict, failure)
        places = [(run, at) for run in range(3) for at in falls(runs[run], order, strict).tolist()]
        assert status == (lib.library().DISORDER if places else lib.library().DONE)
        if places:
            assert (failure.input, failure.position) == (places[0][0], places[0][1] * order.width)


def test_dropped_equals(order: Order, chance: random.Random) -> None:
    for _ in range(ROUNDS):
        runs = runs_of(order, chance.randint(0, 5), chance.choice([4, 300, 3000]), chance)
        whole = np.concatenate([np.empty(0, order.dtype), *runs])
        expected = stable(whole, order)
        image = order.image(expected)
        first = np.r_[np.ones(min(1, len(image)), bool), image[1:] != image[:-1]]
        keeps = {
            Equals.ALL: np.ones(len(image), bool),
            Equals.FIRST: first,
            Equals.FIRST_CONTINUED: first & (image != image[:1]),
        }
        with lib.workspace(order, runs, chance.randint(1, 3)) as opened:
            counts = np.zeros(len(runs) + 1, np.int64)
            lib.library().gm_counts(opened, counts.ctypes.data)
            assert counts[:-1].tolist() == [len(run) for run in runs]
            for entry in ("gm_merge", "gm_sort"):
                for equals, stays in keeps.items():
                    assert getattr(lib.library(), entry)(opened, lib.launch(), equals.value) == 0
                    assert same(lib.result(opened, order.dtype), expected[stays])
            part = np.zeros(len(expected) * order.width // 2 * order.width, np.uint8)[: expected.nbytes // 2]
            assert lib.library().gm_sort_rows(opened, lib.launch(), 0) == 0
            lib.library().gm_receive(opened, expected.nbytes - len(part), len(part), part.ctypes.data)
            assert part.tobytes() == expected.tobytes()[expected.nbytes - len(part) :]
