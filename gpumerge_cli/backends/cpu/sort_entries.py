"""What sorts are made of, as it is called from Python; see entries.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray

from gpumerge_cli.backends.cpu import items, kernels, radix
from gpumerge_cli.backends.cpu.sorting import DIGIT, MOST_DIGITS, OUTER
from gpumerge_cli.jit import jit, pointer_to

_COUNTS = (MOST_DIGITS << DIGIT) + OUTER


def _array_of(kind: str, item: Any) -> Any:
    """What makes an array of so many items of an address: pairs, where items are rows."""
    if kind == "rows":
        return jit(lambda address, count: carray(pointer_to(address), (count, 2), np.uint64))
    return jit(lambda address, count: carray(pointer_to(address), (count,), item))


def _differing_bits(kind: str, item: Any, context: Any) -> Callable[..., int]:
    array, find = _array_of(kind, item), radix.differing_bits

    def differing_bits(items: int, first: int, last: int, c0: int, c1: int, c2: int, c3: int) -> int:
        return np.int64(find(array(items, last), first, last, 0, context(c0, c1, c2, c3)))

    return differing_bits


def _count_digits(kind: str, item: Any, context: Any) -> Callable[..., int]:
    array, count = _array_of(kind, item), radix.count_digits

    def count_digits(
        items: int, first: int, last: int, shift: int, bits: int, counts: int, c0: int, c1: int, c2: int, c3: int
    ) -> int:
        room = carray(pointer_to(counts), (1 << bits,), np.uint64)
        count(array(items, last), first, last, shift, bits, room, context(c0, c1, c2, c3))
        return 0

    return count_digits


def _deal(kind: str, item: Any, context: Any) -> Callable[..., int]:
    array, put = _array_of(kind, item), radix.deal

    def deal(
        items: int, out: int, first: int, last: int, shift: int, bits: int, places: int,
        c0: int, c1: int, c2: int, c3: int,
    ) -> int:  # fmt: skip
        room = carray(pointer_to(places), (1 << bits,), np.uint64)
        put(array(items, last), array(out, last), first, last, shift, bits, room, context(c0, c1, c2, c3))
        return 0

    return deal


def _deal_images(kind: str, item: Any, context: Any) -> Callable[..., int]:
    array, put = _array_of(kind, item), radix.deal_images

    def deal_images(
        images: int, out: int, first: int, last: int, shift: int, bits: int, places: int,
        c0: int, c1: int, c2: int, c3: int,
    ) -> int:  # fmt: skip
        words = carray(pointer_to(images), (last,), np.uint64)
        put(words, array(out, last), first, last, shift, bits, carray(pointer_to(places), (1 << bits,), np.uint64))
        return 0

    return deal_images


def _sort_pieces(kind: str, item: Any, context: Any) -> Callable[..., int]:
    array, sort = _array_of(kind, item), radix.sort_pieces

    def sort_pieces(
        items: int, other: int, edges: int, begin: int, end: int, stop: int, depth: int, counts: int,
        c0: int, c1: int, c2: int, c3: int,
    ) -> int:  # fmt: skip
        ends = carray(pointer_to(edges), (end + 1,), np.int64)
        room = carray(pointer_to(counts), (_COUNTS,), np.uint64)
        sort(array(items, stop), array(other, stop), ends, begin, end, depth, room, context(c0, c1, c2, c3))
        return 0

    return sort_pieces


def _deepen(kind: str, item: Any, context: Any) -> Callable[..., int]:
    array, work = _array_of(kind, item), items.deepen

    def deepen(pairs: int, first: int, last: int, depth: int, c0: int, c1: int, c2: int, c3: int) -> int:
        return work(array(pairs, last), first, last, depth, context(c0, c1, c2, c3))

    return deepen


def _make_pairs(kind: str, item: Any, context: Any) -> Callable[..., int]:
    make = radix.make_pairs

    def make_pairs(first: int, last: int, pairs: int, c0: int, c1: int, c2: int, c3: int) -> int:
        make(first, last, carray(pointer_to(pairs), (last, 2), np.uint64), context(c0, c1, c2, c3))
        return 0

    return make_pairs


def _take_numbers(kind: str, item: Any, context: Any) -> Callable[..., int]:
    take = radix.take_numbers

    def take_numbers(pairs: int, count: int) -> int:
        take(pairs, count)
        return 0

    return take_numbers


def _make_images(kind: str, item: Any, context: Any) -> Callable[..., int]:
    make = radix.make_images

    def make_images(items: int, first: int, last: int, images: int, c0: int, c1: int, c2: int, c3: int) -> int:
        room = carray(pointer_to(images), (last,), np.uint64)
        make(carray(pointer_to(items), (last,), item), first, last, room, context(c0, c1, c2, c3))
        return 0

    return make_images


def _fill(kind: str, item: Any, context: Any) -> Callable[..., int]:
    write = radix.fill

    def fill(out: int, first: int, last: int, edges: int, digits: int, c0: int, c1: int, c2: int, c3: int) -> int:
        ends = carray(pointer_to(edges), (digits + 1,), np.int64)
        write(carray(pointer_to(out), (last,), item), first, last, ends, digits, item(c0))
        return 0

    return fill


BUILDERS: dict[str, Callable[[str, Any, Any], Callable[..., int]]] = {
    "differing_bits": _differing_bits,
    "count_digits": _count_digits,
    "deal": _deal,
    "deal_images": _deal_images,
    "sort_pieces": _sort_pieces,
    "deepen": _deepen,
    "make_pairs": _make_pairs,
    "take_numbers": _take_numbers,
    "make_images": _make_images,
    "fill": _fill,
}


def level(kernel: Any, item: Any, context: Any) -> Callable[..., int]:
    """One level of a merge sort, by one of the ladder's kernels."""
    merge = kernels.level_of(kernel)

    def merge_level(
        items: int, out: int, count: int, width: int, first: int, last: int,
        c0: int, c1: int, c2: int, c3: int, block: int, share: int, tile: int, exact: int, scratch: int,
    ) -> int:  # fmt: skip
        merge(
            carray(pointer_to(items), (count,), item), carray(pointer_to(out), (count,), item), width, first, last,
            context(c0, c1, c2, c3), block, share, tile, exact != 0, carray(pointer_to(scratch), (2 * tile,), item),
        )  # fmt: skip
        return 0

    return merge_level
