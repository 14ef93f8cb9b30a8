"""Sort policies of the GPU backend. The functions are pure and need no device, like those of policy.py."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache

from gpumerge_cli.backends.gpu.policy import item_bytes, resolve
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.backends.variants.lookup import requested_variant, variant_named
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import (
    Algorithm,
    LaunchPolicy,
    LaunchRequest,
    SortPolicy,
    SortRequest,
    check_recursion,
)
from gpumerge_cli.order.kinds import Order

RANKS = Order.records(1, 0, 1)
"""The order of rows whose prefixes decide it: sorts of indices use it for every order."""

_MOST_NARROW = 1 << 32
_IMAGE_BYTES = 8
_MERGED = 1 << 10
"""Up to so many items, doubled for each byte of the key, a merge sort of integers takes less time than the passes of a
radix sort. On an H200 they meet at 2^14 to 2^15 items for 4 bytes, and at 2^18 to 2^20 for 8."""
_MOST_ITERATED = 1 << 26
"""The most items that an iterative sort takes. One thread does its last merge, in seconds."""
_FAN_IN = {1: 4, 2: 4, 4: 8, 8: 8, 12: 4, 16: 4}
"""The runs that a pass merges, by item bytes. For 4 and 8 bytes the fastest of 4, 8 and 16 on an H200."""


@dataclass(frozen=True)
class TileShape:
    """The shape that sort_tile.cu is compiled for."""

    block_size: int
    """Threads a block."""
    items_per_thread: int
    resident: int = 1
    """The blocks that a multiprocessor should hold at once."""

    @property
    def room(self) -> int:
        """The items that a block can sort."""
        return self.block_size * self.items_per_thread


_TILES = {
    1: TileShape(512, 31, 2),
    2: TileShape(512, 23, 2),
    4: TileShape(512, 23, 3),
    8: TileShape(256, 23, 4),
    12: TileShape(256, 11, 3),
    16: TileShape(256, 9, 3),
}
"""The largest tiles whose items stay in registers at this residency, by item bytes. Not yet swept. Odd item counts
spread accesses over the banks of shared memory."""


@dataclass(frozen=True)
class DigitShape(TileShape):
    """The shape that sort_radix.cu is compiled for."""

    def shared_bytes(self, order: Order, *, wide: bool) -> int:
        """The bytes of dynamic shared memory of a block. wide: sums have 64 bits."""
        warps = self.block_size // kernel_size("WARP")
        return kernel_size("moving_bytes", self.room, item_bytes(order), warps, 8 if wide else 4)


_DIGIT_SHAPES = {
    1: DigitShape(384, 40, 2),
    2: DigitShape(384, 36, 2),
    4: DigitShape(384, 26, 2),
    8: DigitShape(256, 28, 2),
    12: DigitShape(320, 16, 2),
    16: DigitShape(256, 14, 2),
}
"""The fastest of several on an H200 for 2^28 items, by item bytes."""
COUNTING_THREADS = kernel_size("COUNTING_THREADS")
RANKING_THREADS = 512
RANK_MERGING_THREADS = 128
"""The threads a block of merge_by_rank.cu. Every run that it merges but the last has a multiple of so many items."""
_FULL = 0.9
"""The share of path's tiles that sorted tiles must fill. Otherwise sorted tiles are made smaller, to fill fewer."""
_WHY: dict[Algorithm, str] = {
    "merge": "asked for: tiles in shared memory, then passes over several runs",
    "bottom-up": "asked for: pairs of runs, a level at a time, every thread the same share",
    "iterative": "asked for: a level at a time, a thread a pair",
    "recursive": "asked for: top-down, a launch of one thread for each merge",
    "radix": "asked for: a digit of the keys a pass",
}


def tile_shape(tile: int, order: Order, limits: DeviceLimits) -> TileShape:
    """The shape for tiles of `tile` items: as few threads as they need, halved step by step."""
    shape = _largest(order, limits)
    items = max(shape.items_per_thread, ceil_div(tile, shape.block_size))
    block = shape.block_size
    while block > 1 and block // 2 * items >= tile:
        block //= 2
    return replace(shape, block_size=block, items_per_thread=items)


def tile_shared_bytes(shape: TileShape, order: Order) -> int:
    """The bytes of dynamic shared memory of one block of sort_tile.cu."""
    return _shared_bytes(shape, item_bytes(order))


@lru_cache(maxsize=256)
def digit_shape(order: Order, limits: DeviceLimits) -> DigitShape:
    """The shape of sort_radix.cu. If the device has no room for the tuned one, blocks have fewer items.

    If they would have less than half, a multiprocessor holds fewer blocks.
    """
    tuned = _DIGIT_SHAPES[item_bytes(order)]
    for resident in range(tuned.resident, 0, -1):
        shape = replace(tuned, resident=resident)
        while resident * shape.shared_bytes(order, wide=True) > limits.dynamic_shared and shape.items_per_thread > 1:
            shape = replace(shape, items_per_thread=shape.items_per_thread - 1)
        if 2 * shape.items_per_thread >= tuned.items_per_thread:
            break
    return shape


def counting_bytes(passes: int) -> int:
    """The bytes of dynamic shared memory of a block of count_digits.cu."""
    return kernel_size("counting_bytes", passes, COUNTING_THREADS // kernel_size("WARP"))


def pair_order(order: Order, value_bytes: int) -> Order:
    """The order of records of a key and a value of 4 or 8 bytes."""
    return Order.records(max(4, order.width) + value_bytes, 0, order.dtype, descending=order.descending)


def index_bytes(count: int) -> int:
    """The bytes of an index of so many keys."""
    return 4 if count <= _MOST_NARROW else 8


def resolve_sort(request: SortRequest, order: Order, limits: DeviceLimits, nbytes: int) -> SortPolicy:
    """See Backend.resolve_sort."""
    count = order.count(nbytes) or 0  # 0 for lines, which are counted later
    if request.algorithm == "auto":
        algorithm, why = _auto(request.launch, order, limits, count)
    else:
        algorithm, why = request.algorithm, _WHY[request.algorithm]
    if algorithm in ("iterative", "recursive", "radix"):
        _refuse_launch(algorithm, request.launch)
        if algorithm == "radix" and not order.prefix_decides:
            raise UsageError(
                f"--algorithm radix: {order.describe()} have keys that do not fit in {_IMAGE_BYTES} bytes",
                way_out="use --algorithm merge",
            )
        check_sort_size(algorithm, count)
        unused = resolve(LaunchRequest(KERNELS[0]), order, limits)
        if algorithm == "radix":
            return SortPolicy(algorithm, unused, digit_shape(order, limits).room, order.prefix_bytes, why)
        return SortPolicy(algorithm, unused, why=why)
    if algorithm == "bottom-up" and request.launch.fan_in not in (None, 2):
        raise UsageError(
            f"--fan-in {request.launch.fan_in}: --algorithm bottom-up merges pairs",
            way_out="leave it out, or use --algorithm merge",
        )
    fans_in = algorithm == "merge" and requested_variant(request.launch).fans_in
    runs = _FAN_IN[item_bytes(order)] if fans_in else 2
    launch = resolve(request.launch, order, limits, runs)
    return SortPolicy(algorithm, launch, _tile(launch, order, limits), why=why)


def check_sort_size(algorithm: Algorithm, items: int) -> None:
    """Raise UsageError if the algorithm is too slow for so many items."""
    if algorithm == "recursive":
        check_recursion(items)
    if algorithm == "iterative" and items > _MOST_ITERATED:
        raise UsageError(
            f"--algorithm iterative: a single thread does the last merge, which would take minutes for {items} items; "
            f"at most {_MOST_ITERATED} items are allowed",
            way_out="use --algorithm bottom-up, whose threads share every merge, or auto",
        )


def for_ranks(policy: SortPolicy, limits: DeviceLimits, count: int) -> SortPolicy:
    """The policy that sorts rows of images and indices instead of keys. policy: the one for the keys."""
    launch = LaunchRequest(policy.launch.kernel) if policy.algorithm == "bottom-up" else LaunchRequest()
    return resolve_sort(SortRequest(policy.algorithm, launch), RANKS, limits, count * RANKS.item_bytes)


def of_fan_in(launch: LaunchPolicy, fan_in: int) -> LaunchPolicy:
    """The same path kernel for a pass of `fan_in` runs, at most as many as `launch` was resolved for."""
    if fan_in == launch.fan_in:
        return launch
    spare = fan_in // 2 if fan_in > 2 else 0
    return replace(launch, fan_in=fan_in, tile_size=(launch.block_size - spare) * launch.items_per_thread)


def _auto(launch: LaunchRequest, order: Order, limits: DeviceLimits, count: int) -> tuple[Algorithm, str]:
    """The fastest algorithm, and the reason. count: the number of items, 0 if unknown.

    If the user requested a launch, the sort is one that merges.
    """
    if launch != LaunchRequest():
        if requested_variant(launch).fans_in:
            return "merge", "the kernel asked for merges"
        return "bottom-up", "the kernel asked for merges pairs"
    if not order.prefix_decides:
        return "merge", "keys are too long for digits"
    # A single tile takes a single launch. Tiles of floats take long to sort.
    few = _MERGED << order.prefix_bytes if order.kind != "float" else 0
    if 0 < count <= max(few, _largest(order, limits).room):
        return "merge", "the fastest of few items"
    return "radix", "the fastest of many items with keys of up to 8 bytes"


def _refuse_launch(algorithm: Algorithm, launch: LaunchRequest) -> None:
    for field in fields(launch):
        if getattr(launch, field.name) != field.default:
            raise UsageError(
                f"--{field.name.replace('_', '-')}: --algorithm {algorithm} does not use it",
                way_out="leave it out, or use --algorithm merge or bottom-up",
            )


def _tile(launch: LaunchPolicy, order: Order, limits: DeviceLimits) -> int:
    """The items that are sorted together before any merge.

    If the kernel's blocks merge tiles of the output, it is about a whole number of those, so the tiles of a pass are
    full. Kernels that stage nothing start from single items.
    """
    room = _largest(order, limits).room
    of = variant_named(launch.kernel).tile
    if of != "output":
        return room if of else 1
    tiles = ceil_div(room, launch.tile_size)
    if tiles == 1 or room > _FULL * tiles * launch.tile_size:
        return room
    return (tiles - 1) * launch.tile_size


def _largest(order: Order, limits: DeviceLimits) -> TileShape:
    """The tuned shape, with fewer items if the device has no room for it."""
    shape = _TILES[item_bytes(order)]
    shape = replace(shape, block_size=min(shape.block_size, limits.max_threads))
    available = limits.dynamic_shared
    while _shared_bytes(shape, item_bytes(order)) > available and shape.items_per_thread > 1:
        shape = replace(shape, items_per_thread=shape.items_per_thread - 1)
    return replace(shape, resident=max(1, min(shape.resident, available // _shared_bytes(shape, item_bytes(order)))))


def _shared_bytes(shape: TileShape, size: int) -> int:
    return kernel_size("staged_bytes", shape.room, shape.items_per_thread, size, 1)
