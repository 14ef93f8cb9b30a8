"""One sort by several devices: each sorts a share, and merges its range of the result from the shares of all.

A share is sorted in pieces, the larger first. While the next piece is sorted, other devices fetch the parts of the
sorted one that they will need. Samples give estimates of these parts; exact cuts follow when all pieces are sorted.

It is pure, like shares.py: a team does all work on devices (see team.DeviceTeam), and memory is addresses.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import accumulate, pairwise
from typing import Any

from numpy.typing import NDArray

from gpumerge_cli.backends.gpu import shares
from gpumerge_cli.backends.gpu.team_interface import DeviceItems, Devices, ExchangePlan, Memory, TeamKernels
from gpumerge_cli.backends.gpu.tree import Run, merge_runs, passes
from gpumerge_cli.backends.kernel_sizes import whole_vectors
from gpumerge_cli.dataclass import dataclass, field

_SAMPLES = 1 << 14
_UNIT = 16
"""Pieces begin at multiples of so many items, and so at the start of a vector if their shares do."""


@dataclass
class _Piece:
    """A piece of a share."""

    member: int
    """The device that sorts it."""
    items: DeviceItems
    """The unsorted items, on any device."""
    last: bool
    """It is the last piece of its share."""
    address: int = 0
    """The address of its sorted items."""
    done: Any = None
    """The event after its sort."""
    queued: threading.Event = field(default_factory=threading.Event)
    """Set when its sort is queued, or has failed."""

    @property
    def count(self) -> int:
        return self.items.count


@dataclass
class _Arrival:
    """The memory on another device where a part of a sorted piece arrives."""

    landing: shares.Landing
    memory: Memory


def sort_shares(
    team: Devices,
    kernels: TeamKernels,
    given: Sequence[DeviceItems],
    targets: Sequence[DeviceItems],
    plan: ExchangePlan | None = None,
) -> None:
    """Sort all items of `given`, stably, into the consecutive targets.

    given: for each device of the team the share that it sorts, on any device; empty ones are allowed. targets: memory
    for ranges of the result, at most one for each device; all counts together are those of `given`. The shares stay as
    they are. Work that was queued before on other streams must be done. Waits until all is done.
    """
    exchange = _Exchange(team, kernels, given, targets, plan or ExchangePlan())
    try:
        exchange.run()
    finally:
        team.synchronize()  # before any of its memory is free


def even(total: int, parts: int) -> list[shares.Range]:
    """`total` items in ranges of one size; only the last ones may be smaller."""
    each = -(-total // parts)
    return list(pairwise([min(total, part * each) for part in range(parts + 1)]))


class _Exchange:
    def __init__(
        self,
        team: Devices,
        kernels: TeamKernels,
        given: Sequence[DeviceItems],
        targets: Sequence[DeviceItems],
        plan: ExchangePlan,
    ) -> None:
        self._team, self._kernels, self._plan, self._targets = team, kernels, plan, targets
        self._size = kernels.order.item_bytes
        self._ends = list(accumulate((target.count for target in targets), initial=0))
        self._overlapped = self._ends[-1] * self._size >= plan.overlapped and len(team) > 1
        self._kept: list[Memory] = []  # in use until the end
        self._arrivals: dict[tuple[int, int], _Arrival] = {}
        self._runs = [piece for member, share in enumerate(given) for piece in self._pieces(member, share)]
        self._counts = [run.count for run in self._runs]

    def run(self) -> None:
        members = range(len(self._team))
        with ThreadPoolExecutor(len(members)) as pool:
            futures = [pool.submit(self._sort, member) for member in members]
            if self._overlapped:
                self._send_early()
            for future in futures:
                future.result()
        cuts = self._cuts()
        for number in range(len(self._targets)):
            self._merge(number, cuts)

    def _pieces(self, member: int, share: DeviceItems) -> list[_Piece]:
        fractions: Sequence[float] = (1.0,)
        if self._overlapped and len(self._targets) > 1:
            fractions = self._plan.pieces
        elif self._overlapped and self._targets[0].member != member:
            fractions = self._plan.returned
        ranges = [part for part in shares.fair(share.count, fractions, _UNIT) if part[0] < part[1]]
        return [
            _Piece(
                member, DeviceItems(share.member, share.address + start * self._size, stop - start), stop == share.count
            )
            for start, stop in ranges
        ]

    # A device's own thread

    def _sort(self, member: int) -> None:
        """Queue the sorts of a device's pieces."""
        runs = [run for run in self._runs if run.member == member]
        try:
            brought = [self._bring(run) for run in runs]
            with self._team.on(member):
                address = self._room(sum(run.count for run in runs)).address
                for run, (source, there) in zip(runs, brought, strict=True):
                    run.address = address
                    address += run.count * self._size
                    if there is not None:
                        self._team.wait(there)
                    self._kernels.sort(member, (source, run.count), run.address)
                    run.done = self._team.event()
                    run.queued.set()
        finally:
            for run in runs:
                run.queued.set()

    def _bring(self, run: _Piece) -> tuple[int, Any]:
        """The address of the piece's items on its own device, and the event behind their copy, if there was one."""
        home = run.items.member
        if home == run.member:
            return run.items.address, None
        with self._team.copies(home, run.member):
            address = self._room(run.count).address
            self._team.fetch(home, run.items.address, run.member, address, run.count * self._size)
            return address, self._team.event()

    def _room(self, count: int) -> Memory:
        """Memory for so many items on the current device, until the end; in whole vectors, as kernels read them."""
        room = self._team.room(whole_vectors(max(1, count * self._size)))
        self._kept.append(room)
        return room

    # Segments go from device to device

    def _send_early(self) -> None:
        """Fetch the parts that targets will probably need of all pieces but the last, each as soon as it is sorted."""
        cuts, slack = self._estimated()
        for at, run in enumerate(self._runs):
            if run.last and len(self._targets) > 1:
                continue
            run.queued.wait()
            if run.done is None:
                return  # its thread has failed, and raises the error
            for number, target in enumerate(self._targets):
                if target.member == run.member:
                    continue
                landing = shares.landing((cuts[number][at], cuts[number + 1][at]), slack, run.count)
                with self._team.copies(run.member, target.member):
                    arrival = _Arrival(landing, self._room(landing.room[1] - landing.room[0]))
                    self._fetch(run, target.member, arrival, landing.sent)
                self._arrivals[number, at] = arrival

    def _estimated(self) -> tuple[list[list[int]], int]:
        """Estimates of the cuts at the targets' edges, and their greatest error."""
        if len(self._targets) == 1:
            return [[0] * len(self._runs), self._counts], 0
        step = max(1, self._ends[-1] // _SAMPLES)
        places = [run.items for run in self._runs]
        reads = [(at, 0, run.count, step) for at, run in enumerate(self._runs)]
        # On separate streams, in parallel with the sorts.
        keys = self._read(reads, places, lambda member: self._team.copies(member, member))
        inner = [shares.estimates(keys, step, self._counts, rank) for rank in self._ends[1:-1]]
        return [[0] * len(self._runs), *inner, self._counts], shares.slack(step, self._counts)

    def _fetch(self, run: _Piece, to: int, arrival: _Arrival, part: shares.Range) -> None:
        """Queue the copy of a part of a sorted piece to the device that needs it."""
        if part[0] < part[1]:
            self._team.wait(run.done)
            target = arrival.memory.address + (part[0] - arrival.landing.room[0]) * self._size
            address, nbytes = run.address + part[0] * self._size, (part[1] - part[0]) * self._size
            self._team.fetch(run.member, address, to, target, nbytes)

    def _cuts(self) -> list[list[int]]:
        """For each edge of the targets, the number of items of each run ahead of it."""
        ranks = self._ends[1:-1]
        if self._team.linked and 0 < len(self._runs) <= self._kernels.most_cut:
            inner = self._cut_by_devices(ranks)
        else:
            places = [DeviceItems(run.member, run.address, run.count) for run in self._runs]
            inner = [
                shares.exact_cuts(lambda slices: self._read(slices, places, self._team.on), self._counts, rank)
                for rank in ranks
            ]
        return [[0] * len(self._runs), *inner, self._counts]

    def _cut_by_devices(self, ranks: Sequence[int]) -> list[list[int]]:
        """The edges by the devices whose targets begin there."""
        table = [(run.address, run.count) for run in self._runs]
        found: list[Callable[[], list[int]]] = []
        for target, rank in zip(self._targets[1:], ranks, strict=True):
            if rank in (0, self._ends[-1]):
                found.append(list(self._counts if rank else [0] * len(table)).copy)
                continue
            with self._team.on(target.member):
                for run in self._runs:
                    self._team.wait(run.done)
                found.append(self._kernels.cuts(target.member, table, rank))
        return [cuts() for cuts in found]

    def _read(
        self,
        slices: Sequence[shares.RunSlice],
        places: Sequence[DeviceItems],
        on: Callable[[int], AbstractContextManager[object]],
    ) -> list[NDArray[Any]]:
        """The key images of slices. places: the runs of items. on: enters the stream of the device that reads them."""
        packed = []
        for number, start, stop, step in slices:
            place = places[number]
            with on(place.member):
                packed.append(self._team.packed(place.address, self._size, range(start, stop, step)))
        order = self._kernels.order
        return [order.image(order.keys(items())) for items in packed]

    # The merges

    def _merge(self, number: int, cuts: Sequence[Sequence[int]]) -> None:
        """Queue the copies of a target's missing segments, and the merge."""
        target, size = self._targets[number], self._size
        segments = [
            self._segment(number, at, wanted)
            for at, wanted in enumerate(zip(cuts[number], cuts[number + 1], strict=True))
        ]
        arrived = []
        for source in {run.member for run in self._runs} - {target.member}:
            with self._team.copies(source, target.member):
                arrived.append(self._team.event())
        with self._team.on(target.member):
            for event in [*arrived, *(run.done for run in self._runs)]:
                self._team.wait(event)
            held = [segment for segment in segments if segment[1]]
            deep = passes(len(held), self._kernels.fan_in) > 1
            scratch = self._room(target.count).address if deep else 0
            for group, to in merge_runs(held, size, target.address, scratch, fan_in=self._kernels.fan_in):
                if len(group) > 1:
                    self._kernels.merge(target.member, group, to)
                else:
                    self._team.copy(group[0][0], to, group[0][1] * size)

    def _segment(self, number: int, at: int, wanted: shares.Range) -> Run:
        """The `wanted` items of run `at`, at the address from which target `number` merges them."""
        run, to = self._runs[at], self._targets[number].member
        count = wanted[1] - wanted[0]
        if run.member == to or not count or (self._plan.direct and run.last and self._team.linked):
            return run.address + wanted[0] * self._size, count
        arrival = self._arrivals.get((number, at))
        missing = None if arrival is None else arrival.landing.missing(wanted)
        with self._team.copies(run.member, to):
            if arrival is None or missing is None:
                arrival = _Arrival(shares.Landing(wanted, (wanted[0], wanted[0])), self._room(count))
                missing = [wanted]
            for part in missing:
                self._fetch(run, to, arrival, part)
        return arrival.memory.address + (wanted[0] - arrival.landing.room[0]) * self._size, count
