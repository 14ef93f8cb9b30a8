"""A run over time: a lane for each stage, with a row for each worker, so that overlaps are visible."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from xml.etree.ElementTree import Element

from gpumerge_cli.measure import COMPILE, Stretch
from gpumerge_cli.report.markup import lane, picture, rectangle, tag, text_label, upright
from gpumerge_cli.report.merge_tables import idle_share, stage_name
from gpumerge_cli.results.run import AHEAD, STAGES, MergeReport
from gpumerge_cli.units import format_bytes, format_seconds

_HIGH, _LEAST_ROW, _MOST_ROW = 44, 2, 14
_FAINTEST = 0.25
_AHEAD = (*AHEAD, COMPILE, "plan")
"""The spans outside the stages of the workers."""
LANES = (*_AHEAD, *STAGES)
"""The stages in the order of their lanes."""


def timeline(report: MergeReport) -> Element:
    """The chart of the streaming, and of what is timed ahead of it, stage by stage."""
    begin, end = window(report)
    places = {(at - begin) / (end - begin): text for at, text in ticks(begin, end)}
    lanes = []
    for stage, stretches in by_stage(report.timeline).items():
        rows = packed(stretches)
        each = max(_LEAST_ROW, min(_MOST_ROW, _HIGH // len(rows)))
        drawn = [
            _drawn(one, (begin, end), 2 + number * (each + 1), each)
            for number, row in enumerate(rows)
            for one in row
        ]  # fmt: skip
        busy = sum(one.seconds for one in stretches)
        share = busy / (report.workers * report.busy) if report.busy > 0 else 0.0
        detail = f"{format_seconds(busy)} busy" + ("" if stage in _AHEAD else f", {share:.0%}")
        height = 4 + len(rows) * (each + 1)
        grid = [upright(place, "tick") for place in places]
        lanes.append(lane(stage_name(stage), detail, picture(height, *grid, *drawn, alt=f"{stage}: {detail}")))
    labels = [text_label(place, text) for place, text in places.items()]
    lanes.append(lane("since the start", None, picture(16, *labels, alt="since the program started"), "part"))
    return tag("div", *lanes, class_="chart timeline")


def workers(report: MergeReport) -> Element:
    """The chart of the work, worker by worker: a lane for each, devices included, whose gaps are idle time."""
    begin, end = window(report)
    places = {(at - begin) / (end - begin): text for at, text in ticks(begin, end)}
    lanes = []
    for worker in report.worker_reports:
        rows = packed([one for one in report.timeline if one.lane == worker.name]) or [[]]
        each = max(_LEAST_ROW, min(_MOST_ROW, _HIGH // len(rows)))
        drawn = [
            _drawn(one, (begin, end), 2 + number * (each + 1), each) for number, row in enumerate(rows) for one in row
        ]
        detail = worker.note or f"{format_bytes(worker.nbytes)}, {idle_share(report, worker.name):.0%} idle"
        grid = [upright(place, "tick") for place in places]
        chart = picture(4 + len(rows) * (each + 1), *grid, *drawn, alt=f"{worker.name}: {detail}")
        lanes.append(lane(worker.name, detail, chart))
    labels = [text_label(place, text) for place, text in places.items()]
    lanes.append(lane("since the start", None, picture(16, *labels, alt="since the program started"), "part"))
    return tag("div", *lanes, class_="chart timeline")


def window(report: MergeReport) -> tuple[float, float]:
    """(begin, end) of the streaming, in seconds since the program started: every stretch lies within."""
    begin = min([report.start_up, *(one.start for one in report.timeline)])
    end = max([report.start_up + report.busy, *(one.stop for one in report.timeline)])
    return begin, end if end > begin else begin + 1e-6


def by_stage(stretches: Sequence[Stretch]) -> dict[str, list[Stretch]]:
    """The stretches of each stage, in the order in which bytes go through them."""
    found: dict[str, list[Stretch]] = {}
    for one in stretches:
        found.setdefault(one.stage, []).append(one)
    return dict(sorted(found.items(), key=lambda item: LANES.index(item[0]) if item[0] in LANES else len(LANES)))


def packed(stretches: Sequence[Stretch]) -> list[list[Stretch]]:
    """The stretches in as few rows as let none overlap another of its row: one for each worker that was at it."""
    rows: list[list[Stretch]] = []
    for one in sorted(stretches, key=lambda each: (each.start, each.stop)):
        free = next((row for row in rows if row[-1].stop <= one.start), None)
        if free is None:
            rows.append([one])
        else:
            free.append(one)
    return rows


def overlap(stretches: Sequence[Stretch]) -> tuple[float, float, dict[tuple[str, str], float]]:
    """Seconds during which any stage was active, two or more were, and, for each pair of stages, both were."""
    busy = {stage: list(_joined(part)) for stage, part in by_stage(stretches).items() if stage not in _AHEAD}
    edges = sorted({at for parts in busy.values() for part in parts for at in part})
    at_work = {stage: [False] * max(0, len(edges) - 1) for stage in busy}
    number = {at: index for index, at in enumerate(edges)}
    for stage, parts in busy.items():
        for start, stop in parts:
            for index in range(number[start], number[stop]):
                at_work[stage][index] = True
    some = several = 0.0
    both: dict[tuple[str, str], float] = dict.fromkeys(combinations(busy, 2), 0.0)
    for index, (start, stop) in enumerate(pairwise(edges)):
        here = [stage for stage in busy if at_work[stage][index]]
        some += (stop - start) * bool(here)
        several += (stop - start) * (len(here) > 1)
        for pair in combinations(here, 2):
            both[pair] += stop - start
    return some, several, both


def overlap_text(report: MergeReport) -> str:
    """The stages that overlapped, in words."""
    some, several, both = overlap(report.timeline)
    if not both or some <= 0:
        return ""
    if several < 0.005 * some:
        return "One stage was at work at a time; none overlapped another."
    most = sorted(both, key=lambda pair: -both[pair])[:3]
    pairs = [f"{stage_name(a)} and {stage_name(b)} {both[a, b] / some:.0%}" for a, b in most if both[a, b] > 0]
    # Stretches of several spans hide the gaps between them.
    at_most = "up to " if any(one.spans > 1 for one in report.timeline) else ""
    share = f"{at_most}{several / some:.0%}"
    return f"Two or more stages were at work during {share} of the time that any was: {', '.join(pairs)}."


def idle_text(report: MergeReport) -> str:
    """In words, how much of the streaming went by while no stage was at work, if that was much."""
    some, _, _ = overlap(report.timeline)
    idle = report.busy - some
    if not report.timeline or idle <= 0.1 * report.busy:
        return ""
    plan = f"; planning took {format_seconds(report.plan)}"
    return f"During {idle / report.busy:.0%} of the streaming no stage was at work{plan if report.plan > 0 else ''}."


def ticks(begin: float, end: float) -> list[tuple[float, str]]:
    """Round times between `begin` and `end`, no more than six, and how they are written."""
    power = math.floor(math.log10((end - begin) / 5))
    step = next(factor * 10.0**power for factor in (1, 2, 5, 10) if factor * 10.0**power >= (end - begin) / 5 * 0.999)
    first, last = math.ceil(begin / step - 1e-9), math.floor(end / step + 1e-9)
    return [(number * step, f"{number * step:.{max(0, -power)}f} s") for number in range(first, last + 1)]


def program(report: MergeReport) -> Element:
    """The whole program as a strip."""
    wall = max(report.wall, 1e-9)
    begin, end = report.start_up / wall, min(1.0, (report.start_up + report.busy) / wall)
    strip = picture(
        16,
        rectangle(0, begin, 2, 12, "start-up", f"start-up: {format_seconds(report.start_up)}"),
        rectangle(begin, end, 2, 12, "read", f"streaming: {format_seconds(report.busy)}"),
        alt=f"start-up {begin:.0%} of the whole program, then streaming",
    )
    detail = f"{format_seconds(report.start_up)} start-up, {format_seconds(report.busy)} work"
    return tag("div", lane("whole program", detail, strip, "strong"), class_="chart")


def _drawn(one: Stretch, within: tuple[float, float], top: float, height: float) -> Element:
    begin, end = within
    long = one.stop - one.start
    density = min(1.0, one.seconds / long) if long > 0 else 1.0
    several = f"{one.spans} spans, {density:.0%} busy, " if one.spans > 1 else ""
    moved = f", {format_bytes(one.nbytes)}" if one.nbytes else ""
    # Stretches of several spans are as faint as they are idle.
    more = {} if one.spans == 1 else {"fill_opacity": f"{max(_FAINTEST, density):.2f}"}
    return rectangle(
        (one.start - begin) / (end - begin),
        (one.stop - begin) / (end - begin),
        top,
        height,
        one.stage if one.stage in LANES else "other",
        f"{one.stage}, {several}{one.start:.4f} to {one.stop:.4f} s{moved}",
        **more,
    )


def _joined(stretches: Sequence[Stretch]) -> Iterator[tuple[float, float]]:
    """(start, stop) of the times when any of these was at work."""
    start = stop = -1.0
    for one in sorted(stretches, key=lambda each: each.start):
        if one.start > stop:
            if stop > start:
                yield start, stop
            start, stop = one.start, one.stop
        stop = max(stop, one.stop)
    if stop > start:
        yield start, stop
