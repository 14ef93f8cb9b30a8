"""A backend at work on the tasks of one site: its launches, the size of its chunks, and the hands that do them."""

from __future__ import annotations

import operator
import threading
from collections import deque
from functools import cached_property
from typing import cast

from gpumerge_cli.backends.base import (
    FAN_INS,
    Backend,
    CountingWorkspace,
    LaunchPolicy,
    SortPolicy,
    SortRequest,
    Unique,
    Workspace,
)
from gpumerge_cli.backends.calls import ChunkCalls, ChunkWork, ChunkWorker, Disordered
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.outlet import HalfWrittenError, Merged
from gpumerge_cli.engine.resources import Shares
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.steps import FoundDisorderError, check_beginnings, first_of_equals, read_chunk
from gpumerge_cli.engine.task import ChunkTask, Place, TaskResult, TaskWork, UnfinishedError
from gpumerge_cli.errors import DeviceError, DeviceMemoryError
from gpumerge_cli.measure import Span
from gpumerge_cli.plan import Chunk

_MOST_WARMED = 1 << 16  # bytes of an item: reading larger ones takes far longer than the start
# A device without memory for a chunk of this size has none for the merge.
_LEAST_CHUNK = 64 << 10


def sorts_again(backend: Backend, work: TaskWork) -> bool:
    """Whether the backend merges so many runs faster by sorting each chunk again."""
    if work.action == "sort" or not isinstance(work.launch, SortRequest):
        return False
    pace = backend.sort_pace(work.order, work.item_bytes)
    if not 0 < pace.resorts < len(work.inputs):
        return False
    return backend.resolve_sort(work.launch, work.order, work.nbytes).algorithm == "radix"


def policy_of(backend: Backend, work: TaskWork) -> LaunchPolicy | SortPolicy:
    """The launch by which the backend carries out the work. Raises UsageError for a wish that it cannot meet."""
    if isinstance(work.launch, SortRequest):
        if work.action == "sort" or sorts_again(backend, work):
            return backend.resolve_sort(work.launch, work.order, work.nbytes)
        # Who asked for a sort that merges gets no digits: they are for more runs than a pass merges.
        most = len(work.inputs) if work.launch.algorithm in ("auto", "radix") else FAN_INS[-1]
        return backend.resolve(work.launch.launch, work.order, min(most, len(work.inputs)))
    return backend.resolve(work.launch, work.order, len(work.inputs), work.equals)


def _named_sort(span: Span) -> Span:
    return replace(span, name="sort") if span.name == "kernel" else span


class Station:
    """The state that the hands of one backend share.

    shares: how many hands it has, and bytes of a chunk that suits them. calls: do a chunk in one call, if the backend
    can. written_by_calls: whether they write its result, too. shrunk_to: bytes of the largest chunk that is tried
    since the device has run out of memory; 0 if it never did.
    """

    def __init__(self, site: Site, backend: Backend, shares: Shares) -> None:
        self.site = site
        self.backend = backend
        self.shares = shares
        self.policy = policy_of(backend, site.work)
        self.calls: ChunkCalls | None = None
        self.written_by_calls = False
        self.shrunk_to = 0
        self._opened = False
        self._lock = threading.Lock()

    def open(self) -> None:
        """Prepare what all hands use; further calls do nothing. The outlet's targets must be known by now."""
        site, work = self.site, self.site.work
        with self._lock:
            if not self._opened and work.action == "merge":
                targets = site.outlet.targets
                told = ChunkWork(
                    site.sources, work.order, self.policy, work.check, work.equals, targets, work.margin, work.join
                )
                self.calls = self.backend.chunk_calls(told)
                self.written_by_calls = self.calls is not None and len(targets) > 0
            self._opened = True

    @cached_property
    def device(self) -> str:
        """The name of its device."""
        return self.backend.info().name

    def warm_up(self) -> None:
        """Merge two items, so that compiling and loading code counts as start-up and not as the first chunk's work."""
        work = self.site.work
        order, items = work.order, int(self.shares.chunk_bytes / work.item_bytes)
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
            equals = work.equals if work.equals.is_set else None
            if isinstance(self.policy, SortPolicy):
                workspace.sort(self.policy)
            elif work.margin is not None and self.backend.remote:
                cast(CountingWorkspace, workspace).merge_counted(self.policy, equals)
            else:
                workspace.merge(self.policy, equals)
            workspace.download()
        finally:
            workspace.close()

    @property
    def limit(self) -> int:
        """Bytes of the largest chunk that may be tried."""
        return self.shrunk_to or 2 * self.shares.chunk_bytes

    def shrink(self, failed: int, tried: int) -> bool:
        """Take note that the device had no memory for a chunk of `failed` bytes; False if nothing smaller can help.

        tried: the limit to which the chunk was cut, as far as its lines allow.
        """
        with self._lock:
            if self.limit < tried:
                return True  # another hand took note meanwhile
            if self.limit <= _LEAST_CHUNK or self.site.work.action == "sort":
                return False
            self.shrunk_to = max(_LEAST_CHUNK, min(self.limit, failed) // 2)
            return True


class Hand:
    """Carries out one task at a time, for one thread."""

    def __init__(self, station: Station) -> None:
        self._station = station
        self._site = station.site
        self._workspace: Workspace | None = None
        self._caller: ChunkWorker | None = None
        self._capacity = 0

    def do(self, task: ChunkTask) -> TaskResult:
        """Carry out the task, in pieces where the device has no memory for it as a whole. Raises UnfinishedError."""
        station, outlet = self._station, self._site.outlet
        done = TaskResult([0] * len(task.ranges), part=task.place.part)
        pieces = deque([task.chunk])
        try:
            while pieces and not outlet.is_over(task.turn):
                limit = station.limit
                if pieces[0].nbytes > limit and task.work.action == "merge":
                    parts = self._site.planner.split(pieces[0], limit)
                    if len(parts) > 1:
                        pieces.popleft()
                        pieces.extendleft(reversed(parts))
                        continue
                try:
                    self._do_piece(task, pieces[0], done, last=len(pieces) == 1)
                except DeviceMemoryError:
                    self.close()
                    if not station.shrink(pieces[0].nbytes, limit):
                        raise
                    continue
                pieces.popleft()
        except HalfWrittenError as half:
            raise UnfinishedError(half.cause, done, None) from half.cause
        except (DeviceError, FoundDisorderError) as error:
            raise UnfinishedError(error, done, task.of(pieces)) from error
        return done

    def _do_piece(self, task: ChunkTask, piece: Chunk, done: TaskResult, *, last: bool) -> None:
        place = task.place_of(piece)
        merged = self._merged(piece, place)
        if self._station.written_by_calls:
            written: int | None = merged.merged_bytes
        else:
            try:
                written = self._site.outlet.put(task.turn, place, merged, last=last)
            except Disordered as found:
                raise FoundDisorderError(found.source) from None
        if written is not None:
            done.counts[:] = map(operator.add, done.counts, merged.counts)
            done.dropped += merged.dropped
            done.written += written
            done.nbytes += piece.nbytes
            done.largest = max(done.largest, piece.nbytes)
        done.spans += map(_named_sort, merged.spans) if task.work.action == "sort" else merged.spans
        merged.spans.clear()
        if piece.nbytes > 2 * self._capacity:  # a long line; whoever looks back at it reads it again
            self.close()

    def _merged(self, piece: Chunk, place: Place) -> Merged:
        """The merge of the piece by one call, which also writes the result to its place or keeps it."""
        station, site = self._station, self._site
        if site.lenient and not site.planner.is_cut([stop for _, stop in piece.ranges]):
            raise FoundDisorderError(0)
        capacity = self._room()
        if station.calls is None:
            return self._in_steps(capacity, piece)
        if self._caller is None:
            self._caller = station.calls.worker(capacity)
        try:
            self._caller.run(piece.ranges, place.part, place.offset)
        except Disordered as found:
            raise FoundDisorderError(found.source) from None
        return self._caller

    def _in_steps(self, capacity: int, piece: Chunk) -> Merged:
        """The merge or sort of the piece, in a workspace."""
        site, work, policy = self._site, self._site.work, self._station.policy
        if self._workspace is None:
            self._workspace = self._station.backend.workspace(work.order, capacity)
        workspace = self._workspace
        read = read_chunk(site.sources, piece, workspace)
        if work.check and not site.lenient:
            check_beginnings(site.sources, piece, work.order)
        workspace.upload(piece.lengths)
        if work.check:
            disorder = workspace.disorder()
            if disorder is not None:
                raise FoundDisorderError(disorder.run)
        equals = work.equals if work.equals.is_set else None
        if work.margin is not None:
            assert not isinstance(policy, SortPolicy), "a GPU counts as it merges"
            counting = cast(CountingWorkspace, workspace)
            counting.merge_counted(policy, equals)
            workspace.spans.insert(0, read)
            if work.margin.count == "apart":
                return counting
            from gpumerge_cli.engine.counted import CountedLines  # whose lines are arrays

            return CountedLines(counting, work.margin, work.order)
        unique: Unique = equals
        if equals is None and not work.equals.keeps_all:
            unique = first_of_equals(site.sources, piece, work.order)
        if isinstance(policy, SortPolicy):
            workspace.sort(policy, unique, by_parts=True)
        else:
            workspace.merge(policy, unique)
        workspace.spans.insert(0, read)
        return workspace

    def _room(self) -> int:
        """The capacity for the next chunk: no more than the limit, or as large as chunks usually are."""
        capacity = min(self._station.limit, self._station.shares.chunk_bytes)
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
