"""Launch policies: the choices that a user leaves open, and the wishes that are refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from gpumerge_cli.backends.gpu.policy import grid_size, item_bytes, resolve, shared_bytes
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.backends.variants.rung4_path import path_tile
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order
from tests.rungs import GPU_KERNELS

SMALL = DeviceLimits(max_threads=1024, shared_memory=64 * 1024, multiprocessors=40)
LARGE = DeviceLimits(max_threads=1024, shared_memory=227 * 1024, multiprocessors=132)
HOPPER = DeviceLimits(max_threads=1024, shared_memory=227 * 1024, multiprocessors=132, capability=90)
ORDERS = [Order.of(name) for name in DTYPES] + [
    Order.lines(),
    Order.lines(numeric=True),
    Order.records(100, 0, 10),
    Order.records(5, 1, 4),
    *(Order.records(size, 0, 4) for size in (4, 8, 12, 16)),
]


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("limits", [SMALL, LARGE, HOPPER], ids=["small", "large", "hopper"])
def test_defaults_fit_every_device(order: Order, limits: DeviceLimits) -> None:
    for kernel, runs in product(KERNELS, (2, 3, 8, 16)):
        policy = resolve(LaunchRequest(kernel), order, limits, runs)
        assert policy.kernel == (kernel if kernel in GPU_KERNELS else "path")
        assert policy.resident * shared_bytes(policy, order) <= limits.shared_memory


def test_a_kernel_that_gpus_lack_runs_as_path_and_says_so() -> None:
    policy = resolve(LaunchRequest("vector"), KeyOrder("int", 4), LARGE)
    assert policy == resolve(LaunchRequest("path"), KeyOrder("int", 4), LARGE)
    assert policy.why.startswith("GPUs have no vector kernel, so path merges: ")


def test_auto_is_path_and_says_why() -> None:
    policy = resolve(LaunchRequest(), KeyOrder("int", 4), LARGE)
    assert policy.kernel == "path"
    assert policy.tile_size == policy.block_size * policy.items_per_thread
    assert "fastest" in policy.why


def test_bulk_copies_where_the_device_has_them() -> None:
    assert resolve(LaunchRequest(), KeyOrder("int", 4), LARGE).transfer == "vector"
    chosen = resolve(LaunchRequest(), KeyOrder("int", 4), HOPPER)
    assert chosen.transfer == "bulk"
    assert "bulk" in chosen.why
    assert "bulk" in chosen.describe()
    assert resolve(LaunchRequest(transfer="vector"), KeyOrder("int", 4), HOPPER).transfer == "vector"
    with pytest.raises(
        UsageError, match=r"--transfer bulk: this device, of compute capability 7\.5, has no bulk copies"
    ):
        resolve(LaunchRequest(transfer="bulk"), KeyOrder("int", 4), LARGE)


@pytest.mark.parametrize(("runs", "fan_in"), [(1, 2), (2, 2), (3, 4), (4, 4), (5, 8), (9, 16), (16, 16), (99, 16)])
def test_a_pass_merges_all_runs_if_it_can(runs: int, fan_in: int) -> None:
    policy = resolve(LaunchRequest(), KeyOrder("int", 4), HOPPER, runs)
    assert policy.fan_in == fan_in
    assert policy.tile_size == path_tile(policy.block_size, policy.items_per_thread, fan_in)
    assert resolve(LaunchRequest(fan_in=2), KeyOrder("int", 4), HOPPER, runs).fan_in == 2
    assert resolve(LaunchRequest("tiled"), KeyOrder("int", 4), HOPPER, runs).fan_in == 2


def test_a_shape_says_all_of_a_launch() -> None:
    """Asked for or chosen, the same shape is compiled in the same way."""
    chosen = resolve(LaunchRequest(), KeyOrder("int", 4), HOPPER)
    wish = LaunchRequest(block_size=chosen.block_size, items_per_thread=chosen.items_per_thread)
    assert resolve(wish, KeyOrder("int", 4), HOPPER) == chosen
    assert f"{chosen.resident} at once" in chosen.describe()


def test_small_blocks_merge_fewer_runs() -> None:
    assert resolve(LaunchRequest(block_size=5, items_per_thread=2), KeyOrder("int", 4), HOPPER, 16).fan_in == 4
    with pytest.raises(UsageError, match="--fan-in 8 needs as many threads a block, not --block-size 5"):
        resolve(LaunchRequest(block_size=5, fan_in=8), KeyOrder("int", 4), HOPPER)
    with pytest.raises(UsageError, match="invalid value --fan-in 3"):
        LaunchRequest(fan_in=3)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_tiny_shapes_are_allowed(kernel: str, order: Order) -> None:
    staged = {"tile_size": 4, "blocks": 2} if variant_named(kernel).rounds else {}
    request = LaunchRequest(kernel, block_size=2, items_per_thread=2, **staged)  # type: ignore[arg-type]
    policy = resolve(request, order, SMALL)
    assert (policy.block_size, policy.items_per_thread) == (2, 2)
    assert policy.tile_size == (0 if kernel == "basic" else 4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_too_many_threads_name_the_limit(kernel: str) -> None:
    with pytest.raises(UsageError, match="--block-size 2048 is more than the 1024 threads"):
        resolve(LaunchRequest(kernel, block_size=2048), KeyOrder("int", 4), LARGE)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", ["tiled", "circular"])
def test_too_large_tiles_name_the_limit(kernel: str) -> None:
    with pytest.raises(UsageError, match=r"needs 80000 bytes of shared memory a block, this device has 6\d+"):
        resolve(LaunchRequest(kernel, tile_size=10_000), KeyOrder("int", 4), SMALL)  # type: ignore[arg-type]


def test_exact_loading_needs_half_the_shared_memory() -> None:
    request = LaunchRequest("tiled", tile_size=10_000, tile_load="exact")
    assert shared_bytes(resolve(request, KeyOrder("int", 4), SMALL), KeyOrder("int", 4)) == 40_000


def test_path_refuses_more_items_than_registers_hold() -> None:
    with pytest.raises(UsageError, match="65 items per thread are more than the 64"):
        resolve(LaunchRequest("path", items_per_thread=65), KeyOrder("int", 4), LARGE)


def test_path_refuses_a_tile_that_is_not_the_product() -> None:
    with pytest.raises(UsageError, match="--tile-size 3 is less than the --items-per-thread 5 of one thread"):
        resolve(LaunchRequest("path", tile_size=3, items_per_thread=5), KeyOrder("int", 4), LARGE)
    with pytest.raises(UsageError, match="--tile-size 8960 is not the 254 of --block-size 256 that merge times"):
        resolve(LaunchRequest("path", tile_size=8960, block_size=256, fan_in=4), KeyOrder("int", 4), LARGE)
    chosen = resolve(LaunchRequest("path", tile_size=8890, block_size=256, fan_in=4), KeyOrder("int", 4), LARGE)
    assert (chosen.items_per_thread, chosen.tile_size) == (35, 8890)
    with pytest.raises(UsageError, match="--tile-size 1000 is not --block-size 256 times"):
        resolve(LaunchRequest("path", tile_size=1000, block_size=256), KeyOrder("int", 4), LARGE)
    assert (
        resolve(LaunchRequest("path", tile_size=1024, block_size=128), KeyOrder("int", 4), LARGE).items_per_thread == 8
    )
    assert (
        resolve(LaunchRequest("path", tile_size=1024, items_per_thread=8), KeyOrder("int", 4), LARGE).block_size == 128
    )


def test_path_shrinks_what_was_left_open() -> None:
    policy = resolve(LaunchRequest("path", block_size=1024), KeyOrder("int", 8), SMALL)
    assert policy.items_per_thread < resolve(LaunchRequest("path"), KeyOrder("int", 8), SMALL).items_per_thread


@pytest.mark.parametrize("option", ["block_size", "items_per_thread", "tile_size", "blocks"])
def test_nothing_below_one(option: str) -> None:
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')} 0 is less than 1"):
        resolve(LaunchRequest(**{option: 0}), KeyOrder("int", 4), LARGE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"kernel": "basic", "tile_size": 64}, "--tile-size: the basic kernel does not use it; .*tiled or circular"),
        ({"kernel": "path", "blocks": 7}, "--blocks: the path kernel does not use it"),
        ({"kernel": "auto", "tile_load": "full"}, "--tile-load: the default kernel does not use it; .*--kernel tiled"),
    ],
)
def test_wishes_that_the_kernel_has_no_use_for(wish: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        resolve(LaunchRequest(**wish), Order.of("int32"), LARGE)


def test_the_grid_covers_the_output() -> None:
    assert grid_size(LaunchPolicy("basic", 128, 8), 1025) == 2
    assert grid_size(LaunchPolicy("path", 128, 8, 1024), 1024) == 1
    assert grid_size(LaunchPolicy("tiled", 128, 8, 1024, blocks=16), 5) == 16
    with pytest.raises(UsageError, match="blocks, more than the 2147483647 of a CUDA grid"):
        grid_size(LaunchPolicy("basic", 1, 1), 2**31)


def test_rows_are_sixteen_bytes() -> None:
    assert item_bytes(Order.lines()) == 16
    assert item_bytes(KeyOrder("int", 2)) == 2
    assert item_bytes(Order.records(100, 0, 10)) == item_bytes(Order.records(16, 0, 10)) == 16
    assert item_bytes(Order.records(12, 3, 8)) == 12
