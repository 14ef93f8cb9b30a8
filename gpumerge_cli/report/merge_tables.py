"""The cells of a merge's or sort's tables, as text, for the terminal, Markdown and HTML.

Two kinds of time are kept apart: the clock's, whose parts add up to the whole program, and the workers' busy time,
which is added up over all of them and so may be more than the clock's.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.measure import COMPILE
from gpumerge_cli.results.run import AHEAD, InputFile, MergeReport
from gpumerge_cli.units import format_bytes, format_count, format_counted, format_seconds, format_throughput, visible

_MEANINGS = {
    "spool": "copy standard input",
    "decompress": "decompress inputs",
    "convert": "convert inputs",
    "search": "find the cuts",
    "compile": "compile kernels",
    "read": "read inputs",
    "index": "index rows",
    "upload": "copy to the GPU",
    "check": "check order",
    "sort": "sort pieces",
    "kernel": "merge kernel",
    "download": "copy from the GPU",
    "sum": "sum columns",
    "spill": "keep sorted runs",
    "compress": "compress output",
    "write": "write output",
}
_BOUNDS = {
    "spool": "copying standard input",
    "decompress": "decompression",
    "convert": "converting inputs",
    "search": "finding the cuts",
    "compile": "compiling",
    "plan": "planning",
    "read": "reading",
    "index": "indexing rows",
    "upload": "copies to the GPU",
    "check": "checking order",
    "sort": "sorting",
    "kernel": "merging",
    "download": "copies from the GPU",
    "sum": "summing columns",
    "spill": "keeping sorted runs",
    "compress": "compression",
    "write": "writing",
}
_MOST_TIMES = 16
"""Inputs."""


def stage_name(stage: str) -> str:
    """A stage in words."""
    return _MEANINGS.get(stage, stage)


def done(report: MergeReport) -> str:
    """The verb of the summary, in the past tense."""
    verbs = {"sort": "sorted", "dedupe": "deduplicated", "merge": "merged", "join": "joined"}
    return (verbs | dict.fromkeys(("compare", "diff"), "compared")).get(report.kind, f"{report.kind} of")


def summary(report: MergeReport) -> str:
    """The inputs and the output, in one line."""
    inputs = "1 input" if len(report.inputs) == 1 else f"{len(report.inputs)} inputs"
    output = "standard output" if report.output == "-" else visible(report.output)
    return (
        f"{done(report)} {inputs} into {output}{_in_parts(report)}: "
        f"{format_count(report.items)} items, {format_bytes(report.nbytes)}, {report.order}"
    )


def _in_parts(report: MergeReport) -> str:
    return f" in {format_counted(len(report.parts), 'part')}" if report.parts else ""


TableRow = tuple[str, str, str, str, str]
"""Name, seconds, share, bytes, throughput."""


CLOCK_HEADER: TableRow = ("whole time", "seconds", "share", "bytes", "throughput")
"""The names of `clock_cells`' columns."""


def clock_cells(report: MergeReport) -> list[TableRow]:
    """The time by the clock: the start-up with its long parts, the work, and last the whole program."""
    ahead = {name: report.elapsed(name) for name in AHEAD}
    if _compiled_ahead(report):
        ahead[COMPILE] = report.stage(COMPILE).seconds
    inside = [(f"  {stage_name(name)}", seconds, 0) for name, seconds in ahead.items() if seconds > 0]
    rows = [
        ("start-up", report.start_up, 0),
        *inside,
        ("work", report.busy, report.nbytes),
        ("whole program", report.wall, report.nbytes),
    ]
    return [_row(name, seconds, report.wall, nbytes) for name, seconds, nbytes in rows]


def busy_header(report: MergeReport) -> TableRow:
    """The names of `busy_cells`' columns."""
    if report.workers == 1:
        return ("busy, one worker", "seconds", "share", "bytes", "throughput")
    return (f"busy, all {report.workers} workers", "seconds", "share", "bytes", "per worker")


def busy_cells(report: MergeReport) -> list[TableRow]:
    """The busy time of the workers by stage, added up over all of them.

    Last come the idle rest and the sum, which is the work's time multiplied by the number of workers. These two are
    left out where more threads than workers took part in the stages.
    """
    stages = list(report.at_work)
    if report.stage(COMPILE).seconds > 0 and not _compiled_ahead(report):
        stages.insert(0, report.stage(COMPILE))
    whole = report.busy * report.workers
    rows = [_row(stage_name(stage.name), stage.seconds, whole, stage.nbytes) for stage in stages]
    rest = whole - sum(stage.seconds for stage in stages)
    if rest >= 0:
        name = "work" if report.workers == 1 else f"work x {report.workers} workers"
        rows += [_row("waiting and the rest", rest, whole, 0), _row(name, whole, whole, 0)]
    return rows


def _row(name: str, seconds: float, whole: float, nbytes: int) -> TableRow:
    moved, rate = (format_bytes(nbytes), format_throughput(nbytes, seconds)) if nbytes else ("", "")
    return name, format_seconds(seconds), f"{seconds / whole:.0%}" if whole > 0 else "", moved, rate


def _compiled_ahead(report: MergeReport) -> bool:
    """True if kernels are known to have been compiled during the start-up."""
    starts = [one.start for one in report.timeline if one.stage == COMPILE]
    return report.stage(COMPILE).seconds > 0 and min(starts, default=0.0) < report.start_up


def bound_name(report: MergeReport) -> str:
    """The bound of the run, in a word or two: "start-up", "reading"."""
    return _BOUNDS.get(report.bound, report.bound)


def bound_text(report: MergeReport) -> str:
    """The bound of the run, and its share of the time."""
    name = bound_name(report)
    if report.bound == COMPILE:
        return f"{name}, {format_seconds(report.stage(COMPILE).seconds)}, once: the result is kept"
    if report.bound == "start-up":
        start_up, work = format_seconds(report.start_up), format_seconds(report.busy)
        return f"{name}, {start_up} before the first byte, {work} of work"
    if report.bound in AHEAD:
        seconds, work = format_seconds(report.elapsed(report.bound)), format_seconds(report.busy)
        return f"{name}, {seconds} before the work, {work} of work"
    longest = next((stage.seconds for stage in report.at_work if stage.name == report.bound), 0.0)
    whole = report.busy * report.workers
    of = "the time of the work" if report.workers == 1 else f"the time of {report.workers} workers"
    return f"{name}, {longest / whole:.0%} of {of}" if whole > 0 else name


def facts(report: MergeReport) -> list[tuple[str, str]]:
    """Facts about the run by name: the device, the kernel, the reasons for them, and the bound."""
    found = [
        ("backend", f"{report.backend}: {report.device}"),
        ("why", report.backend_why),
        ("kernel", f"{report.launch}{f' ({report.launch_why})' if report.launch_why else ''}"),
        ("kernel time", _kernel_time(report)),
        (
            "chunks",
            f"{format_count(report.chunks)} of up to {format_bytes(report.chunk_bytes)}, {_in_flight(report)}",
        ),
        ("device memory", _shrunk(report)),
        *_worker_facts(report),
        ("parts", _parts(report)),
        ("dropped", _dropped(report)),
        ("columns left out", "; ".join(f"{one.left_out} of {one.name}" for one in report.inputs if one.left_out)),
        ("output", "" if report.joined is None else f"{format_counted(report.joined, 'item')}"),
        ("order", "" if report.kind in ("sort", "dedupe") else "checked" if report.checked else "not checked"),
        ("peak memory", format_bytes(report.peak_memory) if report.peak_memory else ""),
        ("bounded by", bound_text(report)),
    ]
    return [(name, value) for name, value in found if value]


def _worker_facts(report: MergeReport) -> list[tuple[str, str]]:
    """The expected and the actual figures of the run; if several kinds of workers did it, those of each kind.

    Further rows give the errors for which workers gave up.
    """
    found = []
    if report.expected > 0:
        found.append(
            ("expected", f"{format_seconds(report.expected)} by the cost model, took {format_seconds(report.wall)}")
        )
    if len(report.kinds) > 1:
        for one in report.kinds:
            alone = f"; {format_seconds(one.expected)} expected if it works alone" if one.expected > 0 else ""
            of = f"{format_counted(one.workers, 'worker')}, {one.share:.0%} of the bytes"
            found.append((one.backend, f"{of}, {one.expected_share:.0%} expected{alone}"))
    return found + [(one.name, one.note) for one in report.worker_reports if one.note]


def idle_share(report: MergeReport, name: str) -> float:
    """The share of the work's time during which no thread of the worker `name` was at any stage."""
    if report.busy <= 0:
        return 0.0
    at_work, reached = 0.0, report.start_up
    for one in sorted((one for one in report.timeline if one.lane == name), key=lambda one: one.start):
        start = max(one.start, reached)
        if one.stop > start:
            at_work += min(one.stop - start, one.seconds) if one.spans > 1 else one.stop - start
            reached = one.stop
    return min(1.0, max(0.0, 1 - at_work / report.busy))


def input_cells(files: Sequence[InputFile]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The names of the columns, and a row for each input; with its first time if the order is one of times."""
    header: tuple[str, ...] = ("input", "items", "bytes")
    rows: list[tuple[str, ...]] = [(one.name, format_count(one.items), format_bytes(one.nbytes)) for one in files]
    if any(one.first_time for one in files):
        header = (*header, "first time")
        rows = [(*row, one.first_time) for row, one in zip(rows, files, strict=True)]
    return header, rows


def first_times(files: Sequence[InputFile]) -> list[tuple[str, str]]:
    """The first inputs and how their first times were read; none if the order is not one of times."""
    if not any(one.first_time for one in files):
        return []
    rows = [(one.name, one.first_time or "no time in its first lines") for one in files[:_MOST_TIMES]]
    return rows + [("", f"and {len(files) - _MOST_TIMES} further inputs")] * (len(files) > _MOST_TIMES)


PARTS_HEADER = ("part", "items", "bytes")
"""The names of `part_cells`' columns."""


def part_cells(report: MergeReport) -> list[tuple[str, str, str]]:
    """The output's parts; none if it is one file."""
    return [(part.name, format_count(part.items), format_bytes(part.nbytes)) for part in report.parts]


def _parts(report: MergeReport) -> str:
    if not report.parts:
        return ""
    items = sorted({part.items for part in report.parts})
    of = " to ".join(map(format_count, dict.fromkeys((items[0], items[-1]))))
    return f"{format_counted(len(report.parts), 'file')} of {of} items"


def _shrunk(report: MergeReport) -> str:
    if not report.shrunk_to:
        return ""
    return f"ran out; chunks were cut into pieces of up to {format_bytes(report.shrunk_to)}"


def _dropped(report: MergeReport) -> str:
    if not report.unique:
        return f"{format_count(report.dropped)} items that are not among the wanted ones" if report.dropped else ""
    of_compare = "that share a line with equal ones, or are in no column that is shown"
    of_set = of_compare if report.kind == "compare" else f"that the {report.kind} leaves out"
    which = "that the rule for equal items leaves out" if report.kind in ("merge", "sort", "dedupe") else of_set
    return f"{format_count(report.dropped)} items {which}"


def _in_flight(report: MergeReport) -> str:
    if report.workers == 1:
        return "one at a time"
    return f"{report.workers} in flight, one a worker"


def _kernel_time(report: MergeReport) -> str:
    # A stage's seconds are added up over all workers, so they are divided by the program's seconds times the workers.
    kernel = (report.stage("sort").seconds + report.stage("kernel").seconds) / report.workers
    if kernel <= 0 or report.wall <= 0:
        return ""
    each = " per worker" if report.workers > 1 else ""
    return f"{format_seconds(kernel)}{each}, {kernel / report.wall:.1%} of the whole program"
