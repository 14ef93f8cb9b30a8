"""Public calls on arrays of more than 2^31 and 2^32 items, on a GPU with room for them.

The contents follow from arithmetic, so that results are judged where they are, piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumerge_cli import argsort, is_sorted, merge, sort

if TYPE_CHECKING:
    from gpumerge_cli.backends.base import Backend

pytestmark = [pytest.mark.gpu, pytest.mark.thorough]

LONG, HALF = 1 << 32, 1 << 31
WORD = "uint32"
"""The dtype whose values are as many as LONG."""
_PIECE = 1 << 28
_GIGABYTE = 1 << 30
_ODD = 2654435761


@pytest.fixture
def xp(gpu_backend: Backend) -> Iterator[Any]:
    """CuPy, whose memory is given back after the test."""
    import cupy

    yield cupy
    cupy.get_default_memory_pool().free_all_blocks()


@pytest.fixture
def room(gpu_backend: Backend) -> Callable[[int], None]:
    """room(n) skips the test if the device has less than n GB of free memory."""
    import cupy

    def judge(gigabytes: int) -> None:
        cupy.get_default_memory_pool().free_all_blocks()
        free, _ = cupy.cuda.Device().mem_info
        if free < gigabytes * _GIGABYTE:
            pytest.skip(f"needs {gigabytes} GB of free device memory; run it on a larger GPU")

    return judge


def pieces(count: int) -> Iterator[slice]:
    for start in range(0, count, _PIECE):
        yield slice(start, min(count, start + _PIECE))


def edges_of(length: int, skew: int) -> list[int]:
    """Where each of the 256 values begins in a run of so many bytes, and its end: rows of different lengths."""
    weights = [1 + (value * skew + 3 * skew) % 7 for value in range(256)]
    sums = [0, *accumulate(weights)]
    return [length * each // sums[-1] for each in sums]


def run_of_bytes(xp: Any, edges: list[int], dtype: str = "uint8", ahead: int = 0) -> Any:
    """The run with these edges, `ahead` bytes behind the beginning of its memory."""
    run = xp.empty(edges[-1] + ahead, np.uint8)[ahead:]
    low = 128 if dtype == "int8" else 0
    for value in range(256):
        run[edges[value] : edges[value + 1]] = (value + low) % 256
    return run.view(dtype)


def differs(xp: Any, array: Any, runs: list[list[int]]) -> list[int]:
    """The values whose rows are wrong in a merge of runs with these edges."""
    ends = [sum(each) for each in zip(*runs, strict=True)]
    low = 128 if array.dtype == np.int8 else 0
    array = array.view(np.uint8)
    return [value for value in range(256) if not (array[ends[value] : ends[value + 1]] == (value + low) % 256).all()]


def sums(xp: Any, array: Any) -> tuple[int, int, int]:
    """Sums modulo 2^64 that tell whether two arrays hold the same keys, in whatever order."""
    first = second = third = 0
    for piece in pieces(len(array)):
        part = array[piece].astype(np.uint64)
        mixed = part * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        first += int(part.sum())
        second += int(mixed.sum())
        third += int((mixed >> np.uint64(32)).sum())
    return first % (1 << 64), second % (1 << 64), third


def scattered(xp: Any, count: int, dtype: str) -> Any:
    """Keys in no order. All differ if they are as wide as WORD."""
    keys = xp.empty(count, dtype)
    for piece in pieces(count):
        numbers = xp.arange(piece.start, piece.stop, dtype=np.uint64)
        numbers *= np.uint64(_ODD)
        keys[piece] = (numbers if keys.dtype.name == WORD else numbers >> np.uint64(9)).astype(dtype)
    return keys


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_merge_of_bytes(xp: Any, room: Callable[[int], None], dtype: str) -> None:
    """Two runs of more than 2^31 items each, value by value."""
    room(20)
    edges = [edges_of(HALF + 4099, 3), edges_of(HALF + 77, 5)]
    runs = [run_of_bytes(xp, each, dtype, ahead) for each, ahead in zip(edges, (1, 7), strict=True)]
    found = merge(*runs)
    assert differs(xp, found, edges) == []
    out = xp.full(len(found) + 3, 1, dtype)[3:]
    assert merge(*runs, out=out) is out
    assert differs(xp, out, edges) == []
    for count in (LONG + 5, HALF + 5, len(out) - 1):
        assert is_sorted(out)
        kept = out[count : count + 1].copy()
        out[count] = out[0] if bool(kept[0] > out[0]) else out[-1]
        assert not is_sorted(out)
        out[count : count + 1] = kept


@pytest.mark.parametrize("number", [5, 20])
def test_merge_of_several_runs_of_bytes(xp: Any, room: Callable[[int], None], number: int) -> None:
    room(40)
    edges = [edges_of((LONG if at == 1 else LONG // 8) + 4099 * at, 1 + at) for at in range(5)]
    if number > 5:
        edges = [edges_of(LONG // 16 + 999 * at, 1 + at % 6) for at in range(number)]
    runs = [run_of_bytes(xp, each) for each in edges]
    found = merge(*runs)
    assert len(found) > LONG
    assert differs(xp, found, edges) == []


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("items", ["HALF", "LONG"])
def test_merge_of_words(xp: Any, room: Callable[[int], None], number: int, items: str) -> None:
    """Runs that interleave item by item."""
    each = (HALF if items == "HALF" else LONG) // number + 1001
    room(4 * (number + 1) * each // _GIGABYTE + 4)
    run = xp.arange(each, dtype=WORD)
    out = xp.empty(number * each, WORD)
    assert merge(*[run] * number, out=out) is out
    for piece in pieces(len(out)):
        assert (out[piece] == xp.arange(piece.start, piece.stop, dtype=np.uint64) // number).all(), piece


@pytest.mark.parametrize("lengths", ["HALF", "LONG"])
def test_merge_of_values(xp: Any, room: Callable[[int], None], lengths: str) -> None:
    """Values move with their keys. Each is told from its neighbours, and from the values of the other run."""
    room(40)
    total = HALF if lengths == "HALF" else LONG
    edges = [edges_of(total // 2 + 4099, 3), edges_of(total // 2 + 77, 5)]
    runs = [run_of_bytes(xp, each) for each in edges]
    values = [xp.empty(len(run), np.uint8) for run in runs]
    for number, each in enumerate(values):
        for piece in pieces(len(each)):
            numbers = xp.arange(piece.start, piece.stop, dtype=np.uint64)
            each[piece] = (numbers * np.uint64(2 * number + 37) >> np.uint64(3)).astype(np.uint8)
    shapes = ("bytes", "rows") if lengths == "HALF" else ("bytes",)  # the places of rows take 32 bits
    for shape in shapes:
        given = values if shape == "bytes" else [xp.stack([each, each, each], axis=1) for each in values]
        found, moved = merge(*runs, values=given)
        assert differs(xp, found, edges) == []
        ends = [sum(each) for each in zip(*edges, strict=True)]
        for value in range(256):
            at = ends[value]
            for own, each in zip(edges, given, strict=True):
                part = each[own[value] : own[value + 1]]
                assert (moved[at : at + len(part)] == part).all(), (shape, value)
                at += len(part)
        del given, found, moved


@pytest.mark.parametrize(
    ("dtype", "count"), [("uint8", "LONG + 4099"), ("uint8", "HALF + 4099"), ("int16", "HALF + 77"), ("int16", "LONG")]
)
def test_sort_of_narrow_keys(xp: Any, room: Callable[[int], None], dtype: str, count: str) -> None:
    room(60)
    total = {"LONG + 4099": LONG + 4099, "HALF + 4099": HALF + 4099, "HALF + 77": HALF + 77, "LONG": LONG}[count]
    keys = scattered(xp, total, dtype)
    found = sort(keys)
    assert is_sorted(found)
    assert sums(xp, found) == sums(xp, keys)
    assert not is_sorted(keys)
    out = xp.empty(total, dtype)
    assert sort(keys, out=out, descending=True) is out
    assert is_sorted(out, descending=True)
    assert sums(xp, out) == sums(xp, keys)


@pytest.mark.parametrize("count", ["HALF + 1001", "LONG - 1", "LONG"])
def test_sort_of_words(xp: Any, room: Callable[[int], None], count: str) -> None:
    room(75)
    total = {"HALF + 1001": HALF + 1001, "LONG - 1": LONG - 1, "LONG": LONG}[count]
    keys = scattered(xp, total, WORD)
    found = sort(keys)
    assert is_sorted(found)
    assert sums(xp, found) == sums(xp, keys)
    if count == "LONG":
        for piece in pieces(total):
            assert (found[piece] == xp.arange(piece.start, piece.stop, dtype=np.uint64)).all(), piece


def test_values_and_places(xp: Any, room: Callable[[int], None]) -> None:
    """The places of more than 2^31 keys, as values and as the result of argsort."""
    room(100)
    total = HALF + 4099
    keys = scattered(xp, total, "uint8")
    places = xp.arange(total, dtype=WORD)
    found, moved = sort(keys, values=places)
    del places
    assert is_sorted(found)
    for piece in pieces(total):
        assert (keys[moved[piece].astype(np.int64)] == found[piece]).all(), piece
        both = found[piece.start : piece.stop + 1].astype(np.uint64) << np.uint64(32)
        both |= moved[piece.start : piece.stop + 1].astype(np.uint64)
        assert (both[1:] > both[:-1]).all(), piece  # equal keys keep their order
    del found
    numbers = argsort(keys)
    for piece in pieces(total):
        assert (numbers[piece] == moved[piece]).all(), piece
