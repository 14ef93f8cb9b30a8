"""Checks of the order of files: whether each is in order, and where it first is not."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli import __version__
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.clock import Clock
from gpumerge_cli.engine.executor import Executor, JobTeam, run_pass
from gpumerge_cli.engine.faults import fault_error
from gpumerge_cli.engine.headers import lines_of_header, same_headers
from gpumerge_cli.engine.inputs import Inputs, layouts_of, open_inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.memory import check_memory
from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.reading_progress import Advance, is_packed
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import DisorderError, GpumergeError, InputError, UsageError, lack_of_descriptors
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.format import Purpose
from gpumerge_cli.formats.input import changed_error
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.naming import check_input, known_size
from gpumerge_cli.formats.ranges import RangedSource, item_sources
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, item_blocks
from gpumerge_cli.results.origin import origin_now
from gpumerge_cli.results.run import CheckReport, InputFile
from gpumerge_cli.urls import is_url

if TYPE_CHECKING:
    from typing import Literal

    from gpumerge_cli.engine.disorder import JoinContext
    from gpumerge_cli.engine.header_union import HeaderLine
    from gpumerge_cli.formats.items import Items

_MOST_SAMPLED = 16
"""Other files that are sampled for each file that is out of order."""


def check_order(
    job: Job,
    advance: Advance | None = None,
    on_file: Callable[[InputFile | InputError], None] | None = None,
    executor: Executor = LOCAL,
) -> CheckReport:
    """Check every input by itself. See engine.run.run."""
    started = time.perf_counter()
    files: list[InputFile] = []
    wrong: list[InputError] = []
    for found in check_each(job, advance, executor):
        if isinstance(found, InputFile):
            files.append(found)
        else:
            wrong.append(found)
        if on_file is not None and (len(job.inputs) > 1 or not wrong):
            on_file(found)
    if wrong:
        raise _final_error(wrong, len(job.inputs), reported=on_file is not None)
    items, nbytes = sum(file.items for file in files), sum(file.nbytes for file in files)
    seconds = time.perf_counter() - started
    return CheckReport(tuple(files), items, nbytes, seconds, __version__, origin_now(job.description))


def _final_error(wrong: Sequence[InputError], checked: int, *, reported: bool) -> GpumergeError:
    """The error that ends a check of `checked` files. reported: each of the errors `wrong` has been printed already."""
    disorders = sum(isinstance(error, DisorderError) for error in wrong)
    first, unread = wrong[0], len(wrong) - disorders
    error: GpumergeError = first
    if checked > 1:
        of_files, counts = f" of {checked} files", []
        if disorders:
            counts.append(f"{disorders}{of_files} {'is' if disorders == 1 else 'are'} out of order")
        if unread:
            counts.append(f"{unread}{of_files if not counts else ''} could not be checked")
        error = GpumergeError("; ".join([", ".join(counts), *([] if reported else [str(first)])]))
    error.exit_code = 2 if unread else 1
    return error


def check_each(
    job: Job, advance: Advance | None = None, executor: Executor = LOCAL
) -> Iterator[InputFile | InputError]:
    """Check every input by itself: for each in turn the input as it was read, or what is wrong with it.

    An error is the DisorderError of the first disorder, or the InputError that kept the input from being read. Raises
    UsageError before it reads any input if the inputs and the items of the job do not go together.
    advance: called from any thread with (bytes done, bytes in all), those of the files as they lie on the disk; what it
    raises ends the check. executor: does the work; by default this process.
    """
    inputs, items = job.inputs, job.items
    headers = _KnownHeader(items)
    layouts = layouts_of(inputs, items)
    if items.schema != "same" and layouts[0].format.names_in_header:
        from gpumerge_cli.formats.kinds.lookup import columns_of_all

        items = replace(items, columns=columns_of_all(layouts[0].format, inputs, items))
    sizes = [known_size(name) for name in inputs] if advance is not None else []
    copier = executor.copier(job, "")
    purpose = Purpose(by_ranges=executor.by_ranges, only_checks=job.operation.equals.keeps_all)
    troubles = _troubles(inputs)
    for at, name in enumerate(inputs):
        if name in troubles:
            yield troubles[name]
            continue

        def of_file(done: int, total: int, at: int = at) -> None:
            if advance is not None:
                advance(sum(sizes[:at]) + sizes[at] * done // max(1, total), sum(sizes))

        try:
            with (
                open_inputs((name,), items, resources=job.resources, copier=copier, purpose=purpose) as one,
                ExitStack() as stack,
            ):
                others = partial(_others, (*inputs[:at], *inputs[at + 1 :]), job, one.order, stack)
                files = replace(one, others=others)
                headers.check(files)
                counts = raise_disorder(replace(job, inputs=(name,)), files, of_file, executor)
                (checked,) = files.files(counts)
        except InputError as error:
            yield _of_its_file(error)
        else:
            yield checked


@dataclass
class _KnownHeader:
    """The header of the first of several files that are checked one after the other, by which columns have names."""

    items: Items
    header: tuple[str, bytes] | None = None
    columns: Sequence[HeaderLine] = ()
    """The last line of a header that may differ in others."""

    def check(self, inputs: Inputs) -> None:
        """Raise InputError if the file's header differs where all must have the same."""
        (source,) = inputs.sources
        if not inputs.layout.format.names_in_header or not isinstance(source, LineSource) or not source.header_count:
            return
        if self.items.headers == "first" and not self.items.by_name:
            return
        if self.items.header_prefix:
            from gpumerge_cli.engine.header_columns import columns_way_out
            from gpumerge_cli.engine.header_union import union_of

            columns = lines_of_header(source, inputs.written)[-1:]
            way_out = partial(columns_way_out, layout=inputs.layout)
            union_of([self.columns, columns], b"", has_names=True, way_out=way_out)
            self.columns = self.columns or columns
        elif self.items.by_name and self.items.headers != "identical":
            from gpumerge_cli.engine.header_columns import check_columns

            columns = lines_of_header(source, inputs.written)[-1:]
            check_columns([*self.columns, *columns], inputs.layout)
            self.columns = self.columns or columns
        elif self.items.headers == "identical":
            header = source.name, inputs.shown_header(source)
            same_headers([self.header or header, header], inputs.layout)
            self.header = self.header or header


def _of_its_file(error: InputError) -> InputError:
    """The error. Raises another one if no file is at fault."""
    lack = lack_of_descriptors(error)
    if lack is not None:
        raise lack from error
    return error


def _others(names: Sequence[str], job: Job, order: Order, stack: ExitStack) -> Sequence[Source] | None:
    """See Inputs.others. They are opened until the stack closes; None as well where that could take a while."""
    if not names:
        return ()
    if len(names) > _MOST_SAMPLED or not all(map(os.path.isfile, names)):
        return None
    try:
        if any(map(is_packed, names, layouts_of(names, job.items))):
            return None
        others = stack.enter_context(open_inputs(names, job.items, resources=job.resources, silent=True))
    except (InputError, UsageError):
        return None
    return others.sources if others.order == order else None


def _troubles(names: Sequence[str]) -> dict[str, InputError]:
    """The names that cannot be read, and why. If there are any, pipes are among them: reading one may never end."""
    troubles: dict[str, InputError] = {}
    for name in names:
        try:
            check_input(name)
        except InputError as error:
            troubles[name] = _of_its_file(error)
    for name in names if troubles else ():
        if name not in troubles and not is_url(name) and not os.path.isfile(name):
            troubles[name] = InputError(
                "not checked, since it may have no end and another input cannot be read",
                where=name,
                way_out="give only inputs that are there",
            )
    return troubles


def raise_disorder(job: Job, inputs: Inputs, advance: Advance | None = None, executor: Executor = LOCAL) -> list[int]:
    """The items of each opened input of the job. Raises DisorderError at the first disorder of the first that has one.

    advance, executor: see check_each.
    """
    check_memory(job, inputs)
    check, clock = _check_of(job), Clock()
    team = executor.team(check, inputs, clock)
    search = DisorderSearch(check, team, clock, inputs.mean_bytes)
    counts = []
    for source in inputs.sources:
        found = search.outcome(source, inputs.order, advance)
        source.check_unchanged()
        if found.disorder is not None and isinstance(source, RangedSource):
            raise disorder_of(Pass.of(check, "check", inputs, NullWriter()), 0) or changed_error(source.name)
        if found.disorder is not None:
            raise search.error(source, inputs.order, found.disorder, others=inputs.all_sources())
        counts += found.counts
    return counts


def _check_of(job: Job) -> Job:
    """The check of a job's inputs. Equal items are in order unless the job is a check that says otherwise."""
    if job.operation.kind == "check":
        return job
    return replace(job, operation=replace(job.operation, kind="check", equals=Equals.ALL, margin=None, join=None))


@dataclass(frozen=True)
class DisorderSearch:
    """Searches for the first item of a source that sorts before the one ahead of it."""

    job: Job
    """A check."""
    team: JobTeam
    """Checks blocks of the source, all at once."""
    clock: Clock
    mean_bytes: float
    """Bytes of an item on average."""

    def outcome(
        self, source: Source, order: Order, advance: Advance | None = None, action: Literal["check", "values"] = "check"
    ) -> Outcome:
        """The outcome of a search in one source. advance: called with (bytes done, bytes in all). action: see Pass."""
        blocks = item_blocks(source, self.team.block_bytes(source, order))
        pieces = [Chunk((block,), block[0]) for block in blocks]
        work = Pass(self.job, action, (source,), order, self.mean_bytes, NullWriter(), pieces=pieces, advance=advance)
        if not pieces:
            return Outcome(counts=[0])
        if advance is not None:  # what ends the check need not wait for the first block
            advance(0, source.size)
        return run_pass(work, self.team.ready(work), self.clock)

    def error(
        self,
        source: Source,
        order: Order,
        offset: int,
        *,
        others: Sequence[Source] | None = (),
        join: JoinContext | None = None,
    ) -> InputError:
        """The error for the first disorder or invalid key of a source, which lies at `offset`.

        others, join: see disorder_error.
        """
        fault = fault_error(source, offset, order, joined=join is not None)
        if fault is not None:
            return fault
        unique = not self.job.operation.equals.keeps_all
        named = self.job.operation.name != "compare"
        from gpumerge_cli.engine.disorder import disorder_error  # which loads more, for messages alone

        return disorder_error(source, offset, order, partial(self._first_in, source), unique=unique, others=others,
                              join=join, named=named)  # fmt: skip

    def _first_in(self, source: Source, order: Order) -> int | None:
        return self.outcome(source, order).disorder


def disorder_of(work: Pass, number: int, join: JoinContext | None = None) -> InputError | None:
    """The error for the first invalid key of a source of a pass, or else for its first disorder; None without either.

    It is searched again, since tasks meet disorder in any order.
    """
    if any(isinstance(source, RangedSource) for source in work.sources):
        with ExitStack() as stack:
            made = item_sources(work.sources)
            for source in made:
                stack.callback(source.close)
            return disorder_of(replace(work, sources=made), number, join)
    source, order = work.sources[number], work.order_of(number)
    check, clock = _check_of(work.job), Clock()
    job = replace(check, resources=replace(check.resources, backend="cpu", cluster=None))
    search = DisorderSearch(job, LOCAL.host(job), clock, work.mean_bytes)
    found = search.outcome(source, order, action="values").disorder if order.checks_values else None
    if found is None and not work.sorts:
        found = search.outcome(source, order).disorder
    return None if found is None else search.error(source, order, found, others=work.sources, join=join)
