"""What every backend offers: the protocol, the launch policy, and the plain values that cross it.

A backend merges the sorted runs of one chunk. The bytes of all runs lie back to back in a workspace's staging memory;
nothing in here knows where they came from or where they go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import UsageError
from gpumerge_cli.measure import Span
from gpumerge_cli.order import Order

Bytes = NDArray[np.uint8]
KernelName = Literal["basic", "tiled", "circular", "path"]
KERNELS: tuple[KernelName, ...] = ("basic", "tiled", "circular", "path")
TileLoad = Literal["full", "exact"]
Transfer = Literal["bulk", "vector"]
Algorithm = Literal["merge", "bottom-up", "iterative", "recursive", "radix"]
ALGORITHMS: tuple[Algorithm, ...] = ("merge", "bottom-up", "iterative", "recursive", "radix")
FAN_INS = (2, 4, 8, 16)
"""How many runs one pass of the path kernel may merge at most."""
Unique = Literal["first", "ahead"] | None
"""What of equal items goes out: all (None), the first, or the first but none like the chunk's first item."""
_USED_BY: Mapping[str, tuple[KernelName, ...]] = {
    "tile_size": ("tiled", "circular", "path"),
    "tile_load": ("tiled",),
    "blocks": ("tiled", "circular"),
    "fan_in": ("path",),
    "transfer": ("path",),
}
"""Launch options that not every kernel has."""


@dataclass(frozen=True)
class LaunchRequest:
    """What the user asked for; None leaves the choice to the backend. Sizes are in items, `block_size` in threads.

    The other fields: see LaunchPolicy.
    """

    kernel: KernelName | Literal["auto"] = "auto"
    block_size: int | None = None
    items_per_thread: int | None = None
    tile_size: int | None = None
    tile_load: TileLoad | None = None
    blocks: int | None = None
    fan_in: int | None = None
    transfer: Transfer | None = None

    def __post_init__(self) -> None:
        if self.kernel not in ("auto", *KERNELS):
            raise UsageError(f"{self.kernel!r} is no kernel", way_out=f"use auto, {', '.join(KERNELS)}")
        if self.tile_load not in (None, "full", "exact"):
            raise UsageError(f"{self.tile_load!r} is no way to load a tile", way_out="use full or exact")
        if self.transfer not in (None, "bulk", "vector"):
            raise UsageError(f"{self.transfer!r} is no way to move a tile", way_out="use bulk or vector")
        if self.fan_in not in (None, *FAN_INS):
            raise UsageError(
                f"--fan-in {self.fan_in} is no number of runs that a pass can merge",
                way_out=f"use one of {', '.join(map(str, FAN_INS))}",
            )

    def decided_kernel(self) -> KernelName:
        """The kernel to run; "auto" is path on every backend. Raises UsageError for a wish that it has no use for."""
        kernel: KernelName = "path" if self.kernel == "auto" else self.kernel
        for name, kernels in _USED_BY.items():
            if getattr(self, name) is not None and kernel not in kernels:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option}: the {kernel} kernel has no use for it",
                    way_out=f"leave it out, or use --kernel {' or '.join(kernels)}",
                )
        return kernel


@dataclass(frozen=True)
class LaunchPolicy:
    """How a kernel is launched, wholly decided: comparable, printable, reported.

    block_size: threads a block. items_per_thread: items a thread merges after one co-rank (1 is the uncoarsened
    kernel; 0: all of its piece). tile_size: items of each input that a block stages at once (path: items of output);
    0 where the kernel stages none. tile_load: "full" stages `tile_size` items of each input a round, "exact" the
    slices that co-rank names. blocks: blocks in the grid; 0 where the length of the output decides. fan_in: runs that
    one pass merges at most. transfer: what moves tiles between device and shared memory, the bulk copy engine or the
    threads, in 16-byte vectors; None where neither does. resident: blocks that a multiprocessor should hold at once,
    for which the compiler is kept to few enough registers. why: why the backend chose this.
    """

    kernel: KernelName
    block_size: int
    items_per_thread: int
    tile_size: int = 0
    tile_load: TileLoad = "full"
    blocks: int = 0
    fan_in: int = 2
    transfer: Transfer | None = None
    resident: int = 1
    why: str = field(default="", compare=False)

    def describe(self) -> str:
        """For tables: "path 256x19", "tiled 128 threads, tile 1024, exact"."""
        shape = f"{self.kernel} {self.block_size}x{self.items_per_thread or 'all'}"
        if self.kernel in ("tiled", "circular"):
            shape += f", tile {self.tile_size}"
        if self.kernel == "tiled":
            shape += f" {self.tile_load}"
        if self.fan_in > 2:
            shape += f", {self.fan_in} runs a pass"
        if self.transfer:
            shape += f", {self.transfer}"
        if self.resident > 1:
            shape += f", {self.resident} at once"
        return f"{shape}, {self.blocks} block{'s' * (self.blocks > 1)}" if self.blocks else shape


@dataclass(frozen=True)
class SortRequest:
    """What the user asked for of a sort. algorithm: see SortPolicy. launch: the kernel that merges, and its shape."""

    algorithm: Algorithm | Literal["auto"] = "auto"
    launch: LaunchRequest = field(default_factory=LaunchRequest)

    def __post_init__(self) -> None:
        if self.algorithm not in ("auto", *ALGORITHMS):
            raise UsageError(f"{self.algorithm!r} is no algorithm", way_out=f"use auto, {', '.join(ALGORITHMS)}")


@dataclass(frozen=True)
class SortPolicy:
    """How a sort runs, wholly decided.

    algorithm: "merge" sorts tiles in fast memory, then merges up to `launch.fan_in` runs a pass; "bottom-up" merges
    pairs of runs, a level at a time, every thread the same share of a level; "iterative" does so with a thread a pair;
    "recursive" is top-down, the host recursing, with a launch of one thread a merge; "radix" is a radix sort.
    launch: how merges are launched; the ladder's first rungs have no use for it. tile: items of a run that are sorted
    before any merge. why: why the backend chose this.
    """

    algorithm: Algorithm
    launch: LaunchPolicy
    tile: int = 1
    why: str = field(default="", compare=False)

    def describe(self) -> str:
        """For tables: "merge, tiles of 4096, path 256x19", "radix"."""
        if self.algorithm in ("merge", "bottom-up"):
            tiles = f", tiles of {self.tile}" if self.tile > 1 else ""
            return f"{self.algorithm}{tiles}, {self.launch.describe()}"
        return self.algorithm


MOST_RECURSED = 1 << 16
"""Items that a recursive sort takes: it calls a merge for each, and waits for it."""


def judge_recursion(items: int) -> None:
    """Raises UsageError for more items than a recursive sort takes."""
    if items > MOST_RECURSED:
        raise UsageError(
            f"--algorithm recursive: {items} items would be as many merges one after the other, each too small to be "
            f"shared; it takes {MOST_RECURSED} items at most",
            way_out="use --algorithm iterative, which merges a whole level at once, or auto",
        )


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

    def copy(self) -> None:
        """Copy the uploaded bytes within the memory that `merge` works in: the ceiling that a merge is held against."""

    def poison(self) -> None:
        """Overwrite the output, so that a kernel that leaves items out is noticed."""

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        """Library ways to get the same output from the uploaded runs, by name; run one, then `download`.

        Outputs equal the merge's by key image (an unstable library may permute items that compare equal).
        """

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        """Library ways to what `sort` gives, of keys alone; as `baselines`."""

    def time(self, work: Callable[[], None]) -> float:
        """Seconds that `work` (one of the steps above) takes on the device: device events, or a host clock."""

    def synchronize(self) -> None:
        """Wait until all work so far is done."""

    def close(self) -> None:
        """Free the buffers."""


class Backend(Protocol):
    """One way to run merges: "cpu" or "gpu"."""

    name: str

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

    def sort_array(self, items: Any, order: Order, policy: SortPolicy, out: Any, *, threads: int = 1) -> None:
        """Sort a 1-D contiguous array of the order's dtype, resident where this backend works, into `out`, stably."""

    def sort_ranks(self, items: Any, order: Order, policy: SortPolicy, *, threads: int = 1) -> Any:
        """The int64 indices that sort such an array stably, resident there too."""

    def pace(self, order: Order, runs: int, item_bytes: float) -> Pace:
        """How to feed merges of this many runs, whose items are `item_bytes` long on average."""

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        """Host memory, in bytes, of a sort of `nbytes` in one workspace, by parts of `part` bytes from so many threads.

        None if it should be done in pieces that are merged: they are faster here, or the device has no room for it all.
        """

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> Workspace:
        """A workspace for chunks of up to `capacity` bytes; `threads` host threads may work on one chunk."""

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        """Seconds of the fastest copy of `nbytes` (at least 1) where this backend works, the best of several places.

        threads: host threads that may share it. Raises MemoryError or DeviceMemoryError where there is no room.
        """

    def merge_arrays(
        self, runs: Sequence[Any], order: Order, policy: LaunchPolicy, out: Any, *, threads: int = 1
    ) -> None:
        """Merge 1-D contiguous arrays of the order's dtype, resident where this backend works, into `out`."""

    def first_disorder(self, run: Any, order: Order) -> int | None:
        """Index of the first item of a resident array that sorts before the one ahead of it, or None."""
