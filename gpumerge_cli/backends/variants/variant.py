"""A kernel variant: one rung of the ladder, described by one value.

A variant is three files: its CUDA kernel, kernels/gpu/merge_NAME.cu; its twin for host threads,
kernels/cpu/merge_NAME.hpp; and rungN_NAME.py beside this one, which registers the `Variant`. Both kernel files define a
function merge_NAME; if the variant has several ways to load tiles, they define merge_NAME_LOAD for each. All code that
lists, launches, compares or draws variants takes them from the registry.

A variant that a processor or an order has no kernel for runs as another rung there, which its policy then names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.backends.splits import Splits
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest, TileLoad
from gpumerge_cli.order.base import Macros
from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True, eq=False)
class LaunchFacts:
    """The facts that decide a launch on a GPU."""

    request: LaunchRequest
    item_bytes: int
    """The size of the items that the kernels move."""
    limits: DeviceLimits
    runs: int
    """The number of runs."""
    why: str
    """The reason for this variant."""


@dataclass(frozen=True, eq=False)
class OnGpu:
    """A variant on a GPU."""

    resolve: Callable[[LaunchFacts], LaunchPolicy]
    """Decides what the request leaves open. Raises UsageError that names the exceeded limit. Policies name the rung
    whose kernel is launched.
    """
    shared: Callable[[LaunchPolicy, int], int]
    """Gives the bytes of dynamic shared memory of a block, from the policy and the bytes of an item."""
    sizes: Callable[[LaunchPolicy], tuple[int, ...]]
    """Gives the arguments of the kernel after the runs and the output."""
    splits: Callable[[LaunchPolicy, int], Splits]
    """Gives the levels that the output is cut into, from the policy and the number of outputs."""
    how: str
    """Says in a few words how the kernel works."""
    macros: Callable[[LaunchPolicy], Macros] = lambda policy: ()
    """Gives the macros that the kernel is compiled with."""
    cut_ahead: bool = False
    """The kernel takes cuts that partition.cu makes, and no sizes."""


@dataclass(frozen=True, eq=False)
class OnCpu:
    """A variant on host threads."""

    resolve: Callable[[LaunchRequest, int, str], LaunchPolicy]
    """Decides what a request leaves open, from the request, the bytes of an item, and the reason for the variant."""
    splits: Callable[[LaunchPolicy], Splits]
    """Gives the levels that a host thread cuts its piece into."""
    how: str = ""
    """Says in a few words how the kernel works."""
    takes: Callable[[Order], bool] = lambda order: True
    """Whether it has a way of its own to merge items of this order. Else the rung before it merges them."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """Blocks stage `tile_size` items of each input a round."""

    keeps: bool
    """Unused items of a round stay staged for the next one."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A kernel that merges."""

    name: str
    gpu: OnGpu
    cpu: OnCpu
    options: frozenset[str] = frozenset()
    """The launch.LAUNCH_OPTIONS that it uses."""
    loads: tuple[TileLoad, ...] = ()
    """Its ways to load tiles, if it has several."""
    tile: Literal["inputs", "output"] | None = None
    """With "inputs", a tile holds so many items of each input; with "output", it is a piece of the output. None
    for a kernel without tiles."""
    rounds: Rounds | None = None
    """Its rounds, if it works in rounds."""
    auto: bool = False
    """It runs if the user names no kernel."""

    @property
    def fans_in(self) -> bool:
        """True if a pass may merge more than two runs."""
        return "fan_in" in self.options


REGISTERED: dict[str, Variant] = {}


def register_variant(variant: Variant) -> None:
    """Add the variant to the registry, under its name."""
    REGISTERED[variant.name] = variant
