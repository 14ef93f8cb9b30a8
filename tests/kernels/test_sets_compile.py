"""The kernels of sets compile for every device generation, by NVRTC, which needs no device."""

from __future__ import annotations

import numpy as np
import pytest
from nvrtc import ARCHITECTURES, EVERY_COMPARISON, FEW, KEY_ORDERS, RECORD_ORDERS, SHARED, compile_for
from set_pairs import EVERY_SET

from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.source import (
    comparison_macros,
    compiler_options,
    moves_rows,
    run_macros,
)
from gpumerge_cli.backends.gpu.walks import CUT_FOR_WALKS, macros_of_walk
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import KeyOrder, Order

pytestmark = pytest.mark.usefixtures("quickly")


def walks_compile(architecture: int, order: Order, equals: Equals) -> None:
    """The launches of a set on such a device."""
    limits = DeviceLimits(1024, SHARED[architecture] * 1024, 100, architecture)
    cutting, walking = (*run_macros(2), *CUT_FOR_WALKS), macros_of_walk(order, limits, equals)
    compile_for(architecture, "partition.cu", compiler_options((*comparison_macros(order), *cutting)))
    compile_for(architecture, "walk.cu", compiler_options((*comparison_macros(order), *walking)))


@pytest.mark.one_of_each
@pytest.mark.parametrize("order", [*KEY_ORDERS[::4], KEY_ORDERS[-1]])
@pytest.mark.parametrize("equals", EVERY_SET[::2])
def test_sets_of_every_key(order: Order, equals: Equals) -> None:
    walks_compile(90, order, equals)


@pytest.mark.parametrize(
    "order", [Order.records(12, 2, 6), Order.records(8, 4, np.dtype(">f4")), Order.records(16, 0, 8, descending=True)]
)
def test_sets_of_records(order: Order) -> None:
    walks_compile(90, order, EVERY_SET[order.item_bytes % 3])


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", FEW)
@pytest.mark.parametrize("order", [KeyOrder("uint", 1), KeyOrder("int", 4, True), KeyOrder("float", 8)])
def test_sets_on_every_architecture(architecture: int, order: Order) -> None:
    walks_compile(architecture, order, EVERY_SET[architecture % len(EVERY_SET)])


ROWS = [Order.lines(EVERY_COMPARISON), Order.lines(), RECORD_ORDERS[0], RECORD_ORDERS[-2]]


@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", FEW)
@pytest.mark.parametrize("order", ROWS)
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


@pytest.mark.one_of_each
@pytest.mark.parametrize("architecture", FEW)
@pytest.mark.parametrize("pair", [("uint8", 2), ("int32", 12), ("float64", 8)])
def test_sets_with_values(architecture: int, pair: tuple[str, int]) -> None:
    key, value = pair
    columns = Columns(Order.of(key), 2, value)
    limits = DeviceLimits(1024, SHARED[architecture] * 1024, 100, architecture)
    along = columns.macros(reads=True, writes=True)
    walking = macros_of_walk(columns.order, limits, EVERY_SET[0])
    for file, macros in ("partition.cu", (*run_macros(2), *CUT_FOR_WALKS)), ("walk.cu", walking):
        compile_for(architecture, file, compiler_options((*comparison_macros(columns.order), *macros, *along)))
