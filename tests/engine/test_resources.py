"""How much of the machine a run takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.backends.base import Backend, Pace
from gpumerge_cli.engine import resources
from gpumerge_cli.engine.merge import merge_files, plan_files
from gpumerge_cli.engine.request import BackendRequest, MergeRequest
from gpumerge_cli.engine.resources import chunk_bytes_for, default_memory, workers_for
from gpumerge_cli.order import Order

Write = Callable[[str, Any], str]


@given(
    nbytes=st.integers(0, 1 << 40),
    inputs=st.integers(1, 5000),
    workers=st.integers(1, 64),
    memory=st.integers(1, 1 << 40),
)
def test_workspaces_fit_the_memory(nbytes: int, inputs: int, workers: int, memory: int) -> None:
    pace = Pace(2 << 20, 1 << 20, 0, 4.0)
    chunk = chunk_bytes_for(pace, nbytes, inputs, workers, memory)
    assert chunk >= resources._LEAST_CHUNK
    if chunk > resources._LEAST_CHUNK:
        assert workers * pace.footprint * chunk <= memory


def test_workers_follow_the_pace_and_the_wish() -> None:
    assert workers_for(Pace(1, 1, 1, 1.0), None) == 1
    assert workers_for(Pace(1, 1, 0, 1.0), None) == resources.cores() + 1
    assert workers_for(Pace(1, 1, 1000, 1.0), None) == resources.cores() + 1
    assert workers_for(Pace(1, 1, 1, 1.0), 7) == 7


def test_a_quarter_of_the_memory_is_some() -> None:
    assert default_memory() > 1 << 20


@pytest.mark.parametrize("order", [Order.of("int32"), Order.lines()])
def test_every_backend_says_its_pace(backend: Backend, order: Order) -> None:
    few, many = backend.pace(order, 2, 8.0), backend.pace(order, 100, 8.0)
    assert 0 < few.least <= few.chunk
    assert few.footprint <= many.footprint


def test_memory_bounds_the_chunks_and_the_plan_shows_them(backend: Backend, write: Write, tmp_path: Path) -> None:
    names = [write(f"{number}.i64", np.arange(100_000)) for number in range(2)]
    on = BackendRequest(backend.name, threads=1)  # type: ignore[arg-type]
    request = MergeRequest(tuple(names), str(tmp_path / "out.i64"), on=on, memory=1 << 20)
    report = merge_files(request)
    assert report.chunk_bytes < 1 << 20
    assert report.chunks > 1
    plan = plan_files(request)
    assert len(plan) == report.chunks
    assert sum(chunk.nbytes for chunk in plan.chunks) == 1_600_000
