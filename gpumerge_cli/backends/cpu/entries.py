"""The kernels as they are called from Python: by addresses and counts, compiled for one kind of item.

Names are "kernel" for what makes rows and gathers them, "kernel-kind" for what works on items (see
library.kind_of). All arguments and results are int64; `c0` to `c3` are the context that keys.py describes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numba import carray, cfunc, types

from gpumerge_cli.backends.cpu import heads, kernels, linekeys, packed, records, sort_entries, text
from gpumerge_cli.backends.cpu.packing import PACKING_WORDS, WORDS
from gpumerge_cli.jit import jit, pointer_to
from gpumerge_cli.native import Compiled

_MERGES = {
    "merge_basic": kernels.merge_basic,
    "merge_tiled": kernels.merge_tiled,
    "merge_circular": kernels.merge_circular,
    "merge_path": kernels.merge_path,
}
_LEVELS = {name.replace("merge_", "level_"): kernel for name, kernel in _MERGES.items()}


def compiled(name: str) -> Compiled:
    """Compile the function called `name`. Raises KeyError if there is none."""
    function = _build(name)
    arguments = len(signature(function).parameters)
    made = cfunc(types.int64(*[types.int64] * arguments), error_model="numpy")(function)
    try:
        # What Numba's own cache of compiled functions keeps.
        code: bytes | None = made._library.serialize_using_object_code()[2][0]
    except (AttributeError, TypeError, IndexError):
        code = None
    return Compiled(made.native_name, arguments, code, made.address, made)


def _build(name: str) -> Callable[..., int]:
    kernel, _, kind = name.partition("-")
    if not kind:
        return _ROWS[kernel]()
    item = np.dtype(np.int64 if kind == "rows" else f"u{kind[1:]}").type
    context = _context(kind, item)
    if kernel == "first_disorder":
        return _first_disorder(item, context)
    if kernel == "drop_equals":
        return _drop_equals(item, context)
    if kernel == "running_maxima":
        return _running_maxima(context)
    if kernel == "take_in_turn":
        return _take_in_turn(context)
    if kernel in sort_entries.BUILDERS:
        return sort_entries.BUILDERS[kernel](kind, item, context)
    if kernel in _LEVELS:
        return sort_entries.level(_LEVELS[kernel], item, context)
    return _merge(_MERGES[kernel], item, context)


def _context(kind: str, item: Any) -> Any:
    if kind == "rows":
        return jit(lambda c0, c1, c2, c3: (c0, c1, c2, c3))
    if kind[0] == "f":
        return jit(lambda c0, c1, c2, c3: (item(c0), item(c1), item(c2)))
    return jit(lambda c0, c1, c2, c3: (item(c0),))


def _merge(kernel: Any, item: Any, context: Any) -> Callable[..., int]:
    def merge(
        a: int, m: int, b: int, n: int, out: int, first: int, last: int,
        c0: int, c1: int, c2: int, c3: int, block: int, items: int, tile: int, exact: int, scratch: int,
    ) -> int:  # fmt: skip
        kernel(
            carray(pointer_to(a), (m,), item), carray(pointer_to(b), (n,), item),
            carray(pointer_to(out), (m + n,), item), first, last,
            context(c0, c1, c2, c3), block, items, tile, exact != 0, carray(pointer_to(scratch), (2 * tile,), item),
        )  # fmt: skip
        return 0

    return merge


def _first_disorder(item: Any, context: Any) -> Callable[..., int]:
    find = kernels.first_disorder

    def first_disorder(items: int, start: int, stop: int, strict: int, c0: int, c1: int, c2: int, c3: int) -> int:
        return find(carray(pointer_to(items), (stop,), item), start, stop, strict != 0, context(c0, c1, c2, c3))

    return first_disorder


def _drop_equals(item: Any, context: Any) -> Callable[..., int]:
    drop = kernels.drop_equals

    def drop_equals(items: int, count: int, ahead: int, c0: int, c1: int, c2: int, c3: int) -> int:
        return drop(carray(pointer_to(items), (count,), item), ahead != 0, context(c0, c1, c2, c3))

    return drop_equals


def _running_maxima(context: Any) -> Callable[..., int]:
    find = heads.running_maxima

    def running_maxima(first: int, last: int, out: int, c0: int, c1: int, c2: int, c3: int) -> int:
        find(first, last, carray(pointer_to(out), (last,), np.int64), context(c0, c1, c2, c3))
        return 0

    return running_maxima


def _take_in_turn(context: Any) -> Callable[..., int]:
    take = heads.take_in_turn

    def take_in_turn(
        merged: int, count: int, edges: int, taken: int, runs: int, unique: int, c0: int, c1: int, c2: int, c3: int
    ) -> int:
        rows = carray(pointer_to(merged), (count,), np.int64)
        ends, counts = carray(pointer_to(edges), (runs + 1,), np.int64), carray(pointer_to(taken), (runs,), np.int64)
        return take(rows, ends, counts, unique != 0, context(c0, c1, c2, c3))

    return take_in_turn


def _count_lines() -> Callable[..., int]:
    count = text.count_lines

    def count_lines(room: int, first: int, last: int, terminator: int) -> int:
        return count(carray(pointer_to(room), (last,), np.uint8), first, last, terminator)

    return count_lines


def _find_lines() -> Callable[..., int]:
    find = text.find_lines

    def find_lines(room: int, first: int, last: int, terminator: int, starts: int, line: int) -> int:
        find(room, first, last, terminator, carray(pointer_to(starts), (last + 1,), np.int64), line)
        return 0

    return find_lines


def _make_prefixes() -> Callable[..., int]:
    make = text.make_prefixes

    def make_prefixes(room: int, starts: int, first: int, last: int, table: int, prefixes: int) -> int:
        return make(room, starts, first, last, table, carray(pointer_to(prefixes), (last,), np.uint64))

    return make_prefixes


def _make_key_prefixes() -> Callable[..., int]:
    make = linekeys.make_key_prefixes

    def make_key_prefixes(room: int, starts: int, first: int, last: int, table: int, prefixes: int) -> int:
        return make(room, starts, first, last, table, carray(pointer_to(prefixes), (last,), np.uint64))

    return make_key_prefixes


def _differing_words() -> Callable[..., int]:
    find = packed.differing_words

    def differing_words(room: int, starts: int, first: int, last: int, skip: int, masks: int) -> int:
        return find(room, starts, first, last, skip, carray(pointer_to(masks), (WORDS,), np.uint64))

    return differing_words


def _make_packed_prefixes() -> Callable[..., int]:
    make = packed.make_packed_prefixes

    def make_packed_prefixes(
        room: int, starts: int, first: int, last: int, table: int, packing: int, prefixes: int
    ) -> int:
        words = carray(pointer_to(packing), (PACKING_WORDS,), np.uint64)
        make(room, starts, first, last, table, words, carray(pointer_to(prefixes), (last,), np.uint64))
        return 0

    return make_packed_prefixes


def _pack_images() -> Callable[..., int]:
    pack = packed.pack_images

    def pack_images(prefixes: int, following: int, first: int, last: int, packing: int) -> int:
        words = carray(pointer_to(packing), (PACKING_WORDS,), np.uint64)
        images = carray(pointer_to(prefixes), (last,), np.uint64)
        pack(images, carray(pointer_to(following), (last,), np.uint64), first, last, words)
        return 0

    return pack_images


def _common_start() -> Callable[..., int]:
    common = text.common_start

    def common_start(room: int, starts: int, first: int, last: int) -> int:
        return common(room, starts, first, last)

    return common_start


def _compare(compare: Any) -> Callable[..., int]:
    def compare_keyed(room: int, starts: int, y: int, x: int, table: int) -> int:
        return compare(room, starts, y, x, table)

    return compare_keyed


def _total_lengths() -> Callable[..., int]:
    add = text.total_lengths

    def total_lengths(starts: int, lines: int, count: int, first: int, last: int, group: int, totals: int) -> int:
        sums = carray(pointer_to(totals), (last,), np.int64)
        add(starts, carray(pointer_to(lines), (count,), np.int64), first, last, group, sums)
        return 0

    return total_lengths


def _gather() -> Callable[..., int]:
    copy = text.gather

    def gather(room: int, starts: int, lines: int, first: int, last: int, out: int, position: int, stop: int) -> int:
        copy(room, starts, carray(pointer_to(lines), (last,), np.int64), first, last, out, position, stop)
        return 0

    return gather


def _make_record_prefixes() -> Callable[..., int]:
    make = records.make_record_prefixes

    def make_record_prefixes(
        keys: int, record: int, first: int, last: int, width: int, big: int, flip: int, infinity: int, prefixes: int
    ) -> int:
        room = carray(pointer_to(prefixes), (last,), np.uint64)
        make(keys, record, first, last, width, big != 0, flip, infinity, room)
        return 0

    return make_record_prefixes


def _gather_records() -> Callable[..., int]:
    copy = records.gather_records

    def gather_records(data: int, record: int, numbers: int, first: int, last: int, out: int) -> int:
        copy(data, record, carray(pointer_to(numbers), (last,), np.int64), first, last, out)
        return 0

    return gather_records


_ROWS: dict[str, Callable[[], Callable[..., int]]] = {
    "count_lines": _count_lines,
    "find_lines": _find_lines,
    "make_prefixes": _make_prefixes,
    "make_key_prefixes": _make_key_prefixes,
    "compare_keyed": partial(_compare, linekeys.compare_keyed),
    "compare_last_resort": partial(_compare, linekeys.compare_last_resort),
    "common_start": _common_start,
    "differing_words": _differing_words,
    "make_packed_prefixes": _make_packed_prefixes,
    "pack_images": _pack_images,
    "total_lengths": _total_lengths,
    "gather": _gather,
    "make_record_prefixes": _make_record_prefixes,
    "gather_records": _gather_records,
}
