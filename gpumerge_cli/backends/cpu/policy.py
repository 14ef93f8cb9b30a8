"""Launch policies of the CPU backend.

A block is a host thread's turn: its `block_size` threads run one after the other on slices staged in cache. Left alone,
basic is one section a host thread, tiled and circular stage tiles that fit the
innermost cache, and path runs four chains a tile.
"""

from __future__ import annotations

from gpumerge_cli.backends.base import LaunchPolicy, LaunchRequest, SortPolicy, SortRequest, judge_recursion
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order import Order

# Two tiles and their output in a 32 KB innermost cache.
_TILE_BYTES = 8192
# Items sorted in a core's second cache before they are merged.
SORT_TILE_BYTES = 1 << 19
_MAX_TILE = 1 << 24
_MAX_BLOCK = 1024
CHAINS = 4
# Items a chain merges before the four are cut anew: short enough that chains which run dry at different times leave
# little to a single one, long enough that co-ranking costs nothing.
_CHAIN_ITEMS = 16384


def resolve(request: LaunchRequest, order: Order) -> LaunchPolicy:
    """Decide what the request leaves open; UsageError names the limit that a wish exceeds."""
    kernel = request.decided_kernel()
    why = "four independent chains a thread" if request.kernel == "auto" else "asked for"
    why += "; host threads stand for blocks here" if request.blocks is not None else ""
    if request.blocks is not None and request.blocks < 1:
        raise UsageError(f"--blocks {request.blocks}: at least 1 block is needed")
    block = _within("--block-size", request.block_size, 1, 1, _MAX_BLOCK, "threads a block")
    width = 8 if order.is_rows else order.width
    if kernel in ("tiled", "circular"):
        tile = _within("--tile-size", request.tile_size, _TILE_BYTES // width, 1, _MAX_TILE, "items a tile")
        items = -(-tile // block)
        if request.items_per_thread is not None:
            if request.tile_size is not None and request.items_per_thread * block < tile:
                raise UsageError(
                    f"--items-per-thread {request.items_per_thread} x --block-size {block} does not cover "
                    f"--tile-size {tile}",
                    way_out="leave --items-per-thread out: the tile decides it",
                )
            items = _within("--items-per-thread", request.items_per_thread, items, 1, _MAX_TILE, "items a thread")
            tile = tile if request.tile_size is not None else items * block
        return LaunchPolicy(kernel, block, items, tile, request.tile_load or "full", 0, why=why)
    if kernel == "basic":
        items = _within("--items-per-thread", request.items_per_thread, 0, 1, 1 << 40, "items a thread")
        return LaunchPolicy(kernel, 1, items, why=why + _unstaged(request))
    tile = _within("--tile-size", request.tile_size, CHAINS * _CHAIN_ITEMS, CHAINS, _MAX_TILE, "items a tile")
    items = _within("--items-per-thread", request.items_per_thread, -(-tile // CHAINS), 1, _MAX_TILE, "items a thread")
    if request.tile_size is not None and request.items_per_thread is not None and items * CHAINS != tile:
        raise UsageError(
            f"--tile-size {tile} is not {CHAINS} chains of --items-per-thread {items}",
            way_out="leave one of them out",
        )
    return LaunchPolicy(kernel, 1, items, items * CHAINS, why=why + _unstaged(request))


def resolve_sort(request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
    """Decide what the request of a sort leaves open; UsageError names the limit that a wish exceeds."""
    asked = request.algorithm != "auto"
    algorithm = request.algorithm
    if algorithm == "auto":
        algorithm = "radix" if request.launch == LaunchRequest() else "merge"
    if algorithm in ("merge", "bottom-up"):
        width = 8 if order.is_rows else order.width
        tile = max(1, SORT_TILE_BYTES // width) if algorithm == "merge" else 1
        why = "asked for" if asked else "a kernel was asked for, and this is what merges with it"
        return SortPolicy(algorithm, resolve(request.launch, order), tile, why)
    if request.launch != LaunchRequest():
        raise UsageError(
            f"--algorithm {algorithm} takes no kernel and no shape for it",
            way_out="leave them out, or use --algorithm merge or bottom-up",
        )
    if algorithm == "recursive" and not order.is_lines:
        judge_recursion(nbytes // order.item_bytes)
    basic = resolve(LaunchRequest("basic"), order)
    why = "asked for" if asked else "digits in cache take fewer steps than comparisons"
    return SortPolicy(algorithm, basic, why=why)


def _unstaged(request: LaunchRequest) -> str:
    said = ""
    if request.block_size not in (None, 1):
        said += "; a block's threads run in turn and share nothing staged, so their number is left at 1"
    if request.fan_in not in (None, 2):
        said += "; runs are merged in pairs, so --fan-in changes nothing"
    if request.transfer is not None:
        said += "; nothing is moved to a device, so --transfer changes nothing"
    return said


def _within(option: str, wish: int | None, default: int, low: int, high: int, what: str) -> int:
    if wish is None:
        return default
    if not low <= wish <= high:
        raise UsageError(f"{option} {wish}: the CPU backend takes {low} to {high} {what}")
    return wish
