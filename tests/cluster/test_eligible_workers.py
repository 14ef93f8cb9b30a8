"""Workers that come late, freeze, or go away with the tasks that only they were to do."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import connect, dispatcher, eligible, local, node, workers
from gpumerge_cli.cluster.calls import workers_of
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.dispatcher import Dispatcher, RemoteWorker, TaskPolicy, Ticket
from gpumerge_cli.cluster.eligible import EligibleWorkers
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.cluster.shipment import PackedShipment, Reply, Shipment
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.task import TaskResult
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import ClusterError
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk
from tests.cluster.joining import started_worker
from tests.jobs_of import merge_job, sort_job


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)
    np.arange(200_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    return merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))


def _is_whole(job: Job) -> bool:
    return Path(job.output.name).read_bytes() == Path(job.inputs[0]).read_bytes()


def _await(found: Callable[[], Any]) -> None:
    until = time.monotonic() + 600
    while not found():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextmanager
def _worker_of_another_version(cluster: Connection) -> Iterator[None]:
    before = len(workers_of(cluster.client))
    ahead = "import gpumerge_cli as g; g.__version__ = '0.0.7'; "
    with started_worker(cluster, "--name", "late", "--nthreads", "1", ahead=ahead) as process:
        try:
            _await(lambda: len(workers_of(cluster.client)) > before)
            yield
        finally:
            process.kill()
    _await(lambda: len(workers_of(cluster.client)) == before)


def test_a_late_worker_of_another_version_gets_no_tasks(
    cluster: Connection, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    late: list[Any] = []
    seen: list[EligibleWorkers] = []

    class Joined(Cluster):
        def check_workers(self, shipment: Shipment) -> dict[str, str]:
            names = super().check_workers(shipment)
            late.append(_worker_of_another_version(cluster))
            late[-1].__enter__()
            return names

    class Noted(EligibleWorkers):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            seen.append(self)
            self.threads()
            _await(lambda: self.refused)

    monkeypatch.setattr(workers, "EligibleWorkers", Noted)
    try:
        report = run(job, executor=Joined(cluster.client, 30.0))
    finally:
        for one in late:
            one.__exit__(None, None, None)
    assert _is_whole(job)
    (found,) = (one for one in report.worker_reports if one.name == "worker late")
    assert "got no tasks: the worker at" in found.note
    assert "has gpumerge 0.0.7" in found.note
    assert found.nbytes == 0
    assert len(seen[0].threads()) == 2


def test_a_worker_that_comes_late_takes_part(cluster: Connection, job: Job) -> None:
    class Unknown(Cluster):
        """All workers come once the run has begun."""

        def check_workers(self, shipment: Shipment) -> dict[str, str]:
            names = super().check_workers(shipment)
            self.statuses = {f"{address}0": one for address, one in self.statuses.items()}
            return {f"{address}0": name for address, name in names.items()}

    run(job, executor=Unknown(cluster.client, 30.0))
    assert _is_whole(job)


def test_tasks_of_workers_that_went_away_go_elsewhere(
    cluster: Connection, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eligible, "_FRESH", 0.1)
    there, gone = EligibleWorkers.threads, [{"tcp://127.0.0.1:1": 2}] * 3
    monkeypatch.setattr(EligibleWorkers, "threads", lambda workers: gone.pop() if gone else there(workers))
    run(job, executor=Cluster(cluster.client, 30.0))
    assert not gone
    assert _is_whole(job)


def test_tasks_of_a_frozen_worker_are_done_by_another(cluster: Connection, job: Job) -> None:
    assert cluster.workers is not None
    frozen = cluster.workers.processes[0]

    class Frozen(Cluster):
        def check_workers(self, shipment: Shipment) -> dict[str, str]:
            names = super().check_workers(shipment)
            frozen.send_signal(signal.SIGSTOP)
            return names

    try:
        run(job, executor=Frozen(cluster.client, 1.0))
    finally:
        frozen.send_signal(signal.SIGCONT)
    assert _is_whole(job)


class _Slow:
    """A pool that never answers what is submitted once."""

    patience, together = 0.0, 1
    refused: dict[str, str]

    def __init__(self) -> None:
        self.refused = {}
        self.detached: list[Ticket] = []

    def threads(self) -> int:
        return 1

    def submit(self, tickets: Any) -> None:
        pass

    def submit_elsewhere(self, tickets: Any) -> None:
        self.detached += tickets

    def answers(self, seconds: float) -> list[tuple[Ticket, Reply | BaseException]]:
        found, self.detached = self.detached, []
        return [(one, Reply(TaskResult(counts=[1], nbytes=1), "here", time.time(), 0.0)) for one in found]

    def cancel(self) -> None:
        pass


def test_late_tasks_have_twins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "_POLL_LATE", 0.05)
    pieces = [Chunk(((at, at + 1),), at) for at in range(3)]
    work = Pass(merge_job(()), "sort", (), Order.lines(), 1.0, NullWriter(), pieces=pieces)
    tasks = Tasks(work, None, 1, Stopwatch())
    Dispatcher([RemoteWorker("worker here")], tasks, _Slow(), TaskPolicy(1)).run()
    assert tasks.outcome.chunks == 3


@pytest.mark.thorough
def test_workers_that_are_frozen_from_the_start_keep_nobody_waiting(
    cluster: Connection, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cluster.workers is not None
    monkeypatch.setattr(workers, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(connect, "_CONNECT", 1.0)
    frozen = cluster.workers.processes[0]
    frozen.send_signal(signal.SIGSTOP)
    try:
        connect._check_versions(cluster.client)
        machines = Cluster(cluster.client, 1.0)
        run(sort_job(job.inputs, job.output.name), executor=machines)
        assert len(machines.statuses) == 1
    finally:
        frozen.send_signal(signal.SIGCONT)
    assert _is_whole(job)


def test_a_slow_look_leaves_the_event_loop_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "probe", lambda packed, worker: threading.get_ident())
    assert asyncio.run(node.probe_in_thread(None)) != threading.get_ident()  # type: ignore[arg-type, comparison-overlap]


def test_logs_of_workers_show_no_password() -> None:
    packed = PackedShipment("digest", b"https://me:hush@example.org/a.txt")
    assert "hush" not in repr((packed,))


@pytest.mark.parametrize("error", [OSError(11, "Resource temporarily unavailable"), KeyboardInterrupt()])
def test_workers_that_cannot_all_start_leave_none(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    started = local.LocalWorkers._started
    begun: list[subprocess.Popen[bytes]] = []

    def second_fails(workers: local.LocalWorkers, number: int) -> subprocess.Popen[bytes]:
        if begun:
            raise error
        begun.append(started(workers, number))
        return begun[0]

    monkeypatch.setattr(local.LocalWorkers, "_started", second_fails)
    message = "2 workers cannot be started here: resource" if isinstance(error, OSError) else None
    with pytest.raises(ClusterError if message else KeyboardInterrupt, match=message), connect.connected("local:2"):
        pass
    assert begun[0].poll() is not None
    words: Any = begun[0].args
    assert not os.path.exists(words[words.index("--local-directory") + 1])
