"""The kernels' side of the exchange of several devices: see asked.Hands."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import cupy

from gpumerge_cli.backends.base import (
    FAN_INS,
    LaunchRequest,
    SortPolicy,
)
from gpumerge_cli.backends.gpu import policy
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.local import sort_directly
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.team import Room, Team
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order import Order


class GpuHands:
    """See asked.Hands: the kernels for one order on the devices of a team. limits: those that hold for all of them."""

    most_cut = FAN_INS[-1]

    def __init__(self, team: Team, order: Order, sorting: SortPolicy, limits: DeviceLimits) -> None:
        self.order = order
        self._sorting = sorting
        self._launches = [policy.resolve(LaunchRequest(), order, limits, runs) for runs in FAN_INS]
        self.fan_in = self._launches[-1].fan_in
        self.kernels = [Kernels(member.id, order, limits) for member in team.devices]

    def sort(self, member: int, items: Run, out: int) -> None:
        """See Hands."""
        held: list[Room] = []

        def scratch() -> int:
            held.append(Room(cupy.empty(items[1] * self.order.item_bytes + 16, cupy.uint8)))
            return held[0].address

        sort_directly(self.kernels[member], self._sorting, self.order, items, out, scratch)

    def merge(self, member: int, runs: Sequence[Run], out: int) -> None:
        """See Hands."""
        launch = next(launch for launch in self._launches if launch.fan_in >= len(runs))
        self.kernels[member].merge(launch, runs, out)

    def cuts(self, member: int, runs: Sequence[Run], rank: int) -> Callable[[], list[int]]:
        """See Hands."""
        found = self.kernels[member].cuts(runs, rank)
        stream, where = cupy.cuda.get_current_stream(), cupy.cuda.Device()

        def cuts() -> list[int]:
            with device_errors(), where:
                return [int(cut) for cut in found.get(stream=stream)[: len(runs)]]

        return cuts
