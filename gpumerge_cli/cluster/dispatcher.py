"""The dispatcher of a cluster: it keeps a few tasks ahead for each thread of the workers, and counts what comes back.

A task may be done twice, and answers may come in any order: only the first answer of each task counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Protocol

from gpumerge_cli.cluster.part_offsets import PartOffsets
from gpumerge_cli.cluster.shipment import Reply, shifted
from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.engine.outcome import LaunchInfo, Member, WorkerLog
from gpumerge_cli.engine.task import Task
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.errors import ClusterError, GpumergeError

_AHEAD, _MOST_AHEAD = 2, 4
"""Tasks that are submitted for each thread of a worker, at least: one is done, the next one waits; and at most.

Several that are submitted at once cost less than each by itself.
"""
_POLL = 0.2
"""Seconds between two checks for a signal and for lost workers."""
_MOST_TRIES = 30
"""Times that one task is submitted, in a cluster that loses its workers."""

_LATE, _POLL_LATE = 10.0, 1.0
"""A task is late after so many times the seconds of others; and seconds between two checks for late tasks."""

_FEW_TRIES = 2
"""Times that a task is submitted that fails by itself."""
_OF_CLUSTERS = ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError", "TimeoutError")


OnDone = Callable[[Task, Reply], None]
"""Called with each task that is done, and its reply."""


@dataclass(frozen=True)
class Ticket:
    """A task to be done."""

    task: Task
    counts: bool = False
    """Only count what the task would write."""
    tried: int = 0
    """The number of earlier tries."""

    @property
    def key(self) -> tuple[int, bool]:
        """Its name among the tickets of a pass, whatever the try."""
        return self.task.turn, self.counts


class Pool(Protocol):
    """Has tasks done elsewhere. All its methods are called by one thread."""

    patience: float
    """Seconds in which a worker must come back, once there is none."""
    together: int
    """Tasks that it sends to a worker as one, at most: more, the shorter they are."""

    @property
    def refused(self) -> Mapping[str, str]:
        """Why workers that came late get no tasks, by their names."""

    def threads(self) -> int:
        """The threads of all workers that are there now, and can do tasks."""

    def submit(self, tickets: Sequence[Ticket]) -> None:
        """Have tasks done. Returns at once."""

    def submit_elsewhere(self, tickets: Sequence[Ticket]) -> None:
        """Have tasks that were submitted before done by other workers, too, if there are any."""

    def answers(self, seconds: float) -> list[tuple[Ticket, Reply | BaseException]]:
        """The tasks that have ended, and how; waits so long for the first one.

        An exception is one of the cluster, such as the loss of a worker, or one that the task should not have raised.
        Raises ClusterError if the cluster is gone.
        """

    def cancel(self) -> None:
        """No answer is wanted any more."""


@dataclass(frozen=True)
class RemoteWorker:
    """A worker of a cluster, as reports name it. See engine.outcome.Member."""

    name: str
    threads: int = 1
    launch: LaunchInfo = field(default_factory=LaunchInfo)
    backend: str = "cluster"

    def launch_info(self) -> LaunchInfo:
        """Its device and launch."""
        return self.launch


@dataclass(frozen=True)
class TaskPolicy:
    """The rule by which a pass is cut into tasks."""

    nbytes: int
    """About the bytes of a task's inputs."""
    counts: bool = False
    """Do each task twice: once to count, and once to write, when all tasks ahead of it are counted.

    Without counts nobody knows the offset of its result."""
    least: int = 0
    """See PartOffsets."""
    pace: float = inf
    """Least bytes of a task that a worker processes in a second, where few tasks may take much longer than others."""


@dataclass
class Dispatcher:
    """Does the tasks of a pass in a pool."""

    workers: Sequence[Member]
    tasks: Tasks
    pool: Pool
    policy: TaskPolicy
    on_done: OnDone | None = None
    logs: list[WorkerLog] = field(init=False)
    """The work of each worker."""
    _sent: dict[tuple[int, bool], Ticket] = field(default_factory=dict)
    _by_name: dict[str, WorkerLog] = field(default_factory=dict)
    _offsets: PartOffsets = field(init=False)
    _submitted: dict[tuple[int, bool], float] = field(default_factory=dict)  # the times of the last submissions
    _turnaround: float = 0.0  # seconds from a submission to its answer, about
    _last_duplicates: float = 0.0  # the time at which tasks were last given to others, too
    _over: bool = False
    _unfinished_bytes: int = 0  # bytes of tasks that were taken, and whose results are still to come
    _idle_since: float = 0.0  # the time since which there is no worker

    def __post_init__(self) -> None:
        self.logs = [WorkerLog(worker, started=True) for worker in self.workers]
        self._offsets = PartOffsets(self.policy.least)
        self._by_name = {log.report.name: log for log in self.logs}

    def run(self) -> None:
        """Do all tasks. Raises the first error that no further try makes up for; all tasks are then cancelled."""
        try:
            self._fill()
            while self._sent or not self._over:
                for ticket, answer in self.pool.answers(_POLL):
                    self._handle(ticket, answer)
                self._fill()
                self._duplicate_late_tasks()
            if self._unfinished_bytes:  # a fault of this program, which must not cost anybody a byte
                raise ClusterError(f"{self._unfinished_bytes} bytes of the inputs were not processed")
        except BaseException:
            self.tasks.stop()
            raise
        finally:
            self.pool.cancel()
            for log in self.logs:
                if log.tries:
                    log.report.note = f"{log.tries} of its tasks were done again"
            for name, why in self.pool.refused.items():
                self._log_of(name).report.note = f"got no tasks: {why}"

    def _fill(self) -> None:
        """Submit tasks for all threads that are there. Raises ClusterError if there are none for too long."""
        threads = self.pool.threads()
        now = time.monotonic()
        self._idle_since = 0.0 if threads else self._idle_since or now
        if not threads and now - self._idle_since > self.pool.patience:
            why = "".join(f", and one was refused ({one})" for one in list(self.pool.refused.values())[:1])
            raise ClusterError(
                f"no worker was there for {self.pool.patience:.0f} seconds{why}",
                way_out="look into the logs of the workers, or wait longer with --cluster-wait",
            )
        width = threads * self.pool.together
        if len(self._sent) < _AHEAD * width:
            self._take(_MOST_AHEAD * width)
        if self._over:  # by now: the end of a part may be all that was left to be taken
            self._submit([Ticket(task) for task in self._offsets.rest()])

    def _take(self, most: int) -> None:
        """Submit new tasks, until so many are under way."""
        new: list[Ticket] = []
        while not self._over and len(self._sent) + len(new) < most:
            task = self.tasks.take(self.policy.nbytes)
            if task is None:
                self._over = True
                break
            self._unfinished_bytes += task.nbytes
            new += self._tickets_of(task)
        self._submit(new)

    def _tickets_of(self, task: Task) -> list[Ticket]:
        """The tickets to be submitted now that this task has been cut."""
        if not (self.policy.counts or self.policy.least):
            return [Ticket(task)]
        self._offsets.number(task)
        if self.policy.counts:
            return [Ticket(task, counts=True)]
        return [Ticket(one) for one in self._offsets.add_size(task, task.nbytes)]

    def _duplicate_late_tasks(self) -> None:
        """Submit tasks that take much too long to other workers, too: their own may be frozen or cut off."""
        now = time.monotonic()
        longest = max(self.pool.patience, _POLL_LATE, _LATE * self._turnaround)
        late = [
            key
            for key, since in self._submitted.items()
            if key in self._sent and now - since > longest + self._sent[key].task.nbytes / self.policy.pace
        ]
        if late and now - self._last_duplicates > _POLL_LATE:
            self._last_duplicates = now
            self.pool.submit_elsewhere([self._sent[key] for key in late])
            self._submitted.update(dict.fromkeys(late, now))

    def _submit(self, tickets: Sequence[Ticket]) -> None:
        self._sent.update((ticket.key, ticket) for ticket in tickets)
        self._submitted.update(dict.fromkeys((ticket.key for ticket in tickets), time.monotonic()))
        if tickets:
            self.pool.submit(tickets)

    def _handle(self, ticket: Ticket, answer: Reply | BaseException) -> None:
        sent = self._sent.get(ticket.key)
        if sent is None:
            return  # a duplicate has answered
        error = answer.error if isinstance(answer, Reply) else answer
        if isinstance(answer, Reply) and error is None:
            del self._sent[ticket.key]
            taken = time.monotonic() - self._submitted.pop(ticket.key)
            self._turnaround += (taken - self._turnaround) / 8 if self._turnaround else taken
            if self.on_done is not None:
                self.on_done(sent.task, answer)
            self._record(answer, counted=ticket.counts)
            if ticket.counts:
                self._submit([Ticket(task) for task in self._offsets.add_size(sent.task, answer.result.written)])
            return
        assert error is not None
        if ticket.tried < sent.tried:
            return  # a later try is under way
        if isinstance(answer, Reply):
            if not answer.again:
                raise error
            self._log_of(answer.worker).tries += 1
        elif (lost := getattr(getattr(error, "last_worker", None), "name", None)) is not None:
            self._log_of(str(lost)).tries += 1  # the worker that Dask has seen end with the task
        if sent.tried + 1 >= (_MOST_TRIES if _is_of_cluster(error) else _FEW_TRIES):
            raise _given_up(error, sent.tried + 1)
        self._submit([replace(sent, tried=sent.tried + 1)])

    def _record(self, answer: Reply, *, counted: bool) -> None:
        ahead = time.perf_counter() - time.time()
        log, stopwatch = self._log_of(answer.worker), self.tasks.stopwatch
        started = max(0.0, answer.began + ahead - stopwatch.origin)  # clocks may differ
        stopwatch.name_lane(log.report.name)
        stopwatch.add(*shifted(answer.result.spans, ahead))
        log.add_task(started, started + answer.seconds, None if counted else answer.result.nbytes)
        if not counted:
            self._unfinished_bytes -= answer.result.nbytes
            self.tasks.record(answer.result)

    def _log_of(self, worker: str) -> WorkerLog:
        """The log of the worker of that name, which may have come since the run began."""
        name = f"worker {worker}"
        if name not in self._by_name:
            log = WorkerLog(RemoteWorker(name), started=True)
            self._by_name[name] = log
            self.logs.append(log)
        return self._by_name[name]


def _is_of_cluster(error: BaseException) -> bool:
    """Whether the cluster has lost a task, which is not the fault of the task."""
    return type(error).__name__ in _OF_CLUSTERS or isinstance(error, OSError)


def _given_up(error: BaseException, tried: int) -> BaseException:
    """The error for a task that was tried so often."""
    if isinstance(error, GpumergeError):
        return error
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return ClusterError(f"a task failed {tried} times, last with {what}", way_out="look into the logs of the workers")
