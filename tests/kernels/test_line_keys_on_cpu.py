"""Orders of lines in the kernels, run on the CPU under sanitizers: held against Python's keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_shim import MERGES, Case, Program, Variant

from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.line_cases import INEXACT, KNOWN_TO_SORT, TYPED, cases, lines
from tests.line_prefix import prefix
from tests.linekeys import is_at_fault, item_key, key_of

KINDS: dict[str, list[tuple[str, ...]]] = {
    "some": [(), ("human", "version", "random"), TYPED], "others": [("numeric", "bytes"), ("general", "month")]
}  # fmt: skip
"""The ways in which the keys of some orders compare: together all of them, and no keys at all."""
EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "15"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program([Variant(Order.lines(), 4, 3)], "address", tmp_path_factory.mktemp("lines"))


@pytest.fixture(scope="module", params=["some", pytest.param("others", marks=pytest.mark.thorough)])
def narrow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Program]:
    orders = [Order.lines(LineOrder(tuple(map(LineKey, kind)))) for kind in KINDS[request.param]]
    variants = [Variant(order, 4, 3, narrow=True, on_path=True) for order in orders]
    return request.param, Program(variants, "address", tmp_path_factory.mktemp("narrow"))


def joined(order: LineOrder, drawn: Sequence[bytes]) -> bytes:
    return b"".join(line + bytes([order.terminator]) for line in drawn)


def case(
    work: str, order: LineOrder, a: Sequence[bytes], expected: bytes, b: Sequence[bytes] = (), variant: int = 0,
    **more: Any,
) -> Case:  # fmt: skip
    return Case(variant, work, joined(order, a), joined(order, b), expected, text=order, **more)


def comparisons(count: int, before: Callable[[int, int], bool]) -> bytes:
    """See ROWS_COMPARE: prefixes and texts together, and texts alone, must say the same."""
    return bytes(3 * before(y, x) for y in range(count) for x in range(count))


def passes(program: Program, checked: list[Case]) -> None:
    status, output = program.run(checked)
    assert status == 0, output


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_lines_compare_as_keys_and_prefixes_do(program: Program, data: st.DataObject) -> None:
    passes(program, [each for _ in range(4) for each in drawn_cases(data, data.draw(cases()).order)])


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_keys_with_nulls_and_invalid_values_do_so_too(program: Program, data: st.DataObject) -> None:
    kinds = data.draw(st.sampled_from([TYPED, KNOWN_TO_SORT, (*TYPED, "numeric", "bytes")]))
    orders = [data.draw(cases(kinds, classed=True)).order for _ in range(4)]
    passes(program, [each for order in orders for each in drawn_cases(data, order)])


@pytest.mark.thorough
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_code_for_some_comparisons_does_as_code_for_all(narrow: tuple[str, Program], data: st.DataObject) -> None:
    taken, program = narrow
    checked = []
    for variant, kind in enumerate(KINDS[taken]):
        keyed = (
            data.draw(cases(kind, classed=kind == TYPED)).order if kind else LineOrder(reverse=data.draw(st.booleans()))
        )
        # An order whose keys compare in fewer ways takes other code.
        missing = [LineKey(way) for way in kind if all(key.compare != way for key in keyed.keys)]
        order = replace(keyed, keys=(*keyed.keys, *missing))
        assert order.compared == LineOrder(tuple(map(LineKey, kind))).compared
        checked += drawn_cases(data, order, variant, ["path"])
    passes(program, checked)


def drawn_cases(data: st.DataObject, order: LineOrder, variant: int = 0, merges: Sequence[str] = MERGES) -> list[Case]:
    """Prefixes, comparisons and a merge of lines in this order, by one of these merges."""
    drawn = data.draw(lines(order))
    if any(key.compare == "general" for key in order.keys):
        drawn = [line for line in drawn if not INEXACT.search(line)]
    keys = [item_key(order, line) for line in drawn]
    prefixes = np.array([prefix(order, line) for line in drawn], np.uint64).tobytes()
    half = sorted(drawn[::2], key=key_of(order)), sorted(drawn[1::2], key=key_of(order))
    merged = joined(order, sorted(half[0] + half[1], key=key_of(order)))
    merge, skews = data.draw(st.sampled_from(merges)), (data.draw(st.integers(0, 3)), 0, 0)
    compared = comparisons(len(drawn), lambda y, x: keys[y] < keys[x])
    shape = {"block": 2, "items": 2, "tile": 4, "blocks": 2}
    faults = (at for at, line in enumerate(drawn) if is_at_fault(order, line))
    fault = next(faults, (1 << 64) - 1).to_bytes(8, "little")
    return [
        *([case("rows_values", order, drawn, fault, variant=variant)] if order.checks_values and variant == 0 else []),
        case("rows_prefixes", order, drawn, prefixes, variant=variant, skews=skews),
        case("rows_compare", order, drawn, compared, variant=variant),
        case("rows_merge", order, half[0], merged, half[1], variant=variant, merge=merge, **shape),
    ]
