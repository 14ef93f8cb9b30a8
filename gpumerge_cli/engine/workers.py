"""Workers carry out tasks: a thread on the CPU, or a GPU with its streams. Each of their threads has a slot."""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable
from typing import cast

from gpumerge_cli.backends.base import Backend, CountingWorkspace, Workspace
from gpumerge_cli.engine.launches import BudgetFunction, launch_info, policy_of
from gpumerge_cli.engine.memory import LEAST_CHUNK
from gpumerge_cli.engine.outcome import LaunchInfo
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.steps import (
    FoundDisorderError,
    check_beginnings,
    disorder_between,
    fault_between,
    named_sort,
    places_beside,
    read_chunk,
)
from gpumerge_cli.engine.task import Position, Task, TaskResult, UnfinishedError
from gpumerge_cli.engine.writers import HalfWrittenError, Merged
from gpumerge_cli.errors import DeviceError, DeviceMemoryError
from gpumerge_cli.launch import SortPolicy
from gpumerge_cli.native.calls import ChunkWorker, Disordered
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.plan import Chunk

_MOST_WARMED = 1 << 16  # bytes of an item: reading larger ones takes far longer than the start


class PassSetup:
    """A backend that is set up for a pass, and a slot for each thread that has it carry out tasks.

    The writer's targets must be known. feed: gives the number of threads, and bytes of a chunk that suits them.
    """

    def __init__(self, work: Pass, backend: Backend, feed: BudgetFunction) -> None:
        self.work = work
        self.backend = backend
        self.policy = policy_of(backend, work)
        self.budget = feed(backend, self.policy)
        targets = work.writer.targets if work.action == "merge" else ()
        self.chunk_workers = backend.chunk_workers(work, self.policy, targets) if work.action == "merge" else None
        """Makes workers that do a chunk in one call, if the backend can."""
        self.written_by_calls = self.chunk_workers is not None and len(targets) > 0
        """Whether these calls write the result, too."""
        self.shrunk_to = 0
        """Bytes of the largest chunk that is tried since the device has run out of memory; 0 if it never did."""
        self._device = backend.info().name  # now, while it answers: a report names a device that was lost, too
        self._slots: dict[int, Slot] = {}
        self._lock = threading.Lock()

    def do(self, task: Task) -> TaskResult:
        """Carry out the task in the slot of the calling thread. Raises UnfinishedError."""
        thread = threading.get_ident()
        slot = self._slots.get(thread)
        if slot is None:
            slot = self._slots[thread] = Slot(self)
        return slot.do(task)

    def close(self) -> None:
        """Give all memory back. No thread carries out a task."""
        for slot in self._slots.values():
            slot.close()
        self._slots.clear()

    def launch_info(self) -> LaunchInfo:
        """Its device and launch, for reports."""
        return launch_info(self._device, self.policy, self.shrunk_to)

    def warm_up(self) -> None:
        """Merge two items, so that compiling and loading code counts as start-up and not as the first chunk's work."""
        work = self.work
        order, items = work.order, int(self.budget.chunk_bytes / work.mean_bytes)
        if not work.nbytes and order.item_bytes > _MOST_WARMED:
            return
        self.backend.prepare(order, self.policy, items, check=work.check, equals=work.equals)
        if order.item_bytes > _MOST_WARMED:
            return
        item = order.sample()
        workspace = self.backend.workspace(order, 2 * len(item))
        try:
            memoryview(workspace.staging(2 * len(item)))[:] = 2 * item
            workspace.upload([len(item), len(item)])
            if work.check:
                workspace.disorder()
            equals = work.equals if work.equals.is_set else Equals.ALL
            if isinstance(self.policy, SortPolicy):
                workspace.sort(self.policy)
            elif work.margin is not None and self.backend.remote:
                cast(CountingWorkspace, workspace).merge(self.policy, equals, counted=True)
            else:
                workspace.merge(self.policy, equals)
            workspace.download()
        finally:
            workspace.close()

    @property
    def limit(self) -> int:
        """Bytes of the largest chunk that may be tried."""
        return self.shrunk_to or 2 * self.budget.chunk_bytes

    def shrink(self, failed: int, tried: int) -> bool:
        """Lower the limit, since the device had no memory for a chunk of `failed` bytes; False if that cannot help.

        tried: the limit to which the chunk was cut, as far as its lines allow.
        """
        with self._lock:
            if self.limit < tried:
                return True  # another thread took note meanwhile
            if self.limit <= LEAST_CHUNK or self.work.sorts:
                return False
            self.shrunk_to = max(LEAST_CHUNK, min(self.limit, failed) // 2)
            return True


class Slot:
    """Carries out one task at a time, for one thread."""

    def __init__(self, setup: PassSetup) -> None:
        self._setup = setup
        self._work = setup.work
        self._workspace: Workspace | None = None
        self._caller: ChunkWorker | None = None
        self._capacity = 0

    def do(self, task: Task) -> TaskResult:
        """Carry out the task, in pieces where the device has no memory for it as a whole. Raises UnfinishedError."""
        setup, work = self._setup, self._work
        done = TaskResult(counts=[0] * len(task.chunk.ranges), part=task.position.part)
        if work.checks:
            return self._checked(task, done)
        pieces = deque([task.chunk])
        try:
            while pieces and not work.writer.is_over(task.turn):
                limit = setup.limit
                if pieces[0].nbytes > limit and work.action == "merge":
                    parts = work.planner.split(pieces[0], limit)
                    if len(parts) > 1:
                        pieces.popleft()
                        pieces.extendleft(reversed(parts))
                        continue
                try:
                    self._do_piece(task, pieces[0], done, last=len(pieces) == 1)
                except DeviceMemoryError:
                    self.close()
                    if not setup.shrink(pieces[0].nbytes, limit):
                        raise
                    continue
                pieces.popleft()
        except HalfWrittenError as half:
            raise UnfinishedError(half.cause, done, None) from half.cause
        except (DeviceError, FoundDisorderError) as error:
            raise UnfinishedError(error, done, task.of(pieces)) from error
        return done

    def _do_piece(self, task: Task, piece: Chunk, done: TaskResult, *, last: bool) -> None:
        position = task.position_of(piece)
        merged = self._merged(piece, position)
        if self._setup.written_by_calls:
            written: int | None = merged.merged_bytes
        else:
            try:
                written = self._work.writer.put(task.turn, position, merged, last=last)
            except Disordered as found:
                raise FoundDisorderError(found.source) from None
        if written is not None:
            done.counts[:] = map(operator.add, done.counts, merged.counts)
            done.dropped += merged.dropped
            if self._caller is not None:
                done.changed += self._caller.changed
            done.written += written
            done.nbytes += piece.nbytes
            done.largest = max(done.largest, piece.nbytes)
        done.spans += map(named_sort, merged.spans) if self._work.sorts else merged.spans
        merged.spans.clear()
        if piece.nbytes > 2 * self._capacity:  # a long line; whoever looks back at it reads it again
            self.close()

    def _merged(self, piece: Chunk, position: Position) -> Merged:
        """The merge of the piece by one call, which also writes the result or keeps it."""
        setup, work = self._setup, self._work
        if work.lenient and not work.planner.is_cut([stop for _, stop in piece.ranges]):
            raise FoundDisorderError(0)
        capacity = self._room()
        if setup.chunk_workers is None:
            return self._in_steps(capacity, piece)
        if self._caller is None:
            self._caller = setup.chunk_workers(capacity)
        try:
            self._caller.run(piece.ranges, position.part, position.offset)
        except Disordered as found:
            raise FoundDisorderError(found.source) from None
        return self._caller

    def _in_steps(self, capacity: int, piece: Chunk) -> Merged:
        """The merge or sort of the piece, in a workspace."""
        work, policy = self._work, self._setup.policy
        if self._workspace is None:
            self._workspace = self._setup.backend.workspace(work.order, capacity)
        workspace = self._workspace
        read = read_chunk(work.sources, piece, workspace)
        if work.check and not work.lenient:
            check_beginnings(work.sources, piece, work.order)
        workspace.upload(piece.lengths)
        fault = workspace.fault() if work.order.checks_values else None
        if fault is not None:
            raise FoundDisorderError(fault.run)
        if work.check:
            disorder = workspace.disorder()
            if disorder is not None:
                raise FoundDisorderError(disorder.run)
        equals = work.equals if work.equals.is_set else Equals.ALL
        if work.margin is not None:
            assert not isinstance(policy, SortPolicy), "a GPU counts as it merges"
            counting = cast(CountingWorkspace, workspace)
            counting.merge(policy, equals, counted=True)
            workspace.spans.insert(0, read)
            if work.margin.count == "apart":
                return counting
            from gpumerge_cli.engine.counted import CountedLines  # whose lines are arrays

            return CountedLines(counting, work.margin, work.order)
        if work.equals.is_by_place:
            equals = places_beside(work.sources, piece, work.order, work.equals)
        if isinstance(policy, SortPolicy):
            workspace.sort(policy, equals, by_parts=True)
        else:
            workspace.merge(policy, equals)
        workspace.spans.insert(0, read)
        return workspace

    def _checked(self, task: Task, done: TaskResult) -> TaskResult:
        """Look at the task's piece of the only source, block by block."""
        (source,), ((start, stop),), work = self._work.sources, task.chunk.ranges, self._work
        size, unique = self._setup.budget.chunk_bytes, not work.equals.keeps_all
        done.nbytes = stop - start
        if self._workspace is None:
            self._workspace = self._setup.backend.workspace(work.order, size)
        workspace = self._workspace
        while start < stop and done.disorder is None and not work.writer.is_over(task.turn):
            until = min(stop, max(source.item_end(start), source.item_start(min(stop, start + size))))
            if work.action == "values":
                done.disorder = fault_between(source, (start, until), workspace)
            else:
                done.disorder = disorder_between(source, (start, until), work.order, workspace, unique=unique)
            if done.disorder is None:
                done.counts[0] += workspace.counts[0]
            start = until
        return done

    def _room(self) -> int:
        """The capacity for the next chunk: no more than the limit, or as large as chunks usually are."""
        capacity = min(self._setup.limit, self._setup.budget.chunk_bytes)
        if self._capacity > capacity:
            self.close()
        self._capacity = capacity
        return capacity

    def close(self) -> None:
        """Give its memory back."""
        for opened in (self._workspace, self._caller):
            if opened is not None:
                opened.close()
        self._workspace = self._caller = None


class CpuWorker:
    """A thread on the CPU; threads of workers that are lost may use it, too. All of a pass share one setup.

    See threads.Worker.
    """

    threads = 1

    def __init__(self, number: int, setup: PassSetup) -> None:
        self.name = f"cpu {number}"
        self.backend = setup.backend.name
        self.chunk_bytes = setup.budget.chunk_bytes
        self._setup = setup

    def start(self) -> None:
        """See Worker. Its setup is ready."""

    def do(self, task: Task) -> TaskResult:
        """See Worker."""
        return self._setup.do(task)

    def launch_info(self) -> LaunchInfo:
        """See Worker."""
        return self._setup.launch_info()

    def close(self) -> None:
        """See Worker. The other workers of the pass are done, too."""
        self._setup.close()


class DeviceWorker:
    """A device with its streams, each fed by a thread. See threads.Worker.

    create: makes its backend, which may take seconds. feed: gives its slots and the bytes of their chunks.
    """

    def __init__(self, name: str, work: Pass, create: Callable[[], Backend], feed: BudgetFunction) -> None:
        self.name = name
        self.backend = name.split()[0]
        self.threads = 1
        self.chunk_bytes = 0
        self._work = work
        self._create = create
        self._feed = feed
        self._setup: PassSetup | None = None

    def start(self) -> None:
        """See Worker."""
        setup = PassSetup(self._work, self._create(), self._feed)
        if self._work.action == "merge":
            setup.warm_up()
        self.threads, self.chunk_bytes, self._setup = setup.budget.workers, setup.budget.chunk_bytes, setup

    def do(self, task: Task) -> TaskResult:
        """See Worker."""
        assert self._setup is not None, "a worker starts first"
        return self._setup.do(task)

    def launch_info(self) -> LaunchInfo:
        """See Worker."""
        return LaunchInfo() if self._setup is None else self._setup.launch_info()

    def close(self) -> None:
        """See Worker."""
        if self._setup is not None:
            self._setup.close()
