"""The common parts of variants that merge four chains at once on a host thread."""

from __future__ import annotations

from gpumerge_cli.backends.limits import MAX_TILE, size_in_range
from gpumerge_cli.backends.splits import Lengths, Splits, every, some
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.native.library import library


def chain_policy(kernel: str, request: LaunchRequest, length: int, why: str) -> LaunchPolicy:
    """The policy on the CPU. length: the items that a chain merges before the chains are cut again, by default."""
    chains = library().CHAINS
    tile = size_in_range("--tile-size", request.tile_size, chains * length, chains, MAX_TILE, "items a tile")
    items = size_in_range(
        "--items-per-thread", request.items_per_thread, -(-tile // chains), 1, MAX_TILE, "items a thread"
    )
    if request.tile_size is not None and request.items_per_thread is not None and items * chains != tile:
        raise UsageError(
            f"--tile-size {tile} is not {chains} chains of --items-per-thread {items}",
            way_out="leave one of them out",
        )
    return LaunchPolicy(kernel, 1, items, items * chains, why=why)


def chain_splits(policy: LaunchPolicy) -> Splits:
    """The levels on the CPU: tiles, and their chains."""
    number = library().CHAINS

    def chains(length: int) -> Lengths:
        each = length // number
        return some([(each, number - 1), (length - each * (number - 1), 1)])

    return (("block", every(policy.tile_size)), ("chain", chains))
