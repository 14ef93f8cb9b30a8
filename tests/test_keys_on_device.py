"""Calls on a GPU's arrays of dates, bytes and records, by one key and by several, and the same calls in host memory.

Each test runs three times: on NumPy's arrays, on a stand-in for CuPy, and on a GPU. The oracle sorts ranks of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.errors import DisorderError, UsageError
from tests import fuzz_api, needs
from tests.fake_cupy import back, fake_cupy, there

__all__ = ["fake_cupy"]
Array = Any
Put = Callable[[Array], Array]
RECORD = np.dtype(
    {
        "names": ["city", "amount", "when", "in", "ok", "small"],
        "formats": ["S3", "<f4", "<M8[s]", [("on", ">m8[D]"), ("raw", "V9")], "?", "<i2"],
        "offsets": [1, 4, 8, 16, 33, 34],
        "itemsize": 37,
    }
)
ITEMS = ["M8[ns]", "m8[D]", "S1", "S3", "S8", "S13", "V5", "V20", "bool"]
KEYS: list[Any] = [
    "city", "when", "in.raw", ["city", "amount"], ["amount:r", ("city", "descending")], ["ok", "when", "small:r"],
    ["in.on", "in.raw", "amount"], ["small"], [("small", "descending")],
]  # fmt: skip


def puts(place: str, request: pytest.FixtureRequest) -> Put:
    """Puts NumPy's arrays where calls shall run: "host", "stand-in" or "gpu"."""
    if place == "host":
        return lambda array: array
    if place == "gpu":
        request.getfixturevalue("gpu_backend")
    module = needs.library("cupy") if place == "gpu" else request.getfixturevalue("fake_cupy")
    return lambda array: there(module, array)


@pytest.fixture(params=["host", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def put(request: pytest.FixtureRequest) -> Put:
    """See puts."""
    return puts(request.param, request)


def raw(items: Array) -> bytes:
    """The bytes of all items in host memory; of records those of one field behind the other, without padding."""
    if items.dtype.names:
        return b"".join(raw(items[name]) for name in items.dtype.names)
    return np.ascontiguousarray(items).tobytes()


def drawn(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> Array:
    """Few different items, among them NaN, NaT, both zeros, and bytes that end in zeros."""
    if dtype.names:
        items = np.zeros(count, dtype)
        for name in dtype.names:
            items[name] = drawn(rng, dtype[name], count)
        return items
    if dtype.kind in "SV":
        few = np.array([0, 0, 97, 97, 255], np.uint8)
        return rng.choice(few, (count, dtype.itemsize)).view(dtype)[:, 0]
    if dtype.kind in "mM":
        few = np.array([np.iinfo(np.int64).min, -2, 0, 3, 2**62])
        return rng.choice(few, count).view(dtype.newbyteorder("=")).astype(dtype)
    if dtype.kind == "f":
        return rng.choice(np.array([np.nan, -np.nan, 0.0, -0.0, -1.5, 1e-45, np.inf], dtype), count)
    return rng.integers(0, 2 if dtype.kind == "b" else 5, count).astype(dtype)


def columns(items: Array, key: Any, descending: bool) -> list[Any]:
    """The ranks of each key among all items, the first key first; negative where they descend."""
    named = [""] if key is None else [key] if isinstance(key, str) else key
    found = []
    for one in named:
        name, turned = one if isinstance(one, tuple) else (one.removesuffix(":r"), one.endswith(":r"))
        column = items
        for step in name.split(".") if name else ():
            column = column[step]
        if column.dtype.kind == "V":
            column = np.ascontiguousarray(column).view(f"S{column.dtype.itemsize}")
        ranks = np.unique(column.astype(column.dtype.newbyteorder("=")), return_inverse=True, equal_nan=True)[1]
        found.append(-ranks if (turned not in (False, "ascending")) != descending else ranks)
    return found


def order_of(items: Array, key: Any, descending: bool) -> Array:
    """The stable order of items."""
    return np.lexsort(columns(items, key, descending)[::-1])


Case = tuple[np.dtype[Any], Any]
CASES: list[Case] = [*((np.dtype(dtype), None) for dtype in ITEMS), *((RECORD, key) for key in KEYS)]
ON_GPU = [case for case in CASES if case[0] in ("M8[ns]", "S3", "V20") or case[1] in ("when", KEYS[3], KEYS[6])]


def cases() -> Iterator[Any]:
    """Each case in host memory and on the stand-in, and some on a GPU, whose kernels take time to compile."""
    for place in ("host", "stand-in", "gpu"):
        marks = [pytest.mark.gpu] if place == "gpu" else []
        for one in ON_GPU if place == "gpu" else CASES:
            yield pytest.param((place, one), marks=marks, id=f"{place}-{one[0] if one[1] is None else one[1]}")


@pytest.fixture(params=cases())
def placed(request: pytest.FixtureRequest) -> tuple[Put, Case]:
    """(see puts, the dtype of items and the key)."""
    place, one = request.param
    return puts(place, request), one


@pytest.mark.parametrize("descending", [False, True])
def test_sorts(placed: tuple[Put, Case], rng: np.random.Generator, descending: bool) -> None:
    put, (dtype, key) = placed
    how = {"key": key, "descending": descending}
    for count in (0, 1, 400):
        items = drawn(rng, dtype, count)
        expected, numbers = order_of(items, key, descending), np.arange(count, dtype=np.uint16).view("V2")
        array = put(items)
        assert raw(back(gpumerge_cli.sort(array, **how))) == raw(items[expected])
        assert back(gpumerge_cli.argsort(array, **how)).tolist() == expected.tolist()
        out = put(np.zeros(count, dtype))
        keys, moved = gpumerge_cli.sort(array, values=put(numbers), out=out, **how)
        assert raw(back(out)) == raw(back(keys)) == raw(items[expected])
        assert raw(back(moved)) == raw(numbers[expected])
        keys, moved = gpumerge_cli.topk(array, 7, values=put(items), **how)
        assert raw(back(keys)) == raw(back(moved)) == raw(items[expected[:7]])
        assert gpumerge_cli.is_sorted(array, **how) is bool((np.diff(expected) > 0).all())
        assert gpumerge_cli.is_sorted(put(items[expected]), **how)
        twice = np.empty(2 * count, dtype)
        twice[::2], twice[1::2] = items, items[::-1]
        behind, turned = order_of(twice[1:], key, descending), order_of(items[::-1], key, descending)
        assert back(gpumerge_cli.argsort(put(twice)[1:], **how)).tolist() == behind.tolist()
        keys, moved = gpumerge_cli.sort(put(twice)[::2], values=put(numbers)[::-1], **how)
        assert raw(back(keys)) == raw(items[expected])
        assert raw(back(moved)) == raw(numbers[::-1][expected])
        assert back(gpumerge_cli.argsort(array[::-1], **how)).tolist() == turned.tolist()


def test_merges_and_sets(placed: tuple[Put, Case], rng: np.random.Generator) -> None:
    put, (dtype, key) = placed
    parts = [drawn(rng, dtype, count) for count in (150, 0, 90)]
    parts = [part[order_of(part, key, False)] for part in parts]
    both = np.concatenate([part.view(np.uint8) for part in parts]).view(dtype)
    expected, numbers = order_of(both, key, False), np.split(np.arange(240), [150, 150])
    arrays = list(map(put, parts))
    assert raw(back(gpumerge_cli.merge(*arrays, key=key, check=True))) == raw(both[expected])
    keys, moved = gpumerge_cli.merge(*arrays, key=key, values=list(map(put, numbers)))
    assert back(moved).tolist() == expected.tolist()
    ranks = np.lexsort(columns(both, key, False)[::-1])
    same = np.stack(columns(both, key, False))[:, ranks]
    new = np.append(True, (same[:, 1:] != same[:, :-1]).any(axis=0))
    firsts = ranks[new]
    keys, moved, counts = gpumerge_cli.merge(*arrays, key=key, values=list(map(put, numbers)), counts=True)
    assert back(moved).tolist() == firsts.tolist()
    assert back(counts).tolist() == np.diff(np.append(np.flatnonzero(new), 240)).tolist()
    assert raw(back(keys)) == raw(both[firsts])
    found = gpumerge_cli.union(*arrays, key=key, distinct=True, values=list(map(put, parts)))
    assert raw(back(found[0])) == raw(back(found[1])) == raw(both[firsts])
    groups = np.empty(240, int)
    groups[ranks] = np.cumsum(new)
    a, b = groups[:150].tolist(), groups[150:].tolist()
    left = [at for at in range(150) if a[at] in b]
    for _ in range(2):  # a second call is a prepared one
        found = gpumerge_cli.intersect(arrays[0], arrays[2], key=key, distinct=True)
        assert raw(back(found)) == raw(both[[at for at in left if a.index(a[at]) == at]])
    keys, moved = gpumerge_cli.unique(put(both), key=key, values=put(np.arange(240)), keep="last")
    assert back(moved).tolist() == ranks[np.append(np.flatnonzero(new)[1:], 240) - 1].tolist()
    cuts = back(gpumerge_cli.rank(arrays, [0, 100, 240], key=key))
    assert cuts.tolist() == [
        [int((expected[:at] < 150).sum()), 0, int((expected[:at] >= 150).sum())] for at in (0, 100, 240)
    ]


def test_ranks_of_items(placed: tuple[Put, Case], rng: np.random.Generator) -> None:
    """An only key is asked for by itself, several by whole items."""
    put, (dtype, key) = placed
    items = drawn(rng, dtype, 200)
    items = items[order_of(items, key, False)]
    wanted, names = items[::17], [key] if isinstance(key, str) else key or []
    if len(names) == 1:
        for name in (names[0] if isinstance(names[0], str) else names[0][0]).split("."):
            wanted = wanted[name]
    wanted = wanted.astype(wanted.dtype.newbyteorder("=")) if wanted.dtype.kind in "mM" else wanted.copy()
    ranks = np.stack(columns(items, key, False))
    for side in ("left", "right"):
        same = [np.flatnonzero((ranks == ranks[:, [at]]).all(axis=0)) for at in range(0, 200, 17)]
        expected = [int(each[0] if side == "left" else each[-1] + 1) for each in same]
        found = gpumerge_cli.rank_of([put(items), put(items[:0])], put(wanted), side=side, key=key)  # type: ignore[arg-type]
        assert back(found).tolist() == expected
        assert back(gpumerge_cli.rank_of([put(items)], wanted, side=side, key=key)).tolist() == expected  # type: ignore[arg-type]


def test_joins(put: Put, rng: np.random.Generator) -> None:
    for dtype in ITEMS:
        a, b = (drawn(rng, np.dtype(dtype), count) for count in (40, 30))
        a, b = a[order_of(a, None, False)], b[order_of(b, None, False)]
        expected = gpumerge_cli.join(a, b, how="outer")
        found = gpumerge_cli.join(put(a), put(b), how="outer", check=True)
        assert [back(each).tolist() for each in found] == [each.tolist() for each in expected]
        for values in (None, [a, b]):
            told = gpumerge_cli.diff(a, b, multi=True, values=values)
            made = gpumerge_cli.diff(put(a), put(b), multi=True, values=values and list(map(put, values)))
            assert [back(made.added).tolist(), back(made.removed).tolist()] == [
                told.added.tolist(),
                told.removed.tolist(),
            ]
            assert back(made.changed[0]).tolist() == told.changed[0].tolist()
        if dtype != "bool":
            for direction in ("backward", "forward", "nearest") if dtype[0] in "mM" else ("backward", "forward"):
                matches = gpumerge_cli.asof_join(a, b, direction=direction)
                assert back(gpumerge_cli.asof_join(put(a), put(b), direction=direction)).tolist() == matches.tolist()
            by = drawn(rng, np.dtype("S11"), 40), drawn(rng, np.dtype("S11"), 30)
            matches = gpumerge_cli.asof_join(a, b, by=by)
            found = gpumerge_cli.asof_join(put(a), put(b), by=tuple(map(put, by)))
            assert back(found).tolist() == matches.tolist()


def test_differences_of_records(put: Put, rng: np.random.Generator) -> None:
    """Fields are equal as values are, whatever lies between them. Fields may hold arrays."""
    inner = np.dtype([("in", RECORD), ("many", ">f4", (2, 2)), ("text", "U2")])
    for dtype, shape in ((RECORD, ()), (inner, ()), (inner, (2,))):
        old, new = (np.zeros((300, *shape), dtype) for _ in range(2))
        for side in (old, new):
            records = side if dtype == RECORD else side["in"]
            records[:] = drawn(rng, RECORD, 300)[:, None] if shape else drawn(rng, RECORD, 300)
            if dtype != RECORD:
                side["many"] = rng.choice([0.0, -0.0, np.nan], side["many"].shape)
                side["text"] = rng.choice(["né", "n"], side.shape)
        some = rng.random(300) < 0.7
        new[some] = old[some]
        keys = np.arange(300)
        told = gpumerge_cli.diff(keys, keys, values=[old, new])
        found = gpumerge_cli.diff(put(keys), put(keys), values=[put(old), put(new)])
        assert back(found.changed[0]).tolist() == told.changed[0].tolist()
        assert 0 < len(told.changed[0]) < 300


def test_swapped_bytes_and_lists(put: Put) -> None:
    """Arrays in either byte order, and lists beside arrays, as host memory takes them."""
    for dtype in (">i4", ">f8", ">u2", ">M8[s]"):
        items = np.array([3, 1, 2]).astype(dtype)
        found, moved = gpumerge_cli.sort(put(items), values=[10, 11, 12])
        assert back(found).tolist() == np.sort(items).tolist()
        assert (found.dtype, back(moved).tolist()) == (items.dtype.newbyteorder("="), [11, 12, 10])
        sorted_there = put(np.sort(items).astype(dtype))
        assert back(gpumerge_cli.merge(sorted_there, sorted_there[1:], check=True)).astype(np.int64).tolist() == [
            1,
            2,
            2,
            3,
            3,
        ]
        assert back(gpumerge_cli.rank_of([found], put(items))).tolist() == [2, 0, 1]
    found = gpumerge_cli.union(put(np.array([1, 4])), [2, 4, 7])
    assert back(found).tolist() == [1, 2, 4, 7]
    times, names = put(np.arange(4)), np.array(["x", "né", "x", "né"])
    for by in ((put(names), put(names.astype("U5"))), (list(names), list(names))):
        assert back(gpumerge_cli.asof_join(times, times, by=by)).tolist() == [0, 1, 2, 3]


def test_columns_become_records(put: Put, rng: np.random.Generator) -> None:
    items = drawn(rng, RECORD, 300)
    given = {name: put(np.ascontiguousarray(items[name])) for name in ("when", "city", "ok", "amount")}
    key = ["city", "when:r", "amount"]
    expected = order_of(items, key, False)
    assert back(gpumerge_cli.argsort(given, key=key)).tolist() == expected.tolist()
    found = gpumerge_cli.sort(given, key=key)
    assert found.dtype.names == tuple(given)
    assert [raw(back(found)[name]) for name in given] == [raw(items[name][expected]) for name in given]
    assert gpumerge_cli.is_sorted(found, key=key)
    for row in (slice(0), slice(1)):
        assert len(gpumerge_cli.merge({name: given[name][row] for name in given}, found, key="ok")) == 300 + row.stop
    numbers = put(np.arange(3))
    for columns_, told in (
        ({}, "a dict without columns; give arrays by their names"),
        ({1: numbers}, "1 is not the name of a column"),
        ({"a": numbers, "b": numbers[1:]}, "columns of different lengths: {'a': 3, 'b': 2}; give"),
        ({"a": numbers.reshape(1, 3)}, "column 'a': an array of int64, 2-D, is not a column"),
        ({"a": np.array([None])}, "column 'a': an array of object, 1-D, is not a column"),
        ({"a": numbers}, r"records need a key; name one of their fields as the key \(key=\): a"),
    ):
        with pytest.raises(UsageError, match=told):
            gpumerge_cli.sort(columns_)
    with pytest.raises(UsageError, match=r"join does not accept records; give a field of each, as a\['a'\]"):
        gpumerge_cli.join({"a": numbers}, {"a": numbers})
    with pytest.raises(UsageError, match="values is a dict, not a list of arrays"):
        gpumerge_cli.merge(numbers, values={"a": numbers})


@pytest.mark.parametrize("put", ["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)], indirect=True)
def test_dates_of_other_libraries(put: Put) -> None:
    """CuPy reads no dates by this protocol."""

    class Column:
        def __init__(self, array: Array) -> None:
            self.array, self.__cuda_array_interface__ = array, {**array.__cuda_array_interface__, "typestr": "<M8[s]"}

    array = put(np.array([3, np.iinfo(np.int64).min, 1]))
    found = gpumerge_cli.sort(Column(array))
    assert found.dtype == "M8[s]"
    assert back(found).astype(np.int64).tolist() == [1, 3, np.iinfo(np.int64).min]


def test_messages(put: Put) -> None:
    items = np.zeros(3, RECORD)
    items["city"] = [b"b", b"a", b"c"]
    with pytest.raises(DisorderError, match=r"array 0, index 1: disorder: b'a', 0.0 comes after b'b', 0.0; .*key=\['c"):
        gpumerge_cli.merge(put(items), key=["city", "amount"], check=True)
    with pytest.raises(DisorderError, match="2001-01-01 comes after NaT; sort it first"):
        gpumerge_cli.merge(put(np.array(["NaT", "2001"], "M8[D]")), check=True)
    for key, told in (
        (["city", "x"], "key=x: .* have no field 'x'"),
        (["in"], "the field has fields; name one"),
        ([], r"key=\[\] names no field"),
        ([3], "3 is not the name of a field"),
        ((), r"key=\(\) names no field"),
    ):
        with pytest.raises(UsageError, match=told):
            gpumerge_cli.sort(put(items), key=key)
    with pytest.raises(UsageError, match="records need a key"):
        gpumerge_cli.sort(put(items))
    with pytest.raises(UsageError, match="not records"):
        gpumerge_cli.sort(put(np.arange(3)), key=["a"])
    if hasattr(put(items), "get"):
        rows = put(np.zeros(3, [("x", "c16")]))
        with pytest.raises(UsageError, match="complex numbers in records are not compared on a GPU; give their parts"):
            gpumerge_cli.diff(put(np.arange(3)), put(np.arange(3)), values=[rows, rows])
    with pytest.raises(UsageError, match=r"several GPUs sort only numbers, not arrays of .*; leave devices out"):
        gpumerge_cli.sort(put(items), key=["city"], devices=[0])
    with pytest.raises(UsageError, match="text: only one key can be read as values"):
        gpumerge_cli.sort(put(items), key=["city", "amount"], text="size")


def test_graphs_capture_no_images(monkeypatch: pytest.MonkeyPatch, fake_cupy: Any) -> None:
    words = there(fake_cupy, np.array([b"b", b"a"]))
    monkeypatch.setattr("gpumerge_cli.backends.gpu.streams.is_captured", lambda stream: True)
    for call in (
        gpumerge_cli.sort,
        gpumerge_cli.argsort,
        gpumerge_cli.merge,
        lambda keys: gpumerge_cli.rank_of([keys], b"a"),
    ):
        with pytest.raises(UsageError, match="a graph cannot capture calls on bytes, records or several keys; call it"):
            call(words)


@pytest.mark.usefixtures("fake_cupy")
@pytest.mark.parametrize("cases", [150, pytest.param(5000, marks=pytest.mark.thorough)])
def test_random_calls_on_the_stand_in(rng: np.random.Generator, tmp_path: Path, cases: int) -> None:
    seed, tried = int(rng.integers(2**32)), 0
    for number in range(cases):
        call = fuzz_api.drawn(seed, number, "gpu", tmp_path)
        if fuzz_api.fits_device(call):
            assert fuzz_api.problem(call, on_device=True) == "", (seed, number, call.describe())
            tried += 1
    assert tried > cases / 4
