"""Runs a job: a merge, a set, a join, a sort, a check or questions about ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from gpumerge_cli.compiling import timed
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import Executor, JobTeam, run_pass
from gpumerge_cli.engine.inputs import Inputs, open_inputs
from gpumerge_cli.engine.job import OPERATION_KINDS, Job
from gpumerge_cli.engine.launches import policy_of
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.margins import prepared_margin, side_files
from gpumerge_cli.engine.memory import check_memory
from gpumerge_cli.engine.outcome import Outcome, sort_outcome
from gpumerge_cli.engine.output import Output, output_names
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.reading_progress import Advance, OnStage
from gpumerge_cli.engine.reporting import make_report
from gpumerge_cli.engine.resources import keep_no_freed_memory
from gpumerge_cli.engine.row_sorts import merge_of_runs, purpose_of
from gpumerge_cli.engine.steps import FoundDisorderError
from gpumerge_cli.engine.task import PartTotal
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import DeviceMemoryError, InputError, UsageError
from gpumerge_cli.formats.input import changed_error
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.output import refuse_inputs
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, FileChunk, Plan, even_edges
from gpumerge_cli.results.run import CheckReport, InputFile, MergeReport
from gpumerge_cli.shell_words import quoted
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from gpumerge_cli.engine.disorder import JoinContext
    from gpumerge_cli.engine.rank import Answers
    from gpumerge_cli.formats.format import Format
    from gpumerge_cli.order.joins import Join

    JobResult: TypeAlias = MergeReport | CheckReport | Answers
    """CheckReport for a check, Answers for questions about ranks, MergeReport for all other jobs."""


def run(
    job: Job,
    *,
    since_start: float = 0.0,
    advance: Advance | None = None,
    on_stage: OnStage | None = None,
    settle: Callable[[], None] = lambda: None,
    on_file: Callable[[InputFile | InputError], None] | None = None,
    executor: Executor = LOCAL,
) -> JobResult:
    """Do the job: merge or sort its inputs to its output, which appears whole or not at all; check; or answer.

    since_start: seconds the process had run before the call, for the report. advance: called with (bytes written, bytes
    in all) after every chunk, from any thread but one at a time; a sort counts every byte twice, once sorted and once
    merged. on_stage: called by a sort with "reading", "sorting", "merging" or "writing" as it begins with that, since
    nothing advances while all is sorted at once. settle: called once, before the output gets its name; an error after
    that must not say that there is no output. on_file: called with each file after its check, or with its error; the
    error raised for several files only counts the wrong ones then. executor: does the work; by default this process.
    Raises UsageError, InputError, DisorderError, OutputError, DeviceError, ClusterError; the output is then as it was,
    and no temporary file is left.

    Examples
    --------
    >>> import numpy as np
    >>> from gpumerge_cli import Destination, Job, run
    >>> np.save("a.npy", np.array([1, 7])), np.save("b.npy", np.array([3]))
    (None, None)
    >>> report = run(Job(("a.npy", "b.npy"), output=Destination("merged.npy")))
    >>> report.items, np.load("merged.npy").tolist()
    (3, [1, 3, 7])
    """
    _check_values(job, executor)
    if job.operation.kind == "rank":
        from gpumerge_cli.engine.rank import answer

        return answer(job, settle)
    if job.operation.kind == "check":
        from gpumerge_cli.engine.check import check_order

        return check_order(job, advance, on_file, executor)
    return _run_to_output(job, Clock(since_start), advance, on_stage, settle, executor)


def _check_values(job: Job, executor: Executor) -> None:
    """Raise UsageError for a job that only Python can make, and that would be done in another way than it says."""
    if not isinstance(job, Job):
        what = f"{type(job).__name__} is not a Job"
        raise UsageError(what, way_out="make one, gpumerge_cli.Job(('a.npy', 'b.npy'), output=...)")
    if job.operation.kind not in OPERATION_KINDS:
        what = f"{job.operation.kind!r} is not a kind of operation"
        raise UsageError(what, way_out=f"use one of {', '.join(OPERATION_KINDS)}")
    names = (*job.inputs, job.output.name)
    if isinstance(job.inputs, str) or not all(isinstance(name, str) for name in names):
        raise UsageError("names of files are strings, and inputs are a tuple", way_out="write (str(path),)")
    if job.resources.cluster is not None and executor is LOCAL:
        what = f"the job names the cluster {job.resources.cluster}, and this process is to do it"
        raise UsageError(what, way_out="use the command line for a cluster, or leave Resources.cluster out")


def _run_to_output(
    job: Job,
    clock: Clock,
    advance: Advance | None,
    on_stage: OnStage | None,
    settle: Callable[[], None],
    executor: Executor,
) -> MergeReport:
    """Run a merge, set, join or sort. See run."""
    executor.check_job(job)
    _check_before_opening(job)
    sorts = job.operation.kind == "sort"
    if sorts and job.resources.memory is not None:
        keep_no_freed_memory()
    names = output_names(job)
    with (
        timed(clock.stopwatch.add),
        open_inputs(
            job.inputs,
            job.items,
            clock.stopwatch,
            advance,
            resources=job.resources,
            outputs=(*names, *side_files(job)),
            outputs_next=_opens_output_next(job),
            alike=not job.operation.takes_others,
            copier=executor.copier(job, names[0]),
            purpose=purpose_of(job, by_ranges=executor.by_ranges),
        ) as inputs,
        ExitStack() as stack,
    ):
        advance = inputs.rest(advance)
        asked = job
        job, inputs = _prepared(job, inputs)
        if inputs.is_sorted:
            job, sorts = merge_of_runs(job), False
        selects = asked.operation.selects
        parts = [] if sorts or selects else _parts(job, inputs, clock)
        output = Output(names, inputs, job, _sizes(parts, inputs, len(names)))
        try:
            team = executor.team(job, inputs, clock, output)
            running = _Running(job, inputs, output, team, clock, advance, on_stage)
            outcome = running.done(parts, stack, sorts=sorts)
            output.finish(outcome, durable=job.output.durable)
            settle()
            output.commit(durable=job.output.durable)
        except BaseException:
            output.abort()
            raise
        return make_report(asked, team, inputs, output, outcome, clock, [part.lengths for part in parts])


def _opens_output_next(job: Job) -> bool:
    """Whether nothing is searched or read between opening the inputs and the output."""
    operation = job.operation
    cuts = operation.ranks is not None or operation.keys is not None or job.output.parts is not None
    return not cuts and operation.join is None and operation.margin is None and not is_url(job.output.name)


def _check_before_opening(job: Job) -> None:
    """Raise an error for what is wrong with the job whatever its inputs hold."""
    if job.operation.kind != "sort" or job.operation.keep_order:
        refuse_inputs(job.output.name, job.inputs)
    if job.operation.selects:
        from gpumerge_cli.engine.selection import Selection

        Selection.of(job.operation)
    if job.operation.keep_order:
        from gpumerge_cli.engine.first_seen import check_kept

        check_kept(job)
    if job.operation.join is not None:
        from gpumerge_cli.engine.joining import check_joined

        check_joined(job)


def _prepared(job: Job, inputs: Inputs) -> tuple[Job, Inputs]:
    """The job and the inputs as they are worked on. Raises UsageError or InputError if they do not go together."""
    operation = job.operation
    if operation.join is not None:
        from gpumerge_cli.engine.joining import prepared

        job, inputs = prepared(job, inputs)
    if operation.margin is not None:
        margin, inputs = prepared_margin(operation.margin, inputs, operation.equals)
        if operation.turned:
            margin = margin.of_runs(range(len(inputs.sources))[::-1])
        operation = replace(operation, margin=margin)
        job = replace(job, operation=operation)
    check_memory(job, inputs)
    return job, replace(inputs, sources=inputs.sources[::-1]) if operation.turned else inputs


def _parts(job: Job, inputs: Inputs, clock: Clock) -> list[Chunk]:
    """The parts of the inputs that the output's parts are the merges of; none if it is one file with all items."""
    if job.operation.ranks is None and job.operation.keys is None and job.output.parts is None:
        return []
    with clock.stopwatch.span("search"):
        chunk = None
        if job.operation.keys is not None:
            from gpumerge_cli.engine.key_interval import chunk_within

            chunk = chunk_within(inputs, job.operation.keys)
        if job.operation.ranks is not None:
            from gpumerge_cli.engine.ranks import merge_ranks

            chunk = merge_ranks(inputs, job.resources.threads).chunk(
                job.operation.ranks.start, job.operation.ranks.stop
            )
        if chunk is not None and job.output.parts is None:
            return [chunk]
        return Pass.of(job, "merge", inputs, NullWriter()).planner.parts(job.output.parts or 1, chunk)


def _sizes(parts: Sequence[Chunk], inputs: Inputs, number: int) -> list[int]:
    """The bytes of each of the output's files. A sort has none cut yet, so its files are taken to be even."""
    if parts:
        return [part.nbytes for part in parts]
    edges = even_edges(inputs.nbytes, max(1, inputs.order.item_bytes), number)
    return [high - low for low, high in pairwise(edges)]


@dataclass(frozen=True)
class _Running:
    """A job whose inputs and output are open, and whose workers are chosen."""

    job: Job
    inputs: Inputs
    output: Output
    team: JobTeam
    clock: Clock
    advance: Advance | None
    on_stage: OnStage | None

    def done(self, parts: Sequence[Chunk], stack: ExitStack, *, sorts: bool) -> Outcome:
        """Merge or sort the inputs to the output, or leave them in their order. parts, stack: see merge and sort."""
        if self.job.operation.keep_order:
            return self.keep()
        if self.inputs.is_sorted and self.job.operation.ranks is not None:
            outcome = self.write_runs(self.pass_of_runs(), stack)
            outcome.counts += [0] * (len(self.inputs.sources) - len(outcome.counts))
            return outcome
        return self.sort(stack) if sorts else self.merge(parts)

    def keep(self) -> Outcome:
        """Write the items that remain of equal ones, in the order of the inputs."""
        inputs = self.inputs
        everything = Chunk(tuple((0, source.size) for source in inputs.sources), 0)
        work = Pass.of(self.job, "first seen", inputs, self.output.writer(planned=False))
        outcome = self._outcome(replace(work, pieces=[everything], advance=self.advance))
        for source in inputs.sources:
            source.check_unchanged()
        return outcome

    def merge(self, parts: Sequence[Chunk]) -> Outcome:
        """Merge the inputs to the output. parts: of them, one for each part of the output."""
        inputs, operation = self.inputs, self.job.operation
        writer = self.output.writer(planned=operation.keeps_sizes)
        work = replace(Pass.of(self.job, "merge", inputs, writer), parts=parts, advance=self.advance)
        outcome = self._summed(work)
        if outcome.rest is not None:
            outcome = self._go_on(work, outcome, outcome.rest)
        if operation.margin is not None and operation.margin.total is not None:
            line = operation.margin.last_line(outcome.counts, outcome.dropped)
            if operation.margin.columns_apart:
                from logging import getLogger  # not on the way of other jobs

                getLogger("gpumerge").warning("gpumerge: %s", line.decode())
            else:
                self.output.end_with(line + inputs.order.end, outcome)
        for source in inputs.sources:
            source.check_unchanged()
        return outcome

    def _go_on(self, merged: Pass, outcome: Outcome, rest: Chunk) -> Outcome:
        """Merge what a lenient pass has left, whatever its order."""
        from gpumerge_cli.engine.heads import combined_outcome

        writer = self.output.writer(planned=self.job.operation.keeps_sizes, start=rest.offset)
        work = replace(merged, action="heads", writer=writer, pieces=[rest])
        return combined_outcome(outcome, self._outcome(work))

    def sort(self, stack: ExitStack) -> Outcome:
        """Sort the inputs to the output. stack: closes at the end what must stay open until then."""
        inputs = self.inputs
        runs = self.team.runs(inputs, stack, at_once=True)
        if runs.work.action == "whole":
            try:
                return self._sorted(runs.work, self.advance)
            except DeviceMemoryError:
                runs = self.team.runs(inputs, stack, at_once=False)
        self._say("sorting")
        selects = runs.work.action == "select"
        made = self._sorted(runs.work, self.advance if selects else self._half(0))
        for source in inputs.sources:
            source.check_unchanged()  # not later: what is written may go to one of them
        sources = runs.sources()
        if not sources:
            return replace(made, written=0, dropped=sum(made.counts), per_part={}) if selects else made
        self._say("merging")
        work = replace(
            self.pass_of_runs(),
            sources=sources,
            origins=runs.origins,
            advance=None if selects else self._half(inputs.nbytes),
        )
        written = sort_outcome(made, self.write_runs(work, stack))
        if selects:
            written.dropped = sum(made.counts) - sum(part.items for part in written.per_part.values())
        return written

    def pass_of_runs(self) -> Pass:
        """The pass that merges sorted runs to the output."""
        return Pass.of(self.job, "merge", self.inputs, self.output.writer(planned=self.job.operation.keeps_sizes))

    def write_runs(self, work: Pass, stack: ExitStack) -> Outcome:
        """Merge runs to the output, or the part of them that the job writes. stack: see `sort`."""
        operation, chunk = self.job.operation, None
        if operation.ranks is not None:
            from gpumerge_cli.engine.selecting import wanted_of_runs

            work, chunk = wanted_of_runs(work, self.inputs, self._outcome, stack)
        if len(self.output.sinks) > 1 or chunk is not None:
            work = replace(work, parts=work.planner.parts(len(self.output.sinks), chunk))
        if operation.keeps_sizes and (work.parts or operation.ranks is not None):
            self.output.reserve([part.nbytes for part in work.parts] or [work.nbytes])
        return self._summed(work)

    def _sorted(self, work: Pass, advance: Advance | None) -> Outcome:
        """Do a pass that sorts pieces of the inputs."""
        work = replace(work, advance=advance, on_stage=self.on_stage)
        return self._outcome(work, waits=work.action in ("sort", "select"))

    def _summed(self, work: Pass) -> Outcome:
        """The outcome of a pass that writes the output, with the last group of a sum."""
        margin = self.job.operation.margin
        if margin is None or margin.rules is None:
            return self._outcome(work)
        from gpumerge_cli.engine.sum_faults import sum_error  # not on the way of other jobs
        from gpumerge_cli.engine.sum_writer import InvalidSumError, SummedRowWriter, SumWriter

        try:
            outcome = self._outcome(work)
            assert isinstance(work.writer, SumWriter | SummedRowWriter), "the output chose it"
            last = work.writer.end()
            outcome.written += last
            outcome.per_part.setdefault(0, PartTotal()).nbytes += last
        except InvalidSumError as found:
            raise sum_error(found, margin.rules, self.inputs) from None
        return outcome

    def _outcome(self, work: Pass, *, waits: bool = False) -> Outcome:
        """The outcome of a pass. waits: even if the output is a pipe. Raises InputError for the first item at fault."""
        try:
            return run_pass(work, self.team.ready(work), self.clock, waits=waits or self.output.seekable)
        except FoundDisorderError as found:
            raise _first_disorder(work, found.source, self.inputs.layout.format) from None

    def _say(self, stage: str) -> None:
        if self.on_stage is not None:
            self.on_stage(stage)

    def _half(self, ahead: int) -> Advance | None:
        """Takes the progress of one of two passes over all bytes. ahead: bytes of the passes ahead of it."""
        advance = self.advance
        return None if advance is None else lambda done, total: advance((ahead + done) // 2, total)


def _first_disorder(work: Pass, number: int, format: Format) -> InputError:
    """The error for the first disorder or invalid key in a source of a pass. format: of the first input."""
    from gpumerge_cli.engine.check import disorder_of
    from gpumerge_cli.order.joins import Join

    join = _joining(work, number, work.join, format) if isinstance(work.join, Join) else None
    return disorder_of(work, number, join) or changed_error(work.sources[number].name)


def _joining(work: Pass, number: int, join: Join, format: Format) -> JoinContext:
    """The other source of a join, for messages on the source `number`."""
    from gpumerge_cli.engine.disorder import JoinContext

    items = work.job.items
    header = items.header_lines > 0 or items.header_prefix != b""
    names = _names_of_fields(work, join, format) if header else []

    def proposal(order: Order) -> str:
        return join.proposal(order.text.keys if order.text is not None else (), names)

    options = [f"--header-prefix {quoted(os.fsdecode(items.header_prefix))} "] * (items.header_prefix != b"")
    options += ["--header 1 "] * (items.header_lines > 0)
    command = f"gpumerge sort {''.join(options)}{join.sorting(number)}"
    return JoinContext(command, (work.sources[1 - number], work.order_of(1 - number)), proposal)


def _names_of_fields(work: Pass, join: Join, format: Format) -> list[Sequence[bytes]]:
    """The names that the headers of A and B give to fields; [] if they give none."""
    headers = [source.first_line for source in work.sources if isinstance(source, LineSource) and source.header]
    names = [format.header_names((header or b"").rstrip(b"\r"), join) for header in headers]
    return names if len(names) == len(work.sources) and all(names) else []


def plan_files(job: Job) -> Plan[FileChunk]:
    """The plan that a merge would follow. Opens and probes the inputs; writes nothing. Raises as run."""
    from gpumerge_cli.engine.file_places import FilePlaces

    LOCAL.check_job(job)
    with open_inputs(job.inputs, job.items, resources=job.resources) as inputs:
        team = LOCAL.team(job, inputs, Clock())
        work = Pass.of(job, "merge", inputs, NullWriter())
        backend = team.backend
        chunk_bytes = team.chunk_budget(work, 1.0, backend, policy_of(backend, work)).chunk_bytes
        places = FilePlaces(inputs)
        spans = work.planner.spans(chunk_bytes)
        return Plan(tuple(places.piece(chunk) for (span,) in spans for chunk in span), places.in_rows)
