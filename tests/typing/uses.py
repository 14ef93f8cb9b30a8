"""Calls by which type checkers and Python itself try every overload of the functions on arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import gpumerge_cli as g
from gpumerge_cli.arrays.equal_pairs import How
from gpumerge_cli.engine.rank import Answers
from gpumerge_cli.results.run import CheckReport, MergeReport

Ints = NDArray[np.int32]
Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Strings = NDArray[np.str_]


class Other:
    """An array of another library, in host memory."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.arange(2)


a: Ints = np.arange(3, dtype=np.int32)
b: Ints = np.arange(2, dtype=np.int32)
x: Floats = np.zeros(3)
y: Floats = np.zeros(2)
other, also = Other(), Other()
listed = [1, 2]
words = ["c", "b", "a"]
wants = bool(len(a))
Some = Floats | None


def maybe(rows: Floats) -> Some:
    """The rows, of which type checkers know no more than that there may be some."""
    return rows


z, short = maybe(x), maybe(y)
how: How = "outer" if wants else "anti"

assert_type(g.merge(a, b), Ints)
assert_type(g.merge(a, b, check=True, descending=False, threads=1, backend="cpu"), Ints)
assert_type(g.merge(a, b, kernel="path", tile_size=None), Ints)
assert_type(g.merge(a, b, values=[x, y]), tuple[Ints, Floats])
assert_type(g.merge(a, b, values=[["a", "b", "c"], ["d", "e"]]), tuple[Ints, Strings])
assert_type(g.merge(a, b, counts=True), tuple[Ints, Indices])
assert_type(g.merge(a, b, values=[x, y], counts=True), tuple[Ints, Floats, Indices])
assert_type(g.merge(a, b, values=[[1, 2, 3], [4, 5]], counts=True), tuple[Ints, NDArray[Any], Indices])
assert_type(g.merge(a, values=[words], counts=True), tuple[Ints, Strings, Indices])
assert_type(g.merge(listed, values=[("a", "b")]), tuple[NDArray[Any], Strings])
assert_type(g.merge([1, 4], (2, 3)), NDArray[Any])
assert_type(g.merge(listed, values=[y]), tuple[NDArray[Any], Floats])
assert_type(g.merge(listed, counts=True), tuple[NDArray[Any], Indices])
assert_type(g.merge(listed, values=[y], counts=True), tuple[NDArray[Any], Floats, Indices])
assert_type(g.merge(other, also), Any)
assert_type(g.merge(other, values=[also]), tuple[Any, Any])
assert_type(g.merge(other, counts=True), tuple[Any, Any])
assert_type(g.merge(other, values=[also], counts=True), tuple[Any, Any, Any])
assert_type(g.merge(a, counts=wants), Ints | tuple[Ints, Indices])
assert_type(
    g.merge(a, values=None if z is None else [z], counts=True), tuple[Ints, Floats, Indices] | tuple[Ints, Indices]
)
assert_type(g.merge(listed, counts=wants), NDArray[Any] | tuple[NDArray[Any], Indices])
assert_type(g.merge(other, counts=wants), Any)

assert_type(g.union(a, b), Ints)
assert_type(g.intersect(a, b, distinct=True, check=True), Ints)
assert_type(g.difference(a, b, values=[x, y]), tuple[Ints, Floats])
assert_type(g.symmetric(a, b, values=[[1, 2, 3], [4, 5]]), tuple[Ints, NDArray[Any]])
assert_type(g.union(a, b, counts=True), tuple[Ints, Indices])
assert_type(g.union(a, b, values=[x, y], counts=True), tuple[Ints, Floats, Indices])
assert_type(g.union(a, b, values=[[1, 2, 3], [4, 5]], counts=True), tuple[Ints, NDArray[Any], Indices])
assert_type(g.union(a, values=[words]), tuple[Ints, Strings])
assert_type(g.union(listed, values=[["a", "b"]], counts=True), tuple[NDArray[Any], Strings, Indices])
assert_type(g.union([1, 2], (2, 3)), NDArray[Any])
assert_type(g.union(listed, values=[y]), tuple[NDArray[Any], Floats])
assert_type(g.union(listed, counts=True), tuple[NDArray[Any], Indices])
assert_type(g.union(listed, values=[y], counts=True), tuple[NDArray[Any], Floats, Indices])
assert_type(g.union(other, also), Any)
assert_type(g.union(other, values=[also]), tuple[Any, Any])
assert_type(g.union(other, counts=True), tuple[Any, Any])
assert_type(g.union(other, values=[also], counts=True), tuple[Any, Any, Any])
assert_type(g.union(a, counts=wants), Ints | tuple[Ints, Indices])
assert_type(g.union(a, values=None if z is None else [z]), tuple[Ints, Floats] | Ints)
assert_type(g.union(a, values=[x], counts=wants), tuple[Ints, Floats] | tuple[Ints, Floats, Indices])
assert_type(g.union(other, counts=wants), Any)

assert_type(g.sort(a), Ints)
assert_type(g.sort(a, algorithm="merge", kernel="auto", devices=None), Ints)
assert_type(g.sort(a, values=x), tuple[Ints, Floats])
assert_type(g.sort(a, values=["a", "b", "c"]), tuple[Ints, Strings])
assert_type(g.sort(a, values=words, counts=True), tuple[Ints, Strings, Indices])
assert_type(g.sort(listed, values=("a", "b")), tuple[NDArray[Any], Strings])
assert_type(g.sort(a, counts=True), tuple[Ints, Indices])
assert_type(g.sort(a, values=x, counts=True), tuple[Ints, Floats, Indices])
assert_type(g.sort(a, values=[1, 2, 3], counts=True), tuple[Ints, NDArray[Any], Indices])
assert_type(g.sort([2.5, 1]), NDArray[Any])
assert_type(g.sort(listed, values=y), tuple[NDArray[Any], Floats])
assert_type(g.sort(listed, counts=True), tuple[NDArray[Any], Indices])
assert_type(g.sort(listed, values=y, counts=True), tuple[NDArray[Any], Floats, Indices])
assert_type(g.sort(other), Any)
assert_type(g.sort(other, values=also), tuple[Any, Any])
assert_type(g.sort(other, counts=True), tuple[Any, Any])
assert_type(g.sort(other, values=also, counts=True), tuple[Any, Any, Any])
assert_type(g.sort(a, values=z), tuple[Ints, Floats] | Ints)
assert_type(g.sort(a, values=z, counts=True), tuple[Ints, Floats, Indices] | tuple[Ints, Indices])
assert_type(g.sort(listed, values=short), tuple[NDArray[Any], Floats] | NDArray[Any])
assert_type(g.sort(b, values=also), tuple[Ints, NDArray[Any]])
assert_type(g.sort(a, counts=wants), Ints | tuple[Ints, Indices])
assert_type(g.sort(a, values=x, counts=wants), tuple[Ints, Floats] | tuple[Ints, Floats, Indices])
assert_type(g.sort(other, counts=wants), Any)

texts: NDArray[np.bytes_] = np.array([b"1k", b"2M"])
sizes = g.TextKey("size", nulls="first", null_values=["NA"])
assert_type(g.sort(texts, text="size"), NDArray[np.bytes_])
assert_type(g.merge(texts, texts, text=sizes, counts=True), tuple[NDArray[np.bytes_], Indices])
assert_type(g.union(texts, text=sizes), NDArray[np.bytes_])
assert_type(g.argsort(texts, text="human-numeric"), Indices)
assert_type(g.is_sorted(texts, text=None), bool)
assert_type(g.join(texts, texts, text=sizes), tuple[Indices, Indices])
assert_type(g.rank([texts], 1, text=sizes), Indices)

assert_type(g.argsort(a, descending=True), Indices)
assert_type(g.argsort([3, 1]), Indices)
assert_type(g.argsort(other), Any)
assert_type(g.is_sorted(other), bool)

assert_type(g.join(a, b), tuple[Indices, Indices])
assert_type(g.join([1, 2], (2, 3), how="outer", check=True), tuple[Indices, Indices])
assert_type(g.join(a, b, how="anti"), Indices)
assert_type(g.join(a, b, how=how), tuple[Indices, Indices] | Indices)
assert_type(g.join(other, also, how="left"), tuple[Any, Any])
assert_type(g.join(other, also, how="semi"), Any)

assert_type(g.topk(a, 2), Ints)
assert_type(g.topk(a, 2, values=x), tuple[Ints, Floats])
assert_type(g.topk(a, 2, values=["x", "y", "z"]), tuple[Ints, Strings])
assert_type(g.topk([3, 1], 2, descending=True), NDArray[Any])
assert_type(g.topk(other, 1), Any)
assert_type(g.topk(other, 1, values=also), tuple[Any, Any])
assert_type(g.argtopk(a, 2), Indices)
assert_type(g.argtopk(other, 1), Any)
assert_type(g.asof_join(a, b), Indices)
assert_type(g.asof_join([1, 2], (2, 3), direction="nearest", tolerance=1), Indices)
assert_type(g.asof_join(other, also), Any)
assert_type(g.diff(a, b), g.ArrayDiff)
assert_type(g.diff(other, also, multi=True), g.ArrayDiff)

assert_type(g.rank([a, b], 2, check=True), Indices)
assert_type(g.rank([[1, 4], [2]], [0, 3]), Indices)
assert_type(g.rank([other, also], 2), Any)
assert_type(g.rank_of([a, b], 2, side="right"), Indices)
assert_type(g.rank_of([other, also], 2), Any)


def tables(frame: Other, frames: list[Other]) -> None:
    """A table of any class gives one of its class. Type checkers read this; a test does not run it."""
    assert_type(g.merge_tables(frames, by="a", nulls="first", check=True), Other)
    assert_type(g.merge_tables((frame, frame), "a.b:r"), Other)
    assert_type(g.sort_table(frame, by=["a", ("b", "descending")], threads=1), Other)
    assert_type(g.sort_table(frame, ("b", "ascending")), Other)


def files() -> MergeReport | CheckReport | Answers:
    """A job's result. Its class follows from the operation. Type checkers read this; a test does not run it."""
    job = g.Job(("a.npy",), operation=g.Operation("check"))
    assert_type(g.run(job), MergeReport | CheckReport | Answers)
    assert_type(g.merge_files(["a.npy", Path("b.npy")], "c.npy", unique=True, memory=1 << 30), MergeReport)
    assert_type(g.sort_files("a.npy", Path("b.npy"), field=["id:r"], fan_in=None), MergeReport)
    assert_type(g.check_files(Path("a.npy")), CheckReport)
    return g.run(job)
