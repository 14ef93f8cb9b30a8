"""Runs that are hard for sets, and the plain form of sets of two runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpumerge_cli.order.equals import SETS, Equals
from gpumerge_cli.order.kinds import FieldsOrder, Order
from tests.linekeys import key_of
from tests.strategies import special_values

Run = np.ndarray[Any, Any]
EVERY_SET = [Equals.of_sets(name, distinct=distinct) for name in SETS for distinct in (False, True)]


def images(order: Order, run: Run) -> Run:
    """The key images of a run of keys or of records, which are rows of bytes."""
    return order.image(order.keys(run.reshape(-1)) if order.record else run)


def in_order(order: Order, run: Run) -> Run:
    """`run`, sorted by `order`."""
    return run[np.argsort(images(order, run), kind="stable")]


def kept_in_set(order: Order, a: Run, b: Run, equals: Equals) -> Run:
    """The set of two sorted runs, group by group: indices into both, laid one behind the other."""
    image_a, image_b = images(order, a), images(order, b)
    ends = np.union1d(image_a, image_b)
    parts = [np.arange(0)]
    bounds = [
        np.stack([np.searchsorted(each, ends, side) for side in ("left", "right")]) for each in (image_a, image_b)
    ]
    for group in range(len(ends)):
        counts = [int(of[1, group] - of[0, group]) for of in bounds]
        for start, of, (low, high) in zip((0, len(a)), bounds, equals.kept(counts), strict=True):
            parts.append(start + of[0, group] + np.arange(low, high))
    return np.concatenate(parts)


def set_of(order: Order, a: Run, b: Run, equals: Equals) -> Run:
    """The set of two sorted runs."""
    return np.concatenate([a, b])[kept_in_set(order, a, b, equals)]


def items(order: Order, numbers: Run, random: np.random.Generator) -> Run:
    """Sorted items, one for each of some numbers from 0 to 255, equal if their numbers are equal.

    Records have random bytes around their keys.
    """
    if not order.record:
        pool = in_order(order, special_values(np.dtype(order.dtype))) if order.kind == "float" else None
        chosen = numbers.astype(order.dtype) if pool is None else pool[numbers % len(pool)]
        return in_order(order, chosen)
    records = random.integers(0, 2, (len(numbers), order.record), np.uint8)
    return in_order(order, records)


def set_pairs(order: Order, tile: int, seed: int) -> Iterator[tuple[str, Run, Run]]:
    """Named pairs of sorted runs. tile: see number_pairs."""
    random = np.random.default_rng(seed)
    for name, a, b in number_pairs(tile, random):
        yield name, items(order, a, random), items(order, b, random)


def row_pairs(order: Order, tile: int, seed: int) -> Iterator[tuple[str, list[bytes], list[bytes]]]:
    """The same pairs of lines, each with its terminator, or of records that are merged as rows."""
    random = np.random.default_rng(seed)
    make = records if order.record else lines
    for name, a, b in number_pairs(tile, random):
        yield name, make(order, a, random), make(order, b, random)


def key_of_row(order: Order) -> Callable[[bytes], Any]:
    """The key of a record, or of a line with its terminator."""
    key = key_of(order)
    return key if order.record else lambda line: key(line[:-1])


def lines(order: Order, numbers: Run, random: np.random.Generator) -> list[bytes]:
    """Sorted lines, one for each of some numbers from 0 to 255.

    Lines of one number are equal if all keys are numbers and the order is stable. Many differ behind their prefix only.
    """
    assert order.text is not None
    end = bytes([order.text.terminator])
    loose = order.text.stable and {key.compare for key in order.text.keys} == {"numeric"}
    made = []
    for number in numbers.tolist():
        if loose:
            made.append(b"0" * int(random.integers(0, 30)) + b"%d" % number + b"x" * int(random.integers(0, 3)) + end)
        else:
            made.append(((b"", b"the same beginning ")[number % 2] + b"%03d" % number if number else b"") + end)
    return sorted(made, key=key_of_row(order))


def records(order: Order, numbers: Run, random: np.random.Generator) -> list[bytes]:
    """Sorted records, one for each of some numbers from 0 to 255, which is the last byte of each field of their key."""
    made = random.integers(0, 256, (len(numbers), order.record), np.uint8)
    for part in order.parts if isinstance(order, FieldsOrder) else [order]:
        key = made[:, part.offset : part.offset + part.width]
        key[:] = 7
        key[:, -1] = numbers
    return sorted(map(bytes, made), key=key_of_row(order))


def number_pairs(tile: int, random: np.random.Generator) -> Iterator[tuple[str, Run, Run]]:
    """Named pairs of numbers from 0 to 127 that become sorted runs.

    tile: about the items of a block, so that groups of equals and runs end around tiles' edges.
    """

    def pair(name: str, a: Run, b: Run) -> tuple[str, Run, Run]:
        return name, a, b

    most = 127
    for m, n in ((1, 0), (0, 1), (1, 1), (tile, tile), (2 * tile + 1, tile - 1), (3 * tile - 1, 2)):
        yield pair(f"uniform {m} {n}", random.integers(0, most, m), random.integers(0, most, n))
        yield pair(f"few {m} {n}", random.integers(0, 2, m), random.integers(0, 3, n))
        yield pair(f"equal {m} {n}", np.full(m, 7), np.full(n, 7))
    yield pair("disjoint", np.full(tile + 3, 3), np.full(2 * tile, 5))
    yield pair("same", *[np.arange(2 * tile) * most // (2 * tile)] * 2)
    for group in (2, 3, tile // 2, tile - 1, tile + 1, 3 * tile):
        ranks = np.arange(3 * tile) // group
        yield pair(f"groups of {group}", ranks % most, (ranks + (np.arange(3 * tile) % 3 == 0)) % most)
        yield pair(f"pairs and {group}", np.arange(tile) % 120, np.repeat([5, 90], group))
    for _ in range(4):
        counts = random.integers(0, 2 * tile, (2, 4)) * random.integers(0, 2, (2, 4))
        yield pair("uneven groups", *(np.repeat([1, 2, 50, 90], each) for each in counts))
