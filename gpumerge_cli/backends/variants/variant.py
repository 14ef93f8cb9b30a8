"""A kernel variant: one rung of the ladder, with all that the program knows of it in one value.

A variant is three files: its CUDA kernel, kernels/gpu/merge_NAME.cu; its twin for host threads,
kernels/cpu/merge_NAME.hpp; and rungN_NAME.py beside this one, which registers the `Variant`. Both kernel files define a
function merge_NAME; if the variant has several ways to load tiles, they define merge_NAME_LOAD for each. All code that
lists, launches, compares or draws variants takes them from the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, TileLoad
from gpumerge_cli.order.base import Macros


@dataclass(frozen=True, eq=False)
class LaunchFacts:
    """The facts that decide a launch on a GPU.

    item_bytes: the size of the items that the kernels move. runs: the number of runs. why: the reason for this variant.
    """

    request: LaunchRequest
    item_bytes: int
    limits: DeviceLimits
    runs: int
    why: str


@dataclass(frozen=True, eq=False)
class OnGpu:
    """A variant on a GPU.

    resolve: decides what a wish leaves open; raises UsageError that names the limit that the wish exceeds. shared:
    gives the bytes of dynamic shared memory of a block; takes (policy, bytes of an item). sizes: gives the arguments of
    the kernel behind the runs and the output. splits: gives the levels that the output is cut into; takes (policy,
    number of outputs). macros: gives the macros that the kernel is compiled with. cut_ahead: the kernel takes cuts that
    partition.cu makes, and no sizes. how: says in a few words how it works.
    """

    resolve: Callable[[LaunchFacts], LaunchPolicy]
    shared: Callable[[LaunchPolicy, int], int]
    sizes: Callable[[LaunchPolicy], tuple[int, ...]]
    splits: Callable[[LaunchPolicy, int], Splits]
    how: str
    macros: Callable[[LaunchPolicy], Macros] = lambda policy: ()
    cut_ahead: bool = False


@dataclass(frozen=True, eq=False)
class OnCpu:
    """A variant on host threads.

    resolve: decides what a request leaves open; takes (request, bytes of an item, why). splits: gives the levels that a
    host thread cuts its piece into. how: says in a few words how it works.
    """

    resolve: Callable[[LaunchRequest, int, str], LaunchPolicy]
    splits: Callable[[LaunchPolicy], Splits]
    how: str = ""


@dataclass(frozen=True, eq=False)
class Rounds:
    """Blocks stage `tile_size` items of each input a round. keeps: items that a round leaves over stay staged."""

    keeps: bool


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel that merges.

    options: those of launch.OPTIONS that it uses. loads: its ways to load tiles, if it has several. tile: "inputs" if a
    tile holds so many items of each input, "output" if it is a piece of the output, None if there are no tiles. rounds:
    its rounds, if it has some. auto: it runs if the user names no kernel.
    """

    name: str
    gpu: OnGpu
    cpu: OnCpu
    options: frozenset[str] = frozenset()
    loads: tuple[TileLoad, ...] = ()
    tile: Literal["inputs", "output"] | None = None
    rounds: Rounds | None = None
    auto: bool = False

    @property
    def fans_in(self) -> bool:
        """True if a pass may merge more than two runs."""
        return "fan_in" in self.options


REGISTERED: dict[str, Variant] = {}


def register_variant(variant: Variant) -> None:
    """Add the variant to the registry, under its name."""
    REGISTERED[variant.name] = variant
