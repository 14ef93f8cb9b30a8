"""Lines whose numbers are integers are ordered as other lines are, however they are read."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cpu.rows_library import Rows, loaded
from tests.cpu.test_text_bodies import Place, forms
from tests.linekeys import item_key

__all__ = ["forms"]
FAST = ("best", "words")


def number(chance: Random, most: int) -> bytes:
    """A number, in its usual form more often than not."""
    text = str(chance.randrange(-(10**most), 10**most))
    return (
        chance.choice(["", "", "", "0", " ", "\t", "-", "+"]) + text + chance.choice(["", "", "x", ".", ".0", ".5"])
    ).encode()


def test_integers_equal_numbers_read_byte_by_byte(forms: dict[str, Any], seed: int) -> None:
    chance = Random(seed)
    usual = 0
    for _ in range(3000):
        text = number(chance, chance.choice([0, 1, 2, 7, 8, 9, 14, 15, 16, 17])).lstrip()
        text = text[: chance.randrange(len(text) + 1)]
        given = Place(text, chance.randrange(64), chance.choice(b"0 9.-\n")).given
        found = (ctypes.c_int64 * 3)()
        match = re.match(rb"(-?)([0-9]*)(\.?)", text)
        assert match is not None
        value = int(match[2] or b"0") * (-1 if match[1] else 1)
        fits = len(match[2]) < 16 and not match[3]
        for name in FAST:
            forms[name].integer(*given, found)
            assert found[1] == fits, (name, text)
            assert not fits or found[0] == value, (name, text)
            assert not fits or found[2] == (text == b"%d" % value), (name, text)
        usual += fits
    assert usual > 500


@pytest.mark.parametrize("separator", [None, b","])
def test_fields_of_lines_equal_those_of_each_line(forms: dict[str, Any], separator: bytes | None, seed: int) -> None:
    chance = Random(seed)
    for _ in range(60):
        keys = [
            LineKey(
                "bytes",
                first := chance.randrange(4),
                chance.choice([0, 0, 1]),
                chance.choice([None, first, first, 0, 5]),
            )
            for _ in range(3)
        ]
        order = LineOrder((*keys, LineKey("numeric", 1, 0, 1, skip_start=True)), separator)
        table = np.array(order.table())
        longest = chance.choice([3, 20, 64, 65, 130])
        lines = [bytes(chance.choices(b", a1\t", k=chance.randrange(longest + 1))) for _ in range(40)]
        ends = list(accumulate(len(line) + 1 for line in lines))
        room = Place(b"\n".join(lines), chance.randrange(64), ord(","))
        places = (ctypes.c_int64 * 40)(*(end - 1 for end in ends))
        words = table.ctypes.data_as(ctypes.c_void_p)
        expected = []
        for line in lines:
            bounds = (ctypes.c_int64 * (2 * len(order.keys)))()
            forms["bytes"].key_bounds(words, *Place(line, 0, ord(",")).given, bounds)
            expected.append(list(bounds))
        for name in FAST:
            bounds = (ctypes.c_int64 * (80 * len(order.keys)))()
            forms[name].bounds_of_lines(words, room.given[0], places, ctypes.c_int64(40), bounds)
            found = np.array(bounds).reshape(len(order.keys), 40, 2)
            for at, line in enumerate(lines):
                assert found[:, at].ravel().tolist() == expected[at], (name, line, order)


def whole(chance: Random, most: int) -> bytes:
    """A line that is an integer in its usual form."""
    return b"%d" % chance.randrange(-(10**most), 10**most)


def few(chance: Random, most: int) -> bytes:
    """A line of two fields with few different values."""
    return b"%s,%d,%s" % (
        chance.choice([b"ab", b"a", b"", b"abcdefghijklmnop"]),
        chance.randrange(most),
        whole(chance, 1),
    )


def words(chance: Random, most: int) -> bytes:
    """A line of three fields between blanks."""
    return b"user%d %s  %d" % (chance.randrange(30), chance.choice([b"x", b"yy", b"zzz"]), chance.randrange(10**most))


INTEGERS = LineOrder((LineKey("numeric"),))
ORDERS = [
    (LineOrder((LineKey("numeric"),), reverse=True), whole),
    (LineOrder((LineKey("numeric", reverse=True),), reverse=True), whole),
    (LineOrder((LineKey("numeric"),), stable=True), whole),
    (INTEGERS, words),
    (LineOrder((LineKey("numeric", 1, 0, 1),), b","), few),
    (LineOrder((LineKey("numeric", 1, 0, 1, reverse=True),), b",", stable=True), few),
    (LineOrder((LineKey("bytes", 0, 0, 0, fold=True), LineKey("numeric", 1, 0, 1)), b","), few),
    (
        LineOrder(
            (LineKey("numeric", 2), LineKey("bytes", 0, 0, 0, reverse=True), LineKey("numeric", 1)), b",", reverse=True
        ),
        few,
    ),
    (LineOrder((LineKey("bytes", 0, 0, 0), LineKey("numeric", 2, 0, 2, reverse=True))), words),
    (LineOrder((LineKey("bytes", 0, 0, 0), LineKey("numeric", 2, 0, 2)), stable=True), words),
]
ODD = [
    b"",
    b"007",
    b" 7",
    b"7 ",
    b"-0",
    b"-",
    b"1.5",
    b"12345678901234567",
    b"123456789012345",
    b"x\0y",
    b"user1 x\1 5",
    b"a,7.0,1",
]
"""Lines by which a chunk of integers becomes one of any numbers, or nearly so."""


@pytest.mark.parametrize("case", range(len(ORDERS)))
def test_lines_of_integers(case: int, seed: int) -> None:
    library: Any = loaded()
    text, line = ORDERS[case]
    chance, order = Random(seed), Order.lines(text)
    for odd in (0, 0, 1, 3):
        count, most = chance.choice([5, 129, 700]), chance.choice([1, 3, 9, 14])
        lines = [line(chance, most) for _ in range(count)]
        for _ in range(odd):
            lines[chance.randrange(count)] = chance.choice(ODD)
        agree(library, order, lines, lambda item: item_key(order, item), chance)


def agree(library: Any, order: Order, lines: list[bytes], key: Callable[[bytes], Any], chance: Random) -> None:
    """Sorts, merges and checks of these lines give what Python's sort by the keys gives."""
    expected = b"".join(item + b"\n" for item in sorted(lines, key=key))
    threads, cut = chance.choice([1, 2]), chance.randrange(len(lines))
    rows = Rows(library, order, [b"".join(item + b"\n" for item in lines)], threads)
    assert rows.run("gm_sort") == expected
    rows.close()
    runs = [b"".join(item + b"\n" for item in sorted(run, key=key)) for run in (lines[:cut], lines[cut:])]
    rows = Rows(library, order, runs, threads)
    assert rows.disorder() is None
    assert rows.run("gm_merge") == expected
    rows.close()
    place = chance.randrange(len(lines))
    in_order = sorted(lines, key=key)
    swapped = [*in_order[:place], *in_order[place + 1 :], in_order[place]]
    at = next((at for at in range(1, len(lines)) if key(swapped[at]) < key(swapped[at - 1])), None)
    rows = Rows(library, order, [b"".join(item + b"\n" for item in swapped)], threads)
    start = None if at is None else sum(len(item) + 1 for item in swapped[:at])
    assert rows.disorder() == (None if start is None else (0, start))
    rows.close()


@pytest.mark.parametrize("reverse", [False, True])
def test_plain_lines_that_share_bytes_and_hold_zeros(reverse: bool, seed: int) -> None:
    library: Any = loaded()
    chance, order = Random(seed), Order.lines(descending=reverse)
    for _ in range(12):
        shared = chance.choice([b"", b"log: ", b"s" * 40])
        letters = chance.choice([b"ab", b"0123456789", b"a\0", b"aZ9,\xff"])
        most = chance.choice([1, 8, 24, 25, 32, 33, 80])
        lines = [
            shared + bytes(chance.choices(letters, k=chance.randrange(most + 1)))
            for _ in range(chance.choice([3, 300]))
        ]
        if chance.random() < 0.3:
            lines[chance.randrange(len(lines))] = chance.choice([b"", b"l", b"zz"])
        agree(library, order, lines, lambda item: item_key(order, item), chance)
