"""The kernels' side of the exchange of several devices: see team_interface.TeamKernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cupy

from gpumerge_cli.backends.gpu import policy
from gpumerge_cli.backends.gpu.checking import Checks
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.launching import queue
from gpumerge_cli.backends.gpu.merging import cuts_at, merge_of
from gpumerge_cli.backends.gpu.module import gpu_kernels
from gpumerge_cli.backends.gpu.sorting import sort_of
from gpumerge_cli.backends.gpu.streams import current_stream, scratch
from gpumerge_cli.backends.gpu.team import DeviceTeam
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.launch import FAN_INS, LaunchRequest, SortPolicy
from gpumerge_cli.order.kinds import Order


class GpuTeamKernels:
    """The kernels for one order on the devices of a team. limits: those that hold for all of them."""

    most_cut = FAN_INS[-1]

    def __init__(self, team: DeviceTeam, order: Order, sorting: SortPolicy, limits: DeviceLimits) -> None:
        self.order = order
        self._sorting = sorting
        self._launches = [policy.resolve(LaunchRequest(), order, limits, runs) for runs in FAN_INS]
        self.fan_in = self._launches[-1].fan_in
        self._kernels = [gpu_kernels(member.id, order, limits) for member in team.devices]
        self.checks = [Checks(kernels) for kernels in self._kernels]

    def sort(self, member: int, items: Run, out: int) -> None:
        """See TeamKernels."""
        sort = sort_of(self._kernels[member], self._sorting)
        queue(sort.steps(items, out, scratch), current_stream())

    def merge(self, member: int, runs: Sequence[Run], out: int) -> None:
        """See TeamKernels."""
        launch = next(launch for launch in self._launches if launch.fan_in >= len(runs))
        if any(count for _, count in runs):
            queue(merge_of(self._kernels[member], launch).table(runs, out, scratch), current_stream())

    def cuts(self, member: int, runs: Sequence[Run], rank: int) -> Callable[[], list[int]]:
        """See TeamKernels."""
        found = cuts_at(self._kernels[member], runs, rank)
        stream, where = cupy.cuda.get_current_stream(), cupy.cuda.Device()

        def cuts() -> list[int]:
            with device_errors(), where:
                return [int(cut) for cut in found.get(stream=stream)[: len(runs)]]

        return cuts
