"""Workers of a cluster send the parts of an object: its bytes are those of one machine, and no upload is left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import needs

pytest.importorskip("distributed", reason=needs.reason("distributed"), exc_type=ImportError)

from itertools import pairwise

from gpumerge_cli.cluster import executor, remote_cuts, sorting, workers
from gpumerge_cli.cluster.connect import Connection, connected
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.cluster.part_offsets import PartOffsets
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.task import Position, Task
from gpumerge_cli.errors import ClusterError, DisorderError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.stores.base import StoreError
from gpumerge_cli.formats.stores.s3_multipart import Multipart
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.plan import Chunk
from tests.cluster.kills import Killer
from tests.cluster.troubled import Here, KilledWorker, Troubled
from tests.jobs_of import merge_job, sort_job, to
from tests.stores.conftest import PART, Bucket, settings
from tests.stores.faults import Faults, Proxy

ROOT = Path(__file__).parents[2]


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 30))), st.integers(0, 50), st.randoms())
def test_parts_have_their_least_size(sizes: list[tuple[int, int]], least: int, chance: random.Random) -> None:
    """Whatever the sizes of results, and the order in which they are told, tasks are joined to parts in their order."""
    edges = np.cumsum([0, *(taken for taken, _ in sizes)]).tolist()
    tasks = [Task(at, Chunk(((edges[at], edges[at + 1]),), edges[at]), Position(0, -1)) for at in range(len(sizes))]
    ends = PartOffsets(least)
    for task in tasks:
        ends.number(task)
    told = list(zip(tasks, sizes, strict=True))
    chance.shuffle(told)
    found = [one for task, (_, put) in told for one in ends.add_size(task, put)] + ends.rest()
    assert ends.rest() == []
    found.sort(key=lambda task: task.chunk.ranges)
    ranges = [task.chunk.ranges[0] for task in found]
    assert [*(start for start, _ in ranges), edges[-1]] == [0, *(stop for _, stop in ranges)]
    put_before = dict(zip(edges, np.cumsum([0, *(put for _, put in sizes)]).tolist(), strict=True))
    places = [put_before[task.chunk.ranges[0][0]] for task in found]
    assert [task.position for task in found] == [Position(0, place) for place in places]
    assert all(high - low >= least for low, high in pairwise(places))


def _inputs(bucket: Bucket, suffix: str, sort: bool, number: int = 2) -> tuple[str, ...]:
    rng, found = np.random.default_rng(1), []
    for one in range(number):
        keys = rng.integers(0, 3000, 5000, np.int32)
        keys = keys if sort else np.sort(keys)
        if suffix == ".txt":
            data = b"name\n" + b"".join(b"%06d\n" % key for key in keys.tolist())
        else:
            import io

            file = io.BytesIO()
            np.save(file, keys)
            data = keys.astype(">i4").tobytes() if suffix == ".bin" else file.getvalue()
        found.append(bucket.put(f"{one}{suffix}", data))
    return tuple(found)


ITEMS = {".npy": Items(), ".txt": Items(header_lines=1), ".bin": Items("raw", ">i4")}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("suffix", "unique", "parts"),
    [
        (".npy", True, None),
        (".txt", False, None),
        (".bin", True, 2),
        pytest.param(".npy", False, 2, marks=pytest.mark.thorough),
        pytest.param(".txt", True, 2, marks=pytest.mark.thorough),
        pytest.param(".bin", False, None, marks=pytest.mark.thorough),
    ],
)
def test_bytes_are_those_of_one_machine(
    bucket: Bucket,
    suffix: str,
    unique: bool,
    parts: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    place = "{part}" if parts else ""
    for sort in (False, True):
        made = partial(sort_job, folders=(str(tmp_path),)) if sort else merge_job
        names, there = _inputs(bucket, suffix, sort), bucket.url(f"there{place}{suffix}")
        job = made(names, there, ITEMS[suffix], parts=parts, equals=Equals.of(unique))
        if unique and suffix == ".npy":
            with pytest.raises(OutputError, match="objects of S3 whose headers are known before the end"):
                run(job, executor=Here(seed, 4))
        else:
            run(to(job, bucket.url(f"here{place}{suffix}")))
            told = run(job, executor=Here(seed, 4))
            assert told.chunks > 1
            pairs = [(f"here{part}{suffix}", f"there{part}{suffix}") for part in (range(parts) if parts else [""])]
            ours, theirs = ([bucket.get(pair[which]) for pair in pairs] for which in (0, 1))
            assert b"".join(ours) == b"".join(theirs)
            assert ours == theirs or (sort and unique)  # cuts fall between different runs
        assert not bucket.uploads
        assert not list(tmp_path.iterdir())


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("sort", [False, True], ids=["merge", "sort"])
@pytest.mark.parametrize("parts", [None, 2])
def test_objects_of_one_small_part_are_whole(bucket: Bucket, sort: bool, parts: int | None, tmp_path: Path) -> None:
    """All that is left to be sent, once nothing else is under way, is the end of the object."""
    urls = bucket.put("a.txt", b"1\n3\n"), bucket.put("b.txt", b"2\n")
    output = bucket.url("out{part}" if parts else "out")
    if sort:
        run(sort_job(urls, output, parts=parts, folders=(str(tmp_path),)), executor=Here(1, 0))
    else:
        run(merge_job(urls, output, parts=parts), executor=Here(1, 0))
    assert b"".join(bucket.get(f"out{part}") for part in (range(parts) if parts else [""])) == b"1\n2\n3\n"
    assert not bucket.uploads


def test_a_task_that_is_forgotten_is_told(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """No byte is lost without a word, whatever is wrong with the executor."""
    monkeypatch.setattr(PartOffsets, "rest", lambda ends: [])
    with pytest.raises(ClusterError, match="4 bytes of the inputs were not processed"):
        run(merge_job((bucket.put("a.txt", b"1\n3\n"),), bucket.url("out")), executor=Here(1, 0))
    assert "out" not in bucket.keys
    assert not bucket.uploads


def test_an_empty_output_has_its_head(bucket: Bucket) -> None:
    url = bucket.put("a.txt", b"name\n")
    job = merge_job((url,), bucket.url("out.txt"), items=Items(header_lines=1))
    run(job, executor=Here(1, 0))
    assert bucket.get("out.txt") == b"name\n"
    assert not bucket.uploads


def test_a_task_that_fails_leaves_no_upload(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    names, done = _inputs(bucket, ".npy", False), Troubled._do
    before = bucket.put("out.npy", b"before")
    sent: list[int] = []

    def fail(pool: Troubled, ticket: Any) -> Any:
        sent.append(1)
        if len(sent) > 3:
            assert bucket.uploads
            raise ClusterError("a test")
        return done(pool, ticket)

    monkeypatch.setattr(Troubled, "_do", fail)
    with pytest.raises(ClusterError, match="a test"):
        run(merge_job(names, before), executor=Here(1, 0))
    assert bucket.get("out.npy") == b"before"
    assert not bucket.uploads


@pytest.mark.thorough
def test_a_part_that_comes_after_the_abort_is_dropped(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3 keeps parts that were on their way while an upload was aborted, and then the upload."""
    names, done, abort = _inputs(bucket, ".npy", False), Troubled._do, Multipart.abort
    aborts: list[str] = []

    def fail(pool: Troubled, ticket: Any) -> Any:
        done(pool, ticket)
        raise ClusterError("a test")

    monkeypatch.setattr(Troubled, "_do", fail)
    monkeypatch.setattr(Multipart, "abort", lambda upload: aborts.append(upload.upload_id))
    with pytest.raises(ClusterError, match="a test"):
        run(merge_job(names, bucket.url("out.npy")), executor=Here(1, 0))
    assert len(aborts) == 2  # that of the look at the output, which sends nothing, and that of the merge
    left = bucket.uploads
    assert [one["UploadId"] for one in left] == aborts[:1]
    abort(Multipart(bucket.name, "out.npy", aborts[0]))


def test_parts_that_are_missing_are_told(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = executor.record_part

    def forgets(output: Any, task: Task, answer: Any) -> None:
        if task.position.offset < 2 * PART:
            noted(output, task, answer)

    monkeypatch.setattr(executor, "record_part", forgets)
    with pytest.raises(OutputError, match="parts are missing"):
        run(merge_job(_inputs(bucket, ".npy", False), bucket.url("out.npy")), executor=Here(1, 0))
    assert "out.npy" not in bucket.keys
    assert not bucket.uploads


def test_a_worker_that_does_not_reach_the_upload_is_told(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(upload: Multipart) -> None:
        raise StoreError("no credentials were found", "set AWS_PROFILE")

    monkeypatch.setattr(Multipart, "check", refused)
    told = r"out.npy: the worker at .* cannot write it: no credentials were found; on that machine: set AWS_PROFILE"
    with pytest.raises(ClusterError, match=told):
        run(merge_job(_inputs(bucket, ".npy", False), bucket.url("out.npy")), executor=Here(1, 0))
    assert not bucket.uploads


def test_runs_of_a_sort_to_an_object_need_a_folder(bucket: Bucket) -> None:
    job = sort_job(_inputs(bucket, ".npy", True), bucket.url("out.npy"))
    with pytest.raises(UsageError, match="needs a folder for its runs; name one with -T"):
        run(job, executor=Here(1, 0))
    assert not bucket.uploads


def test_compressed_objects_are_not_written(bucket: Bucket) -> None:
    with pytest.raises(OutputError, match="name one with -o that is not compressed"):
        run(merge_job(_inputs(bucket, ".npy", False), bucket.url("out.npy.gz")), executor=Here(1, 0))
    assert not bucket.uploads


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)])
def test_signals_leave_no_upload(bucket: Bucket, proxy: Proxy, number: int) -> None:
    keys = np.arange(5 << 20, dtype=np.int32)
    url = bucket.put("a.i32", keys.tobytes())
    ended = threading.Event()
    proxy.faults = Faults(refuse=lambda method, path: 0 if "partNumber" not in path or ended.wait(600) else 500)
    environment = {**os.environ, **settings(proxy.endpoint), "PYTHONPATH": str(ROOT)}
    words = ["merge", "-q", "--cluster", "local:1", url, "-o", bucket.url("out.i32")]
    process = subprocess.Popen(
        [sys.executable, "-m", "gpumerge_cli", *words], env=environment, stderr=subprocess.PIPE, text=True
    )
    while not any("partNumber" in path for _, path in proxy.requests):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=600)
    ended.set()
    assert process.returncode == 128 + number
    assert err == "gpumerge: interrupted; no output was written\n"
    assert bucket.keys == ["a.i32"]
    assert not bucket.uploads


@pytest.fixture(scope="module")
def processes(endpoint: str) -> Iterator[Connection]:
    """Worker processes that reach the store."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings(endpoint).items():
            patch.setenv(name, value)
        with connected("local:2") as found:
            yield found


@pytest.mark.thorough
def test_workers_that_are_killed_leave_the_right_object(
    bucket: Bucket, processes: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 14)
    rng = np.random.default_rng(seed)
    keys = [rng.integers(0, 1 << 30, 100_000, np.int32) for _ in range(2)]
    expected = np.sort(np.concatenate(keys)).tobytes()
    names = tuple(bucket.put(f"{at}.i32", one.tobytes()) for at, one in enumerate(keys))
    runs = tuple(bucket.put(f"sorted{at}.i32", np.sort(one).tobytes()) for at, one in enumerate(keys))
    output, machines = bucket.url("out.i32"), Cluster(processes.client, 600.0)
    killer = Killer(processes, random.Random(seed), 0.2, 2)
    with killer.at_work():
        run(merge_job(runs, output), executor=machines)
        assert bucket.get("out.i32") == expected
        run(sort_job(names, output, folders=(str(tmp_path),)), executor=machines)
    assert bucket.get("out.i32") == expected
    assert not bucket.uploads
    assert not list(tmp_path.iterdir())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("fails", [False, True])
def test_workers_cut_objects(
    fails: bool, bucket: Bucket, processes: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Cuts that a worker fails to make are made here. Objects out of order are told as they are here."""
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 12)
    rng, names, keys = np.random.default_rng(seed), [], []
    for number in range(5):
        keys.append(np.sort(rng.integers(0, 100 << number, 3000 * number, np.int32)))
        names.append(bucket.put(f"{number}.i32", keys[-1].tobytes()))
    made: list[int] = []
    found = remote_cuts.RemoteCutter._found

    def noted(cuts: remote_cuts.RemoteCutter, batch: Any) -> Any:
        made.append(len(batch.targets))
        assert batch.future is not None
        return found(cuts, replace(batch, future=_Lost()) if fails else batch)

    monkeypatch.setattr(remote_cuts.RemoteCutter, "_found", noted)
    for parts in (None, 3):
        output = str(tmp_path / ("out{part}.i32" if parts else "out.i32"))
        told = run(merge_job(names, output, parts=parts), executor=Cluster(processes.client, 30.0))
        assert sum(made) >= told.chunks - (parts or 1)
        made.clear()
        data = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))
        assert data == np.sort(np.concatenate(keys)).tobytes()
        for path in tmp_path.iterdir():
            path.unlink()
    loose = bucket.put("loose.i32", rng.permutation(np.concatenate(keys)).tobytes())
    errors = []
    for machines in (LOCAL, Cluster(processes.client, 30.0)):
        with pytest.raises(DisorderError) as error:
            run(merge_job((names[3], loose), str(tmp_path / "out.i32")), executor=machines)
        errors.append(str(error.value))
    assert errors[0] == errors[1]


class _Lost:
    """A future whose worker was lost."""

    async def result(self) -> None:
        raise KilledWorker
