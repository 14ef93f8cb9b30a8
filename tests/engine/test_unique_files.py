"""--unique across chunk borders and inputs, for every kind of output."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run as run_job
from gpumerge_cli.errors import OutputError
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.results.run import MergeReport
from tests import needs
from tests.jobs_of import merge_job
from tests.oracles import first_keys, items_of, merged_keys, same_bits
from tests.strategies import as_text, line_runs

Write = Callable[[str, Any], str]


def unique(backend: Backend, inputs: list[str], output: str, **items: Any) -> MergeReport:
    on = Resources(backend.name, threads=3)  # type: ignore[arg-type]
    return run_job(merge_job(inputs, output, items_of(**items, stable=True), on, equals=Equals.FIRST))


@pytest.mark.parametrize("values", [1, 7, 900, 10**9])
@pytest.mark.parametrize("output", ["out.npy", "out.i32", "out.i32.gz"])
def test_keys_across_chunks(
    backend: Backend,
    small_chunks: None,
    write: Write,
    tmp_path: Path,
    rng: np.random.Generator,
    values: int,
    output: str,
) -> None:
    if output.endswith(".gz"):
        needs.library("isal")
    runs = [np.sort(rng.integers(0, values, 9000 * (number % 2)).astype(np.int32)) for number in range(6)]
    names = [write(f"{number}.i32", run) for number, run in enumerate(runs)]
    report = unique(backend, names, str(tmp_path / output))
    expected = first_keys(merged_keys(runs))
    if output.endswith(".npy"):
        assert same_bits(np.load(tmp_path / output), expected)
    elif output.endswith(".i32"):
        assert (tmp_path / output).read_bytes() == expected.tobytes()
    else:
        import gzip

        assert gzip.decompress((tmp_path / output).read_bytes()) == expected.tobytes()
    assert report.chunks > 8
    assert report.dropped == 27_000 - len(expected)
    assert report.items == 27_000
    assert report.unique


@pytest.mark.skipif(shutil.which("sort") is None, reason="needs sort; install coreutils")
@settings(max_examples=40)
@given(case=line_runs(most_runs=3))
def test_lines_equal_the_systems_sort(backend: Backend, tmp_path_factory: pytest.TempPathFactory, case: Any) -> None:
    runs, numeric, descending = case
    folder = tmp_path_factory.mktemp("lines")
    names = []
    for number, run in enumerate(runs):
        (folder / f"{number}.txt").write_bytes(as_text(run))
        names.append(str(folder / f"{number}.txt"))
    unique(backend, names, str(folder / "out.txt"), numeric=numeric, reverse=descending)
    options = ["-n"] * numeric + ["-r"] * descending
    expected = subprocess.run(
        ["sort", "-m", "-u", *options, *names], env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=True
    ).stdout
    assert (folder / "out.txt").read_bytes() == expected


def test_lines_across_chunks(
    backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Equal numbers written in different ways: the first input's first one stays."""
    runs = [
        sorted((b"%s%d" % (b"0" * rng.integers(0, 3), x) for x in rng.integers(0, 300, 6000)), key=int)
        for _ in range(3)
    ]
    names = [write(f"{number}.txt", as_text(run)) for number, run in enumerate(runs)]
    report = unique(backend, names, str(tmp_path / "out.txt"), numeric=True)
    firsts: dict[int, bytes] = {}
    for run in runs:
        for line in run:
            firsts.setdefault(int(line), line)
    assert (tmp_path / "out.txt").read_bytes() == as_text([firsts[number] for number in sorted(firsts)])
    assert report.dropped == 18_000 - len(firsts)
    assert report.written == os.path.getsize(tmp_path / "out.txt")


def test_a_header_that_comes_first_cannot_say_how_many_are_left(backend: Backend, write: Write, tmp_path: Path) -> None:
    name = write("a.npy", np.arange(5))
    with open(tmp_path / "pipe", "wb") as stream, pytest.raises(OutputError, match="only at the end"):
        unique(backend, [name], f"/dev/fd/{stream.fileno()}")
