"""Orders of lines in the kernels, run on the CPU under sanitizers: held against Python's keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_shim import MERGES, Case, Program, Variant

from gpumerge_cli.order import Order
from gpumerge_cli.order.rules import LineOrder
from tests.line_cases import INEXACT, cases, lines
from tests.line_prefix import prefix
from tests.linekeys import item_key, key_of

EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "15"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program([Variant(Order.lines(), 4, 3)], "address", tmp_path_factory.mktemp("lines"))


def joined(order: LineOrder, drawn: Sequence[bytes]) -> bytes:
    return b"".join(line + bytes([order.terminator]) for line in drawn)


def case(
    work: str, order: LineOrder, a: Sequence[bytes], expected: bytes, b: Sequence[bytes] = (), **more: Any
) -> Case:
    return Case(0, work, joined(order, a), joined(order, b), expected, text=order, **more)


def comparisons(count: int, before: Callable[[int, int], bool]) -> bytes:
    """See ROWS_COMPARE: prefixes and texts together, and texts alone, must say the same."""
    return bytes(3 * before(y, x) for y in range(count) for x in range(count))


def passes(program: Program, checked: list[Case]) -> None:
    status, output = program.run(checked)
    assert status == 0, output


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_lines_compare_as_keys_and_prefixes_do(program: Program, data: st.DataObject) -> None:
    checked = []
    for _ in range(4):
        order = data.draw(cases()).order
        drawn = data.draw(lines(order))
        if any(key.compare == "general" for key in order.keys):
            drawn = [line for line in drawn if not INEXACT.search(line)]
        keys = [item_key(order, line) for line in drawn]
        prefixes = np.array([prefix(order, line) for line in drawn], np.uint64).tobytes()
        half = sorted(drawn[::2], key=key_of(order)), sorted(drawn[1::2], key=key_of(order))
        merged = joined(order, sorted(half[0] + half[1], key=key_of(order)))
        merge = data.draw(st.sampled_from(MERGES))
        checked += [
            case("rows_prefixes", order, drawn, prefixes, skews=(data.draw(st.integers(0, 3)), 0, 0)),
            case("rows_compare", order, drawn, comparisons(len(drawn), lambda y, x, k=keys: k[y] < k[x])),  # type: ignore[misc]
            case("rows_merge", order, half[0], merged, half[1], merge=merge, block=2, items=2, tile=4, blocks=2),
        ]
    passes(program, checked)
