"""Columns of texts and of nulls as keys of calls, in host memory, on a stand-in for CuPy, and on a GPU.

The oracle is Python's sort of the items.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import ColumnArray
from gpumerge_cli.arrays import column_texts
from gpumerge_cli.errors import DisorderError, InputError, UsageError
from tests import needs
from tests.arrow_exports import CudfSeries, DeviceColumn
from tests.columns import DTYPES, column_of, drawn_items, items_of, plain_key, raw_items
from tests.fake_cupy import FakeStrings, back, fake_cupy, there
from tests.fuzz_columns import Put, put_by

__all__ = ["fake_cupy"]
KINDS = ["text", *DTYPES]


@pytest.fixture(params=["host", "stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def put(request: pytest.FixtureRequest) -> Put:
    """See put_by."""
    if request.param == "host":
        return put_by(None)
    if request.param == "gpu":
        request.getfixturevalue("gpu_backend")
    return put_by(needs.library("cupy") if request.param == "gpu" else request.getfixturevalue("fake_cupy"))


def in_order(items: list[Any], key: Callable[[Any], Any]) -> list[int]:
    """The stable order of items."""
    return sorted(range(len(items)), key=lambda at: key(items[at]))


@pytest.mark.parametrize("kind", KINDS)
def test_sorts(put: Put, kind: str, rng: np.random.Generator) -> None:
    for nulls, descending in ((None, False), ("first", True), ("last", False), ("first", False), ("last", True)):
        for count in (0, 1, 2, 60):
            items = drawn_items(rng, kind, count, 0.3 if nulls else 0)
            column, how = put(column_of(kind, items, nulls, rng)), {"descending": descending}
            expected, raw = in_order(items, plain_key(kind, nulls, descending)), raw_items(items)
            wanted = [raw[at] for at in expected]
            assert back(gpumerge_cli.argsort(column, **how)).tolist() == expected
            found = gpumerge_cli.sort(column, **how)
            assert items_of(found) == wanted
            assert (found.nulls, found.binary, found.on_device) == (nulls, column.binary, column.on_device)
            keys, moved = gpumerge_cli.sort(column, values=put(np.arange(count)), **how)
            assert (items_of(keys), back(moved).tolist()) == (wanted, expected)
            assert items_of(gpumerge_cli.topk(column, 7, **how)) == wanted[:7]
            assert back(gpumerge_cli.argtopk(column, 7, **how)).tolist() == expected[:7]
            assert gpumerge_cli.is_sorted(found, **how)
            assert gpumerge_cli.is_sorted(column, **how) is (expected == sorted(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_merges_sets_and_ranks(put: Put, kind: str, rng: np.random.Generator) -> None:
    key = plain_key(kind, "first", False)
    runs = [sorted(drawn_items(rng, kind, count, 0.2), key=key) for count in (30, 0, 25)]
    columns = [put(column_of(kind, run, "first", rng)) for run in runs]
    both = [*runs[0], *runs[2]]
    expected, raw = in_order(both, key), raw_items(both)
    assert items_of(gpumerge_cli.merge(*columns, check=True)) == [raw[at] for at in expected]
    numbers = [put(np.arange(30)), put(np.arange(0)), put(np.arange(30, 55))]
    keys, moved = gpumerge_cli.merge(*columns, values=numbers)
    assert back(moved).tolist() == expected
    groups: dict[Any, list[int]] = {}
    for at in expected:
        groups.setdefault(key(both[at]), []).append(at)
    firsts = [group[0] for group in groups.values()]
    keys, moved, counts = gpumerge_cli.merge(*columns, values=numbers, counts=True)
    assert items_of(keys) == [raw[at] for at in firsts]
    assert (back(moved).tolist(), back(counts).tolist()) == (firsts, [len(group) for group in groups.values()])
    assert items_of(gpumerge_cli.union(*columns, distinct=True)) == [raw[at] for at in firsts]
    of_a, of_b = ({key(item) for item in run} for run in (runs[0], runs[2]))
    kept = gpumerge_cli.intersect(columns[0], columns[2], distinct=True)
    assert items_of(kept) == [raw[group[0]] for of, group in groups.items() if of in of_a & of_b]
    kept = gpumerge_cli.difference(columns[0], columns[2], distinct=True)
    assert items_of(kept) == [raw[group[0]] for of, group in groups.items() if of in of_a - of_b]
    shuffled = rng.permutation(len(both)).tolist()
    found = gpumerge_cli.unique(
        put(column_of(kind, [both[at] for at in shuffled], "first", rng)), counts=True, keep="last"
    )
    assert back(found[1]).tolist() == [len(group) for group in groups.values()]
    cuts = back(gpumerge_cli.rank(columns, [0, 20, 55])).tolist()
    assert cuts == [
        [sum(one < 30 for one in expected[:at]), 0, sum(one >= 30 for one in expected[:at])] for at in (0, 20, 55)
    ]
    wanted = column_of(kind, [both[0], both[-1], both[7]], "first", rng)
    for side, through in (("left", False), ("right", True)):
        ranks = [
            sum(key(item) <= key(one) if through else key(item) < key(one) for item in both)
            for one in (both[0], both[-1], both[7])
        ]
        for items in (wanted, put(wanted)):
            assert back(gpumerge_cli.rank_of(columns, items, side=side)).tolist() == ranks  # type: ignore[arg-type]
    left, right = (back(each).tolist() for each in gpumerge_cli.join(columns[0], columns[2], check=True))
    pairs = [(i, j) for i, x in enumerate(runs[0]) for j, y in enumerate(runs[2]) if key(x) == key(y)]
    assert [*zip(left, right, strict=True)] == pairs
    told = gpumerge_cli.diff(columns[0], columns[2], multi=True)
    assert len(back(told.unchanged[0])) + len(back(told.removed)) == 30
    assert len(back(told.unchanged[1])) + len(back(told.added)) == 25


def test_columns_beside_each_other(put: Put, rng: np.random.Generator) -> None:
    kinds = {"city": "text", "amount": "float64", "when": "M8[ns]", "small": "int8"}
    for by in (
        ["city", "amount:r"],
        [("city", "descending"), "when"],
        "small",
        ["small", "city", ("amount", "descending")],
    ):
        items = {name: drawn_items(rng, kind, 90, 0.3 * (name != "when")) for name, kind in kinds.items()}
        column = {
            name: column_of(kind, items[name], "first" if name == "city" else "last", rng)
            for name, kind in kinds.items()
        }
        table: dict[str, Any] = {name: put(each) for name, each in column.items()}
        table["when"] = put(column["when"].values)
        keys = []
        for one in [by] if isinstance(by, str) else by:
            name, turned = one if isinstance(one, tuple) else (one.removesuffix(":r"), one.endswith(":r"))
            key = plain_key(kinds[name], column[name].nulls, turned not in (False, "ascending"))
            keys.append([key(item) for item in items[name]])
        rows = [*zip(*keys, strict=True)]
        expected = sorted(range(90), key=rows.__getitem__)
        assert back(gpumerge_cli.argsort(table, key=by)).tolist() == expected
        found = gpumerge_cli.sort(table, key=by)
        for name in ("city", "amount", "small"):
            assert items_of(found[name]) == [raw_items(items[name])[at] for at in expected]
        assert back(found["when"]).tobytes() == column["when"].values[expected].tobytes()
        assert gpumerge_cli.is_sorted(found, key=by)
        parts = [{name: gpumerge_cli.sort(each) for name, each in table.items() if name == "city"} for _ in range(2)]
        both = gpumerge_cli.merge(*parts, key="city", check=True)
        assert items_of(both["city"])[::2] == items_of(parts[0]["city"])
        ranks = back(gpumerge_cli.rank_of([found], found, key=by, side="left")).tolist()  # type: ignore[arg-type]
        assert ranks == [sum(row < rows[at] for row in rows) for at in expected]


def test_dicts_take_arrays_for_the_columns_of_others(put: Put) -> None:
    """A dict of arrays alone makes records, but not beside a dict that holds a ColumnArray."""
    nulls = {"id": put(ColumnArray.of([1, 5, None], "last")), "at": put(np.arange(3))}
    plain = {"id": put(np.array([2, 5])), "at": put(np.arange(3, 5))}
    for given, order in (((nulls, plain), [0, 3, 1, 4, 2]), ((plain, nulls), [0, 3, 4, 1, 2])):
        found = gpumerge_cli.merge(*given, key="id")
        assert found["id"].tolist() == [1, 2, 5, 5, None]
        assert back(found["at"]).tolist() == order
        assert back(gpumerge_cli.rank([*given], 3, key="id")).sum() == 3
    assert gpumerge_cli.intersect(plain, nulls, key="id")["id"].tolist() == [5]
    texts = {"id": ColumnArray.of(["bonn", "oslo"])}
    for others in (np.array(["né", "x"]), np.array(["né", "x"], object), ["né", "x"]):
        assert gpumerge_cli.merge({"id": others}, texts, key="id")["id"].tolist() == ["bonn", "né", "oslo", "x"]


def test_near_items_of_columns(put: Put, rng: np.random.Generator) -> None:
    a, b = (sorted(drawn_items(rng, "text", count, 0)) for count in (40, 30))
    for direction in ("backward", "forward"):
        found = gpumerge_cli.asof_join(
            put(column_of("text", a, None, rng)),
            put(column_of("text", b, None, rng)),
            direction=direction,  # type: ignore[arg-type]
        )
        if direction == "backward":
            expected = [sum(item <= one for item in b) - 1 for one in a]
        else:
            expected = [at if at < 30 else -1 for at in (sum(item < one for item in b) for one in a)]
        assert back(found).tolist() == expected
    times, by = np.arange(6), ["x", "y", "x", "x", "z", None]
    names = ColumnArray.of(by, "last")
    found = gpumerge_cli.asof_join(put(times), put(times), by=(put(names), put(names)))
    assert back(found).tolist() == [*range(6)]
    with pytest.raises(UsageError, match="asof_join does not accept nulls; drop"):
        gpumerge_cli.asof_join(put(ColumnArray.of([None, "a"], "last")), put(names))
    with pytest.raises(UsageError, match="bytes have no distances"):
        gpumerge_cli.asof_join(put(ColumnArray.of(["a"])), put(ColumnArray.of(["b"])), tolerance=1)


def test_text_is_read_as_values(put: Put) -> None:
    """A copy of text on a GPU is read by the CPU."""
    for dtype in ("S", "U"):
        sizes = np.array(["10 MB", "1.5GiB", "900k", "1 kB"], dtype)
        expected = sizes[[3, 2, 0, 1]]
        found, moved = gpumerge_cli.sort(put(sizes), text="size", values=put(np.arange(4)))
        assert (back(found).tolist(), back(moved).tolist()) == (expected.tolist(), [3, 2, 0, 1])
        both = gpumerge_cli.merge(put(expected), put(np.array(["5 kB"], dtype)), text="size", check=True)
        assert both.dtype == expected.dtype
        assert back(both).tolist()[1] == np.array(["5 kB"], dtype)[0]
        assert back(gpumerge_cli.rank_of([put(expected)], np.array(["1 MB"], dtype), text="size")).tolist() == [2]
        assert back(gpumerge_cli.argsort(put(sizes), text="size", descending=True)).tolist() == [1, 0, 2, 3]
        with pytest.raises(DisorderError, match=r"comes after .*text='size'"):
            gpumerge_cli.merge(put(sizes), text="size", check=True)
        with pytest.raises(InputError, match=r"array 0, index 1: .*is not a size"):
            gpumerge_cli.sort(put(np.array(["1", "b"], dtype)), text="size")


def test_texts_of_columns_are_read_as_values(put: Put) -> None:
    sizes = ["10 MB", None, "1.5GiB", "", "900k"]
    for nulls, expected in (
        ("first", [None, "", "900k", "10 MB", "1.5GiB"]),
        ("last", ["900k", "10 MB", "1.5GiB", None, ""]),
    ):
        column = put(ColumnArray.of(sizes, nulls))  # type: ignore[arg-type]
        found = gpumerge_cli.sort(column, text="size")
        assert (found.tolist(), found.on_device) == (expected, column.on_device)
        turned = gpumerge_cli.sort({"size": column, "at": put(np.arange(5))}, key="size:r", text="size")
        numbers = [one for one in reversed(expected) if one]
        assert [one for one in turned["size"].tolist() if one] == numbers
        assert turned["size"].tolist().index(numbers[0]) == (2 if nulls == "first" else 0)
        assert back(gpumerge_cli.rank_of([found], ["1 GB"], text="size")).tolist() == [expected.index("1.5GiB")]
    key = gpumerge_cli.TextKey("size", nulls="first")
    assert gpumerge_cli.sort(put(ColumnArray.of(sizes)), text=key).tolist()[:2] == [None, ""]
    fixed = put(ColumnArray(np.array([b"2k", b"1k", b"x"]), valid=np.array([True, True, False]), nulls="last"))
    assert gpumerge_cli.argsort(fixed, text="size").tolist() == [1, 0, 2]
    with pytest.raises(InputError, match=r"array 0, index 1: 'b' is not a size"):
        gpumerge_cli.sort(put(ColumnArray.of(["1", "b"])), text="size")


def test_empty_texts(put: Put, rng: np.random.Generator) -> None:
    texts = [
        "" if empty else "ab"[:length]
        for empty, length in zip(rng.random(900) < 0.8, rng.integers(1, 3, 900), strict=True)
    ]
    found = gpumerge_cli.sort({"text": put(ColumnArray.of(texts)), "at": put(np.arange(900)[::-1].copy())}, key="at")
    assert found["text"].tolist() == texts[::-1]
    assert gpumerge_cli.sort(put(ColumnArray.of([""] * 9))).tolist() == [""] * 9


def test_texts_that_begin_others_take_few_rounds(
    fake_cupy: Any, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Each round would only part the shortest of them from the others, if it looked at the next bytes alone."""
    texts = [b"a" * length + b"b" * int(rng.integers(0, 2)) for length in rng.permutation(700)]
    column, rounds = put_by(fake_cupy)(ColumnArray.of(texts)), []
    compared = FakeStrings.compared
    monkeypatch.setattr(FakeStrings, "compared", staticmethod(lambda *given: rounds.append(1) or compared(*given)))
    for descending in (False, True):
        rounds.clear()
        assert gpumerge_cli.sort(column, descending=descending).tolist() == sorted(texts, reverse=descending)
        assert len(rounds) < 60


def test_long_texts_are_gathered_in_pieces(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(column_texts, "_PIECE", 50)
    for _ in range(20):
        texts = [bytes(rng.integers(0, 256, int(rng.choice([0, 1, 30, 200])), np.uint8)) for _ in range(40)]
        assert gpumerge_cli.sort(ColumnArray.of(texts)).tolist() == sorted(texts)


@pytest.mark.parametrize("place", ["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_columns_of_arrow_on_a_gpu(place: str, request: pytest.FixtureRequest) -> None:
    """By __arrow_c_device_array__, alone and as a Series of cuDF has it."""
    pa = needs.library("pyarrow")
    if place == "gpu":
        request.getfixturevalue("gpu_backend")
    cupy = needs.library("cupy") if place == "gpu" else request.getfixturevalue("fake_cupy")
    for made in (lambda column: column, CudfSeries):
        for kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            items = ["b", "né", "", "a" * 40, "a" * 41]
            items = items if "string" in str(kind) else [one.encode() for one in items]
            for start in (0, 1):
                column = made(DeviceColumn(cupy, pa.array(["first", *items][1 - start :], kind).slice(start)))
                found = gpumerge_cli.sort(column)
                assert isinstance(found, ColumnArray)
                assert (found.on_device, found.tolist()) == (True, sorted(items))
                assert found.to_arrow().type == (pa.large_string() if "string" in str(kind) else pa.large_binary())
                table = {"text": column, "at": there(cupy, np.arange(5))}
                assert gpumerge_cli.sort(table, key=["text:r"])["text"].tolist() == sorted(items, reverse=True)
        lacking = made(DeviceColumn(cupy, pa.array(["x", "b", None, "a", None] * 3).slice(3)))
        found = gpumerge_cli.argsort(ColumnArray.of(lacking, "first"))
        wanted = sorted(range(12), key=lambda at: (["a", None, "x", "b", None] * 3)[at] or "")
        assert back(found).tolist() == wanted
        with pytest.raises(UsageError, match="a column has 5 nulls"):
            gpumerge_cli.sort(lacking)
        for array in (
            pa.array([3, None, 1], pa.int16()), pa.array([True, None, False]), pa.array([7.5, None], pa.float16()),
            pa.array([3, 1], pa.timestamp("us", "UTC")), pa.array([5, None, 4], pa.date32()),
            pa.array([3, None], pa.duration("s")),
            pa.array([b"ab", None], pa.binary(2)),
        ):  # fmt: skip
            column = ColumnArray.of(made(DeviceColumn(cupy, array)), "last")
            assert column.tolist() == ColumnArray.of(array, "last").tolist()
            assert gpumerge_cli.sort(column).tolist()[-1] is None or not array.null_count
        for array in (pa.array(["a"]).dictionary_encode(), pa.array([[1]]), pa.array([None])):
            with pytest.raises(UsageError, match=r"is a dictionary; decode|cannot be keys; give a column of texts"):
                gpumerge_cli.sort(made(DeviceColumn(cupy, array)))
    categories = type("CategoricalDtype", (), {})()
    with pytest.raises(UsageError, match="CudfSeries holds categories; give their texts"):
        gpumerge_cli.sort(CudfSeries(DeviceColumn(cupy, pa.array([0, 1])), categories))
    frame = type("Frame", (CudfSeries,), {"columns": ["a"]})
    with pytest.raises(UsageError, match="Frame is a table; give one of its columns"):
        gpumerge_cli.sort(frame(DeviceColumn(cupy, pa.array([0, 1]))))
    with pytest.raises(UsageError, match="lies on a device of Arrow's type 8, which no backend reaches"):
        gpumerge_cli.sort(DeviceColumn(cupy, pa.array(["a"]), device_type=8))


@pytest.mark.gpu
def test_calls_wait_for_the_event_of_a_column(gpu_backend: Any) -> None:
    import cupy
    import pyarrow as pa

    texts = [f"{number:09d}" for number in range(200_000)]
    made, stream = cupy.cuda.Event(disable_timing=True), cupy.cuda.Stream(non_blocking=True)
    column = DeviceColumn(cupy, pa.array(texts), event=made)
    data = column.memory[2]
    given = data.copy()
    data[:] = 0
    cupy.cuda.Device().synchronize()
    with stream:
        busy = cupy.ones(1 << 26)
        for _ in range(50):
            busy = busy * 1.0
        data[:] = given[: len(data)]
        made.record(stream)
    assert gpumerge_cli.argsort(column, descending=True).get().tolist() == [*range(200_000)][::-1]


@pytest.mark.gpu
def test_graphs_capture_no_calls_on_columns(gpu_backend: Any) -> None:
    import cupy

    column, stream = ColumnArray.of(["b", "a"]).on_gpu(), cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        with pytest.raises(UsageError, match="a call on columns"):
            gpumerge_cli.sort(column)
        stream.end_capture()


def test_columns_of_other_libraries() -> None:
    pa, pandas, polars = (needs.library(name) for name in ("pyarrow", "pandas", "polars"))
    texts = ["né", None, "b", ""]
    for given in (
        texts, pa.array(texts), pa.array(texts, pa.large_string()), pa.array(texts, pa.string_view()),
        pa.chunked_array([texts[:1], texts[1:]]), pa.array(texts).dictionary_encode(), pandas.Series(texts),
        polars.Series(texts), polars.Series(texts, dtype=polars.Categorical), np.array(texts, object),
    ):  # fmt: skip
        assert gpumerge_cli.sort(ColumnArray.of(given, "first")).tolist() == [None, "", "b", "né"]
    assert ColumnArray.of(np.array(["b", "a"])).tolist() == ["b", "a"]
    assert gpumerge_cli.sort(ColumnArray.of([b"b", b"\xff", b"a"])).tolist() == [b"a", b"b", b"\xff"]
    assert gpumerge_cli.sort(ColumnArray.of(pa.array([5, None, 3]), "last")).to_arrow().to_pylist() == [3, 5, None]
    assert gpumerge_cli.sort(ColumnArray.of([5, None, 3], "first")).tolist() == [None, 3, 5]
    assert gpumerge_cli.sort(ColumnArray.of([0.5, None], "last"), descending=True).tolist() == [0.5, None]
    assert len(ColumnArray.of(pa.array([], pa.string()))) == 0
    with pytest.raises(UsageError, match="'ab' is one text; give a list"):
        ColumnArray.of("ab")
    for given, told in (
        (pa.array([[1]]), "cannot be keys"),
        (pa.array([None]), "cannot be keys"),
        ([1, "a"], "values of <U21 are not a column; give texts"),
        ([1j, None], "a list of complex128 and None is not a column"),
    ):
        with pytest.raises(UsageError, match=told):
            ColumnArray.of(given)


def test_messages(put: Put) -> None:
    texts = ColumnArray.of(["b", "a", None])
    with pytest.raises(UsageError, match=r'a column has 1 null.*drop or fill them, or .*nulls="last"'):
        gpumerge_cli.sort(put(texts))
    last = put(ColumnArray.of(["b", "a", None], "last"))
    with pytest.raises(DisorderError, match="array 0, index 1: disorder: a comes after b; sort it first"):
        gpumerge_cli.merge(last, check=True)
    wrong = put(ColumnArray(np.zeros(3, np.uint8), np.array([0, 2, 1, 3])))
    for offsets in ([0, 2, 1, 3], [-1, 2], [0, 4]):
        wrong = put(ColumnArray(np.zeros(3, np.uint8), np.array(offsets)))
        with pytest.raises(InputError, match="array 1: offsets descend, or lead out of the 3 bytes"):
            gpumerge_cli.merge(put(ColumnArray.of(["a"])), wrong)
    numbers = put(np.arange(3))
    for call, told in (
        (lambda: gpumerge_cli.sort(last, key="a"), "a column has no fields, so it cannot have a key; leave key out"),
        (lambda: gpumerge_cli.sort(last, out=numbers), "out must be an array"),
        (lambda: gpumerge_cli.sort(put(ColumnArray(np.arange(3))), text="size"), "a column of int64 holds no texts"),
        (lambda: gpumerge_cli.sort({"a": last}, key=["a", "a"], text="size"), "text: only one key can be read"),
        (lambda: gpumerge_cli.merge(last, numbers), "columns of different types: int64, texts"),
        (lambda: gpumerge_cli.merge(last, put(ColumnArray.of(["a"], "first"))), "nulls come first in one"),
        (lambda: gpumerge_cli.sort(numbers, values=last), "values: gpumerge_cli.ColumnArray holds texts or nulls"),
        (
            lambda: gpumerge_cli.sort(numbers, values={"a": last, "b": numbers}),
            r"values: dict holds columns; give the numbers of rows, values=numpy.arange\(0, 3\), .*: column\[rows\]$",
        ),
        (lambda: gpumerge_cli.sort({"a": last}), "a dict of columns needs a key; name one or several as the key: a"),
        (lambda: gpumerge_cli.sort({"a": last}, key="b"), "key='b' is not a column; name columns of the dict: a"),
        (lambda: gpumerge_cli.sort({"a": last, "b": numbers[:2]}, key="b"), "columns of different lengths"),
        (lambda: gpumerge_cli.merge({"a": last}, {"b": last}, key="a"), "dicts of different columns: a and b"),
        (lambda: gpumerge_cli.merge({"a": last}, last, key="a"), "a dict of columns beside other arrays"),
        (lambda: gpumerge_cli.join({"a": last}, {"a": last}), r"join does not accept records; .* a\['a'\]"),
        (lambda: gpumerge_cli.rank_of([last], np.arange(2)), "columns of different types: int64, texts"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=told):
            call()
    for fields, told in (
        ({"values": np.zeros((2, 2))}, "values has 2 dimensions"),
        ({"values": np.zeros(2), "offsets": np.zeros(2, int)}, "values of float64 and offsets of int64 are not texts"),
        ({"values": np.zeros(2, "u1"), "offsets": np.zeros(0, int)}, "offsets is empty"),
        ({"values": np.zeros(2), "valid": np.zeros(1, bool)}, "valid has 1 items of bool for a column of 2"),
        ({"values": np.zeros(2, object)}, "values of object are not a column"),
        ({"values": np.zeros(2), "nulls": "middle"}, "nulls='middle' is not a place"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=told):
            ColumnArray(**fields)  # type: ignore[arg-type]
