"""Sets of files: every rule, kind of item and order, held against a count of equal items."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import plan_files
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import DisorderError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.equals import SETS, Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.results.run import MergeReport
from tests.jobs_of import merge_job

Write = Callable[[str, Any], str]
ALL_SETS = [one for one in Equals if one.is_set]
TINY = 1 << 12  # bytes of memory, so that equal items lie across what would be chunks


def combined(
    inputs: Sequence[str], output: Path, equals: Equals, items: Items, memory: int | None = TINY, **more: Any
) -> MergeReport:
    on = Resources("cpu", threads=more.pop("threads", 3))
    return run_job(merge_job(inputs, str(output), items, on, equals=equals, memory=memory, **more))


def expected(runs: Sequence[Sequence[bytes]], order: Order, equals: Equals) -> list[bytes]:
    """The items that go out, by the plain rule."""
    compare = Comparison(order)
    key = cmp_to_key(lambda x, y: compare(x[0], y[0]))
    found: list[bytes] = []
    numbered = sorted(((item, at) for at, run in enumerate(runs) for item in run), key=key)
    for _, group in groupby(numbered, key):
        each: list[list[bytes]] = [[] for _ in runs]
        for item, at in group:
            each[at].append(item)
        ranges = equals.kept([len(some) for some in each])
        found += chain.from_iterable(some[low:high] for some, (low, high) in zip(each, ranges, strict=True))
    return found


@pytest.mark.parametrize("equals", ALL_SETS)
def test_the_plain_rule_is_pythons(equals: Equals) -> None:
    """Counter has the same multisets, two at a time; for sets, Python has sets."""
    folds: dict[str, Callable[[Any, Any], Any]] = {
        "union": lambda a, b: a | b,
        "intersect": lambda a, b: a & b,
        "difference": lambda a, b: a - b,
        "symmetric": lambda a, b: (a - b) + (b - a) if isinstance(a, Counter) else a ^ b,
    }
    chance = random.Random(7)
    for _ in range(300):
        counts = [chance.randint(0, 3) for _ in range(chance.randint(1, 5))]
        several = [set("x" * count) if equals.is_distinct else Counter("x" * count) for count in counts]
        whole: Any = several[0]
        for one in several[1:]:
            whole = folds[equals.name_of_set](whole, one)
        left = len(whole) if equals.is_distinct else whole["x"]
        assert sum(high - low for low, high in equals.kept(counts)) == left, (equals, counts)


def test_merges_keep_all_or_the_first() -> None:
    assert Equals.ALL.most([2, 0, 3]) == Equals.FIRST.most([2, 0, 3]) == 5
    assert Equals.ALL.kept([2, 0, 3]) == [(0, 2), (0, 0), (0, 3)]
    assert Equals.FIRST.kept([0, 2, 3]) == [(0, 0), (0, 1), (0, 0)]


DTYPES = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
    "bool", "datetime64[s]",
)  # fmt: skip


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", ALL_SETS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers(equals: Equals, dtype: str, tmp_path: Path, write: Write, seed: int, rounds: int) -> None:
    print("seed", seed)
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    for _ in range(rounds):
        descending = chance.random() < 0.4
        values = chance.choice([1, 3, 100])
        sizes = [chance.choice([0, 1, 40, 3000]) for _ in range(chance.randint(1, 5))]
        runs = [rng.integers(0, values, size).astype(dtype) for size in sizes]
        for run in runs:
            if run.dtype.kind == "f" and len(run) > 2:
                run[rng.integers(0, len(run), 9)] = chance.choice([np.nan, -0.0])
            if run.dtype.kind == "M" and len(run) > 2:
                run[rng.integers(0, len(run), 9)] = "NaT"
            run[:] = np.sort(run)[:: -1 if descending else 1]
        names = [write(f"{number}.raw", run) for number, run in enumerate(runs)]
        items = Items("raw", dtype, reverse=descending)
        memory, threads = chance.choice([None, TINY]), chance.randint(1, 3)
        report = combined(names, tmp_path / "out", equals, items, memory, threads=threads)
        split = [[run[at : at + 1].tobytes() for at in range(len(run))] for run in runs]
        wanted = b"".join(expected(split, Order.of(dtype, descending=descending), equals))
        assert (tmp_path / "out").read_bytes() == wanted, [len(run) for run in runs]
        assert report.written == len(wanted)
        assert report.items - report.dropped == len(wanted) // run.itemsize


LINES = {
    "plain": LineOrder(stable=True),
    "reverse": LineOrder(stable=True, reverse=True),
    "numeric": LineOrder((LineKey("numeric"),), stable=True),
    "second": LineOrder((LineKey("numeric", start_field=1, end_field=1, reverse=True),), separator=b",", stable=True),
    "ignore case": LineOrder((LineKey(fold=True),), stable=True),
}


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", ALL_SETS)
@pytest.mark.parametrize("name", list(LINES))
def test_lines(equals: Equals, name: str, tmp_path: Path, seed: int, rounds: int) -> None:
    print("seed", seed)
    chance, order = random.Random(seed), Order.lines(LINES[name])
    compare = Comparison(order)
    words = ["a", "A", "b", "bb" * 20, "Zebra", "07", "7", "7.0", "-3", "", "x" * 70 + "1", "x" * 70 + "2"]
    for _ in range(rounds):
        runs = [
            sorted(
                (
                    f"{chance.choice(words)},{chance.choice(words)}".encode()
                    for _ in range(chance.choice([0, 1, 30, 900]))
                ),
                key=cmp_to_key(compare),
            )
            for _ in range(chance.randint(1, 5))
        ]
        names = []
        for number, run in enumerate(runs):
            (tmp_path / f"{number}.txt").write_bytes(b"".join(line + b"\n" for line in run))
            names.append(str(tmp_path / f"{number}.txt"))
        items = Items("text", lines=LINES[name])
        combined(names, tmp_path / "out.txt", equals, items, chance.choice([None, TINY]), threads=chance.randint(1, 3))
        wanted = b"".join(line + b"\n" for line in expected(runs, order, equals))
        assert (tmp_path / "out.txt").read_bytes() == wanted, list(map(len, runs))


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", ALL_SETS)
@pytest.mark.parametrize("key", [2, 12])
def test_records(equals: Equals, key: int, tmp_path: Path, seed: int, rounds: int) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(rounds):
        runs = [
            sorted(
                (
                    b"same" + bytes(chance.choices(b"ab", k=key)) + chance.randbytes(9)
                    for _ in range(chance.choice([0, 1, 700]))
                ),
                key=lambda record: record[4 : 4 + key],
            )
            for _ in range(chance.randint(1, 4))
        ]
        names = []
        for number, run in enumerate(runs):
            (tmp_path / f"{number}.bin").write_bytes(b"".join(run))
            names.append(str(tmp_path / f"{number}.bin"))
        request = RecordRequest(13 + key, 4, key)
        combined(names, tmp_path / "out.bin", equals, Items(records=request), chance.choice([None, TINY]))
        found, counts = b"".join(expected_records(runs, key, equals)), list(map(len, runs))
        assert (tmp_path / "out.bin").read_bytes() == found, counts


def expected_records(runs: Sequence[Sequence[bytes]], key: int, equals: Equals) -> list[bytes]:
    found: list[bytes] = []
    for value in sorted({record[4 : 4 + key] for run in runs for record in run}):
        each = [[record for record in run if record[4 : 4 + key] == value] for run in runs]
        ranges = equals.kept([len(some) for some in each])
        found += chain.from_iterable(some[low:high] for some, (low, high) in zip(each, ranges, strict=True))
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", SETS)
def test_parts_and_npy(name: str, tmp_path: Path, write: Write, rng: np.random.Generator) -> None:
    runs = [np.sort(rng.integers(0, 300, 5000)).astype(np.int32) for _ in range(3)]
    names = [write(f"{number}.npy", run) for number, run in enumerate(runs)]
    equals = Equals.of_sets(name, distinct=False)
    combined(names, tmp_path / "whole.npy", equals, Items())
    report = combined(names, tmp_path / "{part}.npy", equals, Items(), parts=4)
    whole = np.load(tmp_path / "whole.npy")
    assert np.array_equal(np.concatenate([np.load(part.name) for part in report.parts]), whole)
    split = [[item.tobytes() for item in run] for run in runs]
    assert whole.tobytes() == b"".join(expected(split, Order.of("int32"), equals))


@pytest.mark.parametrize("mapped", ["0", "1"])
def test_a_union_gives_back_the_room_it_does_not_need(
    mapped: str, tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUMERGE_TEST_MAPPED", mapped)
    names = [write(f"{number}.i64", np.arange(100_000)) for number in range(3)]
    combined(names, tmp_path / "out.i64", Equals.UNION, Items(), None)
    assert (tmp_path / "out.i64").read_bytes() == np.arange(100_000).tobytes()
    assert os.stat(tmp_path / "out.i64").st_blocks * 512 < 1_600_000


def test_groups_are_not_cut(tmp_path: Path, write: Write) -> None:
    """Also where a group is far longer than a chunk."""
    runs = [np.repeat(np.array([1, 2, 3], np.int32), [number, 20_000, 5]) for number in range(3)]
    names = [write(f"{number}.i32", run) for number, run in enumerate(runs)]
    job = merge_job(names, backend="cpu", memory=TINY, equals=Equals.UNION)
    for chunk in plan_files(job).chunks:
        ahead = [run[start // 4 - 1] for run, (start, _) in zip(runs, chunk.ranges, strict=True) if start]
        inside = [run[start // 4] for run, (start, stop) in zip(runs, chunk.ranges, strict=True) if stop > start]
        assert not ahead or max(ahead) < min(inside)


def test_disorder_is_told_with_its_place(tmp_path: Path, write: Write) -> None:
    run = np.arange(50_000, dtype=np.int32)
    run[31_000] = 7
    names = [write("a.i32", np.arange(40_000, dtype=np.int32)), write("b.i32", run)]
    with pytest.raises(DisorderError, match="comes after"):
        combined(names, tmp_path / "out.i32", Equals.INTERSECT, Items())
    assert not (tmp_path / "out.i32").exists()


def test_the_same_file_twice_and_one_file(tmp_path: Path, write: Write) -> None:
    run = np.sort(np.arange(9_000, dtype=np.int32) // 3)
    name = write("a.i32", run)
    for equals, inputs, wanted in (
        (Equals.UNION, [name, name], run),
        (Equals.INTERSECT, [name, name], run),
        (Equals.DIFFERENCE, [name, name], run[:0]),
        (Equals.SYMMETRIC, [name, name, name], run),
        (Equals.DISTINCT_DIFFERENCE, [name], np.unique(run)),
    ):
        combined(inputs, tmp_path / "out.i32", equals, Items())
        assert (tmp_path / "out.i32").read_bytes() == wanted.tobytes(), equals
