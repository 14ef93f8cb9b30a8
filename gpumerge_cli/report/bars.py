"""Bars of throughput: a run's stages beside their ceilings, contestants beside each other and the copy."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.report.markup import Part, lane, picture, rectangle, tag, upright
from gpumerge_cli.report.merge_tables import stage_name
from gpumerge_cli.report.notes import ceiling, differ
from gpumerge_cli.report.tables import format_rate
from gpumerge_cli.results.compared import BenchRow, CompareReport, Measured
from gpumerge_cli.results.run import MergeReport, Stage
from gpumerge_cli.units import format_seconds

_MOST_ROOM = 2
"""Parts that are faster than the fastest whole by more than this factor go off the scale."""


@dataclass(frozen=True)
class Bar:
    """A bar of throughput."""

    name: str
    rate: float
    """Bytes a second."""
    style: str
    ceiling: float = 0.0
    """Bytes a second; 0 if none is known."""
    strong: bool = True
    """Whether it stands for itself, not for a part of another bar."""


def stage_bars(report: MergeReport) -> list[Bar]:
    """The bars of a merge: for each ceiling its stages together, then each stage by itself; the whole program last.

    Rates are those of all workers that can be at a stage at once, as if they did nothing else.
    """
    stages = {stage.name: stage for stage in report.stages if stage.nbytes and stage.seconds > 0}
    usual = max((one.at_once for one in report.ceilings), default=report.workers)
    bars: list[Bar] = []
    shown: set[str] = set()
    for one in report.ceilings:
        found = [stages[name] for name in one.stages if name in stages]
        if not found:
            continue
        nbytes = sum(stage.nbytes for stage in found) / len(found)
        rate = nbytes * one.at_once / sum(stage.seconds for stage in found)
        bars.append(Bar(one.name, rate, found[0].name, one.rate))
        if len(found) > 1:
            bars += [_of_stage(stage, one.at_once, strong=False) for stage in found]
        shown |= {stage.name for stage in found}
    bars += [_of_stage(stage, usual) for name, stage in stages.items() if name not in shown]
    if report.wall > 0:
        expected = report.nbytes / report.expected if report.expected > 0 else 0.0
        bars.append(Bar("whole program", report.nbytes / report.wall, "other", expected))
    return bars


def _of_stage(stage: Stage, at_once: int, *, strong: bool = True) -> Bar:
    return Bar(stage_name(stage.name), stage.nbytes * at_once / stage.seconds, stage.name, strong=strong)


def throughput(report: MergeReport) -> Element:
    """The chart of `stage_bars`."""
    bars = stage_bars(report)
    widest = max((max(bar.rate, bar.ceiling) for bar in bars if bar.strong), default=1.0) or 1.0
    widest = max(widest, *(bar.rate for bar in bars if bar.rate <= _MOST_ROOM * widest), 0.0)
    lanes = []
    for bar in bars:
        text = f"{format_rate(bar.rate)} GB/s"
        text += f" of {format_rate(bar.ceiling)}, {bar.rate / bar.ceiling:.0%}" if bar.ceiling else ""
        height = 18 if bar.strong else 12
        parts: list[Part] = [rectangle(0, min(1.0, bar.rate / widest), 2, height - 4, bar.style)]
        if bar.rate > widest:
            # A part that is far faster than anything else would leave the others no room.
            parts += [rectangle(place, place + 0.006, 0, height, "gap") for place in (0.96, 0.975)]
            text += ", off the scale"
        parts += [upright(bar.ceiling / widest, "ceiling")] if bar.ceiling else []
        lanes.append(
            lane(bar.name, text, picture(height, *parts, alt=f"{bar.name}: {text}"), "" if bar.strong else "part")
        )
    return tag("div", *lanes, class_="chart")


@dataclass(frozen=True)
class Contestant:
    """One bar of a comparison."""

    name: str
    style: str
    """"kernels", "libraries" or "copy"."""
    seconds: tuple[float, ...]
    """Every timing."""
    median: float
    nbytes: int
    share: float
    result: str = ""
    """Why it was not timed; "" if it was."""


def of_compare(report: CompareReport) -> list[Contestant]:
    """The variants, then the copy."""
    copy = ceiling(report)
    last = Contestant("copy", "copy", report.copy_seconds, copy, report.copy_nbytes, 1.0)
    return [*map(_of_row, report.rows), *([last] if copy > 0 else [])]


def of_case(rows: Sequence[BenchRow]) -> list[Contestant]:
    """The contestants of one case of a bench."""
    return [_of_row(row) for row in rows]


def _of_row(row: Measured | BenchRow) -> Contestant:
    style = ("libraries" if row.library else "kernels") if isinstance(row, Measured) else _STYLES[row.role]
    result = f"wrong: {row.problem}" if not row.right else f"not run: {row.problem}" if row.problem else ""
    return Contestant(row.name, style, row.seconds, row.median, row.nbytes, row.share_of_copy, result)


_STYLES = {"kernel": "kernels", "library": "libraries", "copy": "copy"}


def contest_chart(found: Sequence[Contestant], ceiling_rate: float) -> Element:
    """Bars of GB/s: the median; every timing as a tick, from slowest to fastest; the copy's rate as the ceiling."""
    timed = [one for one in found if one.median > 0]
    rates = [one.nbytes / seconds for one in timed for seconds in one.seconds if seconds > 0]
    widest = max([*rates, ceiling_rate]) or 1.0
    merged = [one for one in timed if one.style != "copy"]
    fastest = min(merged, key=lambda one: one.median, default=None)
    lanes = []
    for one in found:
        name: Part = one.name
        if one.median <= 0:
            text = tag("span", one.result or "not timed", class_="bad" if one.result.startswith("wrong") else "")
            lanes.append(lane(name, text, picture(22, rectangle(0, 1, 9, 3, "ground"), alt=f"{one.name}: not timed")))
            continue
        parts: list[Part] = [rectangle(0, one.nbytes / one.median / widest, 2, 18, one.style)]
        ends = [one.nbytes / seconds / widest for seconds in (max(one.seconds), min(one.seconds)) if seconds > 0]
        if len(ends) == 2:
            parts.append(rectangle(ends[0], ends[1], 10.25, 1.5, "whisker"))
        parts += [upright(one.nbytes / each / widest, "timing", "6", "16") for each in one.seconds if each > 0]
        parts += [upright(ceiling_rate / widest, "ceiling")] if ceiling_rate > 0 else []
        rate = f"{format_rate(one.nbytes / one.median)} GB/s, {one.share:.2f} of copy"
        value = f"{format_seconds(one.median)}, {rate}"
        if one is fastest:
            value += "; the fastest"
        elif fastest is not None and one.style != "copy":
            value += f"; {_beside(one, fastest)}"
        lanes.append(
            lane(name, value, picture(22, *parts, alt=f"{one.name}: {value}"), "strong" if one is fastest else "")
        )
    return tag("div", *lanes, class_="chart")


def _beside(one: Contestant, fastest: Contestant) -> str:
    if not differ(one.seconds, fastest.seconds):
        return f"not significantly slower than {fastest.name}"
    return f"{one.median / fastest.median:.2f} x {fastest.name}'s time"
