"""Work by as many threads as there can be."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends.cpu.workspace import CpuWorkspace
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine import local_sorts
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.parallel import for_each
from gpumerge_cli.engine.run import run
from tests.jobs_of import merge_job, sort_job


@pytest.fixture
def few_threads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The limit, as a list of one number, of threads alive at once in addition to those alive now."""
    most, now = [1], threading.active_count()
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        if threading.active_count() - now >= most[0]:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    return most


def test_fewer_threads_do_all_of_it(few_threads: list[int]) -> None:
    done: list[int] = []
    for_each(range(100), done.append, 8)
    assert sorted(done) == list(range(100))


def test_no_thread_at_all_is_no_memory(few_threads: list[int]) -> None:
    few_threads[0] = 0
    with pytest.raises(MemoryError):
        for_each([1], lambda _: None, 2)


def test_files_are_merged_and_sorted_by_fewer_threads(few_threads: list[int], tmp_path: Path) -> None:
    lines = [f"{number:06}\n" for number in range(40_000)]
    (tmp_path / "a").write_text("".join(lines))
    (tmp_path / "b").write_text("".join(reversed(lines)))
    out = tmp_path / "out"
    on = Resources("cpu", threads=4)
    run(merge_job((str(tmp_path / "a"),), str(out), resources=on))
    assert out.read_text() == "".join(lines)
    run(sort_job((str(tmp_path / "b"),), str(out), resources=on, memory=1))
    assert out.read_text() == "".join(lines)


def test_a_thread_that_a_signal_came_with_the_start_of_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start
    begun, ended = threading.Event(), threading.Event()

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        begun.wait(10)
        raise KeyboardInterrupt

    def work(item: int) -> None:
        begun.set()
        time.sleep(0.2)
        ended.set()

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        for_each([1], work, 2)
    assert ended.is_set()


def test_what_a_streams_writers_use_is_there_until_they_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_sorts, "PART_BYTES", 1 << 12)
    np.arange(4000, 0, -1, np.int32).tofile(tmp_path / "in.i32")
    receive, closed, ended = CpuWorkspace.receive, [], threading.Event()
    both = threading.Barrier(2)

    def slow(workspace: CpuWorkspace, position: int, nbytes: int) -> Bytes:
        both.wait(10)
        if position == 0:
            raise BrokenPipeError
        time.sleep(0.3)
        closed.append(workspace._handle is None)
        ended.set()
        return receive(workspace, position, nbytes)

    monkeypatch.setattr(CpuWorkspace, "receive", slow)
    job = sort_job((str(tmp_path / "in.i32"),), "/dev/null", backend="cpu", threads=2)
    with pytest.raises(BrokenPipeError):
        run(job)
    assert ended.wait(10)
    assert closed == [False]
