"""From what the user asked for to how a kernel is launched, judged against what the device can do.

Pure: a device is here only its limits, so that every decision is tested without one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpumerge_cli.backends.base import FAN_INS, KernelName, LaunchPolicy, LaunchRequest, Transfer
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import Order

MAX_ITEMS_PER_THREAD = 64
"""The path kernel keeps a thread's items in registers, its loops written out; a device thread has 255 registers."""

MAX_GRID = 2**31 - 1
"""Blocks that CUDA allows in a grid's first dimension."""

_MOST_EDGES = 128  # partition.cu
_PARTITIONS = 5  # blocks of it that a multiprocessor holds
_VECTOR = 16
STATIC_SHARED = 2048
"""Bytes of the kernels' own shared variables, rounded up."""
_BULK_CAPABILITY = 90


@dataclass(frozen=True)
class DeviceLimits:
    """What a device allows. shared_memory: bytes a block may have when it asks for more than the usual 48 KiB.

    capability: of computing, as 10 times its major and its minor number: 90 is Hopper.
    """

    max_threads: int
    shared_memory: int
    multiprocessors: int
    capability: int = 75


@dataclass(frozen=True)
class _Shape:
    """blocks_per_multiprocessor: in the grid, of kernels that stage rounds; held at once, of path."""

    block_size: int
    items_per_thread: int
    blocks_per_multiprocessor: int = (
        0  # staged kernels: in the grid, 0: the output's length decides; path: held at once
    )


_ITEM_BYTES = (1, 2, 4, 8, 12, 16)
_PATH: dict[Transfer, dict[int, tuple[tuple[int, int, int], ...]]] = {
    "bulk": {
        2: ((256, 60, 6), (128, 46, 11), (512, 23, 3), (384, 15, 3), (256, 11, 4), (256, 9, 4)),
        4: ((256, 60, 4), (128, 46, 11), (256, 47, 4), (256, 23, 4), (256, 11, 4), (256, 9, 4)),
        8: ((256, 60, 4), (128, 46, 11), (384, 39, 3), (256, 23, 4), (256, 11, 4), (256, 9, 4)),
        16: ((256, 60, 4), (128, 46, 11), (384, 39, 3), (384, 19, 3), (256, 11, 4), (256, 9, 4)),
    },
    "vector": {
        2: ((256, 60, 6), (128, 62, 1), (384, 23, 3), (192, 29, 1), (192, 15, 1), (128, 9, 1)),
        4: ((256, 60, 4), (128, 62, 1), (384, 23, 2), (192, 23, 1), (192, 15, 1), (128, 9, 1)),
        8: ((256, 60, 4), (128, 62, 1), (384, 23, 2), (192, 23, 1), (192, 15, 1), (128, 9, 1)),
        16: ((256, 60, 4), (128, 62, 1), (384, 23, 2), (192, 23, 1), (192, 15, 1), (128, 9, 1)),
    },
}
"""By transfer and runs, for each of _ITEM_BYTES. By bulk copies those for two runs, and for more of 4 and 8 bytes, are
among the fastest of sweeps on an H200, as are those by vectors for two runs of 2, 4 and 8; the others follow unswept.
Larger tiles need fewer searches of global memory; odd item counts spread accesses over the banks of shared memory."""

_BASIC = {
    1: _Shape(256, 12),
    2: _Shape(256, 8),
    4: _Shape(256, 5),
    8: _Shape(128, 6),
    12: _Shape(256, 4),
    16: _Shape(256, 4),
}
_STAGED = {
    1: _Shape(128, 6, 256),
    2: _Shape(64, 5, 256),
    4: _Shape(128, 3, 64),
    8: _Shape(128, 2, 64),
    12: _Shape(128, 3, 64),
    16: _Shape(128, 3, 64),
}
"""By item bytes: the fastest of sweeps on an H200; 12 and 16 bytes were not swept. A warp's threads read shared memory
one share apart, so few items, and counts that spread over the banks, do best."""

_WHY: dict[KernelName, str] = {
    "basic": "asked for: every thread co-ranks and merges in global memory",
    "tiled": "asked for: blocks stage rounds of both inputs in shared memory",
    "circular": "asked for: as tiled, and what a round leaves over stays in a ring",
    "path": "asked for: one tile a block, cut beforehand",
}
_WHY_AUTO = "the fastest at every key width: one tile a block, cut beforehand"
_WHY_TRANSFER: dict[Transfer, str] = {
    "bulk": "moved by the bulk copy engine",
    "vector": "moved in 16-byte pieces",
}


def item_bytes(order: Order) -> int:
    """Bytes of what the kernels move: a key, or a row of prefix and number."""
    return 16 if moves_rows(order) else order.item_bytes


def shared_bytes(policy: LaunchPolicy, order: Order) -> int:
    """Dynamic shared memory of one block, as the kernel files say."""
    size = item_bytes(order)
    if policy.kernel == "basic":
        return 0
    if policy.kernel == "path":
        vectors = _ceil_div(policy.tile_size * size, _VECTOR) + 2 * policy.fan_in
        return vectors * _VECTOR + (policy.items_per_thread + 1) * size + _VECTOR
    slices = 1 if policy.kernel == "tiled" and policy.tile_load == "exact" else 2
    return slices * policy.tile_size * size


def partition_size(fan_in: int) -> int:
    """Threads a block of partition.cu."""
    return 128 if fan_in == 2 else 256


def partition_stretch(edges: int, fan_in: int, limits: DeviceLimits) -> int:
    """Edges that a block of partition.cu cuts: many, to share its ends, but so few that all blocks run at once."""
    if fan_in == 2:
        return _MOST_EDGES
    fair = _ceil_div(edges, _PARTITIONS * limits.multiprocessors)
    return min(_MOST_EDGES, max(16, _ceil_div(fair, 8) * 8))


def spare_threads(fan_in: int) -> int:
    """Threads of a block that a tile is not counted for: every pair of more than two runs may need one more."""
    return 0 if fan_in == 2 else fan_in // 2


def path_tile(block_size: int, items_per_thread: int, fan_in: int) -> int:
    """Items that a block of the path kernel merges."""
    return (block_size - spare_threads(fan_in)) * items_per_thread


def grid_size(policy: LaunchPolicy, total: int) -> int:
    """Blocks for `total` items of output. Raises UsageError if CUDA allows no such grid."""
    per_block = policy.tile_size if policy.kernel == "path" else policy.block_size * policy.items_per_thread
    blocks = policy.blocks or _ceil_div(total, per_block)
    if blocks > MAX_GRID:
        raise UsageError(
            f"{total} items of {per_block} a block need {blocks} blocks, more than the {MAX_GRID} of a CUDA grid",
            way_out="raise --block-size or --items-per-thread",
        )
    return blocks


def resolve(request: LaunchRequest, order: Order, limits: DeviceLimits, runs: int = 2) -> LaunchPolicy:
    """Decide what `request` leaves open.

    Raises UsageError naming the limit that a wish exceeds, or a wish that the kernel has no use for.
    """
    _check_positive(request)
    kernel = request.decided_kernel()
    if request.block_size and request.block_size > limits.max_threads:
        raise UsageError(
            f"--block-size {request.block_size} is more than the {limits.max_threads} threads a block of this device",
            way_out=f"use at most {limits.max_threads}",
        )
    why = _WHY_AUTO if request.kernel == "auto" else _WHY[kernel]
    if kernel == "path":
        return _path(request, order, limits, runs, why)
    if kernel == "basic":
        return LaunchPolicy(
            "basic",
            request.block_size or _BASIC[item_bytes(order)].block_size,
            request.items_per_thread or _BASIC[item_bytes(order)].items_per_thread,
            why=why,
        )
    return _staged(request, kernel, order, limits, why)


def _path(request: LaunchRequest, order: Order, limits: DeviceLimits, runs: int, why: str) -> LaunchPolicy:
    """One tile a block: the tile follows from block size, items and fan-in, so a tile size only says what they are."""
    transfer = _transfer(request, limits)
    fan_in = request.fan_in or next((size for size in FAN_INS if size >= runs), FAN_INS[-1])
    default = _Shape(*_PATH[transfer][fan_in][_ITEM_BYTES.index(item_bytes(order))])
    block, items, tile = request.block_size, request.items_per_thread, request.tile_size
    spare = spare_threads(fan_in)
    if tile and items and not block:
        if tile < items:
            raise UsageError(
                f"--tile-size {tile} is less than the --items-per-thread {items} of one thread",
                way_out="raise --tile-size or lower --items-per-thread",
            )
        block = tile // items + spare
    block = min(block or default.block_size, limits.max_threads)
    if fan_in > 2 and block < fan_in and not request.fan_in:
        fan_in = next((size for size in reversed(FAN_INS) if size <= block), 2)
        spare = spare_threads(fan_in)
    if fan_in > 2 and block < fan_in:
        raise UsageError(
            f"--fan-in {fan_in} needs as many threads a block, not --block-size {block}",
            way_out="raise --block-size or lower --fan-in",
        )
    if tile and not items:
        items = _ceil_div(tile, block - spare)
    if items is None:
        fitting = (_dynamic_limit(limits) - (2 * fan_in + 4) * _VECTOR) // ((block + 1) * item_bytes(order)) - 1
        items = max(1, min(default.items_per_thread, fitting))
    if tile and tile != path_tile(block, items, fan_in):
        threads = f"--block-size {block}" if not spare else f"the {block - spare} of --block-size {block} that merge"
        raise UsageError(
            f"--tile-size {tile} is not {threads} times a whole number of items a thread",
            way_out=f"leave --tile-size out: for the path kernel it follows, here {path_tile(block, items, fan_in)}",
        )
    if items > MAX_ITEMS_PER_THREAD:
        raise UsageError(
            f"{items} items per thread are more than the {MAX_ITEMS_PER_THREAD} that the path kernel can hold",
            way_out="raise --block-size or lower --items-per-thread",
        )
    chosen = LaunchPolicy(
        "path",
        block,
        items,
        path_tile(block, items, fan_in),
        fan_in=fan_in,
        transfer=transfer,
        why=f"{why}, {_WHY_TRANSFER[transfer]}",
    )
    room = _dynamic_limit(limits) // max(1, shared_bytes(chosen, order))
    as_tuned = (block, items) == (default.block_size, default.items_per_thread)
    wanted = default.blocks_per_multiprocessor if as_tuned else 1
    return _fitting(replace(chosen, resident=max(1, min(wanted, room))), order, limits)


def _transfer(request: LaunchRequest, limits: DeviceLimits) -> Transfer:
    if request.transfer == "bulk" and limits.capability < _BULK_CAPABILITY:
        raise UsageError(
            f"--transfer bulk: this device, of compute capability {limits.capability / 10}, has no bulk copies",
            way_out="leave it out",
        )
    return request.transfer or ("bulk" if limits.capability >= _BULK_CAPABILITY else "vector")


def _staged(request: LaunchRequest, kernel: KernelName, order: Order, limits: DeviceLimits, why: str) -> LaunchPolicy:
    """Blocks that own a section each; items a thread are by default what spreads one round over the block."""
    default = _STAGED[item_bytes(order)]
    block = min(request.block_size or default.block_size, limits.max_threads)
    slices = 1 if kernel == "tiled" and request.tile_load == "exact" else 2
    fitting = _dynamic_limit(limits) // (slices * item_bytes(order))
    tile = request.tile_size or min(block * (request.items_per_thread or default.items_per_thread), fitting)
    items = min(request.items_per_thread or _ceil_div(tile, block), tile)
    load = request.tile_load or "full" if kernel == "tiled" else "full"
    blocks = request.blocks or default.blocks_per_multiprocessor * limits.multiprocessors
    if blocks > MAX_GRID:
        raise UsageError(
            f"--blocks {blocks} is more than the {MAX_GRID} blocks of a CUDA grid", way_out="use fewer, or leave it out"
        )
    return _fitting(LaunchPolicy(kernel, block, items, tile, load, blocks, why=why), order, limits)


def _fitting(policy: LaunchPolicy, order: Order, limits: DeviceLimits) -> LaunchPolicy:
    needed = shared_bytes(policy, order)
    available = _dynamic_limit(limits)
    if needed > available:
        raise UsageError(
            f"{policy.describe()}: needs {needed} bytes of shared memory a block, this device has {available}",
            way_out="lower --tile-size, --block-size or --items-per-thread",
        )
    return policy


def _dynamic_limit(limits: DeviceLimits) -> int:
    return limits.shared_memory - STATIC_SHARED


def _check_positive(request: LaunchRequest) -> None:
    for name in ("block_size", "items_per_thread", "tile_size", "blocks"):
        value = getattr(request, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value} is less than 1", way_out="use 1 or more")


def _ceil_div(count: int, size: int) -> int:
    return -(-count // size)
