"""Merges that are ready to launch.

A call from Python takes the host longer than the device if it decides everything anew: which policy, which kernel, how
much shared memory. None of that depends on addresses, and only the grid depends on lengths. So it is decided once for
each kind of merge, and a call only makes a table of runs and one or two launches.
"""

from __future__ import annotations

import cupy
import numpy as np

from gpumerge_cli.backends.base import LaunchPolicy
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.module import OWN_CUTS, Kernels
from gpumerge_cli.backends.gpu.policy import partition_size, partition_stretch
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
        self._most_own_cuts = OWN_CUTS * limits.multiprocessors
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
        tiles = -(-total // policy.tile_size)
        cuts, at = None, 0
        if tiles > self._most_own_cuts:
            edges = tiles + 1
            cuts = cupy.cuda.alloc(edges * policy.fan_in * _CUT_BYTES)
            at = cuts.ptr
            stretch = partition_stretch(edges, policy.fan_in, self._limits)
            self._partition(
                (-(-edges // stretch),),
                (partition_size(policy.fan_in),),
                (runs, at, edges, stretch, policy.tile_size, 0, 0),
            )
        self._merge((tiles,), (policy.block_size,), (runs, out, at, 0, 0), shared_mem=self._shared)
