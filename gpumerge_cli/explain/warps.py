"""Warps: threads that take each step together, and the sectors of memory that a step touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.explain.accesses import Access, Threads
from gpumerge_cli.results.page import Phase, Traffic, WarpStep, WarpTrace

WARP = 32
SECTOR = 32
"""The bytes of global memory that are fetched together."""


def warp_traces(blocks: Iterable[Threads], size: int) -> Iterator[WarpTrace]:
    """The steps of every warp. size: the bytes of an item.

    Threads of a warp that come to the same statement in the same turn of its loops take one step. This is the order of
    the source. A compiler may join the two sides of a branch, and then both take one step.
    """
    for block, threads in enumerate(blocks):
        for first in range(0, len(threads), WARP):
            yield WarpTrace(block, first // WARP, tuple(_steps(threads[first : first + WARP], size)))


def _steps(lanes: Threads, size: int) -> Iterator[WarpStep]:
    at_place: dict[tuple[int, ...], list[tuple[int, Access]]] = {}
    for lane, accesses in enumerate(lanes):
        for access in accesses:
            at_place.setdefault(access.place, []).append((lane, access))
    for place in sorted(at_place):
        active = at_place[place]
        one = active[0][1]
        places = [-1] * len(lanes)
        for lane, access in active:
            places[lane] = access.at
        unit = one.unit or size
        b_from = next((lane for lane, access in active if access.memory != one.memory), WARP)
        sectors = 0
        if one.memory != "shared":
            sectors = touched_sectors(places[:b_from], unit) + touched_sectors(places[b_from:], unit)
        yield WarpStep(one.phase, one.memory, one.store, unit, tuple(places), sectors, b_from)


def touched_sectors(places: Iterable[int], unit: int) -> int:
    """The number of sectors that accesses of `unit` bytes at these places touch; -1 is none."""
    touched: set[int] = set()
    for place in places:
        if place >= 0:
            touched.update(range(place * unit // SECTOR, (place * unit + unit - 1) // SECTOR + 1))
    return len(touched)


@dataclass
class _Sum:
    requests: int = 0
    lanes: int = 0
    asked: int = 0
    sectors: int = 0


def traffic_of(warps: Iterable[WarpTrace]) -> tuple[Traffic, ...]:
    """The accesses to global memory of all warps, by phase and direction."""
    sums: dict[tuple[Phase, bool], _Sum] = {}
    for warp in warps:
        for step in warp.steps:
            if step.memory != "shared":
                mine = sums.setdefault((step.phase, step.store), _Sum())
                active = sum(place >= 0 for place in step.lanes)
                mine.requests += 1
                mine.lanes += active
                mine.asked += active * step.unit
                mine.sectors += step.sectors
    return tuple(
        Traffic(phase, store, one.requests, one.lanes, one.asked, one.sectors)
        for (phase, store), one in sorted(
            sums.items(), key=lambda pair: (("search", "stage", "merge").index(pair[0][0]), pair[0][1])
        )
    )
