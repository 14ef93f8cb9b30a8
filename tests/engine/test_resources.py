"""The memory, descriptors and threads that a run takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend, ChunkSizes
from gpumerge_cli.engine import memory as budget
from gpumerge_cli.engine import resources
from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.memory import chunk_budget, chunk_bytes_for
from gpumerge_cli.engine.resources import default_memory
from gpumerge_cli.engine.run import plan_files, run
from gpumerge_cli.formats.items import Items
from gpumerge_cli.order.kinds import Order
from tests.jobs_of import merge_job

Write = Callable[[str, Any], str]


@given(
    nbytes=st.integers(0, 1 << 40),
    inputs=st.integers(1, 5000),
    workers=st.integers(1, 64),
    memory=st.integers(1, 1 << 40),
)
def test_workspaces_fit_the_memory(nbytes: int, inputs: int, workers: int, memory: int) -> None:
    sizes = ChunkSizes(2 << 20, 1 << 20, 0, 4.0)
    chunk = chunk_bytes_for(sizes, nbytes, inputs, workers, memory)
    least = max(budget._LEAST_CHUNK, inputs * budget._LEAST_ITEMS)
    assert chunk >= least
    if chunk > least:
        assert workers * sizes.footprint * chunk <= memory


def test_workers_follow_the_pace_and_the_wish() -> None:
    def workers(sizes: ChunkSizes, threads: int | None, inputs: int = 2, memory: int = 1 << 30) -> int:
        return chunk_budget(sizes, 1 << 30, inputs, threads, memory).workers

    assert workers(ChunkSizes(1, 1, 1, 1.0), None) == 1
    assert workers(ChunkSizes(1, 1, 0, 1.0), None) == resources.cores() + 1
    assert workers(ChunkSizes(1, 1, 1000, 1.0), None) == resources.cores() + 1
    assert workers(ChunkSizes(1, 1, 1, 1.0), 7) == 7
    # Little memory goes to few chunks that are worth cutting, rather than to many small ones.
    assert workers(ChunkSizes(2 << 20, 1 << 20, 0, 4.0), None, memory=1 << 20) == 1
    assert workers(ChunkSizes(2 << 20, 1 << 20, 0, 4.0), None, inputs=1000, memory=64 << 20) == 1
    assert workers(ChunkSizes(2 << 20, 1 << 20, 0, 4.0), 3, memory=1 << 20) == 3


def test_a_quarter_of_the_memory_is_some() -> None:
    assert default_memory() > 1 << 20


@pytest.mark.parametrize("order", [Order.of("int32"), Order.lines()])
def test_every_backend_says_its_pace(backend: Backend, order: Order) -> None:
    few, many = backend.chunk_sizes(order, 2, 8.0), backend.chunk_sizes(order, 100, 8.0)
    assert 0 < few.least <= few.chunk
    assert few.footprint <= many.footprint


def test_memory_bounds_the_chunks_and_the_plan_shows_them(backend: Backend, write: Write, tmp_path: Path) -> None:
    names = [write(f"{number}.i64", np.arange(100_000)) for number in range(2)]
    on = Resources(backend.name, threads=1)  # type: ignore[arg-type]
    job = merge_job(names, str(tmp_path / "out.i64"), resources=on, memory=1 << 20)
    report = run(job)
    assert report.chunk_bytes < 1 << 20
    assert report.chunks > 1
    plan = plan_files(job)
    assert len(plan.chunks) == report.chunks
    assert sum(chunk.nbytes for chunk in plan.chunks) == 1_600_000


def test_lines_are_looked_at_in_many_places(write: Write) -> None:
    """The memory that lines take depends on the shortest ones, wherever they are."""
    long, short = b"x" * 300_000 + b"\n", b"1\n" * 1_000_000
    name = write("a.txt", long + short + long + short)
    with open_inputs((name,), Items()) as inputs:
        assert inputs.mean_bytes == 2.0


def test_containers_limits_count(tmp_path: Path) -> None:
    with open("/proc/self/cgroup") as file:
        lines = [line for line in file if line.startswith("0::")]
    if not lines:
        pytest.skip("needs control groups of version 2; run it on a Linux that mounts them")
    group = Path(f"{tmp_path}/{lines[0].rstrip()[3:]}")
    group.mkdir(parents=True, exist_ok=True)
    (group / "memory.current").write_text("300\n")
    for most, left in (("1000\n", 700), ("200\n", 0), ("max\n", 1 << 60)):
        (group / "memory.max").write_text(most)
        assert resources._left_in_group(str(tmp_path)) == left


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="needs /proc, which has the peak memory; run it on Linux"
)
def test_an_external_sort_stays_within_its_memory(rng: np.random.Generator, tmp_path: Path) -> None:
    """The limit holds for the whole process, and Python takes most of it."""
    rng.integers(0, 1 << 62, 12_000_000).tofile(tmp_path / "a.i64")
    np.zeros(3, np.int64).tofile(tmp_path / "tiny.i64")
    peaks = []
    for name in ("tiny.i64", "a.i64"):
        command = [sys.executable, "-m", "gpumerge_cli", "sort", "--backend=cpu", "-S128M", "-T", str(tmp_path)]
        command += [str(tmp_path / name), "-o", str(tmp_path / "out.i64"), "--report", str(tmp_path / "r.json")]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])})
        peaks.append(json.loads((tmp_path / "r.json").read_text())["peak_memory"])
        assert (tmp_path / "out.i64").stat().st_size == (tmp_path / name).stat().st_size
    base, peak = peaks
    assert peak <= (128 << 20) + max(0, base - (96 << 20))  # libraries take more on some machines


def test_an_empty_file_says_nothing_of_the_length_of_lines(tmp_path: Path) -> None:
    names = [str(tmp_path / "a.txt"), str(tmp_path / "empty.txt")]
    Path(names[0]).write_text("a line of some length\n" * 900)
    Path(names[1]).write_text("")
    with open_inputs(names[:1], Items()) as one, open_inputs(names, Items()) as both:
        assert both.mean_bytes == one.mean_bytes > 20


def test_fewer_workers_hold_large_items_of_several_inputs() -> None:
    def workers(item: int, inputs: int, memory: int) -> int:
        return chunk_budget(ChunkSizes(1, 1, 0, 1.0), 1 << 40, inputs, 8, memory, item=item).workers

    item = 5 << 20
    assert workers(item, 1, 80 << 20) == 4  # four copies each
    assert workers(item, 2, 80 << 20) == 2  # and two more of the second input's
    assert workers(item, 9, 80 << 20) == 1
    assert workers(8, 9, 1) == 8
