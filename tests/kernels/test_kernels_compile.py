"""The kernels of merges compile for every device generation, by NVRTC, which needs no device."""

from __future__ import annotations

import itertools
import re

import pytest
from nvrtc import (
    ARCHITECTURES,
    EVERY_COMPARISON,
    FEW,
    KEY_ORDERS,
    LEVELS,
    MERGES,
    ONE,
    RECORD_ORDERS,
    SOME,
    SOME_FAN_INS,
    compile_for,
    ordered,
)

from gpumerge_cli.backends.gpu.source import (
    RunsForm,
    compiler_options,
    flatten,
    moves_rows,
    order_macros,
    policy_macros,
    run_macros,
    text_macros,
)
from gpumerge_cli.backends.variants.rung4_path import path_tile
from gpumerge_cli.launch import FAN_INS, LaunchPolicy, Transfer
from gpumerge_cli.order import rules as lines
from gpumerge_cli.order.key_kinds import KIND_OF
from gpumerge_cli.order.kinds import KeyOrder, Order
from gpumerge_cli.order.rules import NUL, LineKey, LineOrder

pytestmark = pytest.mark.usefixtures("quickly")


@pytest.mark.one_of_each
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


@pytest.mark.one_of_each
@pytest.mark.parametrize("order", KEY_ORDERS[::2])
@pytest.mark.parametrize("file", LEVELS[1:])
def test_every_kernel_for_keys(order: Order, file: str) -> None:
    compile_for(90, file, compiler_options(order_macros(order)))


@pytest.mark.parametrize("architecture", ONE)
@pytest.mark.parametrize(
    "order", [EVERY_COMPARISON, pytest.param(LineOrder(), marks=pytest.mark.thorough)], ids=["all", "bytes"]
)
def test_lines_on_every_architecture(architecture: int, order: LineOrder) -> None:
    merges = MERGES if architecture == 75 and order.keys else ("merge_path.cu",)
    for file in ("rows.cu", *merges):
        compile_for(architecture, file, compiler_options(order_macros(Order.lines(order))))


@pytest.mark.parametrize("order", ordered(KEY_ORDERS))
@pytest.mark.parametrize(
    "architecture", [at if at == 90 else pytest.param(at, marks=pytest.mark.thorough) for at in FEW]
)
def test_searches_in_arrays(order: Order, architecture: int) -> None:
    for file in ("select.cu", "groups.cu", "ranks.cu"):
        compile_for(architecture, file, compiler_options(order_macros(order)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("architecture", SOME)
def test_text_on_every_architecture(architecture: int) -> None:
    compile_for(architecture, "text.cu", compiler_options(text_macros()))
    compile_for(architecture, "strings.cu", compiler_options(()))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "comparison",
    [kind if at % 8 == 0 else pytest.param(kind, marks=pytest.mark.thorough) for at, kind in enumerate(KIND_OF)],
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


@pytest.mark.one_in(2)
@pytest.mark.parametrize("architecture", SOME)
def test_records_on_every_architecture(architecture: int) -> None:
    for order in filter(moves_rows, RECORD_ORDERS[:6:2]):
        compile_for(architecture, "rows.cu", compiler_options(order_macros(order)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("block", "items"), [(1, 1), (2, 2), (3, 64), (1024, 1)])
def test_odd_path_shapes(block: int, items: int) -> None:
    policy = LaunchPolicy("path", block, items, block * items)
    compile_for(75, "merge_path.cu", compiler_options((*order_macros(KeyOrder("int", 2)), *policy_macros(policy))))


FAN_IN_ORDERS = [KeyOrder("int", 4), KeyOrder("uint", 1), Order.records(12, 0, 8)]


@pytest.mark.parametrize("fan_in", SOME_FAN_INS)
@pytest.mark.one_of_each
@pytest.mark.parametrize("order", FAN_IN_ORDERS)
@pytest.mark.parametrize("transfer", ["bulk", "vector"])
def test_every_fan_in(order: Order, fan_in: int, transfer: Transfer) -> None:
    fan_in_compiles(order, fan_in, transfer)


@pytest.mark.thorough
@pytest.mark.parametrize("fan_in", [at if at == 16 else pytest.param(at, marks=pytest.mark.thorough) for at in FAN_INS])
@pytest.mark.parametrize("transfer", ["bulk", pytest.param("vector", marks=pytest.mark.thorough)])
def test_lines_of_every_fan_in(fan_in: int, transfer: Transfer) -> None:
    fan_in_compiles(Order.lines(), fan_in, transfer)


def fan_in_compiles(order: Order, fan_in: int, transfer: Transfer) -> None:
    policy = LaunchPolicy("path", 64, 8, path_tile(64, 8, fan_in), fan_in=fan_in, transfer=transfer)
    architecture = 90 if transfer == "bulk" else 75
    compile_for(architecture, "merge_path.cu", compiler_options((*order_macros(order), *policy_macros(policy))))
    compile_for(architecture, "partition.cu", compiler_options((*order_macros(order), *run_macros(fan_in))))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("fan_in", SOME_FAN_INS)
@pytest.mark.parametrize("form", ["level", "groups"])
def test_levels_and_groups_of_every_fan_in(fan_in: int, form: RunsForm) -> None:
    form_compiles(KeyOrder("uint", 8), fan_in, form)


@pytest.mark.thorough
@pytest.mark.parametrize("fan_in", [at if at == 16 else pytest.param(at, marks=pytest.mark.thorough) for at in FAN_INS])
@pytest.mark.parametrize("form", ["level", "groups"])
def test_levels_and_groups_of_lines_of_every_fan_in(fan_in: int, form: RunsForm) -> None:
    form_compiles(Order.lines(), fan_in, form)


@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("order", FAN_IN_ORDERS)
def test_groups_on_every_architecture(architecture: int, order: Order) -> None:
    form_compiles(order, 8, "groups", architecture)
    compile_for(architecture, "write_words.cu", ())


def form_compiles(order: Order, fan_in: int, form: RunsForm, architecture: int = 90) -> None:
    transfer: Transfer = "bulk" if architecture >= 90 else "vector"
    policy = LaunchPolicy("path", 64, 8, path_tile(64, 8, fan_in), fan_in=fan_in, transfer=transfer)
    options = compiler_options((*order_macros(order), *policy_macros(policy, form)))
    compile_for(architecture, "merge_path.cu", options)
    options = compiler_options((*order_macros(order), *run_macros(fan_in, form)))
    compile_for(architecture, "partition.cu", options)


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", ARCHITECTURES[::3])
@pytest.mark.parametrize("fan_in", FAN_INS)
def test_merges_by_values(architecture: int, fan_in: int) -> None:
    for order in (KeyOrder("uint", 1), KeyOrder("int", 2), KeyOrder("int", 1, True)):
        compile_for(architecture, "merge_values.cu", compiler_options((*order_macros(order), *run_macros(fan_in))))


@pytest.mark.one_in(3)
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
