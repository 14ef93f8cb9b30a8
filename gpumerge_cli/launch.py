"""Launches of merges and sorts as plain values: requests of the user, and policies that backends decide."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.errors import UsageError

KernelName = str
"""One of ladder.KERNELS; in policies of sets on a GPU also "walk"."""
KernelChoice = Literal["auto", "basic", "tiled", "circular", "path", "vector"]
"""A kernel as a user asks for it: "auto", or one of ladder.KERNELS."""
TileLoad = Literal["full", "exact"]
Transfer = Literal["bulk", "vector"]
Algorithm = Literal["merge", "bottom-up", "iterative", "recursive", "radix"]
ALGORITHMS: tuple[Algorithm, ...] = ("merge", "bottom-up", "iterative", "recursive", "radix")
FAN_INS = (2, 4, 8, 16)
"""The fan-ins of the path kernel: the most runs that one of its passes may merge."""
LAUNCH_OPTIONS = ("tile_size", "tile_load", "blocks", "fan_in", "transfer")
"""The launch options that only some kernels use."""


@dataclass(frozen=True)
class LaunchRequest:
    """A launch as the user requests it. None leaves a choice to the backend. See LaunchPolicy for the fields."""

    kernel: KernelName = "auto"
    """One of ladder.KERNELS, or "auto"."""
    block_size: int | None = None
    items_per_thread: int | None = None
    tile_size: int | None = None
    tile_load: TileLoad | None = None
    blocks: int | None = None
    fan_in: int | None = None
    transfer: Transfer | None = None

    def __post_init__(self) -> None:
        if self.tile_load not in (None, "full", "exact"):
            raise UsageError(f"invalid tile load {self.tile_load!r}", way_out="use full or exact")
        if self.transfer not in (None, "bulk", "vector"):
            raise UsageError(f"invalid transfer {self.transfer!r}", way_out="use bulk or vector")
        if self.fan_in not in (None, *FAN_INS):
            raise UsageError(
                f"invalid value --fan-in {self.fan_in}",
                way_out=f"use one of {', '.join(map(str, FAN_INS))}",
            )


@dataclass(frozen=True)
class LaunchPolicy:
    """The launch of a kernel with every choice made: comparable, printable, reported."""

    kernel: KernelName
    block_size: int
    """Threads a block."""
    items_per_thread: int
    """The items that a thread merges after one co-rank. 1: no coarsening. 0: all items of its piece."""
    tile_size: int = 0
    """The items of each input that a block stages at once; for path, the items of its output. 0: nothing is staged."""
    tile_load: TileLoad | None = None
    """With "full", a block stages `tile_size` items of each input a round; with "exact", only the slices that co-rank
    finds. None: the kernel has one way.
    """
    blocks: int = 0
    """The blocks in the grid. 0: the length of the output decides."""
    fan_in: int = 2
    """The most runs that one pass merges."""
    transfer: Transfer | None = None
    """With "bulk", the copy engine moves tiles between device and shared memory; with "vector", the threads move them,
    16 bytes at a time. None: the kernel has no such choice.
    """
    resident: int = 1
    """The blocks that a multiprocessor should hold at once. The compiler then uses few enough registers."""
    staged: bool = False
    """Blocks work in rounds, with a tile of each input a round."""
    runs: int = 0
    """The number of runs, if it exceeds a pass and a sort by digits may merge them instead; 0 otherwise."""
    why: str = field(default="", compare=False)
    """The backend's reason."""

    @property
    def rung(self) -> str:
        """The kernel, and its way to load tiles if it has several: "path", "tiled exact"."""
        return f"{self.kernel} {self.tile_load}" if self.tile_load else self.kernel

    @property
    def name(self) -> str:
        """The name in tables: the rung, and whether threads move its tiles: "path", "path, vector loads"."""
        return f"{self.rung}, vector loads" if self.transfer == "vector" else self.rung

    def describe(self) -> str:
        """For tables: "path 256x19", "tiled 128 threads, tile 1024, exact"."""
        shape = f"{self.kernel} {self.block_size}x{self.items_per_thread or 'all'}"
        if self.staged:
            shape += f", tile {self.tile_size}" + (f" {self.tile_load}" if self.tile_load else "")
        if self.fan_in > 2:
            shape += f", {self.fan_in} runs a pass"
        if self.runs:
            shape += " or digits"
        if self.transfer:
            shape += f", {self.transfer}"
        if self.resident > 1:
            shape += f", {self.resident} at once"
        return f"{shape}, {self.blocks} block{'s' * (self.blocks > 1)}" if self.blocks else shape


@dataclass(frozen=True)
class SortRequest:
    """A sort as the user requests it."""

    algorithm: Algorithm | Literal["auto"] = "auto"
    """See SortPolicy."""
    launch: LaunchRequest = field(default_factory=LaunchRequest)
    """The kernel that merges, and its shape."""

    def __post_init__(self) -> None:
        if self.algorithm not in ("auto", *ALGORITHMS):
            raise UsageError(f"invalid algorithm {self.algorithm!r}", way_out=f"use auto, {', '.join(ALGORITHMS)}")


@dataclass(frozen=True)
class SortPolicy:
    """A sort with every choice made."""

    algorithm: Algorithm
    """One of ALGORITHMS.

    "merge" sorts tiles in fast memory, then merges up to `launch.fan_in` runs a pass. "bottom-up" merges pairs of runs,
    a level at a time, and every thread takes the same share of a level. "iterative" gives each pair one thread.
    "recursive" is top-down: the host recurses, and each merge is a launch of one thread. "radix" moves items by one
    digit of the key a pass.
    """
    launch: LaunchPolicy
    """The launch of merges. Iterative, recursive and radix sorts do not use it."""
    tile: int = 1
    """The items that are sorted together before any merge."""
    passes: int = 0
    """The digits of a radix sort on the GPU."""
    why: str = field(default="", compare=False)
    """The backend's reason."""

    def describe(self) -> str:
        """For tables: "merge, tiles of 4096, path 256x19", "radix"."""
        if self.algorithm in ("merge", "bottom-up"):
            tiles = f", tiles of {self.tile}" if self.tile > 1 else ""
            return f"{self.algorithm}{tiles}, {self.launch.describe()}"
        return f"{self.algorithm}, {self.passes} passes" if self.passes else self.algorithm


MAX_RECURSIVE_ITEMS = 1 << 16
"""The most items of a recursive sort, which launches about one merge for each item, one after the other."""


def check_recursion(items: int) -> None:
    """Raise UsageError if a recursive sort of so many items is too slow."""
    if items > MAX_RECURSIVE_ITEMS:
        raise UsageError(
            f"--algorithm recursive: {items} items need as many merges, one after the other, each too small to be "
            f"shared; at most {MAX_RECURSIVE_ITEMS} items are allowed",
            way_out="use --algorithm iterative, which merges a whole level at once, or auto",
        )
