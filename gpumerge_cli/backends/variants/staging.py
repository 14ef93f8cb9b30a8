"""The common parts of variants whose blocks own a section each and stage rounds of both inputs."""

from __future__ import annotations

from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import MAX_GRID, MAX_TILE, check_shared_memory, size_in_range
from gpumerge_cli.backends.splits import Splits, ceil_div, equal_parts, every
from gpumerge_cli.backends.variants.variant import LaunchFacts
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, TileLoad

STAGING_OPTIONS = frozenset({"tile_size", "blocks"})
_TILE_BYTES = 8192  # on the CPU: two tiles and their output in a 32 KB innermost cache
_SHAPES = {1: (128, 6, 256), 2: (64, 5, 256), 4: (128, 3, 64), 8: (128, 2, 64), 12: (128, 3, 64), 16: (128, 3, 64)}
"""Threads a block, items a thread, and blocks in the grid for each multiprocessor, by the bytes of an item. They were
the fastest of sweeps on an H200; 12 and 16 bytes were not swept. The threads of a warp read shared memory one share
apart, so small shares that spread over the banks do best."""


def on_gpu(kernel: str, facts: LaunchFacts, load: TileLoad | None = None) -> LaunchPolicy:
    """The policy on a GPU. By default one round gives every thread of a block a share."""
    request, limits = facts.request, facts.limits
    threads, each, blocks_each = _SHAPES[facts.item_bytes]
    block = min(request.block_size or threads, limits.max_threads)
    room = limits.dynamic_shared // (_slices(load) * facts.item_bytes)
    tile = request.tile_size or min(block * (request.items_per_thread or each), room)
    items = min(request.items_per_thread or ceil_div(tile, block), tile)
    blocks = request.blocks or blocks_each * limits.multiprocessors
    if blocks > MAX_GRID:
        raise UsageError(
            f"--blocks {blocks} is more than the {MAX_GRID} blocks of a CUDA grid", way_out="use fewer, or leave it out"
        )
    policy = LaunchPolicy(kernel, block, items, tile, load, blocks, staged=True, why=facts.why)
    return check_shared_memory(policy, staging_bytes(policy, facts.item_bytes), limits)


def on_cpu(kernel: str, request: LaunchRequest, width: int, why: str, load: TileLoad | None = None) -> LaunchPolicy:
    """The policy on the CPU. A host thread runs the threads of a block in turn, on slices staged in cache."""
    block = size_in_range("--block-size", request.block_size, 1, 1, kernel_size("MAX_BLOCK_SIZE"), "threads a block")
    tile = size_in_range("--tile-size", request.tile_size, _TILE_BYTES // width, 1, MAX_TILE, "items a tile")
    items = ceil_div(tile, block)
    if request.items_per_thread is not None:
        if request.tile_size is not None and request.items_per_thread * block < tile:
            raise UsageError(
                f"--items-per-thread {request.items_per_thread} x --block-size {block} does not cover "
                f"--tile-size {tile}",
                way_out="leave --items-per-thread out: the tile decides it",
            )
        items = size_in_range("--items-per-thread", request.items_per_thread, items, 1, MAX_TILE, "items a thread")
        tile = tile if request.tile_size is not None else items * block
    return LaunchPolicy(kernel, block, items, tile, load, staged=True, why=why)


def staging_bytes(policy: LaunchPolicy, size: int) -> int:
    """The bytes of dynamic shared memory of one block."""
    return _slices(policy.tile_load) * policy.tile_size * size


def sizes(policy: LaunchPolicy) -> tuple[int, ...]:
    """The sizes that the kernels take as arguments."""
    return policy.items_per_thread, policy.tile_size


def gpu_splits(policy: LaunchPolicy, total: int) -> Splits:
    """The levels on a GPU: blocks with a section each, rounds, threads."""
    rounds = ("round", every(policy.tile_size))
    return (("block", equal_parts(policy.blocks)), rounds, ("thread", every(policy.items_per_thread)))


def cpu_splits(policy: LaunchPolicy) -> Splits:
    """The levels on the CPU: rounds, and the threads that share the outputs of a round."""
    return (("round", every(policy.tile_size)), ("thread", equal_parts(policy.block_size)))


def _slices(load: TileLoad | None) -> int:
    """The number of tiles that are staged. Exact loading stages no more items than a round puts out."""
    return 1 if load == "exact" else 2
