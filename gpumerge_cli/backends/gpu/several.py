"""Several GPUs as one backend: they share sorts in memory, and all other work goes to one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import cupy

from gpumerge_cli.backends.base import ChunkSizes, DeviceInfo, PieceSizes
from gpumerge_cli.backends.gpu import device, shares
from gpumerge_cli.backends.gpu.backend import GpuBackend, check_array
from gpumerge_cli.backends.gpu.exchange import sort_shares
from gpumerge_cli.backends.gpu.failures import device_errors
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.gpu.spread import SeveralWorkspace
from gpumerge_cli.backends.gpu.team import DeviceTeam
from gpumerge_cli.backends.gpu.team_interface import DeviceItems, ExchangePlan
from gpumerge_cli.backends.gpu.team_kernels import GpuTeamKernels
from gpumerge_cli.backends.gpu.workspace import GpuWorkspace
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.dataclass import replace
from gpumerge_cli.launch import FAN_INS, SortPolicy, SortRequest
from gpumerge_cli.order.kinds import Order

_HOME = 1.2
"""The share of the device that holds all items and gets all results; the share of each other device is 1."""


@lru_cache(maxsize=8)
def team_of(numbers: tuple[int, ...]) -> DeviceTeam:
    """The team of these devices that sorts arrays: always the same, since CuPy keeps freed memory for each stream."""
    return DeviceTeam([cupy.cuda.Device(number) for number in numbers])


class SeveralGpus(GpuBackend):
    """GPUs by their numbers. Raises DeviceError if one is missing."""

    def __init__(self, numbers: Sequence[int]) -> None:
        super().__init__(numbers[0])
        self._devices = [device.device_numbered(number) for number in numbers]
        each = [device.limits(one) for one in self._devices]
        self._limits = DeviceLimits(
            *(min(getattr(limits, name) for limits in each) for name in DeviceLimits.__dataclass_fields__)
        )
        self._turns = count()

    def info(self) -> DeviceInfo:
        """See Backend."""
        each = [device.device_info(one) for one in self._devices]
        names = [info.name for info in each]
        listed = ", ".join(names) if len(set(names)) > 1 else f"{len(names)} x {names[0]}"
        numbers = ", ".join(str(one.id) for one in self._devices)
        return DeviceInfo("gpu", listed, sum(info.memory for info in each), {**each[0].details, "device": numbers})

    def resolve_sort(self, request: SortRequest, order: Order, nbytes: int) -> SortPolicy:
        """See Backend."""
        chosen = super().resolve_sort(request, order, nbytes)
        if not moves_rows(order):
            return chosen
        return replace(chosen, why=f"{chosen.why}; on one GPU at a time, since rows are gathered where their text lies")

    def chunk_sizes(self, order: Order, runs: int, item_bytes: float) -> ChunkSizes:
        """See Backend."""
        one = super().chunk_sizes(order, runs, item_bytes)
        return replace(one, workers=one.workers * len(self._devices))

    def piece_sizes(self, order: Order, item_bytes: float) -> PieceSizes:
        """See Backend."""
        one = super().piece_sizes(order, item_bytes)
        return replace(one, workers=one.workers * len(self._devices))

    def whole_sort(self, order: Order, nbytes: int, item_bytes: float, part: int, threads: int) -> int | None:
        """See Backend."""
        if moves_rows(order):
            return super().whole_sort(order, nbytes, item_bytes, part, threads)
        each = self._whole_footprint(order, item_bytes) * -(-nbytes // len(self._devices))
        for one in self._devices:
            with device_errors(), one:
                free, _ = cupy.cuda.runtime.memGetInfo()
            if each > free // self._devices.count(one):
                return None
        return threads * part

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> GpuWorkspace:
        """See Backend. `threads` is for backends that work on the host."""
        return SeveralWorkspace(self._devices, order, capacity, self._limits, next(self._turns))

    def sort_arrays(
        self,
        parts: Sequence[Any],
        order: Order,
        policy: SortPolicy,
        outs: Sequence[Any],
        plan: ExchangePlan | None = None,
    ) -> None:
        """Sort the keys of all arrays, stably, into the consecutive `outs`, which have as many items in all.

        parts, outs: one array on each device; or a single array each, both on the same device, on which all devices
        work. Waits until all is done.
        """
        for array in (*parts, *outs):
            check_array(array, order)
            with device_errors(), array.device:
                cupy.cuda.get_current_stream().synchronize()
        team = team_of(tuple(one.id for one in self._devices))
        if len(parts) == len(self._devices):
            members: Sequence[int] = range(len(parts))
            given = [DeviceItems(member, part.data.ptr, part.size) for member, part in enumerate(parts)]
        else:
            home = self._devices.index(parts[0].device)
            weights = [_HOME if member == home else 1.0 for member in range(len(team))]
            size, address, members = order.item_bytes, parts[0].data.ptr, [home]
            given = [
                DeviceItems(home, address + start * size, stop - start)
                for start, stop in shares.fair(parts[0].size, weights, 16)
            ]
            pieces = max(1, min(4, (FAN_INS[-1] - 1) // (len(team) - 1)))
            plan = plan or ExchangePlan(returned=(1.0,) * pieces)
        targets = [DeviceItems(member, out.data.ptr, out.size) for member, out in zip(members, outs, strict=True)]
        sort_shares(team, GpuTeamKernels(team, order, policy, self._limits), given, targets, plan)
