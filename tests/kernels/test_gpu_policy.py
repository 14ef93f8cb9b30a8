"""Launch policies: what is decided when the user leaves it open, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from gpumerge_cli.backends.base import KERNELS, LaunchPolicy, LaunchRequest
from gpumerge_cli.backends.gpu.policy import DeviceLimits, grid_size, item_bytes, resolve, shared_bytes
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import DTYPES, Order

SMALL = DeviceLimits(max_threads=1024, shared_memory=64 * 1024, multiprocessors=40)
LARGE = DeviceLimits(max_threads=1024, shared_memory=227 * 1024, multiprocessors=132)
ORDERS = [Order.of(name) for name in DTYPES] + [
    Order.lines(),
    Order.lines(numeric=True),
    Order.records(100, 0, 10),
    Order.records(5, 1, 4),
]


@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
@pytest.mark.parametrize("limits", [SMALL, LARGE], ids=["small", "large"])
def test_defaults_fit_every_device(order: Order, limits: DeviceLimits) -> None:
    for kernel in KERNELS:
        policy = resolve(LaunchRequest(kernel), order, limits)
        assert policy.kernel == kernel
        assert shared_bytes(policy, order) <= 48 * 1024


def test_auto_is_path_and_says_why() -> None:
    policy = resolve(LaunchRequest(), Order("int", 4), LARGE)
    assert policy.kernel == "path"
    assert policy.tile_size == policy.block_size * policy.items_per_thread
    assert "fastest" in policy.why


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("order", ORDERS, ids=Order.describe)
def test_tiny_shapes_are_allowed(kernel: str, order: Order) -> None:
    staged = {"tile_size": 4, "blocks": 2} if kernel in ("tiled", "circular") else {}
    request = LaunchRequest(kernel, block_size=2, items_per_thread=2, **staged)  # type: ignore[arg-type]
    policy = resolve(request, order, SMALL)
    assert (policy.block_size, policy.items_per_thread) == (2, 2)
    assert policy.tile_size == (0 if kernel == "basic" else 4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_too_many_threads_name_the_limit(kernel: str) -> None:
    with pytest.raises(UsageError, match="--block-size 2048 is more than the 1024 threads"):
        resolve(LaunchRequest(kernel, block_size=2048), Order("int", 4), LARGE)  # type: ignore[arg-type]


@pytest.mark.parametrize("kernel", ["tiled", "circular"])
def test_too_large_tiles_name_the_limit(kernel: str) -> None:
    with pytest.raises(UsageError, match=r"needs 80000 bytes of shared memory a block, this device has 6\d+"):
        resolve(LaunchRequest(kernel, tile_size=10_000), Order("int", 4), SMALL)  # type: ignore[arg-type]


def test_exact_loading_needs_half_the_shared_memory() -> None:
    request = LaunchRequest("tiled", tile_size=10_000, tile_load="exact")
    assert shared_bytes(resolve(request, Order("int", 4), SMALL), Order("int", 4)) == 40_000


def test_path_refuses_more_items_than_registers_hold() -> None:
    with pytest.raises(UsageError, match="65 items per thread are more than the 64"):
        resolve(LaunchRequest("path", items_per_thread=65), Order("int", 4), LARGE)


def test_path_refuses_a_tile_that_is_not_the_product() -> None:
    with pytest.raises(UsageError, match="--tile-size 1000 is not --block-size 256 times"):
        resolve(LaunchRequest("path", tile_size=1000, block_size=256), Order("int", 4), LARGE)
    assert resolve(LaunchRequest("path", tile_size=1024, block_size=128), Order("int", 4), LARGE).items_per_thread == 8
    assert resolve(LaunchRequest("path", tile_size=1024, items_per_thread=8), Order("int", 4), LARGE).block_size == 128


def test_path_shrinks_what_was_left_open() -> None:
    policy = resolve(LaunchRequest("path", block_size=1024), Order("int", 8), SMALL)
    assert policy.items_per_thread < resolve(LaunchRequest("path"), Order("int", 8), SMALL).items_per_thread


@pytest.mark.parametrize("option", ["block_size", "items_per_thread", "tile_size", "blocks"])
def test_nothing_below_one(option: str) -> None:
    with pytest.raises(UsageError, match=f"--{option.replace('_', '-')} 0 is less than 1"):
        resolve(LaunchRequest(**{option: 0}), Order("int", 4), LARGE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"kernel": "basic", "tile_size": 64}, "--tile-size: the basic kernel has no use for it; .*tiled or circular"),
        ({"kernel": "path", "blocks": 7}, "--blocks: the path kernel has no use for it"),
        ({"kernel": "auto", "tile_load": "full"}, "--tile-load: the path kernel has no use for it; .*--kernel tiled"),
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
    assert item_bytes(Order("int", 2)) == 2
