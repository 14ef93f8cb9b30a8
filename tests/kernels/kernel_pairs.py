"""Runs that are hard for merges: blocky, disjoint, all equal, tiny, empty, and the textbook's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpumerge_cli.order.kinds import FieldsOrder, Order
from tests.linekeys import key_of

Run = np.ndarray[Any, Any]

BOOK_PAIRS: dict[str, tuple[list[int], list[int]]] = {
    "book_five_and_four": ([1, 7, 8, 9, 10], [7, 10, 10, 12]),
    "book_eight_and_seven": ([0, 1, 4, 5, 5, 7, 8, 9], [1, 1, 3, 6, 6, 7, 9]),
}


def in_order(order: Order, keys: Run) -> Run:
    """`keys`, sorted by `order`."""
    return keys[np.argsort(order.image(keys), kind="stable")]


def number_pairs(seed: int) -> Iterator[tuple[str, Run, Run]]:
    """Named pairs of ascending small integers (0 to 120), to be turned into keys of any dtype."""
    random = np.random.default_rng(seed)
    yield from ((name, np.array(a), np.array(b)) for name, (a, b) in BOOK_PAIRS.items())
    for block in (1, 2, 3, 5, 8, 13):
        ranks = np.arange(60) // block
        yield f"blocks_of_{block}", 2 * ranks, 2 * ranks + 1
        yield f"uneven_blocks_of_{block}", ranks[:37] * 3 % 121, np.sort(random.integers(0, 8, 51)) * block
    yield "a_below_b", np.arange(40), np.arange(50, 83)
    yield "b_below_a", np.arange(50, 83), np.arange(40)
    yield "all_equal", np.full(45, 7), np.full(38, 7)
    yield "one_item_in_a", np.array([20]), np.arange(61)
    yield "one_item_in_b", np.arange(61), np.array([20])
    yield "a_empty", np.arange(0), np.arange(17)
    yield "b_empty", np.arange(17), np.arange(0)
    yield "both_empty", np.arange(0), np.arange(0)
    yield "evens_and_odds", np.arange(0, 100, 2), np.arange(1, 100, 2)
    for m, n in ((1, 1), (2, 3), (16, 16), (17, 15), (64, 7)):
        yield f"random_{m}_{n}", np.sort(random.integers(0, 121, m)), np.sort(random.integers(0, 121, n))


def special_floats(order: Order) -> Run:
    """Floats that a careless comparison mixes up: NaNs of several payloads, both zeros, subnormals, infinities."""
    bits = 8 * order.width
    sign, infinity = 1 << (bits - 1), order.infinity or 0
    magnitudes = [0, 0, 1, 2, 3, infinity - 1, infinity, infinity + 1, infinity + 5, sign - 1, 1 << (bits - 4)]
    return np.array([m | s for m in magnitudes for s in (0, sign)], order.unsigned).view(order.dtype)


def key_pairs(order: Order, seed: int) -> Iterator[tuple[str, Run, Run]]:
    """The pairs of `number_pairs` as keys of the order, sorted by it, and pairs of the dtype's own oddities."""
    for name, a, b in number_pairs(seed):
        low = -60 if order.kind != "uint" else 0
        yield name, *(in_order(order, (run + low).astype(order.dtype)) for run in (a, b))
    random = np.random.default_rng(seed + 1)
    raw = random.integers(0, 256, 70 * order.width, dtype=np.uint8).view(order.dtype)
    yield "any_bits", in_order(order, raw[:31]), in_order(order, raw[31:])
    if order.kind == "float":
        special = special_floats(order)
        yield "special_floats", in_order(order, random.permutation(np.tile(special, 2))), in_order(order, special[::-1])


def key_runs(order: Order, runs: int, seed: int) -> Iterator[tuple[str, list[Run]]]:
    """Named lists of `runs` runs of keys of the order, sorted by it: some empty, some of one value, some blocky."""
    random = np.random.default_rng(seed)
    low = -60 if order.kind != "uint" else 0

    def keys(numbers: Iterator[Run] | list[Run]) -> list[Run]:
        return [in_order(order, (np.asarray(run) + low).astype(order.dtype)) for run in numbers]

    yield "random", keys([random.integers(0, 121, random.integers(0, 40)) for _ in range(runs)])
    yield "few_values", keys([random.integers(0, 3, random.integers(0, 40)) * 50 for _ in range(runs)])
    yield "all_equal", keys([np.full(random.integers(0, 30), 7) for _ in range(runs)])
    yield "disjoint", keys([np.arange(11) * 121 // (11 * runs) + run * 121 // runs for run in range(runs)])
    yield "disjoint_backwards", keys([np.full(9, 121 - 121 * run // runs - 1) for run in range(runs)])
    yield "one_long", keys([random.integers(0, 121, 90 if run == runs // 2 else 1) for run in range(runs)])
    yield "mostly_empty", keys([random.integers(0, 121, 40 if run % 3 == 1 else 0) for run in range(runs)])
    yield "blocky", keys([np.repeat(np.arange(run, 121, runs), 1 + run % 4)[:40] for run in range(runs)])
    yield "all_empty", keys([np.arange(0) for _ in range(runs)])
    if order.kind == "float":
        special = special_floats(order)
        yield "special_floats", [in_order(order, random.permutation(special)) for _ in range(runs)]


def record_pairs(order: Order, seed: int) -> Iterator[tuple[str, Run, Run]]:
    """Pairs of sorted records, rows of uint8 arrays, whose keys tie, or differ in their last bytes alone."""
    random = np.random.default_rng(seed)
    pairs = [("mixed", 40, 37), ("a_tiny", 1, 30), ("b_tiny", 30, 1), ("a_empty", 0, 9), ("both_empty", 0, 0)]
    for name, m, n in pairs:
        records = random.integers(0, 256, (m + n, order.record), dtype=np.uint8)
        for part in order.parts if isinstance(order, FieldsOrder) else [order]:
            key = records[:, part.offset : part.offset + part.width]
            key[:, : -2 if part.width > 2 else 0] = 0x80  # so that most prefixes are equal
            key &= 0x81
            if name == "mixed":
                key[::3] = random.integers(0, 256, key[::3].shape, dtype=np.uint8)
        a, b = (
            run[np.argsort(order.image(order.keys(run.reshape(-1))), kind="stable")]
            for run in (records[:m], records[m:])
        )
        yield name, a, b


WORDS = [
    b"", b"a", b"a\0", b"a\0\0", b"ab", b"abcdefgh", b"abcdefgh\0", b"abcdefghi", b"abcdefgh\xff", b"\xff", b" ",
]  # fmt: skip
LONG = [b"x" * 40 + bytes([48 + i % 5]) * (i % 7) for i in range(14)]
NUMBERS = [
    b"0", b"-0", b"00", b"", b"-", b"+5", b"x", b"1", b"01", b" 1", b"\t1", b"1.0", b"1.", b".5", b"-.5", b"0.50",
    b"-1", b"-10", b"-9.99", b"10", b"9", b"1e9", b"1.2.3", b"0.000001", b"0.0000012", b"-0.000001",
    b"123456789012345678", b"123456789012345679", b"-123456789012345678", b"-123456789012345679",
    b"9" * 30, b"9" * 30 + b".1", b"1" + b"0" * 30,
]  # fmt: skip
KEYED = [
    b"b,2,JAN", b"B,2.0,feb", b"b!,10,Feb 3", b"b,,dec", b",2e1,x", b"  b \t20 Mar", b"b 0x14,0x14", b"a\nb c",
    b"1K", b"1000", b"-2M", b"inf", b"nan", b"1e400", b"v1.10.tar.gz", b"v1.9", b"v1.09", b"~v1", b"a.b~",
]  # fmt: skip
"""Lines with fields, and values of the kinds of keys."""


def line_pairs(order: Order, seed: int) -> Iterator[tuple[str, list[bytes], list[bytes]]]:
    """Pairs of sorted lists of lines, each with its terminator."""
    random = np.random.default_rng(seed)
    has_keys = order.text is not None and order.text.keys
    pool = WORDS + LONG + NUMBERS + (KEYED if has_keys else [])
    for name, m, n in (("mixed", 40, 37), ("a_tiny", 1, 50), ("b_tiny", 50, 1), ("a_empty", 0, 20)):
        chosen = [pool[i] for i in random.integers(0, len(pool), m + n)]
        yield name, sorted_lines(order, chosen[:m]), sorted_lines(order, chosen[m:])
    ties = [b"tie to the last" for _ in range(30)]
    yield "long_ties", sorted_lines(order, ties + LONG), sorted_lines(order, ties[:20] + LONG)
    yield "whole_pool", sorted_lines(order, pool), sorted_lines(order, pool[::-1])
    if order.text is not None and order.text.numeric:
        # Exponents beyond what a prefix holds.
        huge = [b"7" * 33000, b"7" * 32999 + b"8", b"-" + b"7" * 33000, b"8" * 32800, b"-" + b"8" * 32800]
        tiny = [b"." + b"0" * zeros + digit for zeros in (32765, 32766, 32767, 33000) for digit in (b"1", b"2")]
        yield "beyond_the_prefix", sorted_lines(order, huge + NUMBERS[:5]), sorted_lines(order, tiny + huge[:2])


def sorted_lines(order: Order, lines: list[bytes]) -> list[bytes]:
    """Lines in order, each with its terminator."""
    assert order.text is not None
    end = bytes([order.text.terminator])
    return [line + end for line in sorted((line.replace(end, b"") for line in lines), key=key_of(order))]
