"""The sort by digits on a GPU: against the merge sort byte for byte, with values, and past 2^30 items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sort_inputs import key_inputs, record_inputs, stable, stable_records

from gpumerge_cli import argsort, sort
from gpumerge_cli.backends.gpu.sort_policy import digit_shape
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.strategies import special_values

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

pytestmark = pytest.mark.gpu
RADIX, MERGE = SortRequest("radix"), SortRequest("merge")


def sizes(gpu: GpuBackend, order: Order) -> list[int]:
    """Around the edges of tiles and powers of two."""
    tile = digit_shape(order, gpu.limits).room
    edges = [many * tile + more for many in (1, 2, 3) for more in (-1, 0, 1)]
    return [1, 2, 31, 33, *edges, *(1 << bits for bits in (10, 15, 17)), (1 << 17) - 1, 150 * tile + 7]


def sorted_by(gpu: GpuBackend, request: SortRequest, keys: Any, order: Order, out: Any = None) -> Any:
    import cupy

    out = cupy.empty_like(keys) if out is None else out
    gpu.sort_array(keys, order, gpu.resolve_sort(request, order, keys.nbytes), out)
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True], ids=["up", "down"])
def test_sorts_as_merges_do(gpu: GpuBackend, dtype: str, descending: bool) -> None:
    import cupy

    order = Order.of(dtype, descending=descending)
    for count in sizes(gpu, order):
        for name, keys in key_inputs(order, count, seed=count):
            items = cupy.asarray(keys)
            got = sorted_by(gpu, RADIX, items, order).get()
            assert got.tobytes() == stable(order, keys).tobytes(), (count, name)
            assert items.get().tobytes() == keys.tobytes(), (count, name)
            if count > 1 << 15:
                assert got.tobytes() == sorted_by(gpu, MERGE, items, order).get().tobytes(), (count, name)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "int64"])
def test_sorts_views_in_place(gpu: GpuBackend, dtype: str) -> None:
    import cupy

    order = Order.of(dtype)
    for skew in range(5):
        for mask in (0, 0xFF, 0xFFFF):  # as many digits are the same in all keys
            bits = np.random.default_rng(skew).integers(0, 256, 50_001 * order.width, dtype=np.uint8)
            keys = (bits.view(order.unsigned) & order.unsigned.type(mask % (1 << 8 * order.width))).view(dtype)
            memory = cupy.full(len(keys) + 16, 77, dtype)
            view = memory[skew : skew + len(keys)]
            view[:] = cupy.asarray(keys)
            sorted_by(gpu, RADIX, view, order, view)
            assert view.get().tobytes() == stable(order, keys).tobytes(), (skew, mask)
            assert (memory[:skew] == 77).all()
            assert (memory[skew + len(keys) :] == 77).all()


@pytest.mark.parametrize(
    "order",
    [
        Order.records(4, 1, 3), Order.records(8, 4, np.dtype(">f4"), descending=True),
        Order.records(12, 1, np.dtype("i8")), Order.records(16, 3, np.dtype(">f8")), Order.records(100, 0, 8),
        Order.records(5, 1, 3, descending=True), Order.records(24, 1, np.dtype(">i2")),
    ],
    ids=Order.describe,
)  # fmt: skip
def test_sorts_records(gpu: GpuBackend, order: Order) -> None:
    workspace = gpu.workspace(order, 1 << 16)
    for count in (1, 50, 4000, 30_000):
        for name, records in record_inputs(order, count, seed=count):
            workspace.staging(records.nbytes)[:] = records.reshape(-1)
            workspace.upload([records.nbytes])
            workspace.poison()
            workspace.sort(gpu.resolve_sort(RADIX, order, records.nbytes))
            expected = stable_records(order, records).tobytes()
            assert workspace.download().tobytes() == expected, (count, name)
    workspace.close()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("values", [("u4", 1), ("f8", 1), ("u1", 4), ("u4", 2), ("u2", 1), ("f4", 3)])
def test_values_go_with_their_keys(gpu: GpuBackend, dtype: str, values: tuple[str, int]) -> None:
    """values: a dtype, and how many of it make a row."""
    import cupy

    random = np.random.default_rng(9)
    for descending in (False, True):
        order = Order.of(dtype, descending=descending)
        for count in (1, 1000, 300_001):
            keys = random.choice(special_values(np.dtype(dtype)), count)
            item, many = values
            rows = random.integers(0, 256, (count, many * np.dtype(item).itemsize), dtype=np.uint8).view(item)
            rows = rows if many > 1 else rows[:, 0].copy()
            ranks = np.argsort(order.image(keys), kind="stable")
            for skew, algorithm in ((0, "radix"), (1, "radix"), (0, "auto"), (1, "auto")):
                given = cupy.asarray(np.concatenate([rows[:skew], rows]))[skew:]
                moved_keys, moved = sort(cupy.asarray(keys), values=given, descending=descending, algorithm=algorithm)
                assert moved_keys.get().tobytes() == keys[ranks].tobytes()
                assert moved.get().tobytes() == rows[ranks].tobytes()
                found = argsort(cupy.asarray(keys), descending=descending, algorithm=algorithm)
                assert np.array_equal(found.get(), ranks)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("dtype", "count"), [("uint8", (1 << 32) + 4099), ("int16", (1 << 31) + 77), ("uint32", 1 << 30)]
)
def test_more_items_than_words_of_32_bits_count(gpu: GpuBackend, dtype: str, count: int) -> None:
    import cupy

    order = Order.of(dtype)
    keys = (cupy.arange(count, dtype=cupy.uint32) * cupy.uint32(2654435761) >> cupy.uint32(7)).astype(dtype)
    out = sorted_by(gpu, RADIX, keys, order)
    assert gpu.first_disorder(out, order) is None
    assert int(keys.sum(dtype=cupy.uint64)) == int(out.sum(dtype=cupy.uint64))
    for value in (0, 7, int(keys[12345]), int(keys[-1])):
        assert int((keys == value).sum()) == int((out == value).sum())
