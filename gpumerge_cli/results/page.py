"""The content of the page of a merge path, as plain values with units."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.results.compared import CompareReport
from gpumerge_cli.results.path import BugName, PathReport, Round

Phase = Literal["search", "stage", "merge"]
"""search: a co-rank. stage: copies between global and shared memory. merge: the items go out in order."""
MemorySpace = Literal["A", "B", "out", "shared"]
"""An array in global memory, or the shared memory of a block."""


@dataclass(frozen=True)
class WarpStep:
    """One load or store of a warp."""

    phase: Phase
    memory: MemorySpace
    store: bool
    unit: int
    """The bytes that each lane moves."""
    lanes: tuple[int, ...]
    """For each lane the place of its access, in units from the start of the array; -1 for an inactive lane."""
    sectors: int
    """The sectors of 32 bytes of global memory that the lanes touch; 0 in shared memory."""
    b_from: int = 32
    """The first lane whose access is in B, where those before it are in A; 32 if there is none."""


@dataclass(frozen=True)
class Traffic:
    """Accesses of one kind to global memory, in all warps of a launch."""

    phase: Phase
    store: bool
    requests: int
    """Steps of warps."""
    lanes: int
    """Active lanes, in all requests."""
    asked: int
    """Bytes that lanes ask for."""
    sectors: int


@dataclass(frozen=True)
class WarpTrace:
    """All accesses of a warp, in the order of the kernel's source."""

    block: int
    warp: int
    steps: tuple[WarpStep, ...]


@dataclass(frozen=True)
class Bug:
    """A defect of printed kernels, and the rounds of a kernel that has it."""

    name: BugName
    rounds: tuple[Round, ...]


@dataclass(frozen=True)
class PageLaunch:
    """A launch that the page can show."""

    kernel: str
    """"basic", "tiled full", "tiled exact", "circular", "path", or "path on the CPU"."""
    threads: int
    """Threads a block; 1 on the CPU."""
    items: int
    """Outputs of a thread, or of a chain of the CPU."""
    tile: int
    """Items of a tile; 0: nothing is staged."""
    blocks: int
    """The blocks in the grid; 0: the length of the output decides."""
    launch: str
    """The launch in words."""
    levels: tuple[tuple[str, tuple[int, ...]], ...]
    """For each level, the kind of its workers, and the first rank of each piece."""
    traffic: tuple[Traffic, ...] = ()
    """Empty if the accesses of this kernel are not modelled."""
    warps: tuple[WarpTrace, ...] = ()
    """The first warps."""
    all_warps: int = 0
    shared: int = 0
    """The bytes of shared memory of a block that are modelled."""
    rounds: tuple[Round, ...] = ()
    bugs: tuple[Bug, ...] = ()


@dataclass(frozen=True)
class PathPage:
    """The page of a merge path."""

    path: PathReport
    """The path of the items that the page shows."""
    codes: tuple[tuple[int, ...], tuple[int, ...]]
    """For the items of A and of B the numbers of their keys in order: equal keys have equal numbers."""
    sample: int
    """The page shows every sample-th item of each input; 1: all."""
    counts: tuple[int, int]
    """The items of A and of B."""
    size: int
    """The bytes of an item in a kernel."""
    launches: tuple[PageLaunch, ...]
    """The first one is shown first."""
    kernels: tuple[str, ...]
    """Their kernels, in the order of the ladder."""
    compared: CompareReport | None = None
    """Measured times, if they are wanted."""
