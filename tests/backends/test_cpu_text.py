"""The CPU backend's rows: every fast path equals its plain counterpart."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from gpumerge_cli.backends.cpu import text
from gpumerge_cli.backends.cpu.rows import DESCENDING, NUMERIC, PADDING
from gpumerge_cli.order import Order
from tests.oracles import number_of

_NUMBERS = st.one_of(
    st.from_regex(rb"[ \t]{0,2}-?[0-9]{0,17}(\.[0-9]{0,17})?[ .x:/]?[0-9]?", fullmatch=True),
    st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")),
)


def rows(lines: list[bytes], flags: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(padded text, starts, prefixes)."""
    data = b"".join(line + b"\n" for line in lines)
    room = np.frombuffer(data + b"9" * PADDING, np.uint8)
    starts = np.empty(len(lines) + 1, np.int64)
    assert text.count_lines(room, len(data)) == len(lines)
    assert text.find_lines(room.ctypes.data, len(data), starts) == len(lines)
    prefixes = np.empty(len(lines), np.uint64)
    text.make_prefixes(room.ctypes.data, starts.ctypes.data, 0, len(lines), flags, prefixes)
    return room, starts, prefixes


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"\x8a")), max_size=30))
def test_lines_are_found_where_they_start(lines: list[bytes]) -> None:
    _, starts, _ = rows(lines, 0)
    assert starts.tolist() == np.cumsum([0, *(len(line) + 1 for line in lines)]).tolist()


@given(_NUMBERS)
@example(b"12345678")
@example(b"12345678.5")
@example(b"-12345678901234")
@example(b"123456789012345")
def test_the_short_way_to_a_number_equals_the_long_one(line: bytes) -> None:
    room, starts, prefixes = rows([line], NUMERIC)
    assert prefixes[0] == text.prefix_of_any_number(room.ctypes.data, room.ctypes.data + int(starts[1]) - 1)


@given(st.lists(_NUMBERS, min_size=2, max_size=6), st.booleans(), st.booleans())
def test_prefixes_never_contradict_the_order(lines: list[bytes], numeric: bool, descending: bool) -> None:
    flags = NUMERIC * numeric | DESCENDING * descending
    room, starts, prefixes = rows(lines, flags)
    order = Order.lines(numeric=numeric, descending=descending)
    for y in range(len(lines)):
        for x in range(len(lines)):
            before = order.key(lines[y]) < order.key(lines[x])
            if prefixes[y] < prefixes[x]:
                assert before
            assert text.line_before(room.ctypes.data, starts.ctypes.data, y, x, flags) == before


def test_numbers_of_fourteen_digits_or_fewer_are_told_apart_by_prefix() -> None:
    lines = [
        b"-99999999999999",
        b"-2",
        b"-1.5",
        b"-.001",
        b"-.0001",
        b"0",
        b"1e9",
        b"1.0000000000001",
        b"99999999999999",
    ]
    _, _, prefixes = rows(lines, NUMERIC)
    assert [number_of(line) for line in lines] == sorted(number_of(line) for line in lines)
    assert len(set(prefixes.tolist())) == len(lines)
    assert prefixes.tolist() == sorted(prefixes.tolist())


def test_exponents_beyond_the_prefix_still_compare() -> None:
    numbers = 40_000
    lines = [
        b"1" + b"0" * numbers,
        b"2" + b"0" * numbers,
        b"1" + b"0" * (numbers + 1),
        b"." + b"0" * numbers + b"1",
        b"0",
    ]
    room, starts, _ = rows(lines, NUMERIC)
    order = Order.lines(numeric=True)
    for y in range(len(lines)):
        for x in range(len(lines)):
            found = text.line_before(room.ctypes.data, starts.ctypes.data, y, x, NUMERIC)
            assert found == (order.key(lines[y]) < order.key(lines[x]))
