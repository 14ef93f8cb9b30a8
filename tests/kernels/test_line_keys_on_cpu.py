"""Orders of lines in the kernels, run on the CPU under sanitizers: held against Python's keys and the CPU backend."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_shim import MERGES, Case, Program, Variant

from gpumerge_cli.backends.cpu import linekeys, text
from gpumerge_cli.backends.cpu.rows import PADDING
from gpumerge_cli.lines import FOLLOWING_WORD, NUMERIC, PLAIN, LineOrder
from gpumerge_cli.order import Order
from tests.line_cases import INEXACT, cases, lines
from tests.line_prefix import prefix

EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "15"))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    return Program([Variant(Order.lines(), 4, 3)], "address", tmp_path_factory.mktemp("lines"))


class CpuRows:
    """Lines as the CPU backend has them."""

    def __init__(self, order: LineOrder, drawn: Sequence[bytes]) -> None:
        self._room = np.frombuffer(joined(order, drawn) + bytes(PADDING), np.uint8).copy()
        self._starts = np.cumsum([0, *(len(line) + 1 for line in drawn)])
        self._table = order.table()
        self._plain = bool(self._table[0] & PLAIN)
        simple = bool(self._table[0] & (PLAIN | NUMERIC))
        self._following = np.zeros(len(drawn), np.uint64)
        if not simple:
            self._table[FOLLOWING_WORD] = self._following.ctypes.data
        made = text.make_prefixes if simple else linekeys.make_key_prefixes
        self.prefixes = np.zeros(len(drawn), np.uint64)
        made(self._text, self._starts.ctypes.data, 0, len(drawn), self._table.ctypes.data, self.prefixes)

    @property
    def _text(self) -> int:
        return int(self._room.ctypes.data)

    def before(self, y: int, x: int) -> bool:
        context = self._text, self._starts.ctypes.data, y, x, self._table.ctypes.data
        return bool(text.line_before(*context) if self._plain else linekeys.compare_keyed(*context) < 0)


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
        keys = [order.key(line) for line in drawn]
        prefixes = np.array([prefix(order, line) for line in drawn], np.uint64).tobytes()
        half = sorted(drawn[::2], key=order.key), sorted(drawn[1::2], key=order.key)
        merged = joined(order, sorted(half[0] + half[1], key=order.key))
        merge = data.draw(st.sampled_from(MERGES))
        checked += [
            case("rows_prefixes", order, drawn, prefixes, skews=(data.draw(st.integers(0, 3)), 0, 0)),
            case("rows_compare", order, drawn, comparisons(len(drawn), lambda y, x, k=keys: k[y] < k[x])),  # type: ignore[misc]
            case("rows_merge", order, half[0], merged, half[1], merge=merge, block=2, items=2, tile=4, blocks=2),
        ]
    passes(program, checked)


@settings(max_examples=EXAMPLES)
@given(st.data())
def test_lines_compare_as_the_cpu_backend_has_it(program: Program, data: st.DataObject) -> None:
    checked = []
    for _ in range(4):
        order = data.draw(cases()).order
        drawn = data.draw(lines(order))
        on_cpu = CpuRows(order, drawn)
        checked += [
            case("rows_prefixes", order, drawn, on_cpu.prefixes.tobytes()),
            case("rows_compare", order, drawn, comparisons(len(drawn), on_cpu.before)),
        ]
    passes(program, checked)
