"""Passes of merges that are ready to launch: nothing about them is decided anew, but their grids.

A call from Python takes the host longer than the device if it decides everything anew: which policy, which kernel, how
much shared memory. None of that depends on addresses, and only grids depend on lengths.
"""

from __future__ import annotations

import sys
from functools import partial

from gpumerge_cli.backends.base import LaunchPolicy
from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.launching import Launch, scratch
from gpumerge_cli.backends.gpu.module import OWN_CUTS, Kernels
from gpumerge_cli.backends.gpu.policy import (
    begins_beside,
    by_values,
    own_cuts_beside,
    partition_stretch,
    values_stretch,
)
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order.base import Macros

_CUT_BYTES = 8


class MergePass:
    """Merges of a table of runs by one policy, whose tiles are cut beforehand.

    columns: where runs come from and go to; words of it end the arguments. The order of `kernels` is that of its
    records, or that of its keys if keys and values stay apart. Launches go to the stream that is given, on the current
    device, and nothing waits for them.
    """

    def __init__(
        self,
        kernels: Kernels,
        policy: LaunchPolicy,
        limits: DeviceLimits,
        columns: Columns | None = None,
    ) -> None:
        self.fan_in = policy.fan_in
        self.tile = policy.tile_size
        self._kernels, self._policy, self._limits = kernels, policy, limits
        self._macros: Macros = ()  # of the kernel that cuts
        if columns is None:
            merging = partial(kernels.merging, policy)
        elif columns.stay_apart(policy):
            merging = partial(kernels.merging_columns, policy, columns.narrow, columns.words)
        else:
            self._macros = columns.macros(reads=True, writes=True)
            merging = partial(kernels.merging, policy, self._macros, columns.words)
        self._most_own_cuts = OWN_CUTS * limits.multiprocessors
        self._beside, self._own_beside = begins_beside(limits), own_cuts_beside(limits)
        self._partition: Launch | None = None
        self._may_go_by_values = columns is None and by_values(kernels.order, policy, sys.maxsize)
        self._values: Launch | None = None
        self._merging = merging
        self._merge = None if self._may_go_by_values else merging()

    @property
    def merge(self) -> Launch:
        """The kernel that merges tiles, which is compiled in the background."""
        if self._merge is None:
            self._merge = self._merging()
        return self._merge

    def __call__(self, source: list[int], total: int, out: int, stream: int, told: list[int]) -> None:
        """Merge `total` items into `out` or into columns. source: the words of a table of runs (see runs.cuh).

        told: the words of columns.
        """
        if self._may_go_by_values and by_values(self._kernels.order, self._policy, total):
            if self._values is None:
                self._values = self._kernels.merging_values(self._policy)
            stretch = values_stretch(total, self._limits)
            self._values(-(-total // stretch), stream, [*source, out, stretch, 0, 0])
            return
        blocks, merge = -(-total // self.tile), self.merge
        if blocks <= self._most_own_cuts:
            merge(blocks, stream, [*source, out, 0, blocks, 0, 0, *told])
            return
        if self._partition is None:
            self._partition = self._kernels.partitioning(self._policy, self._macros)
        edges = blocks + 1
        cuts = scratch(edges * self.fan_in * _CUT_BYTES, stream)
        stretch = partition_stretch(edges, self.fan_in, self._limits)
        self._partition(-(-edges // stretch), stream, [*source, cuts.ptr, edges, stretch, self.tile, 0, 0])
        merge(blocks, stream, [*source, out, cuts.ptr, self._own_beside, 0, 0, *told], beside=self._beside)
