"""The units that NVRTC compiles for some work: kernel files and their macros."""

from __future__ import annotations

from gpumerge_cli.backends.gpu.many_runs import pays
from gpumerge_cli.backends.gpu.module import OWN_CUTS
from gpumerge_cli.backends.gpu.policy import by_values, grid_size
from gpumerge_cli.backends.gpu.radix import digit_sort
from gpumerge_cli.backends.gpu.sort_policy import of_fan_in, tile_shape
from gpumerge_cli.backends.gpu.source import (
    comparison_macros,
    moves_rows,
    partition_macros,
    policy_macros,
    row_macros,
    text_macros,
    tile_macros,
    values_macros,
)
from gpumerge_cli.backends.gpu.tree import fan_ins
from gpumerge_cli.backends.gpu.walks import macros_of_walk
from gpumerge_cli.backends.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.variants import named
from gpumerge_cli.order import Order
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.equals import Equals

Unit = tuple[str, Macros]


def units_of(
    order: Order,
    policy: LaunchPolicy | SortPolicy,
    limits: DeviceLimits,
    items: int,
    *,
    check: bool = False,
    equals: Equals = Equals.ALL,
) -> list[Unit]:
    """The units of a merge or sort of about `items` items, those that are needed first ahead.

    check: of its inputs. equals: a set of two inputs or more, if that is made of them.
    """
    units: list[Unit] = [] if order.item_bytes else [("text.cu", text_macros())]
    if moves_rows(order):
        units.append(("rows.cu", row_macros(order)))
    if check:
        units.append(("check.cu", comparison_macros(order)))
    if equals.is_set:
        ordered = comparison_macros(order)
        cutting, walking = macros_of_walk(order, limits, equals)
        return [*units, ("partition.cu", (*ordered, *cutting)), ("walk.cu", (*ordered, *walking))]
    if isinstance(policy, LaunchPolicy) and not pays(order, policy, policy.runs, items):
        return units + _merge(order, policy, limits, items, batched=False)
    if isinstance(policy, LaunchPolicy) or policy.algorithm == "radix":
        sort, ordered = digit_sort(order, limits, items), comparison_macros(order)
        return [*units, ("count_digits.cu", (*ordered, *sort.counting)), ("sort_radix.cu", (*ordered, *sort.sorting))]
    if policy.algorithm not in ("merge", "bottom-up"):
        return units
    if policy.tile > 1:
        shape = tile_shape(policy.tile, order, limits)
        macros = tile_macros(shape.block_size, shape.items_per_thread, shape.resident, policy.launch.transfer)
        units.append(("sort_tile.cu", (*comparison_macros(order), *macros)))
    for fan_in in sorted(set(fan_ins(-(-items // policy.tile), policy.launch.fan_in))):
        units += _merge(order, of_fan_in(policy.launch, fan_in), limits, items, batched=True)
    return units


def _merge(order: Order, policy: LaunchPolicy, limits: DeviceLimits, items: int, *, batched: bool) -> list[Unit]:
    ordered = comparison_macros(order)
    if not batched and by_values(order, policy, items):
        return [("merge_values.cu", (*ordered, *values_macros(policy.fan_in)))]
    units = [(f"merge_{policy.kernel}.cu", (*ordered, *policy_macros(policy, batched=batched)))]
    if named(policy.kernel).gpu.cut_ahead and grid_size(policy, items) > OWN_CUTS * limits.multiprocessors:
        units.append(("partition.cu", (*ordered, *partition_macros(policy.fan_in, batched=batched))))
    return units
