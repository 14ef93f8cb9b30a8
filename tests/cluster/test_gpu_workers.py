"""Workers with the resource GPU: they alone get the pieces, and merge and sort them on their GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("distributed", reason=needs.reason("distributed"), exc_type=ImportError)

from gpumerge_cli.cluster import sorting, workers
from gpumerge_cli.cluster.calls import workers_of
from gpumerge_cli.cluster.connect import Connection, connected
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.results.run import MergeReport
from tests.cluster.joining import started_worker
from tests.cluster.test_eligible_workers import _await
from tests.jobs_of import merge_job, sort_job

_ITEMS = 300_000
_ON_GPU = {"upload", "download"}
"""Stages that pieces have on a GPU alone."""


@contextmanager
def _worker_with_gpu(cluster: Connection) -> Iterator[None]:
    """A worker of two threads that has the resource, beside those that have not."""
    before = len(workers_of(cluster.client))
    with started_worker(cluster, "--name", "gpu", "--nthreads", "2", "--resources", "GPU=1") as process:
        try:
            _await(lambda: len(workers_of(cluster.client)) > before)
            yield
        finally:
            process.kill()


@pytest.fixture(scope="module")
def machines() -> Iterator[Cluster]:
    """Cluster of two workers. One has no GPU, and the other one says that it has a GPU."""
    with connected("local:1") as cluster, _worker_with_gpu(cluster):
        yield Cluster(cluster.client, 60.0)


def _held_against(report: MergeReport, output: Path, expected: Any, *, gpu: bool) -> None:
    assert np.array_equal(np.fromfile(output, np.int32), expected)
    assert {one.name for one in report.worker_reports if one.chunks} == {"worker gpu"}
    stages = {one.stage for one in report.timeline if one.lane == "worker gpu"}
    assert (stages >= _ON_GPU) == gpu, stages


@pytest.mark.parametrize("kind", ["stand-in", pytest.param("gpu", marks=pytest.mark.gpu)])
def test_pieces_go_to_the_worker_with_the_gpu(
    kind: str,
    machines: Cluster,
    tmp_path: Path,
    rng: np.random.Generator,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    """Without a GPU, the resource stands in for one, and the worker's CPU does the pieces."""
    if kind == "gpu":
        request.getfixturevalue("gpu_backend")
    on = Resources("gpu" if kind == "gpu" else "auto")
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 18)
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 18)
    values = rng.integers(0, 1 << 30, (2, _ITEMS), np.int32)
    names: dict[str, list[str]] = {"sorted": [], "loose": []}
    for number, one in enumerate(values):
        for what, items in (("sorted", np.sort(one)), ("loose", one)):
            names[what].append(str(tmp_path / f"{what}{number}.i32"))
            items.tofile(names[what][-1])
    expected, output = np.sort(values.ravel()), tmp_path / "out.i32"
    merged = run(merge_job(names["sorted"], str(output), resources=on), executor=machines)
    _held_against(merged, output, expected, gpu=kind == "gpu")
    assert {one.threads for one in machines.statuses.values() if one.gpu} == {2}
    output.unlink()
    made = run(sort_job(names["loose"], str(output), resources=on), executor=machines)
    _held_against(made, output, expected, gpu=kind == "gpu")
