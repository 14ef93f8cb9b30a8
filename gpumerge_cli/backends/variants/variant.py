"""What a kernel variant is: one rung of the ladder, with all that the program knows of it in one value.

A variant is three files: its CUDA kernel, kernels/gpu/merge_NAME.cu; its twin for host threads,
kernels/cpu/merge_NAME.hpp; and one beside this one, which registers the `Variant`. Whoever lists, launches, compares or
draws variants asks the registry for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gpumerge_cli.backends.launch import LaunchPolicy, LaunchRequest, TileLoad
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.splits import Splits

Macros = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class Wish:
    """What a launch on a GPU is decided from. item_bytes: of what the kernels move. runs: how many are merged.

    why: why this variant.
    """

    request: LaunchRequest
    item_bytes: int
    limits: DeviceLimits
    runs: int
    why: str


@dataclass(frozen=True, eq=False)
class OnGpu:
    """A variant on a GPU. Items are of `size` bytes there.

    resolve: decides what a wish leaves open; raises UsageError naming the limit that it exceeds. shared: bytes of
    dynamic shared memory a block, of (policy, size). sizes: what the kernel is passed behind the runs and the
    output. splits: how it shares out the output, of (policy, outputs). macros: what is compiled into it. cut_ahead:
    whether it takes cuts that partition.cu makes, and no sizes. how: how it works, in a few words.
    """

    resolve: Callable[[Wish], LaunchPolicy]
    shared: Callable[[LaunchPolicy, int], int]
    sizes: Callable[[LaunchPolicy], tuple[int, ...]]
    splits: Callable[[LaunchPolicy, int], Splits]
    how: str
    macros: Callable[[LaunchPolicy], Macros] = lambda policy: ()
    cut_ahead: bool = False


@dataclass(frozen=True, eq=False)
class OnCpu:
    """A variant on host threads.

    resolve: decides what a request leaves open, of (request, bytes of what is moved, why). splits: how a host thread
    shares out its piece. how: how it works, in a few words.
    """

    resolve: Callable[[LaunchRequest, int, str], LaunchPolicy]
    splits: Callable[[LaunchPolicy], Splits]
    how: str = ""


@dataclass(frozen=True, eq=False)
class Rounds:
    """How blocks work that stage `tile_size` items of each input a round. keeps: whether what a round leaves stays."""

    keeps: bool


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel that merges.

    rung: its place on the ladder. options: the launch options that it has a use for, of those that not all have. loads:
    its ways to load tiles, if it has several. tile: what a tile counts, items of each input or of the output. rounds:
    how its rounds go, where it has some. auto: whether it is the one to run where nobody names one.
    """

    name: str
    rung: int
    gpu: OnGpu
    cpu: OnCpu
    options: frozenset[str] = frozenset()
    loads: tuple[TileLoad, ...] = ()
    tile: Literal["inputs", "output"] | None = None
    rounds: Rounds | None = None
    auto: bool = False

    @property
    def fans_in(self) -> bool:
        """Whether a pass may merge more runs than two."""
        return "fan_in" in self.options


REGISTERED: dict[str, Variant] = {}


def register(variant: Variant) -> None:
    """Make the variant known under its name."""
    REGISTERED[variant.name] = variant
