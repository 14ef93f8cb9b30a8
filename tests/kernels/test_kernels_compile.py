"""Every kernel compiles for every device generation, by NVRTC, which needs no device."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from set_pairs import EVERY_SET

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
    flatten,
    moves_rows,
    order_macros,
    policy_macros,
    row_macros,
    run_macros,
    shape_macros,
    text_macros,
    tile_macros,
)
from gpumerge_cli.backends.gpu.walks import CUT_FOR_WALKS, macros_of_walk
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.backends.variants.rung4_path import path_tile
from gpumerge_cli.formats.record_options import Key, order_of
from gpumerge_cli.launch import FAN_INS, LaunchPolicy, LaunchRequest, SortRequest, Transfer
from gpumerge_cli.order import rules as lines
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_kinds import KIND_OF
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import KeyOrder, Order
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder
from tests import needs
from tests.pairs import one_of_each

RECORD_ORDERS = [
    Order.records(size, offset, key, descending=down)
    for size, offset, key in [
        (100, 0, 10), (1, 0, 1), (7, 2, 5), (16, 3, np.dtype(">f8")), (24, 1, np.dtype("f2")), (4097, 8, 4000),
        (12, 4, np.dtype("i8")), (3, 0, np.dtype("u1")), (1 << 30, 1 << 29, np.dtype(">i4")),
    ]
    for down in (False, True)
] + [
    order_of(np.dtype("u1,>f8,S3,<i2"), Key(fields=("f3,f1:r,f0",))),
    order_of(np.dtype("u1,<u2,S9"), Key(fields=("f0,f1:r",))),
]  # fmt: skip
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
# Those between take the same ways through the sources as their neighbours.
FEW = (75, 90, 120)
SOME = [at if at in (75, 90) else pytest.param(at, marks=pytest.mark.thorough) for at in ARCHITECTURES]
# Those between differ from them in the length of loops.
SOME_FAN_INS = [at if at in (2, 16) else pytest.param(at, marks=pytest.mark.thorough) for at in FAN_INS]
SHARED = {75: 64, 80: 163, 86: 99, 89: 99, 90: 227, 100: 227, 120: 99}
"""KiB of shared memory that a block may have, by the architecture."""
QUICKLY = True
"""Whether this test compiles without optimizations."""
EVERY_COMPARISON = LineOrder(tuple(map(LineKey, KIND_OF)))
LEVELS = ("partition.cu", *(f"merge_{name}.cu" for name in KERNELS))
MERGES = (*LEVELS, "check.cu")
KEY_ORDERS = [Order.of(name, descending=down) for name in (*DTYPES, "datetime64[s]") for down in (False, True)]


def ordered(orders: list[Order]) -> list[Any]:
    """Parameters of a test: every fourth ascending order. The others, which differ little, are for thorough runs."""
    usual = [order for order in orders if not order.descending][::4]
    marks = pytest.mark.thorough
    return [pytest.param(order, marks=() if order in usual else marks, id=order.describe()) for order in orders]


@pytest.fixture(autouse=True)
def quickly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thorough runs optimize as the product does. Others do not, which is three times as fast for lines."""
    monkeypatch.setattr(f"{__name__}.QUICKLY", request.node.get_closest_marker("thorough") is None)


def compile_for(architecture: int, file: str, options: tuple[str, ...]) -> None:
    """Compile a file as the product does it, but for the optimizations of usual runs."""
    nvrtc = needs.library("cupy").cuda.nvrtc
    from gpumerge_cli.backends.gpu.compiled import _compiled

    try:
        supported = nvrtc.getSupportedArchs()
    except RuntimeError as error:
        pytest.skip(needs.nvrtc(error))
    if architecture not in supported:
        pytest.skip(f"needs an NVRTC that knows sm_{architecture}; pip install -U 'gpumerge[cuda13]'")
    quick = ("--Ofast-compile=max",) if QUICKLY and nvrtc.getVersion() >= (13, 0) else ()
    assert _compiled(file, flatten(file), (*options, *quick), architecture)


@pytest.mark.parametrize("file", MERGES)
@pytest.mark.parametrize("architecture", SOME)
def test_every_architecture(architecture: int, file: str) -> None:
    """Each device takes other orders, so that all widths and kinds occur."""
    orders = itertools.islice(itertools.cycle(KEY_ORDERS), architecture % len(KEY_ORDERS), None, 5)
    compile_for(architecture, file, compiler_options(order_macros(next(orders))))


@pytest.mark.parametrize("order", ordered(KEY_ORDERS))
def test_every_key_order(order: Order) -> None:
    for file in ("partition.cu", "merge_path.cu", "check.cu"):
        compile_for(90, file, compiler_options(order_macros(order)))


@pytest.mark.parametrize(("order", "file"), one_of_each(KEY_ORDERS[::2], LEVELS[1:]))
def test_every_kernel_for_keys(order: Order, file: str) -> None:
    compile_for(90, file, compiler_options(order_macros(order)))


@pytest.mark.parametrize("architecture", SOME)
def test_lines_on_every_architecture(architecture: int) -> None:
    for order in (LineOrder(), EVERY_COMPARISON):
        merges = MERGES if architecture == 75 and order.keys else ("merge_path.cu",)
        for file in ("rows.cu", *merges):
            compile_for(architecture, file, compiler_options(order_macros(Order.lines(order))))


@pytest.mark.parametrize("architecture", SOME)
def test_text_on_every_architecture(architecture: int) -> None:
    compile_for(architecture, "text.cu", compiler_options(text_macros()))


@pytest.mark.parametrize(
    "comparison",
    [kind if at % 4 == 0 else pytest.param(kind, marks=pytest.mark.thorough) for at, kind in enumerate(KIND_OF)],
)
def test_every_comparison_of_lines(comparison: str) -> None:
    """Each alone; test_lines_on_every_architecture compiles all of them together."""
    order = Order.lines(LineOrder((LineKey(comparison),)))
    compile_for(90, "rows.cu", compiler_options(order_macros(order)))


def test_orders_of_lines_that_compare_in_the_same_ways_share_kernels() -> None:
    version, number = LineKey("version"), LineKey("numeric", 2, reverse=True)
    kinds = [
        (LineOrder(), LineOrder(reverse=True), LineOrder(terminator=NUL)),
        (LineOrder((version,), terminator=NUL), LineOrder((version, LineKey("version", 3, fold=True)), stable=True)),
        (LineOrder((version, number)), LineOrder((number, version), b",")),
    ]
    macros = [{order_macros(Order.lines(order)) for order in kind} for kind in kinds]
    assert [len(kind) for kind in macros] == [1, 1, 1]
    assert len(set.union(*macros)) == 3


def test_lines_are_laid_out_as_the_kernels_have_it() -> None:
    text = flatten("rows.cu")
    for name in ("OrderFlag", "KeyFlag"):
        body = re.search(rf"enum {name} {{([^}}]*)}}", text)
        assert body is not None
        for flag, value in re.findall(r"(\w+) = (\d+)", body[1]):
            assert getattr(lines, flag) == int(value)
    assert re.findall(r"\bKIND\((\w+)\)", text) == list(KIND_OF)
    assert lines.TABLE_HEAD == lines.KEY_WORDS == 8


@pytest.mark.parametrize("order", ordered(RECORD_ORDERS))
def test_every_record_order(order: Order) -> None:
    """Merges depend on the record only if keys are longer than prefixes."""
    merges = MERGES if order.width > order.prefix_bytes else ("merge_path.cu",)
    for file in (*(("rows.cu",) if moves_rows(order) else ()), *merges):
        compile_for(90, file, compiler_options(order_macros(order)))


@pytest.mark.parametrize("architecture", SOME)
def test_records_on_every_architecture(architecture: int) -> None:
    for order in filter(moves_rows, RECORD_ORDERS[:6:2]):
        compile_for(architecture, "rows.cu", compiler_options(order_macros(order)))


@pytest.mark.parametrize(("block", "items"), [(1, 1), (2, 2), (3, 64), (1024, 1)])
def test_odd_path_shapes(block: int, items: int) -> None:
    policy = LaunchPolicy("path", block, items, block * items)
    compile_for(75, "merge_path.cu", compiler_options((*order_macros(KeyOrder("int", 2)), *policy_macros(policy))))


FAN_IN_ORDERS = [KeyOrder("int", 4), KeyOrder("uint", 1), Order.lines(), Order.records(12, 0, 8)]


@pytest.mark.parametrize("fan_in", SOME_FAN_INS)
@pytest.mark.parametrize(("order", "transfer"), one_of_each(FAN_IN_ORDERS, ["bulk", "vector"]))
def test_every_fan_in(order: Order, fan_in: int, transfer: Transfer) -> None:
    policy = LaunchPolicy("path", 64, 8, path_tile(64, 8, fan_in), fan_in=fan_in, transfer=transfer)
    architecture = 90 if transfer == "bulk" else 75
    compile_for(architecture, "merge_path.cu", compiler_options((*order_macros(order), *policy_macros(policy))))
    compile_for(architecture, "partition.cu", compiler_options((*order_macros(order), *run_macros(fan_in))))


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


@pytest.mark.parametrize(
    ("architecture", "order"),
    one_of_each((75, 90, 120), [KeyOrder("uint", 4), KeyOrder("float", 8), Order.records(12, 0, 8)]),
)
def test_sorts_on_some_architectures(architecture: int, order: Order) -> None:
    compile_for(architecture, "sort_tile.cu", sort_options(order, architecture))
    for file in (*LEVELS, "sort_serial.cu"):
        compile_for(architecture, file, (*compiler_options(order_macros(order)), "-DBATCHED=1"))


@pytest.mark.parametrize(
    "architecture", [pytest.param(at, marks=() if at == 90 else pytest.mark.thorough) for at in FEW]
)
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


@pytest.mark.parametrize(
    ("order", "value_bytes"),
    one_of_each([KeyOrder("uint", 1), KeyOrder("float", 2, True), KeyOrder("int", 4), KeyOrder("float", 8)], [4, 8]),
)
def test_digits_of_pairs(order: Order, value_bytes: int) -> None:
    digits_compile(90, pair_order(order, value_bytes), pairs=True)


@pytest.mark.parametrize(
    ("architecture", "order"),
    one_of_each(FEW, [KeyOrder("uint", 4), KeyOrder("float", 8), Order.records(12, 0, 8), Order.records(33, 0, 8)]),
)
def test_digits_on_every_architecture(architecture: int, order: Order) -> None:
    digits_compile(architecture, order, wide=architecture % 2 == 0)


@pytest.mark.parametrize(
    "order", [KeyOrder("uint", 1), KeyOrder("float", 2), KeyOrder("int", 8), Order.records(4, 1, 3)]
)
def test_rows_of_keys_and_small_records(order: Order) -> None:
    compile_for(75, "rows.cu", compiler_options(row_macros(order)))


@pytest.mark.parametrize(
    ("architecture", "columns"), one_of_each(FEW, [("uint8", 2, 0), ("int32", 0, 0), ("float64", 0, 16)])
)
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


@pytest.mark.parametrize(
    ("architecture", "columns"),
    one_of_each([one for one in FEW if one >= 90], [("int32", 4), ("float64", 8), ("uint64", 1), ("float32", 2)]),
)
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


@pytest.mark.parametrize(
    ("architecture", "order"),
    one_of_each(ARCHITECTURES, [KeyOrder("uint", 1), KeyOrder("int", 8, True), KeyOrder("float", 4)]),
)
def test_ranks_on_every_architecture(architecture: int, order: Order) -> None:
    ranks_compile(architecture, order)


@pytest.mark.parametrize(
    ("architecture", "columns"),
    one_of_each(FEW, [("uint8", 2), ("int32", 4), ("float64", 8), ("int64", None), ("float32", 12)]),
)
def test_ranks_of_columns(architecture: int, columns: tuple[str, int | None]) -> None:
    along = Columns(Order.of(columns[0]), 1, columns[1])
    ranks_compile(architecture, along.order, along.macros(reads=True, writes=True))
    reading, writing = along.macros(reads=True, writes=False), along.macros(reads=False, writes=True)
    ranks_compile(architecture, along.order, reading, writing)


@pytest.mark.parametrize("fan_in", SOME_FAN_INS)
def test_levels_of_every_fan_in(fan_in: int) -> None:
    for order in (KeyOrder("uint", 8), Order.lines()):
        policy = LaunchPolicy("path", 64, 8, path_tile(64, 8, fan_in), fan_in=fan_in, transfer="bulk")
        options = compiler_options((*order_macros(order), *policy_macros(policy, batched=True)))
        compile_for(90, "merge_path.cu", options)
        options = compiler_options((*order_macros(order), *run_macros(fan_in, batched=True)))
        compile_for(90, "partition.cu", options)


@pytest.mark.parametrize(("architecture", "fan_in"), one_of_each(ARCHITECTURES[::3], FAN_INS))
def test_merges_by_values(architecture: int, fan_in: int) -> None:
    for order in (KeyOrder("uint", 1), KeyOrder("int", 2), KeyOrder("int", 1, True)):
        compile_for(architecture, "merge_values.cu", compiler_options((*order_macros(order), *run_macros(fan_in))))


def walks_compile(architecture: int, order: Order, equals: Equals) -> None:
    """The launches of a set on such a device."""
    limits = DeviceLimits(1024, SHARED[architecture] * 1024, 100, architecture)
    cutting, walking = (*run_macros(2), *CUT_FOR_WALKS), macros_of_walk(order, limits, equals)
    compile_for(architecture, "partition.cu", compiler_options((*comparison_macros(order), *cutting)))
    compile_for(architecture, "walk.cu", compiler_options((*comparison_macros(order), *walking)))


@pytest.mark.parametrize(("order", "equals"), one_of_each(KEY_ORDERS[::4], EVERY_SET[::2]))
def test_sets_of_every_key(order: Order, equals: Equals) -> None:
    walks_compile(90, order, equals)


@pytest.mark.parametrize(
    "order", [Order.records(12, 2, 6), Order.records(8, 4, np.dtype(">f4")), Order.records(16, 0, 8, descending=True)]
)
def test_sets_of_records(order: Order) -> None:
    walks_compile(90, order, EVERY_SET[order.item_bytes % 3])


@pytest.mark.parametrize(
    ("architecture", "order"), one_of_each(FEW, [KeyOrder("uint", 1), KeyOrder("int", 4, True), KeyOrder("float", 8)])
)
def test_sets_on_every_architecture(architecture: int, order: Order) -> None:
    walks_compile(architecture, order, EVERY_SET[architecture % len(EVERY_SET)])


ROWS = [Order.lines(EVERY_COMPARISON), Order.lines(), RECORD_ORDERS[0], RECORD_ORDERS[-2]]


@pytest.mark.parametrize(("architecture", "order"), one_of_each(FEW, ROWS))
def test_sets_of_rows(architecture: int, order: Order) -> None:
    walks_compile(architecture, order, EVERY_SET[(architecture + order.item_bytes) % len(EVERY_SET)])


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_sets_of_rows_on_every_architecture(architecture: int) -> None:
    for turn, order in enumerate(ROWS):
        walks_compile(architecture, order, EVERY_SET[(architecture + turn) % len(EVERY_SET)])


@pytest.mark.thorough
@pytest.mark.parametrize("order", [Order.lines(EVERY_COMPARISON), *filter(moves_rows, RECORD_ORDERS)])
def test_sets_of_all_rows(order: Order) -> None:
    for equals in EVERY_SET:
        walks_compile(90, order, equals)


@pytest.mark.parametrize(("architecture", "pair"), one_of_each(FEW, [("uint8", 2), ("int32", 12), ("float64", 8)]))
def test_sets_with_values(architecture: int, pair: tuple[str, int]) -> None:
    key, value = pair
    columns = Columns(Order.of(key), 2, value)
    limits = DeviceLimits(1024, SHARED[architecture] * 1024, 100, architecture)
    along = columns.macros(reads=True, writes=True)
    walking = macros_of_walk(columns.order, limits, EVERY_SET[0])
    for file, macros in ("partition.cu", (*run_macros(2), *CUT_FOR_WALKS)), ("walk.cu", walking):
        compile_for(architecture, file, compiler_options((*comparison_macros(columns.order), *macros, *along)))


@pytest.mark.parametrize("architecture", [90, 100, 120])
def test_bulk_copies_on_every_device_that_has_them(architecture: int) -> None:
    compile_for(architecture, "merge_path.cu", ("-DKEY_BITS=32", "-DBULK=1"))


@pytest.mark.parametrize("architecture", SOME)
def test_hold(architecture: int) -> None:
    compile_for(architecture, "hold.cu", ())


@pytest.mark.parametrize("architecture", SOME)
def test_joins_of_runs(architecture: int) -> None:
    compile_for(architecture, "join_runs.cu", ())


def test_a_header_is_written_out_once() -> None:
    text = flatten("merge_path.cu")
    assert text.count("struct Lines {") == 1
    # The preprocessor leaves out the CPU's own code.
    assert {line for line in text.splitlines() if line.startswith('#include "')} <= {
        '#include "cpu/words.hpp"', '#include "cpu/lines.hpp"', '#include "cpu/field_marks.hpp"',
        '#include "cpu/typed_words.hpp"',
    }  # fmt: skip
