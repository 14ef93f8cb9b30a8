"""What every backend offers to who merges and sorts: the protocol, and the plain values that cross it.

A backend merges the sorted runs of one chunk. The bytes of all runs lie back to back in a workspace's staging memory;
nothing in here knows where they came from or where they go. Comparisons ask for more: see compared.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.calls import ChunkCalls, ChunkWork
from gpumerge_cli.backends.launch import (
    ALGORITHMS,
    FAN_INS,
    MOST_RECURSED,
    Algorithm,
    KernelName,
    LaunchPolicy,
    LaunchRequest,
    SortPolicy,
    SortRequest,
    TileLoad,
    Transfer,
    judge_recursion,
)
from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.backends.variants import NAMES as KERNELS
from gpumerge_cli.measure import Span
from gpumerge_cli.order import Order

__all__ = [
    "ALGORITHMS",
    "FAN_INS",
    "KERNELS",
    "MOST_RECURSED",
    "Algorithm",
    "Backend",
    "Bytes",
    "DeviceInfo",
    "Disorder",
    "KernelName",
    "LaunchPolicy",
    "LaunchRequest",
    "Pace",
    "SortPace",
    "SortPolicy",
    "SortRequest",
    "TileLoad",
    "Transfer",
    "Unique",
    "Workspace",
    "judge_recursion",
]

Bytes = NDArray[np.uint8]
Unique = Literal["first", "ahead"] | None
"""What of equal items goes out: all (None), the first, or the first but none like the chunk's first item."""


@dataclass(frozen=True)
class Disorder:
    """The first item of a run that sorts before the one ahead of it: run number and its byte offset in that run."""

    run: int
    offset: int


@dataclass(frozen=True)
class Pace:
    """How a backend is best fed. Sizes are in bytes.

    chunk: of the best chunk. least: of the smallest chunk worth cutting for the sake of more workers. workers: chunks
    in flight at once; 0 for one a core. footprint: host memory that a workspace takes for each byte of its chunk;
    device_footprint: device memory, 0 if there is none.
    """

    chunk: int
    least: int
    workers: int
    footprint: float
    device_footprint: float = 0.0


@dataclass(frozen=True)
class SortPace:
    """How a backend is best fed with the pieces of a sort whose runs are merged afterwards. Sizes are in bytes.

    workers: pieces in flight at once; 0 for one a core. piece: of the best piece. runs: how many runs there should be
    at most, for the sake of which pieces grow, as far as memory lets them where runs are spilled; 0 if that is no
    matter. resorts: with more runs than this a radix sort of a chunk is faster than its merge; 0 if it never is. room:
    host memory for each byte of a piece that sorting takes beyond what a merge does (see Pace.footprint).
    outgrows: whether a workspace may take a chunk far beyond its capacity, so that a single long line can be sorted in
    memory with all else.
    """

    workers: int
    piece: int
    runs: int = 0
    resorts: int = 0
    room: float = 1
    outgrows: bool = False


@dataclass(frozen=True)
class DeviceInfo:
    """What runs the kernels. memory: bytes in all, 0 if unknown. details: further facts for `info`, by name."""

    backend: str
    name: str
    memory: int = 0
    details: Mapping[str, str] = field(default_factory=dict)


class Workspace(Protocol):
    """Buffers for one chunk at a time, reused from chunk to chunk. Not for two threads at once, but where said.

    The steps, in order: fill `staging`, `upload`, then `disorder` and `merge` as often as wanted, then `download`. What
    is too large to pass through host memory as a whole goes in and out by parts, from many threads: `part`, `send` of
    each in any order, then `adopt` instead of `upload`, and `receive` of each instead of `download`.
    Each step adds its spans ("upload", "check", "kernel", "download") to `spans` once its time is known, at the latest
    when `download` or `synchronize` returns; whoever reads `spans` may clear it.
    """

    remote: bool
    """Whether work is done elsewhere than in host memory."""
    spans: list[Span]
    counts: list[int]
    """Items of each run of the last `upload`; of lines, known once `disorder` or `merge` has found them."""
    dropped: int
    """Items that the last `merge` or `sort` left out."""
    merged_bytes: int
    """Bytes that the last `merge` or `sort` put out."""

    def staging(self, nbytes: int) -> Bytes:
        """Host memory for the chunk's input bytes, `nbytes` long; valid until the next `staging`."""

    def upload(self, lengths: Sequence[int]) -> None:
        """Take what lies in staging as runs of these byte lengths, back to back. Empty runs are allowed."""

    def part(self, position: int, nbytes: int) -> Bytes:
        """Host memory for `nbytes` from byte `position` of a chunk of at most the capacity; valid until `send`.

        A thread has one part at a time.
        """

    def send(self, position: int, nbytes: int) -> None:
        """The thread's part is filled: bring it where it is worked on. Returns when it is there."""

    def adopt(self, lengths: Sequence[int]) -> None:
        """As `upload`, of what all parts have brought."""

    def receive(self, position: int, nbytes: int) -> Bytes:
        """Bytes of what `download` would give, in host memory; valid until the thread's next call."""

    def disorder(self, *, strict: bool = False) -> Disorder | None:
        """The first disorder (lowest run, then lowest offset), or None if every run is in order.

        strict: an item that compares equal to the one ahead of it is disorder, too.
        """

    def merge(self, policy: LaunchPolicy, unique: Unique = None) -> None:
        """Merge the uploaded runs, which stay as they are. Stable: ties by run, then by position in the run.

        unique: of items that compare equal only the first goes out, and not even that one if "ahead" says that one
        like the chunk's first item went out before.
        """

    def sort(self, policy: SortPolicy, unique: Unique = None) -> None:
        """Sort all uploaded items, whatever run they are of; they stay as they are. Stable.

        unique: as of merge.
        """

    def download(self) -> Bytes:
        """The merged bytes in host memory, all but those of dropped items; valid until the next `merge`."""

    def outputs(self) -> Iterable[Bytes]:
        """What `download` gives, by parts, each valid until the next is asked for; of nothing one that is empty.

        A chunk that is far larger than the capacity need not be in memory twice then.
        """

    def synchronize(self) -> None:
        """Wait until all work so far is done."""

    def close(self) -> None:
        """Free the buffers."""


class Backend(Protocol):
    """One way to run merges: "cpu" or "gpu"."""

    name: str
    remote: bool
    """Whether it works elsewhere than in host memory."""

    def info(self) -> DeviceInfo:
        """What this backend runs on."""

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2) -> LaunchPolicy:
        """Decide what `request` leaves open, for merges of `runs` runs.

        Raises UsageError naming the limit that a wish exceeds.
        """

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        """Decide what `request` leaves open, for sorts of `nbytes`.

        Raises UsageError naming the limit that a wish exceeds: an algorithm that is no good at that size, too.
        """

    def splits(self, policy: LaunchPolicy, total: int, threads: int) -> Splits:
        """How a merge of `total` items by this policy is shared out, where `threads` host threads may work on it."""

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        """Sort a 1-D contiguous array of the order's dtype, resident where this backend works, into `out`, stably."""

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        """The int64 indices that sort such an array stably, resident there too."""

    def pace(self, order: Order, runs: int, item_bytes: float) -> Pace:
        """How to feed merges of this many runs, whose items are `item_bytes` long on average."""

    def sort_pace(self, order: Order, item_bytes: float) -> SortPace:
        """How to feed sorts in pieces, of items that are `item_bytes` long on average."""

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        """Host memory, in bytes, of a sort of `nbytes` in one workspace, by parts of `part` bytes from so many threads.

        None if it should be done in pieces that are merged: they are faster here, or the device has no room for it all.
        """

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> Workspace:
        """A workspace for chunks of up to `capacity` bytes; `threads` host threads may work on one chunk."""

    def chunk_calls(self, work: ChunkWork) -> ChunkCalls | None:
        """What does a chunk from its first read to its last write in one call; None if steps of a workspace do it."""

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        """Merge 1-D contiguous arrays of the order's dtype, resident where this backend works, into `out`."""

    def first_disorder(self, run: Any, order: Order) -> int | None:
        """Index of the first item of a resident array that sorts before the one ahead of it, or None."""
