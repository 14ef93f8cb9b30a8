"""Sets of CuPy arrays on a GPU: against the CPU's library and the plain form, and on runs that are not in order."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from set_pairs import EVERY_SET, in_order, set_of, set_pairs

import gpumerge_cli
from gpumerge_cli.backends.gpu.walks import walk_of, walk_shape
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import SETS, Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.oracles import same_bits
from tests.strategies import special_values

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

pytestmark = pytest.mark.gpu


def of(name: str, *arrays: Any, **options: Any) -> Any:
    return getattr(gpumerge_cli, name)(*arrays, **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_sets_around_the_edges_of_tiles(gpu: GpuBackend, dtype: str, descending: bool) -> None:
    """Groups of equals end at the edges of tiles, or span many."""
    import cupy

    order = Order.of(dtype, descending=descending)
    tile = walk_shape(order, gpu.limits).room
    for turn, (name, a, b) in enumerate(set_pairs(order, tile, seed=3)):
        for equals in EVERY_SET[turn % 3 :: 3]:
            found = of(
                equals.name_of_set, cupy.asarray(a), cupy.asarray(b), distinct=equals.is_distinct, descending=descending
            )
            assert same_bits(found.get(), set_of(order, a, b, equals)), (name, equals)


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
@pytest.mark.parametrize("name", SETS)
def test_random_sets_are_those_of_the_host(gpu: GpuBackend, dtype: str, name: str, rng: np.random.Generator) -> None:
    import cupy

    special = np.array([False, True]) if dtype == "bool" else special_values(np.dtype(dtype))
    for _ in range(4):
        descending, distinct = bool(rng.integers(2)), bool(rng.integers(2))
        order = Order.of("uint8" if dtype == "bool" else dtype, descending=descending)
        runs = []
        for _ in range(rng.integers(1, 5)):
            length = int(rng.integers(0, 1 << int(rng.integers(1, 18))))
            run = rng.choice(special, length)
            if rng.integers(2):
                run = np.frombuffer(rng.bytes(run.nbytes), run.dtype) if dtype != "bool" else run
            runs.append(in_order(order, run.view(order.dtype)).view(run.dtype))
        values = [np.arange(len(run)).astype(np.float32) + 7 * at for at, run in enumerate(runs)]
        options = {"distinct": distinct, "descending": descending}
        given = [cupy.asarray(run) for run in runs]
        expected, rows = of(name, *runs, values=values, **options)
        assert same_bits(of(name, *given, **options).get(), expected), (descending, distinct, [*map(len, runs)])
        found, moved = of(name, *given, values=[cupy.asarray(each) for each in values], **options)
        assert same_bits(found.get(), expected)
        assert same_bits(moved.get(), rows)
        assert all(same_bits(array.get(), run) for array, run in zip(given, runs, strict=True))


@pytest.mark.parametrize("row", [("uint8", ()), ("float64", ()), ("int16", (3,)), ("int64", (2,)), ("uint8", (0,))])
def test_values_of_all_widths(gpu: GpuBackend, row: tuple[str, tuple[int, ...]], rng: np.random.Generator) -> None:
    import cupy

    for dtype in ("int32", "uint8", "float64"):
        runs = [np.sort(rng.integers(0, 50, length).astype(dtype)) for length in (30_001, 20_000)]
        values = [
            np.frombuffer(rng.bytes(len(run) * int(np.prod(row[1])) * np.dtype(row[0]).itemsize), row[0]).reshape(
                len(run), *row[1]
            )
            for run in runs
        ]
        for name in SETS:
            keys, moved = of(name, *map(cupy.asarray, runs), values=[*map(cupy.asarray, values)])
            expected, rows = of(name, *runs, values=values)
            assert same_bits(keys.get(), expected)
            assert same_bits(moved.get(), rows)


def test_sets_are_those_of_counters(gpu: GpuBackend, rng: np.random.Generator) -> None:
    import cupy

    rules = {
        "union": lambda m, n: max(m, n), "intersect": min, "difference": lambda m, n: max(m - n, 0),
        "symmetric": lambda m, n: abs(m - n),
    }  # fmt: skip
    for name, rule in rules.items():
        runs = [np.sort(rng.integers(0, 300, 50_000)) for _ in range(2)]
        m, n = map(Counter, (run.tolist() for run in runs))
        expected = {key: rule(m[key], n[key]) for key in m | n if rule(m[key], n[key])}
        found = of(name, *map(cupy.asarray, runs)).get()
        assert (np.diff(found) >= 0).all()
        assert Counter(found.tolist()) == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_that_are_not_in_order(gpu: GpuBackend, dtype: str, rng: np.random.Generator) -> None:
    """Nothing around the output is written, and nothing is made up."""
    import cupy

    order = Order.of(dtype)
    limits, around = gpu.limits, 64
    for equals in EVERY_SET:
        pool = rng.integers(0, 256, (int(rng.choice([2, 200])), order.width), np.uint8).view(dtype).reshape(-1)
        a, b = (np.asarray(rng.choice(pool, length)) for length in rng.integers(1, 60_000, 2))
        given = [cupy.asarray(run) for run in (a, b)]
        most = int(rng.integers(0, len(a) + len(b)))  # any room will do
        memory = cupy.full(most * order.width + 2 * around, 0xA5, cupy.uint8)
        walk = walk_of(gpu._device.id, order, limits, equals, None)
        runs = [(each.data.ptr, each.size) for each in given]
        count = walk(runs, memory.data.ptr + around, most, [], 0)
        assert 0 <= count <= most
        found = memory[around : around + count * order.width].get().view(order.unsigned)
        assert np.isin(found, np.concatenate([a, b]).view(order.unsigned)).all()
        assert int((memory[:around] != 0xA5).sum() + (memory[around + most * order.width :] != 0xA5).sum()) == 0


def test_results_keep_little_memory(gpu: GpuBackend) -> None:
    import cupy

    a = cupy.arange(1 << 20)
    assert gpumerge_cli.intersect(a, a[:10]).data.mem.size < 1 << 16
    assert len(gpumerge_cli.difference(a, a)) == 0
    assert len(gpumerge_cli.union(a[:0], a[:0])) == 0


def test_a_graph_cannot_capture_a_set(gpu: GpuBackend) -> None:
    import cupy

    a = cupy.arange(1000)
    gpumerge_cli.union(a, a)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        try:
            with pytest.raises(UsageError, match="union waits"):
                gpumerge_cli.union(a, a)
        finally:
            stream.end_capture()


@pytest.mark.thorough
def test_more_than_words_of_32_bits_count(gpu: GpuBackend) -> None:
    import cupy

    half = (1 << 31) + 77
    a = cupy.zeros(half, cupy.uint8)
    a[half // 2 :] = 1
    b = cupy.ones(half, cupy.uint8)
    assert len(gpumerge_cli.union(a, b)) == half // 2 + half
    assert len(of("intersect", a, b)) == half - half // 2
    assert walk_of(gpu._device.id, Order.of("uint8"), gpu.limits, Equals.UNION, None)
