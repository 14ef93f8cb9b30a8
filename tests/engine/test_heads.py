"""Merges of lines out of order, of any size and to any output, give the bytes of the plain merge and of sort -m."""

from __future__ import annotations

import heapq
import os
import shutil
import subprocess
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpumerge_cli.cli.app import invoke as door
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine import heads
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import run_pass
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.job import Job, Operation
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.writers import SinkWriter
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.registry import open_sink
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_kinds import CHOSEN_KINDS
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.plan import Chunk
from tests import line_cases
from tests.linekeys import key_of

needs_sort = pytest.mark.skipif(shutil.which("sort") is None, reason="needs sort; install coreutils")


def merged(folder: Path, names: list[str], order: LineOrder, *, unique: bool, memory: int) -> tuple[bytes, Outcome]:
    """The result of a merge that compares only the next lines of the inputs."""
    items, operation = Items("text", lines=order), Operation(equals=Equals.of(unique), lenient=True)
    with open_inputs(tuple(names), items) as inputs:
        sink = open_sink(str(folder / "out"), inputs.layout, None, None, head=inputs.head)
        writer = SinkWriter([sink], planned=operation.keeps_sizes)
        rest = Chunk(tuple((0, one.size) for one in inputs.sources), 0)
        job = Job(tuple(names), items, operation)
        work = replace(Pass.of(job, "heads", inputs, writer), pieces=[rest])
        worker = heads.HeadsWorker(work, memory)
        ahead = Outcome(counts=[0] * len(names), rest=rest)
        outcome = heads.combined_outcome(ahead, run_pass(work, LOCAL.host(job).ready_with([worker]), Clock()))
        sink.commit()
    return (folder / "out").read_bytes(), outcome


def plainly(runs: list[list[bytes]], order: LineOrder, *, unique: bool) -> list[bytes]:
    """The same, line by line."""
    lines = list(heapq.merge(*runs, key=key_of(order)))
    return [next(equals) for _, equals in groupby(lines, key_of(order))] if unique else lines


def write(folder: Path, runs: list[list[bytes]], end: bytes) -> list[str]:
    names = [str(folder / str(number)) for number in range(len(runs))]
    for name, lines in zip(names, runs, strict=True):
        Path(name).write_bytes(b"".join(line + end for line in lines))
    return names


def by_sort(options: list[str], names: list[str]) -> bytes:
    environment = os.environ | {"LC_ALL": "C"}
    return subprocess.run(["sort", "-m", *options, *names], capture_output=True, env=environment, check=True).stdout


@settings(max_examples=60)
@given(data=st.data(), unique=st.booleans(), memory=st.sampled_from([0, 300, 1 << 30]))
def test_heads_are_merged_as_line_by_line(tmp_path: Path, data: st.DataObject, unique: bool, memory: int) -> None:
    case = data.draw(line_cases.cases((data.draw(st.sampled_from(list(CHOSEN_KINDS))), "bytes", "numeric")))
    runs = [data.draw(line_cases.lines(case.order, 8)) for _ in range(data.draw(st.integers(1, 4)))]
    end = bytes([case.order.terminator])
    names = write(tmp_path, runs, end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "_LEAST_WINDOW", 1)
        found, outcome = merged(tmp_path, names, case.order, unique=unique, memory=memory)
    expected = plainly(runs, case.order, unique=unique)
    assert found == b"".join(line + end for line in expected)
    assert (outcome.counts, outcome.written) == ([len(run) for run in runs], len(found))
    assert outcome.dropped == sum(outcome.counts) - len(expected)


def disordered(rng: np.random.Generator, lines: int) -> list[bytes]:
    """Sorted lines, some of them long, and some replaced so that they are out of order."""
    run = sorted(
        b"%d x%d" % tuple(pair) + b"y" * (5000 * (pair[0] % 97 == 0)) for pair in rng.integers(0, 500, (lines, 2))
    )
    for _ in range(rng.integers(0, 4)):
        low, size = int(rng.integers(0, lines)), int(rng.integers(1, 1 + max(1, lines // 3)))
        run[low : low + size] = [run[i] for i in low + rng.permutation(len(run[low : low + size]))]
    return run


@pytest.mark.one_of_each
@needs_sort
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("options", [[], ["-n"], ["-u"], ["-k1,1n", "-s"], ["-r"], ["-u", "-k1,1n"]], ids=" ".join)
@pytest.mark.parametrize("to", ["file", "stream", "gzip"])
def test_disorder_anywhere_gives_what_sort_gives(
    tmp_path: Path, rng: np.random.Generator, options: list[str], to: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "_WINDOW", int(rng.choice([1 << 12, 1 << 18])))
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        names = write(folder, [disordered(rng, int(rng.integers(1, 4000))) for _ in range(rng.integers(1, 5))], b"\n")
        expected = by_sort(options, names)
        where = ["--backend=cpu", "-S", str(rng.choice(["1b", "100K", "1M", "64M"]))]
        if to == "stream":
            with open(folder / "out", "w+b") as out:
                assert door(["sort", "-m", *where, *options, *names, "-o", f"/dev/fd/{out.fileno()}"]) == 0
        else:
            name = folder / ("out" if to == "file" else "out.gz")
            packed = ["--compressed"] * (to == "gzip")
            assert door(["sort", "-m", *where, *options, *packed, *names, "-o", str(name)]) == 0
            if packed:
                (folder / "out").write_bytes(
                    subprocess.run(["gzip", "-dc", name], capture_output=True, check=True).stdout
                )
        assert (folder / "out").read_bytes() == expected


@pytest.mark.thorough
@needs_sort
@pytest.mark.parametrize("options", [["-S", "4M"], ["-n", "-S", "1M", "--parallel=2"]], ids=" ".join)
def test_many_megabytes_to_a_stream(tmp_path: Path, rng: Any, options: list[str]) -> None:
    """Inputs larger than every size that is read ahead."""
    names = []
    for name in "ab":
        names.append(str(tmp_path / name))
        letters = rng.integers(97, 105, 36 << 20, dtype=np.uint8)
        letters[rng.integers(0, len(letters), len(letters) // 30)] = 10
        letters[-1] = 10
        letters.tofile(names[-1])
    with open(tmp_path / "out", "w+b") as out:
        where = ["--backend=cpu", "-o", f"/dev/fd/{out.fileno()}"]
        assert door(["sort", "-m", *options, *where, *names]) == 0
    assert (tmp_path / "out").read_bytes() == by_sort([o for o in options if o == "-n"], names)


@needs_sort
def test_more_inputs_than_sort_merges_at_once(tmp_path: Path, rng: Any) -> None:
    names = write(tmp_path, [[b"%d" % a for a in rng.integers(0, 90, 400)] for _ in range(40)], b"\n")
    for options in ([], ["-u"], ["-n", "-u"]):
        assert door(["sort", "-m", "-S", "1b", *options, *names, "-o", str(tmp_path / "out")]) == 0
        assert (tmp_path / "out").read_bytes() == by_sort(options, names)
