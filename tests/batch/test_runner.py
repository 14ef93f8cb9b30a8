"""Jobs at once: order, memory, failures and stops, with work that does nothing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from gpumerge_cli.batch.joblog import Standing
from gpumerge_cli.batch.runner import JobError, Runner, StoppedError, in_order
from gpumerge_cli.batch.spec import BatchJob, Limits, Result
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.errors import Interrupted


def job_with(memory: int | None, threads: int | None = None) -> Job:
    return Job((), resources=Resources(memory=memory, threads=threads))


def jobs_after(*after: set[int], memory: dict[int, int] | None = None) -> list[BatchJob]:
    """Job n, counted from 1, comes after those of the n-th set."""
    return [
        BatchJob(n, f"j{n}", n, "merge", (), (), {}, "", frozenset(others), 0, job_with((memory or {}).get(n)))
        for n, others in enumerate(after, 1)
    ]


class Work:
    """Does no work, and records its calls. failing: the numbers of jobs that fail. done: those of jobs done before."""

    def __init__(self, failing: Iterable[int] = (), *, seconds: float = 0.0, done: Iterable[int] = ()) -> None:
        self.began: list[int] = []
        self.results: list[Result] = []
        self.ended: list[int] = list(done)
        self.memory = self.most_memory = 0
        self.at_once = self.most_at_once = 0
        self._failing = set(failing)
        self._seconds = seconds
        self._lock = threading.Lock()

    def do(self, job: BatchJob, memory: int, check: Callable[[], None]) -> int:
        with self._lock:
            assert job.after <= set(self.ended)
            self.began.append(job.number)
            self.memory += memory
            self.at_once += 1
            self.most_memory = max(self.most_memory, self.memory)
            self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self._seconds)
        with self._lock:
            self.ended.append(job.number)
            self.memory -= memory
            self.at_once -= 1
        if job.number in self._failing:
            raise JobError("broken", 2)
        return job.number

    def earlier(self, job: BatchJob) -> Standing | None:
        return None

    def report(self, result: Result) -> None:
        self.results.append(result)


def states(runner: Runner) -> str:
    """The first letters of the jobs' states, in their order."""
    return "".join(runner.results[number].state[0] for number in sorted(runner.results))


def test_one_at_a_time_goes_by_the_file_as_far_as_it_can() -> None:
    work = Work()
    jobs = jobs_after({3}, set(), set(), {1}, set())
    Runner(jobs, work, Limits(1, 1)).run()
    assert work.began == [2, 3, 1, 4, 5]
    assert [job.number for job in in_order(jobs)] == work.began


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_random_graphs_run_in_order(at_once: int, rng: np.random.Generator) -> None:
    count = 60
    numbers = list(rng.permutation(count) + 1)
    after: list[set[int]] = [set() for _ in range(count)]
    for place, number in enumerate(numbers):
        for other in numbers[:place]:
            if rng.random() < 0.05:
                after[number - 1].add(int(other))
    work = Work(seconds=0.001)
    runner = Runner(jobs_after(*after), work, Limits(at_once, 100))
    runner.run()
    assert sorted(work.ended) == list(range(1, count + 1))
    assert sorted(result.job.number for result in work.results) == list(range(1, count + 1))
    assert work.most_at_once <= at_once
    assert work.most_memory <= 100


def test_threads_bound_what_runs_at_once() -> None:
    asking = [6, None, None, 8, 3, 5, None, 2, 64, 1]
    jobs = [
        BatchJob(n, f"j{n}", n, "merge", (), (), {}, "", frozenset(), 0, job_with(1, threads))
        for n, threads in enumerate(asking, 1)
    ]
    running: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    class Counted(Work):
        def do(self, job: BatchJob, memory: int, check: Callable[[], None]) -> int:
            threads = min(asking[job.number - 1] or 2, 8)
            with lock:
                running.append(threads)
                most.append(sum(running))
            time.sleep(0.01)
            with lock:
                running.remove(threads)
            return job.number

    Runner(jobs, Counted(), Limits(4, 100, 8)).run()
    assert len(most) == len(jobs)
    assert max(most) == 8


def test_memory_bounds_what_runs_at_once() -> None:
    work = Work(seconds=0.01)
    jobs = jobs_after(*[set() for _ in range(12)], memory={2: 90, 5: 100, 7: 10, 9: 1000})
    Runner(jobs, work, Limits(4, 100)).run()
    assert len(work.ended) == 12
    assert work.most_memory <= 100


def test_a_failure_stops_what_has_not_begun() -> None:
    work = Work({2})
    runner = Runner(jobs_after(set(), set(), {2}, set(), {4}), work, Limits(1, 1))
    runner.run()
    assert states(runner) == "dffll"
    assert work.began == [1, 2]
    assert "job j2" in runner.results[3].error


def test_keep_going_runs_all_but_what_depends_on_failures() -> None:
    work = Work({2, 6})
    runner = Runner(jobs_after(set(), set(), {2}, {1}, {3, 4}, set()), work, Limits(2, 2), keep_going=True)
    runner.run()
    assert states(runner) == "dffdff"
    assert sorted(work.began) == [1, 2, 4, 6]
    assert "job j3" in runner.results[5].error


def test_what_an_earlier_run_did_is_asked_when_its_turn_has_come() -> None:
    asked: list[tuple[int, list[int]]] = []
    before: dict[int, Standing] = {1: "done", 3: "failed"}

    class Resumed(Work):
        def earlier(self, job: BatchJob) -> Standing | None:
            asked.append((job.number, list(self.ended)))
            return before.get(job.number)

    work = Resumed(done=[1])
    runner = Runner(jobs_after(set(), {1}, set(), {3}, {2}), work, Limits(1, 1))
    runner.run()
    # A failure of an earlier run stops nothing.
    assert states(runner) == "sdffd"
    assert work.began == [2, 5]
    assert (5, [1, 2]) in asked
    assert all(number != 4 for number, _ in asked)


def test_work_that_raises_is_a_failure() -> None:
    class Broken(Work):
        def do(self, job: BatchJob, memory: int, check: Callable[[], None]) -> int:
            raise ValueError("surprise")

    runner = Runner(jobs_after(set()), Broken(), Limits(1, 1))
    runner.run()
    assert runner.results[1].error == "ValueError: surprise"


def test_a_signal_stops_running_jobs_and_keeps_what_is_done() -> None:
    stopped: list[int] = []
    all_there = threading.Barrier(3)

    class Stopped(Work):
        def do(self, job: BatchJob, memory: int, check: Callable[[], None]) -> int:
            if job.number <= 3:
                all_there.wait(60)
            try:
                while job.number != 1:
                    time.sleep(0.005)
                    check()
                return 1
            except StoppedError:
                stopped.append(job.number)
                raise

        def report(self, result: Result) -> None:
            time.sleep(0.1)  # the main thread waits by then, and a signal of this thread does not wake it
            signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    def interrupt(number: int, _frame: object) -> None:
        raise Interrupted(number)

    before = signal.signal(signal.SIGUSR1, interrupt)

    runner = Runner(jobs_after(*[set() for _ in range(9)]), Stopped(), Limits(3, 3))
    try:
        with pytest.raises(Interrupted):
            runner.run(patience=60)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert runner.results[1].state == "done"
    assert set(runner.results) == {1}
    # The thread of the first job may have begun another one by the time that the signal is noticed.
    assert {2, 3} <= set(stopped) <= {2, 3, 4}


def test_a_result_that_cannot_be_told_stops_the_batch() -> None:
    class Full(Work):
        def report(self, result: Result) -> None:
            if result.job.number == 2:
                raise OSError("full")

    work = Full()
    runner = Runner(jobs_after(set(), set(), set(), set()), work, Limits(1, 1))
    with pytest.raises(OSError, match="full"):
        runner.run()
    assert work.ended == [1, 2]
