"""Counts of equal items in a file of their own: every kind of item against Counter, and both files or neither."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import GpumergeError, OutputError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals, Margin
from tests.jobs_of import merge_job, sort_job

Write = Callable[[str, Any], str]
TINY = 1 << 12  # bytes of memory, so that equal items lie across what would be chunks


def counted(
    inputs: Sequence[str], output: Path, counts: Path, equals: Equals | None, items: Items, memory: int | None
) -> None:
    """equals: None sorts the inputs, a rule merges or combines them."""
    on, margin = Resources("cpu", threads=3), Margin("apart", file=str(counts))
    if equals is None:
        given = (tuple(inputs), str(output), items, on)
        run_job(sort_job(*given, memory=memory, margin=margin, equals=Equals.FIRST))
    else:
        run_job(merge_job(inputs, str(output), items, on, equals=equals, memory=memory, margin=margin))


def expected(equals: Equals | None, runs: Sequence[Sequence[Any]]) -> list[tuple[Any, int]]:
    each = [Counter(run) for run in runs]
    whole = each[0]
    for one in each[1:]:
        if equals is Equals.UNION:
            whole = whole | one
        elif equals is Equals.INTERSECT:
            whole = whole & one
        elif equals is Equals.DIFFERENCE:
            whole = whole - one
        elif equals is Equals.SYMMETRIC:
            whole = (whole - one) + (one - whole)
        else:
            whole = whole + one
    return sorted(whole.items())


RULES = [None, Equals.FIRST, Equals.UNION, Equals.INTERSECT, Equals.DIFFERENCE, Equals.SYMMETRIC]


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", RULES)
@pytest.mark.parametrize("dtype", ["int8", "uint16", ">i4", "int32", "uint64", "float16", "float64"])
def test_numbers(equals: Equals | None, dtype: str, tmp_path: Path, write: Write, seed: int) -> None:
    print("seed", seed)
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    for suffix in ("npy", "u64"):
        sizes = [chance.choice([0, 1, 3000]) for _ in range(chance.randint(1, 4))]
        runs = [rng.integers(0, chance.choice([1, 90]), size).astype(dtype) for size in sizes]
        if equals is not None:
            runs = [np.sort(run) for run in runs]
        names = [write(f"{number}.raw", run) for number, run in enumerate(runs)]
        counts, items = tmp_path / f"counts.{suffix}", Items("raw", dtype)
        counted(names, tmp_path / "out", counts, equals, items, chance.choice([None, TINY]))
        found = np.load(counts) if suffix == "npy" else np.fromfile(counts, "<u8")
        assert found.dtype == np.dtype("<u8")
        wanted = expected(equals, [run.tolist() for run in runs])
        assert list(zip(np.fromfile(tmp_path / "out", dtype).tolist(), found.tolist(), strict=True)) == wanted


@pytest.mark.parametrize("equals", [None, Equals.FIRST, Equals.UNION])
def test_records_and_lines(equals: Equals | None, tmp_path: Path, seed: int) -> None:
    print("seed", seed)
    chance = random.Random(seed)
    runs = [[bytes(chance.choices(b"abc", k=4)) for _ in range(chance.choice([1, 900]))] for _ in range(3)]
    if equals is not None:
        runs = [sorted(run) for run in runs]
    wanted = expected(equals, runs)
    for end, items in ((b"", Items(records=RecordRequest(4))), (b"\n", Items("text"))):
        names = [str(tmp_path / f"{number}.bin") for number in range(3)]
        for name, run in zip(names, runs, strict=True):
            Path(name).write_bytes(b"".join(item + end for item in run))
        for memory in (None, TINY):
            counted(names, tmp_path / "out", tmp_path / "counts", equals, items, memory)
            assert (tmp_path / "out").read_bytes() == b"".join(item + end for item, _ in wanted)
            assert np.fromfile(tmp_path / "counts", "<u8").tolist() == [count for _, count in wanted]


def test_keys_say_which_records_are_equal(tmp_path: Path) -> None:
    records = sorted([b"%c%c" % (key, other) for key in b"aab" for other in b"xy"], key=lambda one: one[:1])
    (tmp_path / "a.bin").write_bytes(b"".join(records))
    items = Items(records=RecordRequest(2, 0, 1))
    counted([str(tmp_path / "a.bin")], tmp_path / "out", tmp_path / "counts", Equals.FIRST, items, None)
    groups = [list(group) for _, group in groupby(records, lambda one: one[:1])]
    assert (tmp_path / "out").read_bytes() == b"".join(group[0] for group in groups)
    assert np.fromfile(tmp_path / "counts", "<u8").tolist() == list(map(len, groups))


@pytest.mark.parametrize("before", [True, False])
def test_output_and_counts_appear_both_or_neither(before: bool, tmp_path: Path, write: Write) -> None:
    name = write("a.i32", np.array([1, 1, 2], np.int32))
    output, counts = tmp_path / "out.i32", tmp_path / "counts.u64"
    if before:
        output.write_bytes(b"as it was")
    job = merge_job((name,), str(output), equals=Equals.FIRST, margin=Margin("apart", file=str(counts)))
    with pytest.raises(OutputError, match=r"counts.u64.*; all files are as they were"):
        run_job(job, settle=lambda: (counts / "in the way").mkdir(parents=True))
    assert output.exists() == before
    assert not before or output.read_bytes() == b"as it was"
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["a.i32"] + ["out.i32"] * before


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("out.i32", "the output and its counts would go to one place"),
        ("counts.txt", "uint64 cannot be written as .txt"),
        ("counts.parquet", "uint64 cannot be written as .parquet"),
        ("counts.i64", "its suffix means int64, the items are uint64"),
        ("no/counts.u64", "no such file or directory"),
        ("counts.npy.gz", "known only at the end"),
    ],
)
def test_places_of_counts(counts: str, message: str, tmp_path: Path, write: Write) -> None:
    name, output = write("a.i32", np.array([1, 1, 2], np.int32)), tmp_path / "out.i32"
    for equals in (Equals.FIRST, None):
        with pytest.raises(GpumergeError, match=message):
            counted([name], output, tmp_path / counts, equals, Items(), None)
        assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]
