"""A workspace of several GPUs, whose parts are spread over all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

import cupy
import numpy as np

from gpumerge_cli.backends.gpu import shares
from gpumerge_cli.backends.gpu.buffers import DeviceBuffer
from gpumerge_cli.backends.gpu.exchange import even, sort_shares
from gpumerge_cli.backends.gpu.lanes import Lanes
from gpumerge_cli.backends.gpu.module import gpu_kernels
from gpumerge_cli.backends.gpu.source import moves_rows
from gpumerge_cli.backends.gpu.team import DeviceTeam
from gpumerge_cli.backends.gpu.team_interface import DeviceItems, ExchangePlan
from gpumerge_cli.backends.gpu.team_kernels import GpuTeamKernels
from gpumerge_cli.backends.gpu.workspace import GpuWorkspace
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.buffers import Bytes
from gpumerge_cli.launch import SortPolicy
from gpumerge_cli.measure import Span
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


class SeveralWorkspace(GpuWorkspace):
    """See Workspace. Staged data goes to one device; data that comes by parts (whole sorts) goes to all of `team`.

    Parts of rows go to one device, too: their text would have to follow them.
    """

    def __init__(
        self, team: Sequence[cupy.cuda.Device], order: Order, capacity: int, limits: DeviceLimits, turn: int
    ) -> None:
        one = team[turn % len(team)]
        super().__init__(one, order, gpu_kernels(one.id, order, limits), capacity)
        self._members, self._limits = team, limits
        self._spread: Spread | None = None
        self._spreading = threading.Lock()

    def upload(self, lengths: Sequence[int]) -> None:
        """See Workspace."""
        self._close_spread()
        super().upload(lengths)

    def part(self, position: int, nbytes: int) -> Bytes:
        """See Workspace."""
        spread = self._shared()
        return super().part(position, nbytes) if spread is None else spread.part(position, nbytes)

    def send(self, position: int, nbytes: int) -> None:
        """See Workspace."""
        spread = self._shared()
        if spread is None:
            super().send(position, nbytes)
        else:
            spread.send(position, nbytes)

    def adopt(self, lengths: Sequence[int]) -> None:
        """See Workspace."""
        spread = self._shared()
        if spread is None:
            super().adopt(lengths)
            return
        self.counts = [self._order.count(length) or 0 for length in lengths]
        self.merged_bytes = sum(lengths)

    def sort(self, policy: SortPolicy, equals: Equals = Equals.ALL, *, by_parts: bool = False) -> None:
        """See Workspace. For parts it returns when all are sorted."""
        if self._spread is None:
            super().sort(policy, equals, by_parts=by_parts)
            return
        total = self.merged_bytes = sum(self.counts) * self._order.item_bytes
        begun = time.perf_counter()
        self.merged_bytes = self._spread.sort(total, policy, equals)
        self.dropped = (total - self.merged_bytes) // self._order.item_bytes
        ended = time.perf_counter()
        self.spans.append(Span("kernel", ended - begun, total, ended))

    def receive(self, position: int, nbytes: int) -> Bytes:
        """See Workspace."""
        if self._spread is None:
            return super().receive(position, nbytes)
        return self._spread.receive(position, nbytes)

    def download(self) -> Bytes:
        """See Workspace."""
        return super().download() if self._spread is None else self.receive(0, self.merged_bytes)

    def outputs(self) -> Iterable[Bytes]:
        """See Workspace."""
        return super().outputs() if self._spread is None else [self.download()]

    def close(self) -> None:
        """See Workspace."""
        self._close_spread()
        super().close()

    def _shared(self) -> Spread | None:
        if moves_rows(self._order):
            return None
        with self._spreading:
            if self._spread is None:
                self._spread = Spread(DeviceTeam(self._members), self._order, self._capacity, self._limits)
            return self._spread

    def _close_spread(self) -> None:
        if self._spread is not None:
            self._spread.close()
            self._spread = None


class Spread:
    """Up to `capacity` bytes of keys or small records on the devices of a team, each with its own share."""

    def __init__(
        self, team: DeviceTeam, order: Order, capacity: int, limits: DeviceLimits, plan: ExchangePlan | None = None
    ) -> None:
        self._team, self._order, self._limits, self._plan = team, order, limits, plan
        self._ends = [stop * order.item_bytes for _, stop in even(capacity // order.item_bytes, len(team))]
        self._inputs = [DeviceBuffer() for _ in range(len(team))]
        self._outputs = [DeviceBuffer() for _ in range(len(team))]
        self._kept: list[int] = []  # where the bytes of each device's output end
        self._lanes = Lanes(team.devices)
        for member, (buffer, (start, stop)) in enumerate(zip(self._inputs, pairwise([0, *self._ends]), strict=True)):
            with team.on(member):
                buffer.reserve(stop - start)

    def part(self, position: int, nbytes: int) -> Bytes:
        """See Workspace."""
        return self._lanes.mine().memory(nbytes)

    def send(self, position: int, nbytes: int) -> None:
        """See Workspace. A part across the edge of two shares goes to both devices."""
        lane, sent = self._lanes.mine(), 0
        for member, first, length in shares.located(self._ends, position, position + nbytes):
            lane.send(self._inputs[member].address + first, length, sent, member)
            sent += length

    def sort(self, total: int, policy: SortPolicy, equals: Equals = Equals.ALL) -> int:
        """Sort the first `total` bytes. Waits, and returns the bytes of the result."""
        size, team = self._order.item_bytes, self._team
        edges = [min(total, end) // size for end in (0, *self._ends)]
        given = [
            DeviceItems(member, buffer.address, stop - start)
            for member, (buffer, (start, stop)) in enumerate(zip(self._inputs, pairwise(edges), strict=True))
        ]
        targets = []
        for member, (start, stop) in enumerate(even(total // size, len(team))):
            with team.on(member):
                address = self._outputs[member].reserve((stop - start) * size).address
            targets.append(DeviceItems(member, address, stop - start))
        kernels = GpuTeamKernels(team, self._order, policy, self._limits)
        sort_shares(team, kernels, given, targets, self._plan)
        counts = [target.count for target in targets]
        if not equals.keeps_all:
            counts = self._distinct(kernels, targets, equals)
        self._kept = list(accumulate(count * size for count in counts))
        return self._kept[-1]

    def receive(self, position: int, nbytes: int) -> Bytes:
        """See Workspace."""
        lane, got = self._lanes.mine(), 0
        memory = lane.memory(nbytes)
        for member, first, length in shares.located(self._kept, position, position + nbytes):
            lane.receive(self._outputs[member].address + first, length, got, member)
            got += length
        return memory

    def close(self) -> None:
        """Free the buffers."""
        self._team.synchronize()
        for buffer in (*self._inputs, *self._outputs):
            buffer.free()
        self._lanes.close()
        self._team.close()

    def _distinct(self, kernels: GpuTeamKernels, targets: Sequence[DeviceItems], equals: Equals) -> list[int]:
        """Keep the items of each output that a rule of places keeps. Its neighbours in other outputs count."""
        ends = [self._ends_of(target) for target in targets]
        filled = [number for number, edge in enumerate(ends) if edge is not None]
        edges = [edge for edge in ends if edge is not None]
        found = [0] * len(targets)
        for at, (number, (first, last)) in enumerate(zip(filled, edges, strict=True)):
            ahead = equals.is_continued if at == 0 else edges[at - 1][1] == first
            behind = equals.is_followed if at + 1 == len(edges) else last == edges[at + 1][0]
            target, rule = targets[number], equals.beside(ahead=ahead, behind=behind)
            with self._team.on(target.member):
                found[number] = kernels.checks[target.member].keep((target.address, target.count), rule)
        self._team.synchronize()
        return found

    def _ends_of(self, target: DeviceItems) -> tuple[object, object] | None:
        """The key images of a target's first and last item."""
        if not target.count:
            return None
        with self._team.on(target.member):
            read = self._team.packed(
                target.address, self._order.item_bytes, range(0, target.count, max(1, target.count - 1))
            )
        images = self._order.image(self._order.keys(np.ascontiguousarray(read())))
        return images[0], images[-1]
