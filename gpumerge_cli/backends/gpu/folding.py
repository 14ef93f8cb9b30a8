"""Sets of any number of sorted runs in device memory: walks through two at a time, from the left (see walks.py)."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.backends.gpu.launching import Allocate
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import item_bytes
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Run
from gpumerge_cli.backends.gpu.walks import Walk, alone, walk_shape
from gpumerge_cli.backends.kernel_sizes import whole_vectors
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


def set_policy(order: Order, limits: DeviceLimits, runs: int) -> LaunchPolicy:
    """The launch of sets of so many runs: that of walk.cu."""
    shape = walk_shape(order, limits)
    folded = f"; {runs} inputs are combined one after the other" if runs > 2 else ""
    return LaunchPolicy(
        "walk",
        shape.block_size,
        shape.items_per_thread,
        shape.room,
        transfer="bulk" if limits.has_bulk_copies else "vector",
        resident=shape.resident,
        why=f"the only kernel for sets{folded}",
    )


class Fold:
    """A set of `count` sorted runs on the current device, ready to launch, for one thread at a time."""

    def __init__(self, kernels: Kernels, equals: Equals, count: int) -> None:
        self._equals = equals if count > 1 else alone(equals)
        self._walk = Walk(kernels, self._equals)
        self._size = item_bytes(kernels.order)

    def __call__(self, runs: Sequence[Run], out: int, allocate: Allocate, text: Context = NO_TEXT) -> int:
        """Write the set of the runs on the current stream. Waits for the number of its items, and returns it.

        out: the address of the output, with room for the items of all runs. With more than two runs, as much memory
        is taken. text: the context of rows. If runs are out of order, some of their items are missing.
        """
        result, *rest = runs
        rest = rest or [(result[0], 0)]
        other = allocate(whole_vectors(sum(count for _, count in runs) * self._size)) if len(rest) > 1 else None
        for left, run in zip(reversed(range(len(rest))), rest, strict=True):
            to = out if other is None or left % 2 == 0 else other.ptr
            room = self._equals.most([result[1], run[1]])
            result = (to, self._walk([result, run], to, room, [], 0, text) if room else 0)
        return result[1]


class Folds:
    """All sets of sorted runs that a workspace makes. Each is made ready once."""

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        self._ready: dict[tuple[Equals, int], Fold] = {}

    def of(self, equals: Equals, runs: int) -> Fold:
        """The set of so many runs."""
        key = equals, runs
        if key not in self._ready:
            self._ready[key] = Fold(self._kernels, *key)
        return self._ready[key]
