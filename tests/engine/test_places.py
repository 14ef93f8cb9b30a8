"""Rules for places of equal items, --unique=last and --only, in every kind of item, against plain Python and uniq."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.jobs_of import merge_job, sort_job
from tests.needs import program

Write = Callable[[str, Any], str]
TINY = 1 << 12
RULES = [Equals.FIRST, Equals.LAST, Equals.DUPLICATES, Equals.ALL_DUPLICATES, Equals.SINGLES]
BY_FIRST_FIELD = LineOrder((LineKey(end_field=0),), stable=True)


def kept(equals: Equals, runs: Sequence[Sequence[Any]], key: Callable[[Any], Any]) -> list[tuple[Any, int]]:
    """The items that go out, each with the number of its equals."""
    found = []
    for _, group in groupby(sorted((item for run in runs for item in run), key=key), key):
        items = [*group]
        single = len(items) == 1
        chosen = {
            Equals.FIRST: items[:1],
            Equals.LAST: items[-1:],
            Equals.DUPLICATES: [] if single else items[:1],
            Equals.ALL_DUPLICATES: [] if single else items,
            Equals.SINGLES: items if single else [],
        }[equals]
        found += [(item, len(items)) for item in chosen]
    return found


def done(equals: Equals, sorts: bool, names: Sequence[str], output: Path, items: Items, **more: Any) -> None:
    on = Resources("cpu", threads=3)
    if sorts:
        run_job(sort_job(tuple(names), str(output), items, on, equals=equals, **more))
    else:
        run_job(merge_job(names, str(output), items, on, equals=equals, **more))


@pytest.fixture(params=[False, True], ids=["merge", "sort"])
def sorts(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", RULES)
def test_numbers(equals: Equals, sorts: bool, small_chunks: None, tmp_path: Path, write: Write, seed: int) -> None:
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    for dtype in chance.sample(["int8", "uint16", ">i4", "int32", "uint64", "float16", "float64"], 3):
        sizes = [chance.choice([0, 1, 3000]) for _ in range(chance.randint(1, 4))]
        runs = [rng.integers(0, chance.choice([1, 90, 127]), size).astype(dtype) for size in sizes]
        names = [write(f"{number}.raw", run if sorts else np.sort(run)) for number, run in enumerate(runs)]
        for memory in (None, TINY):
            done(equals, sorts, names, tmp_path / "out", Items("raw", dtype), memory=memory)
            wanted = kept(equals, [run.tolist() for run in runs], key=lambda one: one)
            assert np.fromfile(tmp_path / "out", dtype).tolist() == [item for item, _ in wanted]


@pytest.mark.parametrize("equals", RULES)
def test_nans_and_zeros_are_equal(equals: Equals, sorts: bool, tmp_path: Path, write: Write) -> None:
    runs = [np.array([-0.0, 1.0, np.nan]), np.array([0.0, 0.0, 2.0, -np.nan])]
    done(equals, sorts, [write(f"{at}.f64", run) for at, run in enumerate(runs)], tmp_path / "out.f64", Items())
    order = [runs[0][0], *runs[1][:2], runs[0][1], runs[1][2], runs[0][2], runs[1][3]]
    wanted = kept(equals, [[*enumerate(order)]], key=lambda one: (one[1] != one[1], one[1] == one[1] and one[1]))
    expected = np.array([order[at] for (at, _), _ in wanted])
    assert (tmp_path / "out.f64").read_bytes() == expected.tobytes()


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", RULES)
def test_lines_and_records(equals: Equals, sorts: bool, small_chunks: None, tmp_path: Path, seed: int) -> None:
    """Equal keys have other bytes behind them, which say the input and the place in it."""
    chance = random.Random(seed)
    few, key = chance.choice([1, 5, 60]), lambda one: one[:3]
    sizes = [chance.choice([0, 1, 900]) for _ in range(3)]
    runs = [[b"%03d %d%04d" % (chance.randrange(few), run, at) for at in range(size)] for run, size in enumerate(sizes)]
    given = runs if sorts else [sorted(run, key=key) for run in runs]
    wanted = kept(equals, given, key)
    of_records, of_lines = Items(records=RecordRequest(9, 0, 3)), Items("text", lines=BY_FIRST_FIELD)
    for end, items in ((b"", of_records), (b"\n", of_lines)):
        names = [str(tmp_path / f"{number}.bin") for number in range(3)]
        for name, run in zip(names, given, strict=True):
            Path(name).write_bytes(b"".join(item + end for item in run))
        for memory in (None, TINY):
            done(equals, sorts, names, tmp_path / "out", items, memory=memory)
            assert (tmp_path / "out").read_bytes() == b"".join(item + end for item, _ in wanted)
            if equals is not Equals.ALL_DUPLICATES:
                margin = Margin("apart", file=str(tmp_path / "counts"))
                done(equals, sorts, names, tmp_path / "out", items, memory=memory, margin=margin)
                assert (tmp_path / "out").read_bytes() == b"".join(item + end for item, _ in wanted)
                assert np.fromfile(tmp_path / "counts", "<u8").tolist() == [count for _, count in wanted]


@pytest.mark.parametrize(
    ("option", "equals"), [("-d", Equals.DUPLICATES), ("-D", Equals.ALL_DUPLICATES), ("-u", Equals.SINGLES)]
)
def test_lines_equal_uniq(option: str, equals: Equals, sorts: bool, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    lines = [bytes(chance.choices(b"ab\xff", k=chance.randrange(4))) for _ in range(chance.choice([3, 60]))]
    (tmp_path / "sorted").write_bytes(b"".join(line + b"\n" for line in sorted(lines)))
    (tmp_path / "a").write_bytes(b"".join(line + b"\n" for line in (lines if sorts else sorted(lines))))
    done(equals, sorts, [str(tmp_path / "a")], tmp_path / "out", Items("text"))
    command = [program("uniq"), option, str(tmp_path / "sorted")]
    theirs = subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=True).stdout
    assert (tmp_path / "out").read_bytes() == theirs


def test_a_gpu_counts_only_first_items(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1\n")
    margin = Margin("ahead")
    job = merge_job([str(tmp_path / "a")], str(tmp_path / "out"), backend="gpu", equals=Equals.LAST, margin=margin)
    with pytest.raises(
        UsageError, match="counts of last items, duplicates or singles are made by the CPU alone; leave"
    ):
        run_job(job)
