"""Calls from Python on a few CuPy arrays, which reach the kernels of prepared calls: a part of tests.kernels.exercise.

Some kernels are chosen for many items only. Here limits are lowered, so that few items, in several tiles, get there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any
from unittest import mock

import cupy
import numpy as np

import gpumerge_cli
from gpumerge_cli import ColumnArray
from gpumerge_cli.arrays import prepared_calls
from gpumerge_cli.backends.gpu import many_runs, merging, policy, prepared, selecting
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.kinds import Order
from tests.columns import column_of, drawn_items, items_of, plain_key
from tests.kernels.set_pairs import EVERY_SET, kept_in_set, set_of
from tests.oracles import same_bits
from tests.strategies import special_values

Array = Any
Limits = dict[Any, dict[str, Any]]

_ONE_TILE, _A_LARGER_TILE, _SEVERAL_TILES = 700, 3000, 7001
_MANY_TILES = 24_011
"""Items of at least two tiles of all kernels, so that tiles wait for each other."""
_CUT_AHEAD: Limits = {merging: {"OWN_CUTS": 0, "own_cuts_of_dependents": lambda limits: 2}}
_BY_VALUES: Limits = {policy: {"_LEAST_BY_VALUES": 0, "_ITEMS_A_VALUE": 0, "_STRETCH_STEP": 4096}}
_BY_DIGITS: Limits = {prepared: {"most_by_rank": lambda order, columns: 0}}
_SHORT_WINDOWS: Limits = {selecting: {"_FIRST_WINDOW": 1 << 10, "_LAST_WINDOW": 1 << 12}}
_MANY_RUNS: tuple[Limits, ...] = tuple({many_runs: {"pays": lambda *sizes, way=way: way}} for way in (True, False))


@contextmanager
def lowered(limits: Limits) -> Iterator[None]:
    """Limits have other values. Calls that were prepared before, or meanwhile, are forgotten."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(prepared_calls._ready, clear=True))
        for module, names in limits.items():
            for name, value in names.items():
                stack.enter_context(mock.patch.object(module, name, value))
        yield


def call_work() -> list[tuple[str, Callable[[], int]]]:
    """Names, and calls that raise AssertionError if a result is wrong, else return how many were right."""
    narrow = [dtype for dtype in DTYPES if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize <= 2]
    return [
        *((f"calls by digits, {name}", partial(_by_digits, name)) for name in ("uint8", "int16", "float32", "uint64")),
        *((f"calls cut ahead, {name}", partial(_cut_ahead, name)) for name in ("int32", "float64", "uint64", "int16")),
        *((f"calls of many runs, {name}", partial(_of_many_runs, name)) for name in ("uint8", "float32", "uint64")),
        *((f"calls of sets, {name}", partial(_sets, name)) for name in DTYPES),
        *((f"calls by values, {name}", partial(_by_values, name)) for name in narrow),
        *((f"calls of answers, {name}", partial(_answers, name)) for name in DTYPES),
        *((f"calls of columns, {kind}", partial(_columns, kind)) for kind in ("text", "int64", "float16", "V11")),
        *((f"calls of sorts, {name}", partial(_sorts, name)) for name in DTYPES),
        *((f"calls of merges, {name}", partial(_merges, name)) for name in DTYPES),
    ]


def _some(dtype: str, count: int) -> Array:
    """Keys with ties, of many values and of special ones."""
    rng = np.random.default_rng(count)
    kind = np.dtype(dtype)
    bits = rng.integers(0, 256, (count, kind.itemsize), np.uint8).view(kind).reshape(-1)
    few = rng.integers(0, 40, count).astype(kind)
    return np.choose(rng.integers(0, 3, count), [bits, few, rng.choice(special_values(kind), count)])


def _on_device(array: Array, ahead: int) -> Array:
    """The array behind `ahead` other items, so that it does not begin where memory does."""
    room = cupy.zeros((len(array) + ahead, *array.shape[1:]), array.dtype)
    room[ahead:] = cupy.asarray(array)
    return room[ahead:]


def _host(array: Array) -> Array:
    return cupy.asnumpy(array)


def _ranks(dtype: str, keys: Array, descending: bool) -> Array:
    return np.argsort(Order.of(dtype, descending=descending).image(keys), kind="stable")


def _rows(count: int, dtype: str, *shape: int) -> Array:
    """Values that all differ, as far as their dtype allows it."""
    numbers = np.arange(count * int(np.prod(shape)), dtype=np.uint64)
    return numbers.astype(dtype).reshape(count, *shape)


def _sort(keys: Array, values: Array | None = None, *, descending: bool = False) -> int:
    """Sort, with values if they are given, and without an output of the caller's and with one."""
    ranks = _ranks(keys.dtype.name, keys, descending)
    given = _on_device(keys, 3)
    out = _on_device(np.zeros_like(keys), 1)
    moves: dict[str, Any] = {} if values is None else {"values": _on_device(values, 1)}
    for room in ({}, {"out": out}):
        found = gpumerge_cli.sort(given, descending=descending, **moves, **room)
        if values is not None:
            found, moved = found
            assert same_bits(_host(moved), values[ranks]), (keys.dtype, values.dtype, len(keys), descending)
        assert same_bits(_host(found), keys[ranks]), (keys.dtype, len(keys), descending)
    assert same_bits(_host(given), keys)
    return 2


def _argsort(keys: Array, *, descending: bool = False) -> int:
    found = _host(gpumerge_cli.argsort(_on_device(keys, 1), descending=descending))
    assert same_bits(found, _ranks(keys.dtype.name, keys, descending)), (keys.dtype, len(keys), descending)
    return 1


def _merge(keys: Array, runs: int, values: Array | None = None, *, descending: bool = False) -> int:
    """Cut keys into runs, put each in order, and merge them without an output of the caller's and with one."""
    name = keys.dtype.name
    edges = np.linspace(0, len(keys), runs + 1).astype(int)[1:-1]
    edges[1:2] = edges[:1]  # the second run is empty
    parts = [part[_ranks(name, part, descending)] for part in np.split(keys, edges)]
    both = np.concatenate(parts)
    ranks = _ranks(name, both, descending)
    given = [_on_device(part, 1 + number % 5) for number, part in enumerate(parts)]
    moves: dict[str, Any] = {}
    if values is not None:
        moves["values"] = [_on_device(part, number % 3) for number, part in enumerate(np.split(values, edges))]
    out = _on_device(np.zeros_like(keys), 1)
    for room in ({}, {"out": out}):
        found = gpumerge_cli.merge(*given, descending=descending, **moves, **room)
        if values is not None:
            found, moved = found
            assert same_bits(_host(moved), values[ranks]), (keys.dtype, runs, values.dtype, descending)
        assert same_bits(_host(found), both[ranks]), (keys.dtype, runs, descending)
    return 2


def _sorts(dtype: str) -> int:
    """Sorts of one tile and of several, numbered or with values, and checks."""
    descending = DTYPES.index(dtype) % 2 == 1
    keys = _some(dtype, _SEVERAL_TILES)
    right = sum(_sort(keys[:count], descending=descending) for count in (_ONE_TILE, _A_LARGER_TILE, _SEVERAL_TILES))
    right += sum(_argsort(keys[:count], descending=descending) for count in (_ONE_TILE, _SEVERAL_TILES))
    right += _sort(keys, _rows(len(keys), "int64"), descending=descending)
    right += _sort(keys[:_ONE_TILE], _rows(_ONE_TILE, "uint8", 3), descending=descending)
    right += _sort(keys, _rows(len(keys), "int16"), descending=not descending)
    ordered = keys[_ranks(dtype, keys, descending)]
    for array in (keys, ordered):
        expected = gpumerge_cli.is_sorted(array, descending=descending)
        assert gpumerge_cli.is_sorted(_on_device(array, 1), descending=descending) == expected
    return right + 2


def _merges(dtype: str) -> int:
    """Merges of few and of many runs, with values that move with their keys, or are gathered."""
    descending = DTYPES.index(dtype) % 2 == 0
    keys = _some(dtype, _SEVERAL_TILES)
    right = sum(_merge(keys, runs, descending=descending) for runs in (1, 2, 3, 8, 11))
    right += _merge(keys, 2, _rows(len(keys), "float32"), descending=descending)
    right += _merge(keys, 4, _rows(len(keys), "uint8"), descending=not descending)
    right += _merge(keys, 2, _rows(len(keys), "int16", 3), descending=descending)
    return right + _merge(keys[:_ONE_TILE], 16, _rows(_ONE_TILE, "float64", 2), descending=descending)


def _by_digits(dtype: str) -> int:
    """Sorts by digits. Tiles wait for what tiles ahead of them say."""
    with lowered(_BY_DIGITS):
        keys = _some(dtype, _MANY_TILES)
        descending = dtype == "int16"
        right = _sort(keys, descending=descending) + _argsort(keys, descending=descending)
        value = "int32" if keys.itemsize == 4 else "float64"
        return right + _sort(keys, _rows(len(keys), value), descending=descending)


def _cut_ahead(dtype: str) -> int:
    """Merges that begin beside the kernel that cuts for them, and sorts by rank of several passes."""
    with lowered(_CUT_AHEAD):
        keys = _some(dtype, _MANY_TILES)
        right = sum(_merge(keys, runs) for runs in (2, 4, 16))
        right += _merge(keys, 2, _rows(len(keys), "float32")) + _merge(keys, 3, _rows(len(keys), "uint8", 3))
        return right + _sort(keys) + _sort(keys, _rows(len(keys), "int32"))


def _by_values(dtype: str) -> int:
    """Merges of narrow integers value by value: many values, few, and one."""
    with lowered(_BY_VALUES):
        keys = _some(dtype, _MANY_TILES)
        right = _merge(keys, 2) + _merge(keys, 2, descending=True)
        return right + _merge(keys & keys.dtype.type(3), 2) + _merge(np.full_like(keys, 7), 2)


def _of_many_runs(dtype: str) -> int:
    """Merges of more runs than a pass takes: joined and sorted by digits, and by passes."""
    keys, right = _some(dtype, _SEVERAL_TILES), 0
    for limits in _MANY_RUNS:
        with lowered(limits):
            right += _merge(keys, 40)
    return right


def _sets(dtype: str) -> int:
    """Two of the sets: of two arrays, with values that move with their keys or are gathered, and of three arrays."""
    turn, right = DTYPES.index(dtype), 0
    order = Order.of(dtype, descending=turn % 3 == 1)
    keys, middle = _some(dtype, _MANY_TILES), 2 * _SEVERAL_TILES
    parts = [part[_ranks(dtype, part, order.descending)] for part in (keys[:middle], keys[middle:])]
    both = np.concatenate(parts)
    given = [_on_device(part, 1 + number) for number, part in enumerate(parts)]
    for equals in EVERY_SET[turn % 4 :: 4]:
        options: dict[str, Any] = {"distinct": equals.is_distinct, "descending": order.descending}
        call = partial(getattr(gpumerge_cli, equals.name_of_set), **options)
        kept = kept_in_set(order, *parts, equals)
        for values in (None, _rows(len(both), "float32"), _rows(len(both), "int16", 3)):
            if values is None:
                found = call(*given)
            else:
                rows = [_on_device(part, number) for number, part in enumerate(np.split(values, [middle]))]
                found, moved = call(*given, values=rows)
                assert same_bits(_host(moved), values[kept]), (order, equals, values.dtype)
            assert same_bits(_host(found), both[kept]), (order, equals)
        third = parts[0][: middle // 2]
        wanted = set_of(order, both[kept], third, equals)
        assert same_bits(_host(call(*given, _on_device(third, 3))), wanted), (order, equals)
        right += 4
    return right


def _answers(dtype: str) -> int:
    """First items, different keys, joins, changes and ranks. The library of the CPU is the oracle."""
    keys = _some(dtype, _SEVERAL_TILES)
    runs = [part[_ranks(dtype, part, False)] for part in (keys[:3000], keys[3000:])]
    given = [_on_device(part, 1 + number) for number, part in enumerate(runs)]
    shuffled = _on_device(keys, 3)
    right = 0
    with lowered(_SHORT_WINDOWS):
        for n in (1, 40, 2500):
            for call in (gpumerge_cli.topk, gpumerge_cli.argtopk):
                for descending in (False, True):
                    right += _same(call(shuffled, n, descending=descending), call(keys, n, descending=descending))
    for keep in ("first", "last"):
        options: dict[str, Any] = {"keep": keep, "counts": True}
        right += _same(gpumerge_cli.unique(shuffled, **options), gpumerge_cli.unique(keys, **options))
    for how in ("inner", "outer", "anti"):
        right += _same(gpumerge_cli.join(*given, how=how), gpumerge_cli.join(*runs, how=how))
    for direction in ("backward", "forward", "nearest"):
        options = {"direction": direction}
        right += _same(gpumerge_cli.asof_join(*given, **options), gpumerge_cli.asof_join(*runs, **options))
    for side in ("left", "right"):
        found = gpumerge_cli.rank_of(given, _on_device(keys[:_ONE_TILE], 1), side=side)
        right += _same(found, gpumerge_cli.rank_of(runs, keys[:_ONE_TILE], side=side))
    return right + _same(gpumerge_cli.diff(*given, multi=True), gpumerge_cli.diff(*runs, multi=True))


def _columns(kind: str) -> int:
    """Calls on columns of texts, or of values with nulls, and on two columns. The library of the CPU is the oracle."""
    rng = np.random.default_rng(len(kind))
    nulls, right = "first", 0
    items = [drawn_items(rng, kind, count, 0.2) for count in (_A_LARGER_TILE, _ONE_TILE)]
    shuffled = [column_of(kind, one, nulls, rng) for one in items]
    runs = [column_of(kind, sorted(one, key=plain_key(kind, nulls, False)), nulls, rng) for one in items]
    given, unsorted = list(map(_column_on_device, runs)), _column_on_device(shuffled[0])
    for call in (gpumerge_cli.argsort, gpumerge_cli.sort):
        for descending in (False, True):
            right += _same(call(unsorted, descending=descending), call(shuffled[0], descending=descending))
    right += _same(gpumerge_cli.unique(unsorted, counts=True), gpumerge_cli.unique(shuffled[0], counts=True))
    right += _same(gpumerge_cli.topk(unsorted, 9), gpumerge_cli.topk(shuffled[0], 9))
    for call in (gpumerge_cli.merge, gpumerge_cli.union, gpumerge_cli.intersect, gpumerge_cli.join):
        right += _same(call(*given, check=True), call(*runs, check=True))
    right += _same(gpumerge_cli.rank_of(given, unsorted), gpumerge_cli.rank_of(runs, shuffled[0]))
    numbers = rng.integers(0, 9, _A_LARGER_TILE)
    there = {"number": _on_device(numbers, 3), "column": unsorted}
    wanted = gpumerge_cli.argsort({"number": numbers, "column": shuffled[0]}, key=["number:r", "column"])
    return right + _same(gpumerge_cli.argsort(there, key=["number:r", "column"]), wanted)


def _column_on_device(column: ColumnArray) -> ColumnArray:
    dtype = column.values.dtype
    bytes_of = column.values.view(np.uint8).reshape(len(column.values), dtype.itemsize)
    values = _on_device(bytes_of, 1).reshape(-1).view(dtype)
    others = [None if each is None else _on_device(each, 1) for each in (column.offsets, column.valid)]
    return ColumnArray(values, *others, column.nulls, column.binary)


def _same(found: Any, wanted: Any) -> int:
    """1, if arrays, or tuples of them, have the same bits."""
    if isinstance(wanted, ColumnArray):
        assert items_of(found) == items_of(wanted)
    elif isinstance(wanted, tuple):
        assert len(found) == len(wanted)
        for pair in zip(found, wanted, strict=True):
            _same(*pair)
    else:
        assert same_bits(_host(found), wanted)
    return 1
