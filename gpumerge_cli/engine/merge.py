"""Merge files: judge the request, choose the workers, have them do the tasks, report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli.backends import select
from gpumerge_cli.backends.base import Backend
from gpumerge_cli.backends.select import Choice, choose
from gpumerge_cli.compiling import timed
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.hiring import Hired, hire
from gpumerge_cli.engine.inputs import Inputs, judge_memory, opened
from gpumerge_cli.engine.joining import prepared
from gpumerge_cli.engine.machines import Machines
from gpumerge_cli.engine.margins import by_cpu, counts_of, judge_margin, judge_place
from gpumerge_cli.engine.output import Output, output_names
from gpumerge_cli.engine.reporting import Clock, Ran, report
from gpumerge_cli.engine.request import MergeRequest
from gpumerge_cli.engine.resources import Shares, cores, default_memory, shares, with_room_for
from gpumerge_cli.engine.site import Site, work_of
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.stream import Advance, Outcome, merge
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import changed_error
from gpumerge_cli.formats.line_source import BOM, LineSource
from gpumerge_cli.formats.output import refuse_inputs
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order import Order
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.joins import Join
from gpumerge_cli.plan import Chunk, Plan, Planner, plan_in_spans
from gpumerge_cli.report.model import MergeReport, OutputPart

if TYPE_CHECKING:
    from gpumerge_cli.engine.disorder import Joining

_BY_CPU = "auto has the CPU make sets and counts"


def merge_files(
    request: MergeRequest,
    *,
    since_start: float = 0.0,
    advance: Advance | None = None,
    settle: Callable[[], None] = lambda: None,
    machines: Machines | None = None,
) -> MergeReport:
    """Merge the inputs of `request` to its output, which appears whole or not at all.

    since_start: seconds the process had run before the call, for the report. advance: called with (bytes written, bytes
    in all) after every chunk, from any thread but one at a time. settle: called once, before the output takes its
    place; an error after that must not say that there is no output. machines: do the work in place of this one. Raises
    UsageError, InputError, DisorderError, OutputError, DeviceError, ClusterError; the output is then as it was.
    """
    clock = Clock(since_start)
    stopwatch = Stopwatch(clock.called - since_start)
    refuse_inputs(request.output, request.inputs)
    names = output_names(request.output, request.parts)
    outputs, alike = (*names, *counts_of(request)), request.join is None
    copier = None if machines is None else machines.copier(names[0], request.items.folders, request.on)
    with (
        timed(stopwatch.add),
        opened(
            request.inputs, request.items, stopwatch, advance, outputs=outputs, alike=alike, copier=copier
        ) as inputs,
    ):
        advance = inputs.rest(advance)
        request, inputs = _judged(request, inputs, by_cluster=machines is not None)
        judge_memory(inputs, _memory(request))
        parts = _parts(request, inputs, stopwatch)
        sizes = [part.nbytes for part in parts] or [inputs.nbytes]
        choice = _choice(request, inputs, sum(sizes)) if machines is None else Choice(None, (), machines.why)
        known = sizes if request.equals.keeps_all else None
        output = Output(names, inputs, known, request.on.threads, request.margin)
        try:
            site = _site(request, inputs, output, parts)
            if machines is None:
                hired = hire(site, choice, partial(_fed, request, inputs, sum(sizes)))
            else:
                site = site if parts else replace(site, grid=output.grid)
                _take_room(request, output, sizes, by_threads=False)  # workers are told whether files are mapped
                hired = machines.hire(site, output, request.on, request.memory, request.durable)
            if hired.station is not None:
                hired.station.warm_up()
            clock.start()
            if machines is None:
                _take_room(request, output, sizes, by_threads=hired.station is None)
            outcome = _merged(site, hired, stopwatch, advance, memory=_memory(request), waits=output.seekable)
            if outcome.rest is not None:
                from gpumerge_cli.engine.heads import merge_heads

                merge_heads(site, output.sinks[0], outcome, _memory(request), stopwatch, advance)
            _end(request, inputs, output, outcome)
            for source in inputs.sources:
                source.check_unchanged()
            output.finish(outcome, durable=request.durable)
            settle()
            output.commit(durable=request.durable)
        except BaseException:
            output.abort()
            raise
        told = output.parts(outcome) if request.parts is not None else ()
        ran = _ran(request, choice, parts, told)
        if request.join is not None:  # an item may go out more than once, so none counts as dropped
            ran, outcome.dropped = replace(ran, joined=sum(outcome.counts) - outcome.dropped), 0
        measured = report(ran, inputs, outcome, stopwatch, clock)
        return replace(measured, inputs=measured.inputs[::-1]) if request.turned else measured


def _judged(request: MergeRequest, inputs: Inputs, *, by_cluster: bool) -> tuple[MergeRequest, Inputs]:
    """The request and the inputs as they are merged. Raises UsageError or InputError if they do not go together."""
    if request.join is not None:
        request, inputs = prepared(request, inputs)
    judge_margin(request.margin, inputs)
    if request.by_groups:
        judge_place(by_cluster=by_cluster, backend=request.on.backend, why=by_cpu(request))
    return request, replace(inputs, sources=inputs.sources[::-1]) if request.turned else inputs


def _ran(request: MergeRequest, choice: Choice, parts: Sequence[Chunk], told: tuple[OutputPart, ...]) -> Ran:
    """The run, as its report tells it. parts: of the inputs. told: the output's parts."""
    return Ran(
        request.kind or request.equals.name_of_set,
        request.output,
        not request.equals.keeps_all and request.join is None,
        request.check or request.lenient,
        choice.why,
        choice.expected,
        told,
        sizes=tuple(map(sum, zip(*(part.lengths for part in parts), strict=True))),
    )


def _choice(request: MergeRequest, inputs: Inputs, nbytes: int) -> Choice:
    on = request.on
    if request.by_groups:
        why = by_cpu(request)
        judge_place(by_cluster=False, backend=on.backend, why=why)
        if on.backend == "auto":  # no GPU has been measured on sets of files
            chosen = choose("cpu", None, inputs.order, nbytes, threads=on.threads, sharing=on.sharing)
            return replace(chosen, why=why or _BY_CPU)
    return choose(on.backend, on.devices, inputs.order, nbytes, threads=on.threads, sharing=on.sharing)


def _take_room(request: MergeRequest, output: Output, sizes: list[int], *, by_threads: bool) -> None:
    """Take the output's room ahead, as far as it is known. by_threads: threads of this process alone write it."""
    if request.equals.keeps_all:
        output.reserve(sizes)
        if by_threads:
            output.populate()
    elif request.equals is Equals.UNION and request.margin is None:
        output.reserve_most(sizes)


def _end(request: MergeRequest, inputs: Inputs, output: Output, outcome: Outcome) -> None:
    """Write the line of totals behind all items, if there is one."""
    if request.margin is not None and request.margin.total is not None:
        output.end_with(request.margin.last_line(outcome.counts, outcome.dropped, inputs.order.end[0]), outcome)


def _parts(request: MergeRequest, inputs: Inputs, stopwatch: Stopwatch) -> list[Chunk]:
    """The parts of the inputs that the output's parts are the merges of; none if it is one file with all items.

    stopwatch: what takes the span "search" of finding them.
    """
    if request.ranks is None and request.parts is None:
        return []
    with stopwatch.span("search"):
        chunk = None
        if request.ranks is not None:
            from gpumerge_cli.engine.ranks import ranks_of

            chunk = ranks_of(inputs, request.on.threads).chunk(request.ranks.start, request.ranks.stop)
        if chunk is not None and request.parts is None:
            return [chunk]
        return Planner(inputs.sources, inputs.order, groups=request.by_groups).parts(request.parts or 1, chunk)


def _site(request: MergeRequest, inputs: Inputs, output: Output, parts: Sequence[Chunk]) -> Site:
    work = replace(
        work_of(inputs, request.items, "merge", request.on.launch),
        equals=request.equals,
        check=request.check or request.lenient,
        margin=request.margin,
        join=request.join,
    )
    lenient = request.lenient and request.parts is None
    return Site(work, inputs.sources, output.outlet(request.equals), lenient, parts)


def _merged(
    site: Site, hired: Hired, stopwatch: Stopwatch, advance: Advance | None, *, memory: int, waits: bool
) -> Outcome:
    try:
        return merge(site, hired, stopwatch, advance, waits=waits)
    except FoundDisorderError as found:
        raise _first_disorder(site, found, hired, memory) from None


def _first_disorder(site: Site, found: FoundDisorderError, hired: Hired, memory: int) -> InputError:
    """The error for the first disorder in a source. It is searched again, since chunks meet disorder in any order."""
    from gpumerge_cli.engine.check import Search

    backend = hired.station.backend if hired.station is not None else select.host()
    threads = hired.station.shares.workers if hired.station is not None else cores()
    join = _joining(site, found.source, site.work.join) if isinstance(site.work.join, Join) else None
    error = Search(backend, threads, memory=memory).error_in(
        site.sources[found.source], site.order_of(found.source), beside=lambda: site.sources, join=join
    )
    return changed_error(site.sources[found.source].name) if error is None else error


def _joining(site: Site, number: int, join: Join) -> Joining:
    """The other source of a join, for messages on the source `number`."""
    from gpumerge_cli.engine.disorder import Joining

    header = site.work.items.header_lines > 0
    headers = [source.header.removeprefix(BOM) for source in site.sources if isinstance(source, LineSource)]
    headers = [line.rstrip(b"\r\n") for line in headers] if header and site.work.items.csv else []

    def said(order: Order) -> str:
        return join.said(order.text.keys if order.text is not None else (), headers)

    command = f"gpumerge sort{' --header 1' * header} {join.sorting(number)}"
    return Joining(command, (site.sources[1 - number], site.order_of(1 - number)), said)


def plan_files(request: MergeRequest) -> Plan:
    """The plan that merge_files would follow. Opens and probes the inputs; writes nothing. Raises as merge_files."""
    with opened(request.inputs, request.items) as inputs:
        choice = _choice(request, inputs, inputs.nbytes)
        backend = choice.host() if choice.host is not None else choice.devices[0].create()
        chunk_bytes = _fed(request, inputs, inputs.nbytes, backend, 1.0).chunk_bytes
        return plan_in_spans(inputs.sources, inputs.order, chunk_bytes, groups=request.by_groups)


def _memory(request: MergeRequest) -> int:
    return default_memory() if request.memory is None else request.memory


def _fed(request: MergeRequest, inputs: Inputs, nbytes: int, backend: Backend, share: float) -> Shares:
    """The hands and chunks for a backend that may take this share of the memory. nbytes: all that is merged."""
    pace = backend.pace(inputs.order, len(inputs.sources), inputs.item_bytes)
    memory = int(share * _memory(request))
    chosen = shares(pace, nbytes, len(inputs.sources), request.on.threads, memory, request.device_memory)
    return with_room_for(inputs.order.item_bytes, chosen, memory)
