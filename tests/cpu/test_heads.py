"""The library's merge of heads, fed by pieces of any size, against the plain one."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from tests.cpu.rows_library import Spec, loaded
from tests.line_cases import INEXACT, cases, lines
from tests.linekeys import item_key

EXAMPLES = int(os.environ.get("GPUMERGE_TEST_EXAMPLES", "30"))


class Result(ctypes.Structure):
    """HeadsResult of entries.h."""

    _fields_ = [("at", ctypes.c_void_p)] + [(name, ctypes.c_int64) for name in ("nbytes", "run", "held", "dropped")]


@pytest.fixture(scope="module")
def library() -> Any:
    return loaded()


def merged(
    library: Any, order: Order, runs: list[bytes], equals: Equals, room: int, pieces: Any, before: bytes | None = None
) -> tuple[bytes, list[int], int]:
    """The result, the lines of each run and those left out. pieces(): the bytes to give next.

    Half of the runs are told to be at their end only when nothing is left.
    """
    spec, result, out = Spec(order), Result(), []
    heads = ctypes.c_void_p(
        library.gm_heads_open(
            ctypes.byref(spec.spec), ctypes.c_int64(len(runs)), ctypes.c_int64(equals.value), ctypes.c_int64(room)
        )
    )
    if before is not None:
        library.gm_heads_follow(heads, before, ctypes.c_int64(len(before)))
    given_of = [0] * len(runs)
    while True:
        library.gm_heads_next(heads, ctypes.byref(result))
        if result.nbytes:
            out.append(ctypes.string_at(result.at, result.nbytes))
            assert out[-1].endswith(bytes([spec.spec.terminator]))
        elif result.run < 0:
            break
        else:
            run, start = runs[result.run], given_of[result.run]
            assert result.held == start - run.rfind(bytes([spec.spec.terminator]), 0, start) - 1
            piece = run[start : start + pieces()]
            given_of[result.run] += len(piece)
            last = given_of[result.run] == len(run) and (result.run % 2 == 0 or not piece)
            place = library.gm_heads_room(
                heads, ctypes.c_int64(result.run), ctypes.c_int64(len(piece)), ctypes.c_int64(last)
            )
            ctypes.memmove(place, piece, len(piece))
    assert given_of == [len(run) for run in runs]
    counts = (ctypes.c_int64 * len(runs))()
    library.gm_heads_counts(heads, counts)
    library.gm_heads_close(heads)
    return b"".join(out), list(counts), result.dropped


def plainly(order: Order, runs: list[list[bytes]], equals: Equals, before: bytes | None) -> list[bytes]:
    """The next line is always the least of the runs' next lines; among equal ones, that of the first run."""
    heads, found = [list(run) for run in runs], []
    last = None if before is None else item_key(order, before)
    while any(heads):
        at = min((number for number, run in enumerate(heads) if run), key=lambda at: item_key(order, heads[at][0]))
        line = heads[at].pop(0)
        key = item_key(order, line)
        if equals is Equals.ALL or last is None or key != last:
            found.append(line)
        last = key
    return found


@settings(max_examples=2 * EXAMPLES, deadline=None)
@given(st.data())
def test_any_pieces_give_what_the_plain_merge_gives(library: Any, data: st.DataObject) -> None:
    text: LineOrder = data.draw(cases()).order
    order, end = Order.lines(text), bytes([text.terminator])
    runs = [data.draw(lines(text, 12)) for _ in range(data.draw(st.integers(1, 5)))]
    if any(key.compare == "general" for key in text.keys):
        runs = [[line for line in run if not INEXACT.search(line)] for run in runs]
    equals = data.draw(st.sampled_from([Equals.ALL, Equals.FIRST]))
    before = data.draw(st.sampled_from([None, *(line for run in runs for line in run[:1])]))
    chance = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    most = data.draw(st.sampled_from([1, 20, 300, 5000]))
    given_bytes = [b"".join(line + end for line in run) for run in runs]
    expected = plainly(order, runs, equals, before if equals is Equals.FIRST else None)
    found = merged(
        library,
        order,
        given_bytes,
        equals,
        data.draw(st.sampled_from([1, 50, 1000])),
        lambda: int(chance.integers(1, most + 1)),
        before if equals is Equals.FIRST else None,
    )
    total = sum(map(len, runs))
    assert found == (b"".join(line + end for line in expected), [len(run) for run in runs], total - len(expected))


@pytest.mark.thorough
@pytest.mark.parametrize("equals", [Equals.ALL, Equals.FIRST])
def test_many_lines_of_many_runs(library: Any, seed: int, equals: Equals) -> None:
    """Runs in order for a while, and long lines among them."""
    chance = np.random.default_rng(seed)
    for order in (Order.lines(), Order.lines(numeric=True), Order.lines(descending=True)):
        runs = []
        for _ in range(int(chance.integers(1, 40))):
            run = [b"%d" % number for number in chance.integers(0, 3000, int(chance.integers(0, 300)))]
            if chance.random() < 0.7:
                run.sort(key=lambda line: item_key(order, line))
            for at in np.flatnonzero(chance.random(len(run)) < 0.01):
                run[at] += b" " + b"x" * int(chance.integers(0, 20_000))
            runs.append(run)
        expected = b"".join(line + b"\n" for line in plainly(order, runs, equals, None))
        given_bytes = [b"".join(line + b"\n" for line in run) for run in runs]
        most = int(chance.choice([64, 2000]))
        found = merged(library, order, given_bytes, equals, 4000, lambda most=most: int(chance.integers(1, most)))
        assert found[0] == expected


def test_a_last_line_without_its_end_goes_out(library: Any) -> None:
    """A file that changed may have lost it. No byte is lost; the change itself is an error later."""
    assert merged(library, Order.lines(), [b"b\nx", b"a\nc\n"], Equals.ALL, 9, lambda: 3)[0] == b"a\nb\nxc\n"
