"""Launch policies of the GPU backend: it completes requests and checks them against the limits of the device.

The functions are pure and need no device. Each variant makes its own decisions in its file in backends/variants.
"""

from __future__ import annotations

import sys

from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import MAX_GRID, DeviceLimits, check_request
from gpumerge_cli.backends.splits import ceil_div
from gpumerge_cli.backends.variants.lookup import requested_variant, variant_named
from gpumerge_cli.backends.variants.variant import LaunchFacts
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order

_LEAST_EDGES = 16  # of a block of partition.cu for more than two runs
_PARTITIONS, _PARTITIONS_OF_GROUPS = 5, 4  # blocks of partition.cu that a multiprocessor holds
_ITEMS_A_VALUE, _LEAST_BY_VALUES = 1024, 1 << 24
_VALUES_BLOCKS = 16  # of merge_values.cu, that a multiprocessor holds
_STRETCH_STEP, _STRETCH_MOST = 1 << 15, 1 << 18
_OWN_OF_DEPENDENTS = 3  # for each multiprocessor: about as many blocks begin before partition.cu ends
_WORD = 4
_COLUMN_SHAPES = {8: (320, 15, 4), 12: (320, 13, 3), 16: (256, 13, 3)}
"""Threads, items a thread and resident blocks of merge_columns.cu, by the bytes of a key and its value, of which a
narrow one counts as 4. The fastest of 17 shapes on an H200."""


def item_bytes(order: Order) -> int:
    """The bytes of an item that kernels move: a key, a small record, or a row of prefix and number."""
    return 16 if moves_rows(order) else order.item_bytes


def shared_bytes(policy: LaunchPolicy, order: Order) -> int:
    """The bytes of dynamic shared memory of one block, as the kernel files define them."""
    return variant_named(policy.kernel).gpu.shared(policy, item_bytes(order))


def for_columns(policy: LaunchPolicy, key_bytes: int, value_bytes: int) -> LaunchPolicy:
    """The policy of merge_columns.cu. policy: of a merge of two runs by bulk copies."""
    threads, items, resident = _COLUMN_SHAPES[max(_WORD, value_bytes) + key_bytes]
    return replace(policy, block_size=threads, items_per_thread=items, tile_size=threads * items, resident=resident)


def columns_shared_bytes(policy: LaunchPolicy, key_bytes: int, value_bytes: int) -> int:
    """The bytes of dynamic shared memory of a block of merge_columns.cu, which stages keys and values apart."""
    widths = (key_bytes, value_bytes)
    slices = sum(kernel_size("slice_bytes", policy.tile_size, width, policy.fan_in) for width in widths)
    return slices + kernel_size("past_bytes", policy.items_per_thread, max(widths))


def partition_size(fan_in: int) -> int:
    """The threads a block of partition.cu."""
    return kernel_size("PARTITION_THREADS_OF_TWO" if fan_in == 2 else "PARTITION_THREADS")


def partition_stretch(edges: int, fan_in: int, limits: DeviceLimits, *, groups: bool = False) -> int:
    """The edges that a block of partition.cu cuts: many, since they share its ends; but all blocks must run at once.

    groups: it reads groups of runs, and so needs more registers.
    """
    if fan_in == 2:
        return kernel_size("STRIDE_OF_TWO")
    fair = ceil_div(edges, (_PARTITIONS_OF_GROUPS if groups else _PARTITIONS) * limits.multiprocessors)
    stride = kernel_size("STRIDE_OF_MORE")
    return min(kernel_size("MOST_EDGES"), max(_LEAST_EDGES, ceil_div(fair, stride) * stride))


def own_cuts_of_dependents(limits: DeviceLimits) -> int:
    """The first blocks of a merge that find their own cuts, as they begin while partition.cu still runs."""
    return _OWN_OF_DEPENDENTS * limits.multiprocessors if limits.has_dependent_launches else 0


def least_by_values(order: Order, policy: LaunchPolicy) -> int:
    """From so many items on, merge_values.cu is faster than the kernel of the policy; sys.maxsize if it never is."""
    narrow = order.kind in ("int", "uint") and not order.is_rows and order.width <= 2 and policy.fan_in == 2
    return max(_LEAST_BY_VALUES, _ITEMS_A_VALUE << 8 * order.width) if narrow and policy.transfer else sys.maxsize


def values_stretch(total: int, limits: DeviceLimits) -> int:
    """The items of a block of merge_values.cu: all blocks should run at once, but none should be too short."""
    fair = ceil_div(total, _VALUES_BLOCKS * limits.multiprocessors)
    return min(_STRETCH_MOST, ceil_div(fair, _STRETCH_STEP) * _STRETCH_STEP)


def grid_size(policy: LaunchPolicy, total: int) -> int:
    """The blocks for `total` items of output. Raises UsageError if CUDA allows no such grid."""
    whole_tile = variant_named(policy.kernel).tile == "output"
    per_block = policy.tile_size if whole_tile else policy.block_size * policy.items_per_thread
    blocks = policy.blocks or ceil_div(total, per_block)
    if blocks > MAX_GRID:
        raise UsageError(
            f"{total} items of {per_block} a block need {blocks} blocks, more than the {MAX_GRID} of a CUDA grid",
            way_out="raise --block-size or --items-per-thread",
        )
    return blocks


def resolve(request: LaunchRequest, order: Order, limits: DeviceLimits, runs: int = 2) -> LaunchPolicy:
    """Decide what `request` leaves open.

    Raises UsageError that names the exceeded limit, or an option that the kernel does not use.
    """
    check_request(request, limits)
    variant = requested_variant(request)
    why = "the fastest at every key width" if request.kernel == "auto" else "asked for"
    policy = variant.gpu.resolve(LaunchFacts(request, item_bytes(order), limits, runs, f"{why}: {variant.gpu.how}"))
    if request.kernel in ("auto", policy.kernel):
        return policy
    return replace(policy, why=f"GPUs have no {request.kernel} kernel, so {policy.kernel} merges: {variant.gpu.how}")
