"""Merges that are ready to launch.

A call from Python takes the host longer than the device if it decides everything anew: which policy, which kernel, how
much shared memory. None of that depends on addresses, and only the grid depends on lengths. So it is decided once for
each kind of merge, and a call only makes a table of runs and one or two launches.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from gpumerge_cli.backends.base import LaunchPolicy
from gpumerge_cli.backends.gpu.beside import launch_beside
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.module import OWN_CUTS, Kernels
from gpumerge_cli.backends.gpu.policy import (
    VALUES_THREADS,
    by_values,
    own_cuts_beside,
    partition_size,
    partition_stretch,
    values_stretch,
)
from gpumerge_cli.backends.limits import MAX_GRID, DeviceLimits

_CUT_BYTES = 8


class PreparedMerge:
    """Merges of up to `policy.fan_in` runs of one order on one device, by a kernel whose tiles are cut beforehand.

    The caller makes that device the current one. Launches go to the current stream, and nothing waits for them.
    """

    def __init__(self, kernels: Kernels, policy: LaunchPolicy, limits: DeviceLimits) -> None:
        self._merge, self._shared = kernels.merging(policy)
        self._partition = kernels.partitioning(policy)
        self._policy = policy
        self._limits = limits
        self._own_beside = own_cuts_beside(policy.fan_in, limits)
        self._most_own_cuts = OWN_CUTS * limits.multiprocessors
        self._order, self._kernels = kernels.order, kernels
        self._values: Any = None
        self._type = np.dtype((np.void, 2 * policy.fan_in * 8))

    def takes(self, total: int) -> bool:
        """Whether a grid has room for so many items."""
        return 0 < total <= MAX_GRID * self._policy.tile_size

    def __call__(self, addresses: list[int], counts: list[int], total: int, out: int) -> None:
        """Merge runs into `out`. Precondition: takes(total), which is the sum of `counts`."""
        with device_errors():
            self._launch(addresses, counts, total, out)

    def _launch(self, addresses: list[int], counts: list[int], total: int, out: int) -> None:
        policy = self._policy
        missing = policy.fan_in - len(counts)
        words = [*addresses, *addresses[:1] * missing, *counts, *[0] * missing]
        runs = np.array(words, np.int64).view(self._type)
        if by_values(self._order, policy, total):
            if self._values is None:
                self._values = self._kernels.merging_values(policy)
            stretch = values_stretch(total, self._limits)
            self._values((-(-total // stretch),), (VALUES_THREADS,), (runs, out, stretch, 0, 0))
            return
        tiles = -(-total // policy.tile_size)
        if tiles <= self._most_own_cuts:
            self._merge((tiles,), (policy.block_size,), (runs, out, 0, tiles, 0, 0), shared_mem=self._shared)
            return
        edges = tiles + 1
        cuts = cupy.cuda.alloc(edges * policy.fan_in * _CUT_BYTES)
        stretch = partition_stretch(edges, policy.fan_in, self._limits)
        self._partition(
            (-(-edges // stretch),),
            (partition_size(policy.fan_in),),
            (runs, cuts.ptr, edges, stretch, policy.tile_size, 0, 0),
        )
        rest = np.array([out, cuts.ptr, self._own_beside, 0, 0], np.int64)
        launch_beside(self._merge, tiles, policy.block_size, self._shared, runs.tobytes() + rest.tobytes())
