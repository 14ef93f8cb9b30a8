"""Reports as one HTML page each, complete in itself: no script, nothing fetched, light and dark, any width.

Charts are boxes and lines with positions in percent of the width, which the browser draws. So their text
is as large as the page's, and their colours follow the reader's theme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from xml.etree.ElementTree import Element

from gpumerge_cli.report.bars import contest_chart, of_case, of_compare, stage_bars, throughput
from gpumerge_cli.report.markup import Part, lane, listed, page, picture, rectangle, table, tag, upright
from gpumerge_cli.report.merge_tables import (
    CLOCK_HEADER,
    PARTS_HEADER,
    bound_text,
    busy_cells,
    busy_header,
    clock_cells,
    facts,
    input_cells,
    part_cells,
    summary,
)
from gpumerge_cli.report.notes import bench_notes, ceiling, compare_notes, differ, rule
from gpumerge_cli.report.origin import origin_rows
from gpumerge_cli.report.tables import (
    bench_title,
    compare_cells,
    compare_header,
    format_size,
)
from gpumerge_cli.report.timeline import idle_text, overlap_text, program, timeline, workers
from gpumerge_cli.results.compared import BenchReport, BenchRow, CompareReport, Report
from gpumerge_cli.results.run import MergeReport
from gpumerge_cli.units import format_bytes, format_count, format_counted, format_seconds, format_throughput

_OPEN_CASES = 6
"""The number of a bench's cases whose charts are open at first."""


def render(report: Report) -> str:
    """The report as a page."""
    if isinstance(report, BenchReport):
        title, parts = "gpumerge bench", _bench(report)
    elif isinstance(report, CompareReport):
        title, parts = f"gpumerge {report.command} --compare", _compare(report)
    else:
        title, parts = f"gpumerge {report.kind}", _merge(report)
    style = Path(__file__).with_name("html.css").read_text(encoding="utf-8")
    return page(title, style, [tag("h1", title), *parts, table(("origin", ""), origin_rows(report))])


def _merge(report: MergeReport) -> Iterator[Part]:
    yield tag("p", summary(report))
    yield _figures(
        (format_seconds(report.wall), "whole program"),
        (format_throughput(report.nbytes, report.wall), "of input, in the whole time"),
        (format_throughput(report.nbytes, report.busy), "of input, while streaming"),
        (format_bytes(report.peak_memory) if report.peak_memory else "-", "peak memory"),
        (report.backend, report.device),
    )
    yield tag("p", tag("b", "Bounded by "), f"{bound_text(report)}. {_against_ceilings(report)}", class_="bound")
    if report.timeline:
        yield _section(
            "What happened when",
            "The bar at the top is the whole program. The lanes below it show its work, stage by stage, with one row "
            "for each thread that was in the stage at the same moment. Shares are of the time of "
            f"{format_counted(report.workers, 'worker')}."
            + (" A pale stretch is several short ones." if any(s.spans > 1 for s in report.timeline) else ""),
            program(report),
            timeline(report),
            overlap_text(report),
            idle_text(report),
        )
    if report.timeline and report.worker_reports:
        yield _section(
            "Worker by worker",
            "A lane for each worker, with a row for each thread that was at work for it at once; gaps are idle time.",
            workers(report),
        )
    source = next((one.source for one in report.ceilings), "")
    yield _section(
        "Throughput beside the ceilings",
        "A bar shows the bytes a second that all cores, or the device, would reach if they did nothing else."
        + (f" A dashed line is the ceiling that the cost model assumes ({source})." if source else ""),
        throughput(report),
    )
    yield _section(
        "In numbers",
        "Whole times are by the clock. Busy times are sums over the workers, which work at the same time.",
        table(CLOCK_HEADER, clock_cells(report), right=range(1, 5)),
        table(busy_header(report), busy_cells(report), right=range(1, 5)),
    )
    yield table(("what", "how"), facts(report))
    yield table(*input_cells(report.inputs), right=(1, 2))
    if report.parts:
        yield table(PARTS_HEADER, part_cells(report), right=(1, 2))


def _against_ceilings(report: MergeReport) -> str:
    """The seconds of the run beside those of the cost model."""
    bars = stage_bars(report)
    texts = [
        f"{bar.name} reached {bar.rate / bar.ceiling:.0%} of its modelled ceiling"
        for bar in bars[:-1]
        if bar.ceiling > 0
    ]
    if report.expected > 0:
        took, expected = format_seconds(report.wall), format_seconds(report.expected)
        texts.append(f"the whole program took {took}, where the cost model expects {expected}")
    return _sentence("; ".join(texts)) if texts else ""


def _compare(report: CompareReport) -> Iterator[Part]:
    yield tag(
        "p",
        f"{format_count(report.items)} items ({report.order}) in {format_counted(len(report.inputs), 'input')}, "
        f"{report.backend}: {report.device}; median of {report.repeat}",
    )
    yield listed(compare_notes(report))
    copy = ceiling(report)
    yield _section(
        "Throughput beside a copy",
        _how_to_read(report.repeat, "a copy"),
        _legend(),
        contest_chart(of_compare(report), report.copy_nbytes / copy if copy > 0 else 0.0),
        _sentence(rule(report.repeat, report.repeat)),
    )
    header = compare_header(report)
    yield _section("In numbers", "", table(header, compare_cells(report), right=range(2, len(header) - 1)))
    yield table(*input_cells(report.inputs), right=(1, 2))
    yield table(("environment", ""), list(report.environment.items()))


def _bench(report: BenchReport) -> Iterator[Part]:
    yield tag("p", bench_title(report))
    yield listed(bench_notes(report))
    cases = [list(rows) for _, rows in groupby(report.rows, key=lambda row: row.case)]
    repeat = max((len(row.seconds) for row in report.rows), default=report.repeat) or report.repeat
    if len(cases) > 1:
        yield _section(
            "All cases",
            "Bars: the fastest kernel's share of the best copy. Orange: the fastest library's. Dashed: that copy.",
            _overview(cases),
        )
    yield _section("Case by case", _how_to_read(repeat, "the best copy"), _legend(), _sentence(rule(repeat, repeat)))
    for number, rows in enumerate(cases):
        first = rows[0]
        best = next((row.nbytes / row.ceiling for row in rows if row.ceiling > 0), 0.0)
        opened = {"open": ""} if number < _OPEN_CASES else {}
        yield tag("details", tag("summary", _case(first)), contest_chart(of_case(rows), best), **opened)
    yield table(("environment", ""), [*report.environment.items(), ("seed", str(report.seed))])


def _overview(cases: Sequence[Sequence[BenchRow]]) -> Element:
    timed = [row.share_of_copy for rows in cases for row in rows if row.role != "copy"]
    widest = max([1.0, *timed])
    lanes = []
    for rows in cases:
        kernel, library = (_best(rows, role) for role in ("kernel", "library"))
        if kernel is None:
            lanes.append(lane(_case(rows[0]), "no kernel was timed", picture(16, alt="nothing")))
            continue
        text = f"{kernel.name} {kernel.share_of_copy:.2f}"
        parts = [rectangle(0, kernel.share_of_copy / widest, 3, 10, "kernels"), upright(1 / widest, "ceiling")]
        if library is not None:
            parts.append(upright(library.share_of_copy / widest, "rival"))
            text += f", {library.name} {library.share_of_copy:.2f}: {_verdict(kernel, library)}"
        lost = library is not None and library.median < kernel.median and differ(kernel.seconds, library.seconds)
        lanes.append(lane(_case(rows[0]), text, picture(16, *parts, alt=text), "lost" if lost else ""))
    return tag("div", *lanes, class_="chart wide")


def _best(rows: Sequence[BenchRow], role: str) -> BenchRow | None:
    return min((row for row in rows if row.role == role and row.median > 0), key=lambda row: row.median, default=None)


def _verdict(kernel: BenchRow, library: BenchRow) -> str:
    if not differ(kernel.seconds, library.seconds):
        return "not significant"
    times = library.median / kernel.median
    return f"{times:.2f} x as fast" if times >= 1 else f"lost, {times:.2f} x"


def _case(row: BenchRow) -> str:
    return f"{row.items}, {row.shape}, {format_counted(row.runs, 'run')}, {format_size(row.size)}"


def _figures(*pairs: tuple[str, str]) -> Element:
    return tag("div", *(tag("div", tag("b", value), tag("span", name)) for value, name in pairs), class_="figures")


def _section(title: str, caption: str, *parts: Part) -> Element:
    texts = [tag("p", part, class_="quiet") if isinstance(part, str) and part else part for part in (caption, *parts)]
    return tag("section", tag("h2", title), *texts)


def _how_to_read(repeat: int, dashed: str) -> str:
    return (
        f"Bars: GB/s, read and written, at the median of {format_counted(repeat, 'timing')}. Each timing is a tick, "
        f"and the line joins the slowest with the fastest. Dashed: {dashed} of the same bytes."
    )


def _legend() -> Element:
    keys = [(tag("span", class_=f"key {name}"), name) for name in ("kernels", "libraries", "copy")]
    return tag("p", *(part for pair in keys for part in pair), class_="quiet")


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
