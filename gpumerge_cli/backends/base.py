"""The protocol of backends, and the plain values that cross it.

A backend merges the sorted runs of one chunk. The bytes of all runs lie back to back in a workspace's staging memory.
A backend does not know where they come from or where they go. Comparisons need more: see compared.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.extents import Target
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, SortPolicy, SortRequest
from gpumerge_cli.measure import Span
from gpumerge_cli.native.calls import ChunkWork, ChunkWorkers
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True)
class Disorder:
    """The first item that sorts before its predecessor."""

    run: int
    """The number of its run."""
    offset: int
    """Its byte offset in that run."""


@dataclass(frozen=True)
class ChunkSizes:
    """The chunk sizes that suit a backend best."""

    chunk: int
    """The best size of a chunk, in bytes."""
    least: int
    """The smallest chunk, in bytes, that is worth cutting to occupy more workers."""
    workers: int
    """The chunks in flight at once; 0 for one a core."""
    footprint: float
    """The bytes of host memory that a workspace takes for each byte of its chunk."""
    device_footprint: float = 0.0
    """The same for device memory; 0 if there is none."""


@dataclass(frozen=True)
class PieceSizes:
    """The piece sizes that suit a backend best when it sorts pieces to runs, which are merged afterwards."""

    workers: int
    """The pieces in flight at once; 0 for one a core."""
    piece: int
    """The best size of a piece, in bytes."""
    runs: int = 0
    """The most runs that are still merged well; 0 for any number. Pieces grow to keep to it, as far as memory allows if
    runs are spilled.
    """
    resorts: int = 0
    """With more runs than this, a radix sort of a chunk is faster than its merge; 0 if it never is."""
    room: float = 1
    """The bytes of host memory that sorting takes for each byte of a piece, beyond those of a merge (see
    ChunkSizes.footprint).
    """
    outgrows: bool = False
    """A workspace takes chunks far beyond its capacity, so a single long line can be sorted in memory."""


@dataclass(frozen=True)
class DeviceInfo:
    """The device that runs the kernels."""

    backend: str
    name: str
    memory: int = 0
    """Its bytes; 0 if unknown."""
    details: Mapping[str, str] = field(default_factory=dict)
    """More facts for `info`, by name."""


class Workspace(Protocol):
    """Buffers for one chunk at a time, reused from chunk to chunk. One thread at a time may use it, except for parts.

    The steps, in order: fill `staging`, `upload`, then `disorder` and `merge` as often as wanted, then `download`. A
    chunk that is too large to pass through host memory at once goes in and out by parts, from many threads: `part` and
    `send` for each in any order, then `adopt` instead of `upload`, and `receive` for each instead of `download`.
    """

    remote: bool
    """Whether the work is done outside host memory."""
    spans: list[Span]
    """Each step adds its spans ("upload", "check", "kernel", "download") once its time is known, at the latest when
    `download` or `synchronize` returns. A reader may clear the list."""
    counts: list[int]
    """The items of each run of the last `upload`. Lines are counted by the first `disorder` or `merge`."""
    dropped: int
    """The number of items that the last `merge` or `sort` left out."""
    merged_bytes: int
    """The output bytes of the last `merge` or `sort`."""

    def staging(self, nbytes: int) -> Bytes:
        """Host memory for the chunk's input bytes, `nbytes` long; valid until the next `staging` or `outputs`."""

    def upload(self, lengths: Sequence[int]) -> None:
        """Take the bytes in staging as runs of these lengths in bytes, back to back. Empty runs are allowed."""

    def part(self, position: int, nbytes: int) -> Bytes:
        """Host memory for `nbytes` from byte `position` of a chunk of at most the capacity; valid until `send`.

        A thread has one part at a time.
        """

    def send(self, position: int, nbytes: int) -> None:
        """Copy the thread's filled part to the backend's memory. Returns when the copy is done."""

    def adopt(self, lengths: Sequence[int]) -> None:
        """Take the bytes of all parts as runs, as `upload` takes the staged bytes."""

    def receive(self, position: int, nbytes: int) -> Bytes:
        """`nbytes` of the output from byte `position` on, in host memory; valid until the thread's next call."""

    def disorder(self, *, strict: bool = False) -> Disorder | None:
        """The first disorder (lowest run, then lowest offset), or None if every run is in order.

        strict: an item that equals its predecessor counts as disorder, too.
        """

    def fault(self) -> Disorder | None:
        """The first line with a key that is invalid, where that is an error; None if there is none.

        Only orders whose `checks_values` is true have such lines.
        """

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL) -> None:
        """Merge the uploaded runs, which stay as they are. Stable: ties by run, then by position in the run.

        equals: any rule but a join.
        """

    def sort(self, policy: SortPolicy, equals: Equals = Equals.ALL, *, by_parts: bool = False) -> None:
        """Sort the uploaded items of all runs, stably. The uploaded items stay as they are.

        equals: any rule but a set or a join. by_parts: only `outputs` will take the result, so it need not be in
        memory as a whole.
        """

    def download(self) -> Bytes:
        """The output in host memory, without dropped items; valid until the next `merge`."""

    def outputs(self) -> Iterable[Bytes]:
        """The output by parts, each valid until the next one is taken. An empty output is one empty part.

        A chunk that is far larger than the capacity need not be in memory twice then.
        """

    def synchronize(self) -> None:
        """Wait until all work so far is done."""

    def close(self) -> None:
        """Free the buffers."""


class CountingWorkspace(Workspace, Protocol):
    """A workspace of the GPU, which also counts equal items."""

    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL, *, counted: bool = False) -> None:
        """See Workspace. counted: keeps the first of equal items, and `equals` then gives their counts."""

    def equals(self) -> Bytes:
        """The count of equal items for each output item, as int64; valid until the next `merge`."""


class SelectingWorkspace(Workspace, Protocol):
    """A workspace of the CPU, which also finds items of its result."""

    def bytes_ahead(self, items: int) -> int:
        """Bytes of the first `items` items of the output of the last `sort`."""


class Backend(Protocol):
    """One way to run merges: "cpu" or "gpu"."""

    name: str
    remote: bool
    """Whether it works outside host memory."""

    def info(self) -> DeviceInfo:
        """The device that this backend runs on."""

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2, equals: Equals = Equals.ALL) -> LaunchPolicy:
        """Decide what `request` leaves open, for merges of `runs` runs, or for their sets if `equals` is a set.

        Raises UsageError that names the exceeded limit.
        """

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        """Decide what `request` leaves open, for sorts of `nbytes`.

        Raises UsageError that names the exceeded limit, and for an algorithm that is too slow at this size.
        """

    def prepare(
        self,
        order: Order,
        policy: LaunchPolicy | SortPolicy,
        items: int,
        *,
        check: bool = False,
        equals: Equals = Equals.ALL,
    ) -> None:
        """Begin to compile the code that merges or sorts about `items` items. Returns at once.

        check: the code that checks their order, too. equals: the rule for equal items.
        """

    def splits(self, policy: LaunchPolicy, total: int, threads: int) -> Splits:
        """The levels that a merge of `total` items by this policy is cut into, by `threads` host threads."""

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        """Sort a 1-D contiguous array of the order's dtype into `out`, stably. Both lie in this backend's memory."""

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        """The int64 indices, in this backend's memory, that sort such an array stably."""

    def chunk_sizes(self, order: Order, runs: int, item_bytes: float) -> ChunkSizes:
        """The best chunk sizes for merges of `runs` runs, whose items have `item_bytes` bytes on average."""

    def piece_sizes(self, order: Order, item_bytes: float) -> PieceSizes:
        """The best piece sizes for sorts of items that have `item_bytes` bytes on average."""

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        """Bytes of host memory for a sort of `nbytes` in one workspace. part: bytes of a part that a thread gives.

        None means that sorting pieces and merging them is faster, or that the device has no room for all the bytes.
        """

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> Workspace:
        """A workspace for chunks of up to `capacity` bytes; `threads` host threads may work on one chunk."""

    def chunk_workers(
        self, work: ChunkWork, policy: LaunchPolicy | SortPolicy, targets: Sequence[Target]
    ) -> ChunkWorkers | None:
        """Makes workers that take a chunk from its first read to its last write; None if a workspace's steps do that.

        policy: how a chunk's runs are merged, or sorted again. targets: the destinations of the output's parts, by
        their numbers; none if results stay in memory.
        """

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        """Merge 1-D contiguous arrays of the order's dtype into `out`. All of them lie in this backend's memory."""

    def first_disorder(self, run: Any, order: Order) -> int | None:
        """The index of the first item of such an array that sorts before its predecessor, or None."""
