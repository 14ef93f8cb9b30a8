"""Rung 4: each block merges one tile of the output, cut beforehand. On the CPU four chains do."""

from __future__ import annotations

from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import DeviceLimits, check_shared_memory
from gpumerge_cli.backends.splits import Splits, ceil_div, every
from gpumerge_cli.backends.variants import chains
from gpumerge_cli.backends.variants.variant import LaunchFacts, OnCpu, OnGpu, Variant, register_variant
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import FAN_INS, LaunchPolicy, LaunchRequest, Transfer
from gpumerge_cli.order.base import Macros

MAX_ITEMS_PER_THREAD = 64
"""A thread keeps its items in registers, and a thread of a device has 255. Its loops are unrolled."""

# The items that a chain merges before the four are cut again. Chains end at different times, and the last one goes on
# alone, so this is short; but it is so long that co-ranks cost nothing.
_CHAIN_ITEMS = 16384
_ITEM_BYTES = (1, 2, 4, 8, 12, 16)
_SHAPES: dict[Transfer, dict[int, tuple[tuple[int, int, int], ...]]] = {
    "bulk": {
        2: ((256, 60, 6), (128, 46, 11), (512, 23, 3), (384, 15, 3), (256, 11, 4), (256, 9, 4)),
        4: ((256, 60, 4), (128, 46, 11), (256, 47, 4), (256, 23, 4), (256, 11, 4), (256, 9, 4)),
        8: ((256, 60, 4), (128, 46, 11), (256, 47, 4), (256, 23, 4), (256, 11, 4), (256, 9, 4)),
        16: ((256, 60, 4), (128, 46, 11), (256, 47, 4), (256, 23, 4), (256, 11, 4), (256, 9, 4)),
    },
    "vector": {
        2: ((256, 60, 6), (128, 62, 1), (384, 23, 3), (192, 29, 1), (192, 15, 1), (128, 9, 1)),
        4: ((256, 60, 4), (128, 62, 1), (384, 23, 2), (192, 23, 1), (192, 15, 1), (128, 9, 1)),
        8: ((256, 60, 4), (128, 62, 1), (384, 23, 2), (192, 23, 1), (192, 15, 1), (128, 9, 1)),
        16: ((256, 60, 4), (128, 62, 1), (384, 23, 2), (192, 23, 1), (192, 15, 1), (128, 9, 1)),
    },
}
"""By transfer and number of runs, for each of _ITEM_BYTES: threads a block, items a thread, and the blocks that a
multiprocessor should hold at once. These are among the fastest of sweeps on an H200: with bulk copies, all shapes for
two runs, and those for more runs of 4 and 8 bytes; with vectors, those for two runs of 2, 4 and 8 bytes. The others
were not swept. Larger tiles need fewer searches of global memory. Odd item counts spread accesses over the banks of
shared memory."""
_WHY_TRANSFER: dict[Transfer, str] = {
    "bulk": "moved by the bulk copy engine",
    "vector": "moved in 16-byte pieces",
}


def _on_gpu(facts: LaunchFacts) -> LaunchPolicy:
    """One tile a block. Block size, items and fan-in decide the tile, so a tile size decides one of these."""
    request, limits, size = facts.request, facts.limits, facts.item_bytes
    transfer = _transfer(request, limits)
    fan_in = request.fan_in or next((most for most in FAN_INS if most >= facts.runs), FAN_INS[-1])
    tuned_block, tuned_items, tuned_resident = _SHAPES[transfer][fan_in][_ITEM_BYTES.index(size)]
    block, items, tile = request.block_size, request.items_per_thread, request.tile_size
    spare = spare_threads(fan_in)
    if tile and items and not block:
        if tile < items:
            raise UsageError(
                f"--tile-size {tile} is less than the --items-per-thread {items} of one thread",
                way_out="raise --tile-size or lower --items-per-thread",
            )
        block = tile // items + spare
    block = min(block or tuned_block, limits.max_threads)
    if fan_in > 2 and block < fan_in and not request.fan_in:
        fan_in = next((most for most in reversed(FAN_INS) if most <= block), 2)
        spare = spare_threads(fan_in)
    if fan_in > 2 and block < fan_in:
        raise UsageError(
            f"--fan-in {fan_in} needs as many threads a block, not --block-size {block}",
            way_out="raise --block-size or lower --fan-in",
        )
    if tile and not items:
        items = ceil_div(tile, block - spare)
    if items is None:
        room = (limits.dynamic_shared - (2 * fan_in + 4) * kernel_size("VECTOR")) // ((block + 1) * size) - 1
        items = max(1, min(tuned_items, room))
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
        why=f"{facts.why}, {_WHY_TRANSFER[transfer]}",
    )
    as_tuned = (block, items) == (tuned_block, tuned_items)
    resident = min(tuned_resident if as_tuned else 1, limits.dynamic_shared // _shared(chosen, size))
    return check_shared_memory(replace(chosen, resident=max(1, resident)), _shared(chosen, size), limits)


def _transfer(request: LaunchRequest, limits: DeviceLimits) -> Transfer:
    if request.transfer == "bulk" and not limits.has_bulk_copies:
        raise UsageError(
            f"--transfer bulk: this device, of compute capability {limits.capability / 10}, has no bulk copies",
            way_out="leave it out",
        )
    return request.transfer or ("bulk" if limits.has_bulk_copies else "vector")


def spare_threads(fan_in: int) -> int:
    """The threads that a tile does not count. With more than two runs, each pair may need one thread more."""
    return 0 if fan_in == 2 else fan_in // 2


def path_tile(block_size: int, items_per_thread: int, fan_in: int) -> int:
    """The items that a block merges."""
    return (block_size - spare_threads(fan_in)) * items_per_thread


def _shared(policy: LaunchPolicy, size: int) -> int:
    return kernel_size("staged_bytes", policy.tile_size, policy.items_per_thread, size, policy.fan_in)


def _macros(policy: LaunchPolicy) -> Macros:
    return (
        ("RUNS", policy.fan_in),
        ("BLOCK_SIZE", policy.block_size),
        ("ITEMS_PER_THREAD", policy.items_per_thread),
        ("BLOCKS_PER_MULTIPROCESSOR", policy.resident),
        ("BULK", int(policy.transfer == "bulk")),
    )


def _gpu_splits(policy: LaunchPolicy, total: int) -> Splits:
    return (("block", every(policy.tile_size)), ("thread", every(policy.items_per_thread)))


PATH_OPTIONS = frozenset({"tile_size", "fan_in", "transfer"})
ON_GPU = OnGpu(
    resolve=_on_gpu,
    shared=_shared,
    sizes=lambda policy: (),
    splits=_gpu_splits,
    macros=_macros,
    cut_ahead=True,
    how="one tile a block, cut beforehand",
)
register_variant(
    Variant(
        name="path",
        options=PATH_OPTIONS,
        tile="output",
        gpu=ON_GPU,
        cpu=OnCpu(
            lambda request, width, why: chains.chain_policy("path", request, _CHAIN_ITEMS, why),
            chains.chain_splits,
            how="four chains a thread",
        ),
    )
)
