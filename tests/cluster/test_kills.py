"""Workers that are killed, do not come back, or were never there."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import distributed
import numpy as np
import pytest
from distributed.security import Security

from gpumerge_cli.cluster import calls, pool, workers
from gpumerge_cli.cluster.connect import Connection, connected
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.cluster.local import LocalWorkers
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import ClusterError, UsageError
from tests.cluster import kills
from tests.jobs_of import merge_job

# Dask does not close each socket that it had to a worker that was killed.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <ssl.SSLSocket:pytest.PytestUnraisableExceptionWarning"
)


def test_a_few_kills(cluster: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(kills, "_ITEMS", 200_000)
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)
    kills.storm(cluster, tmp_path, 2, seed, 0.2)


@pytest.mark.thorough
def test_many_kills(cluster: Connection, tmp_path: Path, seed: int) -> None:
    kills.storm(cluster, tmp_path, 40, seed)


@pytest.mark.thorough
def test_workers_that_do_not_come_back(cluster: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    workers = cluster.workers
    assert workers is not None
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))

    def kill_all() -> None:
        for process in list(workers.processes):
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)

    class Lost(Cluster):
        def check_workers(self, shipment: object) -> dict[str, str]:
            names = super().check_workers(shipment)  # type: ignore[arg-type]
            kill_all()
            return names

    cluster.client.wait_for_workers(len(workers.processes), timeout=60)  # other tests may have killed some just now
    with monkeypatch.context() as patch:
        patch.setattr(LocalWorkers, "_started", lambda self, number: subprocess.Popen(["sleep", "100"]))
        try:
            with pytest.raises(ClusterError, match="no worker was there for 1 seconds; look into the logs"):
                run(job, executor=Lost(cluster.client, 1.0))
            assert os.listdir(tmp_path) == ["a.i32"]
            with pytest.raises(ClusterError, match="no worker came in 1 seconds; start some"):
                run(job, executor=Cluster(cluster.client, 1.0))
            assert os.listdir(tmp_path) == ["a.i32"]
        finally:
            patch.undo()
            kill_all()  # those that only sleep
    run(job, executor=Cluster(cluster.client, 60.0))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", ["killed", "silent"])
def test_an_answer_that_is_lost_once_the_task_is_done(
    way: str, cluster: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask fetches an answer after the task is done, and the worker may be gone by then."""
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    fetched, lost = distributed.Client._gather, []

    async def lose(client: distributed.Client, *arguments: Any, **named: Any) -> Any:
        if not lost:
            lost.append(way)
            if way == "killed":
                raise distributed.KilledWorker("a test", None, 1)
            await asyncio.sleep(60)
        return await fetched(client, *arguments, **named)

    monkeypatch.setattr(distributed.Client, "_gather", lose)
    monkeypatch.setattr(pool, "ANSWER_SECONDS", 2.0)
    machines = Cluster(cluster.client, 60.0)
    thread = threading.Thread(target=run, args=(job,), kwargs={"executor": machines}, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert lost
    assert (tmp_path / "out.i32").read_bytes() == (tmp_path / "a.i32").read_bytes()


@pytest.mark.parametrize(
    ("address", "kind", "message"),
    [
        ("127.0.0.1:1", ClusterError, "no scheduler answers; start one there"),
        ("no such file", UsageError, "it is neither a file nor an address"),
        ("local:9999", UsageError, "too many processes for this machine; use [0-9]+ at most"),
        ("local:0", UsageError, "it is neither a file nor an address; .* N from 1 on"),
    ],
)
def test_addresses_where_nobody_is(
    address: str, kind: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpumerge_cli.cluster import connect

    monkeypatch.setattr(connect, "_CONNECT", 0.5)
    with pytest.raises(kind, match=message), connected(address):
        pass


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(1000)], ids=["silent", "http"])
def test_an_address_where_something_else_listens(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpumerge_cli.cluster import connect

    monkeypatch.setattr(connect, "_CONNECT", 0.5)
    errors: list[BaseException] = []
    held: list[socket.socket] = []

    def ask(port: int) -> None:
        try:
            with connected(f"127.0.0.1:{port}"):
                pass
        except ClusterError as error:
            errors.append(error)

    def answers(listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                held.append(listener.accept()[0])
                held[-1].sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answers, args=(listener,), daemon=True).start()
        thread = threading.Thread(target=ask, args=(listener.getsockname()[1],), daemon=True)
        thread.start()
        thread.join(20)
        listener.shutdown(socket.SHUT_RDWR)
    for one in held:
        one.close()
    assert not thread.is_alive()
    assert "no scheduler" in str(errors[0])


@pytest.mark.parametrize("content", [b"\0\xff", b"5", b"{}", b'{"address": 5}'])
def test_a_file_that_is_no_schedulers(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(UsageError, match="it is not a file of a Dask scheduler"), connected(str(tmp_path / "x")):
        pass


def test_a_scheduler_that_goes_away_while_it_is_asked(cluster: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(**_: object) -> dict[str, object]:
        return {}

    monkeypatch.setattr(cluster.client, "scheduler", SimpleNamespace(identity=nothing))
    for ask in (calls.workers_of, lambda client: calls.await_workers(client, 1.0)):
        with pytest.raises(ClusterError, match="the scheduler has gone away"):
            ask(cluster.client)


def test_folders_of_workers_whose_client_was_killed_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / "gpumerge-workers-left"
    left.mkdir()
    (left / "lock").touch()
    (tmp_path / "gpumerge-workers-new").mkdir()  # whose lock comes at this moment
    security = Security.temporary()
    first = LocalWorkers("tls://127.0.0.1:1", 0, 1, security)
    second = LocalWorkers("tls://127.0.0.1:1", 0, 1, security)
    assert not left.exists()
    assert len(os.listdir(tmp_path)) == 3
    first.close()
    second.close()
    assert os.listdir(tmp_path) == ["gpumerge-workers-new"]


def test_nothing_is_left_in_the_folder_for_temporary_files(tmp_path: Path) -> None:
    code = (
        "import sys; from gpumerge_cli.cluster.connect import connected\n"
        "with connected('local:1'): print(*sys.path, sep=chr(10))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    searched = [Path(line) for line in done.stdout.splitlines() if line.startswith(str(tmp_path))]
    assert all(path.parents[-len(tmp_path.parts) - 1].name.startswith("gpumerge-workers-") for path in searched)
    assert os.listdir(tmp_path) == []


def test_a_run_that_is_stopped_waits_for_no_worker(cluster: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def never(*what: object, **_: object) -> None:
        asked.append(what[0])
        await asyncio.Event().wait()

    monkeypatch.setattr(pool, "_STOP", 0.1)
    monkeypatch.setattr(cluster.client, "run", never)
    monkeypatch.setattr(cluster.client, "cancel", never)
    stopped = object.__new__(pool.DaskPool)
    stopped._client, stopped._tickets, stopped._run = cluster.client, {object(): ()}, "x"  # type: ignore[dict-item]
    thread = threading.Thread(target=stopped.cancel, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    assert len(asked) == 2


def test_dask_is_imported_only_for_a_cluster(tmp_path: Path) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    code = (
        "import sys; from gpumerge_cli.cli.app import invoke; code = invoke(sys.argv[1:]); "
        "assert not any(name.split('.')[0] in ('dask', 'distributed') for name in sys.modules); sys.exit(code)"
    )
    words = ["merge", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32"), "-q"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_a_scheduler_that_ends(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpumerge_cli.cluster import connect

    monkeypatch.setattr(connect, "_CONNECT", 3.0)  # for which a lost scheduler is awaited
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    place = tmp_path / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([*words, "--scheduler-file", str(place)], **quiet) as scheduler:  # type: ignore[call-overload]
        until = time.monotonic() + 600
        while not place.exists() and time.monotonic() < until:
            time.sleep(0.05)
        start = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(place), "--no-nanny"]
        options = ["--nthreads", "1", "--memory-limit", "0", "--no-dashboard", "--host", "127.0.0.1"]
        folder = str(tmp_path_factory.mktemp("worker"))
        worker = subprocess.Popen([*start, *options, "--local-directory", folder], **quiet)  # type: ignore[call-overload]
        try:

            class Ended(Cluster):
                def check_workers(self, shipment: object) -> dict[str, str]:
                    names = super().check_workers(shipment)  # type: ignore[arg-type]
                    scheduler.kill()
                    scheduler.wait()
                    return names

            with connected(str(place)) as found, pytest.raises(ClusterError, match="the scheduler has gone away"):
                run(job, executor=Ended(found.client, 60.0))
        finally:
            worker.kill()
            worker.wait()
            scheduler.kill()
    place.unlink()
    assert os.listdir(tmp_path) == ["a.i32"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(number: signal.Signals, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rng.integers(0, 1 << 30, 4_000_000, np.int32).tofile(tmp_path / "a.i32")
    words = ["sort", "--cluster", "local:1", "-S", "8M", str(tmp_path / "a.i32"), "-o", str(tmp_path / "out.i32")]
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.path.insert(0, sys.argv.pop(1)); from gpumerge_cli.__main__ import main; main()"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", code, root, *words], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 600
        while not list(tmp_path.glob(".out*runs*/run-*")) and process.poll() is None and time.monotonic() < until:
            time.sleep(0.001)
        process.send_signal(number)
        try:
            _, stderr = process.communicate(timeout=600)
        finally:
            process.kill()
    if process.returncode != 0:  # it had not ended by then
        assert process.returncode == 128 + number
        assert stderr == "gpumerge: interrupted; no output was written\n"
        assert os.listdir(tmp_path) == ["a.i32"]


def test_a_scheduler_that_is_frozen_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be slow, so a call may take a while; but nobody waits for it without end."""

    def silent(client: Any, call: Any, seconds: float = 0.0) -> Any:
        assert 0 < seconds < float("inf")
        raise TimeoutError

    monkeypatch.setattr(calls, "check_alive", lambda client: None)
    monkeypatch.setattr(calls, "await_call", silent)
    with pytest.raises(ClusterError, match="the scheduler has not answered for 60 seconds; look into its logs"):
        calls.workers_of(None)  # type: ignore[arg-type]
