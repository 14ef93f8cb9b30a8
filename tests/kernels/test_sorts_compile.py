"""The kernels of sorts compile for every device generation, by NVRTC, which needs no device."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nvrtc import ARCHITECTURES, FEW, KEY_ORDERS, LEVELS, RECORD_ORDERS, SHARED, compile_for, ordered

from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.policy import for_columns, resolve
from gpumerge_cli.backends.gpu.sort_policy import (
    RANK_MERGING_THREADS,
    RANKING_THREADS,
    digit_shape,
    pair_order,
    resolve_sort,
    tile_shape,
)
from gpumerge_cli.backends.gpu.source import (
    column_macros,
    comparison_macros,
    compiler_options,
    digit_macros,
    order_macros,
    policy_macros,
    row_macros,
    run_macros,
    shape_macros,
    tile_macros,
)
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.kinds import KeyOrder, Order

pytestmark = pytest.mark.usefixtures("quickly")


def sort_options(order: Order, architecture: int) -> tuple[str, ...]:
    """The launch of sort_tile.cu on such a device."""
    limits = DeviceLimits(1024, SHARED[architecture] * 1024, 100, architecture)
    policy = resolve_sort(SortRequest("merge"), order, limits, 1 << 20)
    shape = tile_shape(policy.tile, order, limits)
    macros = tile_macros(shape.block_size, shape.items_per_thread, shape.resident, policy.launch.transfer)
    return compiler_options((*comparison_macros(order), *macros))


@pytest.mark.parametrize("order", ordered([*KEY_ORDERS, Order.lines(), *RECORD_ORDERS]))
def test_sorts_of_every_order(order: Order) -> None:
    compile_for(90, "sort_tile.cu", sort_options(order, 90))
    compile_for(75, "sort_serial.cu", (*compiler_options(comparison_macros(order)), "-DBATCHED=1"))


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", [75, 90, 120])
@pytest.mark.parametrize("order", [KeyOrder("uint", 4), KeyOrder("float", 8), Order.records(12, 0, 8)])
def test_sorts_on_some_architectures(architecture: int, order: Order) -> None:
    compile_for(architecture, "sort_tile.cu", sort_options(order, architecture))
    for file in (*LEVELS, "sort_serial.cu"):
        compile_for(architecture, file, (*compiler_options(order_macros(order)), "-DBATCHED=1"))


@pytest.mark.parametrize("file", ["partition.cu", "merge_path.cu"])
@pytest.mark.parametrize(
    "architecture", [pytest.param(at, marks=() if at == 90 else pytest.mark.thorough) for at in FEW]
)
def test_levels_of_lines_on_some_architectures(architecture: int, file: str) -> None:
    compile_for(architecture, file, (*compiler_options(order_macros(Order.lines())), "-DBATCHED=1"))


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", FEW)
def test_sorts_of_lines_on_some_architectures(architecture: int) -> None:
    test_sorts_on_some_architectures(architecture, Order.lines())


@pytest.mark.thorough
@pytest.mark.parametrize("order", [KeyOrder("uint", 4), KeyOrder("float", 8), Order.records(12, 0, 8)])
@pytest.mark.parametrize("architecture", sorted({*ARCHITECTURES} - {75, 90, 120}))
def test_sorts_on_all_other_architectures(architecture: int, order: Order) -> None:
    test_sorts_on_some_architectures(architecture, order)


def digits_compile(architecture: int, order: Order, *, wide: bool = False, pairs: bool = False) -> None:
    """The launch of a sort by digits on such a device."""
    limits = DeviceLimits(1024, SHARED[architecture] * 1024, 100, architecture)
    shape = digit_shape(order, limits)
    macros = (*comparison_macros(order), *digit_macros(order.prefix_bytes, wide=wide, pairs=pairs))
    shaped = (*macros, *shape_macros(shape.block_size, shape.items_per_thread, shape.resident))
    compile_for(architecture, "count_digits.cu", compiler_options(macros))
    compile_for(architecture, "sort_radix.cu", compiler_options(shaped))


@pytest.mark.parametrize("order", ordered([*KEY_ORDERS, *(order for order in RECORD_ORDERS if order.prefix_decides)]))
def test_digits_of_every_order(order: Order) -> None:
    digits_compile(90, order)


@pytest.mark.one_of_each
@pytest.mark.parametrize(
    "order",
    [
        KeyOrder("uint", 1),
        KeyOrder("float", 2, True),
        KeyOrder("int", 4),
        KeyOrder("float", 8),
        KeyOrder("datetime", 8),
    ],
)
@pytest.mark.parametrize("value_bytes", [4, 8])
def test_digits_of_pairs(order: Order, value_bytes: int) -> None:
    digits_compile(90, pair_order(order, value_bytes), pairs=True)


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", FEW)
@pytest.mark.parametrize(
    "order", [KeyOrder("uint", 4), KeyOrder("float", 8), Order.records(12, 0, 8), Order.records(33, 0, 8)]
)
def test_digits_on_every_architecture(architecture: int, order: Order) -> None:
    digits_compile(architecture, order, wide=architecture % 2 == 0)


@pytest.mark.parametrize(
    "order", [KeyOrder("uint", 1), KeyOrder("float", 2), KeyOrder("int", 8), Order.records(4, 1, 3)]
)
def test_rows_of_keys_and_small_records(order: Order) -> None:
    compile_for(75, "rows.cu", compiler_options(row_macros(order)))


@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", FEW)
@pytest.mark.parametrize("columns", [("uint8", 2, 0), ("int32", 0, 0), ("datetime64", 0, 8), ("float64", 0, 16)])
def test_columns(architecture: int, columns: tuple[str, int, int]) -> None:
    key, value, unit = columns
    keys = Order.of(key)
    order = Order.records(max(4, keys.width) + 4, 0, keys.dtype)
    launch = resolve_sort(SortRequest("merge"), order, TUNED_ON, 0).launch
    launch = replace(launch, transfer="bulk" if architecture >= 90 else "vector")

    def of_columns(count: int, macros: Macros) -> tuple[str, ...]:
        columns = column_macros(count, value, unit, reads=True, writes=True)
        return compiler_options((*order_macros(order), *macros, *columns))

    tiles = (*sort_options(order, architecture), *of_columns(1, ()))
    compile_for(architecture, "sort_tile.cu", tuple(dict.fromkeys(tiles)))
    compile_for(architecture, "merge_path.cu", of_columns(launch.fan_in, policy_macros(launch)))
    compile_for(architecture, "partition.cu", of_columns(launch.fan_in, run_macros(launch.fan_in)))


@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", [one for one in FEW if one >= 90])
@pytest.mark.parametrize("columns", [("int32", 4), ("float64", 8), ("uint64", 1), ("float32", 2), ("datetime64", 4)])
def test_columns_that_stay_apart(architecture: int, columns: tuple[str, int]) -> None:
    key, value = columns
    along = Columns(Order.of(key), 2, value)
    policy = resolve(LaunchRequest(), along.order, TUNED_ON, 2)
    assert along.stay_apart(policy)
    policy = for_columns(policy, Order.of(key).width, value)
    macros = (*comparison_macros(Order.of(key)), *policy_macros(policy), ("VALUE_SIZE", value))
    compile_for(architecture, "merge_columns.cu", compiler_options(macros))


def ranks_compile(architecture: int, order: Order, sorting: Macros = (), merging: Macros = ()) -> None:
    """Launches of a sort by rank on such a device. sorting, merging: the macros of columns."""
    ranking, by_rank = ("BLOCK_SIZE", RANKING_THREADS), ("BLOCK_SIZE", RANK_MERGING_THREADS)
    options = compiler_options((*comparison_macros(order), ranking, *sorting))
    compile_for(architecture, "sort_by_rank.cu", options)
    options = compiler_options((*comparison_macros(order), by_rank, *merging))
    compile_for(architecture, "merge_by_rank.cu", options)


@pytest.mark.parametrize("order", ordered(KEY_ORDERS))
def test_ranks_of_every_key(order: Order) -> None:
    ranks_compile(90, order)


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("order", [KeyOrder("uint", 1), KeyOrder("int", 8, True), KeyOrder("float", 4)])
def test_ranks_on_every_architecture(architecture: int, order: Order) -> None:
    ranks_compile(architecture, order)


@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", FEW)
@pytest.mark.parametrize("columns", [("uint8", 2), ("int32", 4), ("float64", 8), ("int64", None), ("float32", 12)])
def test_ranks_of_columns(architecture: int, columns: tuple[str, int | None]) -> None:
    along = Columns(Order.of(columns[0]), 1, columns[1])
    ranks_compile(architecture, along.order, along.macros(reads=True, writes=True))
    reading, writing = along.macros(reads=True, writes=False), along.macros(reads=False, writes=True)
    ranks_compile(architecture, along.order, reading, writing)
