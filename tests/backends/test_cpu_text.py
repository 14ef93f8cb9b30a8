"""The CPU backend's lines: every fast path equals its plain counterpart, and all of them the plainest one."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpumerge_cli.backends.cpu import numbers
from gpumerge_cli.backends.cpu.library import LIBRARY
from gpumerge_cli.backends.cpu.rows import PADDING, LineRows
from gpumerge_cli.backends.cpu.team import Team
from gpumerge_cli.lines import COMPARE_WORD, COMPARISONS, Comparison, LineKey, LineOrder
from gpumerge_cli.order import Order
from tests import line_cases
from tests.line_prefix import packed, packed_prefixes, prefix
from tests.oracles import number_of

_NUMBERS = st.one_of(
    st.from_regex(rb"[ \t]{0,2}-?[0-9]{0,17}(\.[0-9]{0,17})?[ .x:/]?[0-9]?", fullmatch=True),
    st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")),
)
_NUMERIC = LineOrder((LineKey("numeric"),))


class Indexed:
    """Lines as the backend has them: row numbers are those of `lines`."""

    def __init__(self, order: LineOrder, lines: list[bytes]) -> None:
        end = bytes([order.terminator])
        data = b"".join(line + end for line in lines)
        self.rows = LineRows(Order.lines(order))
        self.room = np.frombuffer(data + b"9" * PADDING, np.uint8).copy()
        with Team(2) as team:
            assert self.rows.index(self.room, [0, len(data)], team) == [0, len(lines)]
        self.prefixes: list[int] = self.rows.prefixes[: len(lines)].tolist()

    def compare(self, y: int, x: int) -> int:
        _, text, starts, table = self.rows.context()
        return LIBRARY.function("compare_keyed")(text, starts, y, x, table)


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"\x8a")), max_size=30))
def test_lines_are_found_where_they_start(lines: list[bytes]) -> None:
    starts = Indexed(LineOrder(), lines).rows.starts
    assert starts[: len(lines) + 1].tolist() == np.cumsum([0, *(len(line) + 1 for line in lines)]).tolist()


@given(_NUMBERS)
@example(b"12345678")
@example(b"12345678.5")
@example(b"-12345678901234")
@example(b"1234567890123456")
@example(b"12345678901234567")
def test_the_short_way_to_a_number_equals_the_long_one(line: bytes) -> None:
    room = ctypes.create_string_buffer(line + b"\n" + b"9" * PADDING)
    start = ctypes.addressof(room)
    stop = start + len(line)
    assert numbers.number_image(start, stop) == numbers.image_of_any_number(start, stop)


@pytest.mark.parametrize("comparison", COMPARISONS)
@given(data=st.data())
def test_prefixes_and_comparisons_equal_the_plain_ones(comparison: Comparison, data: st.DataObject) -> None:
    case = data.draw(line_cases.cases((comparison, "bytes", "numeric")))
    lines = data.draw(line_cases.lines(case.order, 8))
    order = case.order
    indexed = Indexed(order, lines)
    if not order.keys:
        assert indexed.prefixes == packed_prefixes(order.reverse, [line[common_start(lines) :] for line in lines])
        return
    words = [prefix(order, line, 16).to_bytes(16, "big") for line in lines]
    if not any(line_cases.INEXACT.search(line) for line in lines):
        if indexed.rows._simple:
            assert indexed.prefixes == [prefix(order, line) for line in lines]
        else:
            assert indexed.prefixes == packed(words, 56)
            assert indexed.rows._following[: len(lines)].tolist() == [int.from_bytes(word[8:], "big") for word in words]
        if told_by_prefixes(indexed):
            by_keys = replace(order, stable=True)
            told = [word[:8] if indexed.rows._simple else word for word in words]
            for y, word in enumerate(told):
                assert all(by_keys.key(lines[y]) == by_keys.key(lines[x]) for x in range(y) if told[x] == word)
    keys = [order.key(line) for line in lines]
    for y in range(len(lines)):
        for x in range(len(lines)):
            found = indexed.compare(y, x)
            assert (found > 0) - (found < 0) == (keys[y] > keys[x]) - (keys[y] < keys[x]), (lines[y], lines[x])


@given(st.binary(max_size=20), st.lists(st.binary(max_size=9), min_size=1, max_size=9), st.booleans())
def test_what_all_lines_begin_with_is_left_out(start: bytes, ends: list[bytes], reverse: bool) -> None:
    lines = [(start + end).replace(b"\n", b"") for end in ends]
    indexed = Indexed(LineOrder(reverse=reverse), lines)
    common = common_start(lines)
    assert int(indexed.rows._table[7]) == common
    assert indexed.prefixes == packed_prefixes(reverse, [line[common:] for line in lines])


# Lines of few different bytes, of up to a word more than prefixes look at, with and without zeros.
_SIMILAR = st.sampled_from([b"0123456789-", b"ab", bytes(3) + b"01", bytes(range(10)) + bytes(range(11, 256))]).flatmap(
    lambda bytes_of: st.lists(st.lists(st.sampled_from(bytes_of), max_size=32).map(bytes), min_size=1, max_size=12)
)


@given(_SIMILAR, st.booleans())
def test_packed_prefixes_order_as_the_lines_do(lines: list[bytes], reverse: bool) -> None:
    indexed = Indexed(LineOrder(reverse=reverse), lines)
    assert indexed.prefixes == packed_prefixes(reverse, [line[common_start(lines) :] for line in lines])
    for y, mine in zip(lines, indexed.prefixes, strict=True):
        for x, other in zip(lines, indexed.prefixes, strict=True):
            if mine < other:
                assert x < y if reverse else y < x
            if mine == other and indexed.rows._told:
                assert y == x


def test_prefixes_tell_all_of_short_lines_without_zeros() -> None:
    numbers = [b"%d" % n for n in range(-1000, 1000)]
    assert Indexed(LineOrder(), numbers).rows._told
    assert not Indexed(LineOrder(), [*numbers, b"1\0"]).rows._told
    assert not Indexed(LineOrder(), [*numbers, b"1" * 40]).rows._told
    assert not Indexed(LineOrder(), [*numbers, b"1" * 20, b"7" * 20]).rows._told


def common_start(lines: list[bytes]) -> int:
    shortest = min(map(len, lines), default=0)
    return next((at for at, each in enumerate(zip(*lines, strict=False)) if len(set(each)) > 1), shortest)


def told_by_prefixes(indexed: Indexed) -> bool:
    """Whether ties go straight to the last resort."""
    return int(indexed.rows._table[COMPARE_WORD]) == LIBRARY.address("compare_last_resort")


@pytest.mark.parametrize(
    ("keys", "lines", "told"),
    [
        (("numeric",), [b"1", b"-2.5", b"x"], True),
        (("numeric",), [b"1", b"12345678901234567"], False),
        (("numeric", "numeric"), [b"1", b"-2.5"], True),
        (("bytes",), [b"a" * 15, b""], True),
        (("bytes",), [b"a" * 16, b""], False),
        (("bytes", "numeric"), [b"1234567", b"1"], True),
        (("bytes", "numeric"), [b"12345678", b"1"], False),
        (("general",), [b"1"], False),
    ],
)
def test_prefixes_tell_keys_that_they_hold(keys: tuple[Comparison, ...], lines: list[bytes], told: bool) -> None:
    assert told_by_prefixes(Indexed(LineOrder(tuple(map(LineKey, keys)), separator=44), lines)) == told


def test_numbers_of_sixteen_digits_or_fewer_are_told_apart_by_prefix() -> None:
    lines = [
        b"-9999999999999999",
        b"-2",
        b"-1.5",
        b"-.001",
        b"-.0001",
        b"0",
        b"1e9",
        b"1.000000000000001",
        b"9999999999999999",
    ]
    prefixes = Indexed(_NUMERIC, lines).prefixes
    assert [number_of(line) for line in lines] == sorted(number_of(line) for line in lines)
    assert len(set(prefixes)) == len(lines)
    assert prefixes == sorted(prefixes)


def test_exponents_beyond_the_prefix_still_compare() -> None:
    numbers = 40_000
    lines = [
        b"1" + b"0" * numbers,
        b"2" + b"0" * numbers,
        b"1" + b"0" * (numbers + 1),
        b"." + b"0" * numbers + b"1",
        b"0",
    ]
    indexed = Indexed(_NUMERIC, lines)
    keys = [_NUMERIC.key(line) for line in lines]
    for y in range(len(lines)):
        for x in range(len(lines)):
            assert (indexed.compare(y, x) < 0) == (keys[y] < keys[x])


def test_hexadecimal_numbers_keep_the_limits_of_a_long_double() -> None:
    order = LineOrder((LineKey("general"),))
    lines = [
        b"0x1p20000", b"-0x1p20000", b"inf", b"-inf", b"1e5000", b"0x1p16384", b"0x1.fffffffffffffffep16383", b"1e4932",
        b"0x1p-16445", b"0x1.8p-16446", b"0x1p-16446", b"0x1p-20000", b"0", b"0x10", b"16",
    ]  # fmt: skip
    indexed = Indexed(order, lines)
    keys = [order.key(line) for line in lines]
    assert [int(found) for found in indexed.prefixes] == [prefix(order, line) for line in lines]
    for y, mine in enumerate(keys):
        for x, other in enumerate(keys):
            found = indexed.compare(y, x)
            assert (found > 0) - (found < 0) == (mine > other) - (mine < other), (lines[y], lines[x])
