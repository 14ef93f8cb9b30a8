"""Runs jobs, alone or in a batch."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError, OutputError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.cli.options.groups import ShownOptions
    from gpumerge_cli.engine.executor import Executor
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.results.run import InputFile, JobReport


@dataclass(frozen=True)
class Progress:
    """The functions to which a job reports its progress. See engine.run."""

    advance: Callable[[int, int], None] | None = None
    on_stage: Callable[[str], None] | None = None


@contextmanager
def progress_bar(wanted: bool) -> Iterator[Progress]:
    """A progress bar, if one is wanted and can be shown."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield Progress()
        return
    from gpumerge_cli.cli.progress import bar

    with bar() as shown:
        yield Progress(shown.advance, shown.stage)


def wants_bar(job: Job, options: ShownOptions) -> bool:
    """Whether a job's progress is shown: not beside items that a user types, or that leave through a descriptor.

    Such items may be on the terminal, or another program that shows them may, as a pager.
    """
    if options.quiet or not options.progress:
        return False
    typed = "-" in job.inputs and sys.stdin is not None and sys.stdin.isatty()
    return not typed and (job.operation.kind == "check" or _is_file(job.output.name))


def _is_file(name: str) -> bool:
    """Whether an output is a file, under its name or as the descriptor that the name stands for."""
    from gpumerge_cli.formats.output_stream import descriptor_named

    try:
        number = descriptor_named(name)
        return number is None or stat.S_ISREG(os.fstat(number).st_mode)
    except (AttributeError, OSError, ValueError):  # no standard output, or one without a descriptor
        return False


def run_job(
    job: Job,
    *,
    report: str | None = None,
    since_start: Callable[[], float] = lambda: 0.0,
    progress: Progress = Progress(),  # noqa: B008 - immutable
    settle: Callable[[], None] = lambda: None,
    on_file: Callable[[InputFile | InputError], None] | None = None,
) -> JobReport:
    """Do the job and return its report. Raises GpumergeError.

    report: the file to which the report is also written, None for none. since_start: gives the
    seconds that the process has run. settle, on_file: see engine.run.
    """
    if job.operation.kind == "rank":
        from gpumerge_cli.cli.answers import write_answers
        from gpumerge_cli.engine.rank import answer

        return write_answers(job, lambda: answer(job, settle))
    from gpumerge_cli.engine.run import run
    from gpumerge_cli.report.write import MERGE_SUFFIXES, report_file
    from gpumerge_cli.results.run import CheckReport, MergeReport

    with report_file(report, MERGE_SUFFIXES) as write:
        with executor_of(job) as executor:
            measured = run(
                job,
                since_start=since_start(),
                advance=progress.advance,
                on_stage=progress.on_stage,
                settle=settle,
                on_file=on_file,
                executor=executor,
            )
        if isinstance(measured, CheckReport):  # which has no file
            return measured
        assert isinstance(measured, MergeReport), "questions about ranks are answered above"
        try:
            write(measured)
        except OutputError as error:
            done = f"{error.way_out}; the {job.operation.kind} itself is done".removeprefix("; ")
            raise OutputError(error.what, where=error.where, way_out=done) from error
    return measured


@contextmanager
def executor_of(job: Job) -> Iterator[Executor]:
    """This process, or the cluster that the job names. Raises UsageError, InputError, ClusterError."""
    on = job.resources
    if on.cluster is None:
        from gpumerge_cli.engine.local import LOCAL

        yield LOCAL
        return
    from gpumerge_cli.cluster.connect import shared_connection
    from gpumerge_cli.cluster.executor import Cluster
    from gpumerge_cli.cluster.file_checks import check_names, check_output
    from gpumerge_cli.formats.registry import layout_of
    from gpumerge_cli.order.differences import DiffRequest

    check_names(job.inputs)
    join = job.operation.join
    is_written = job.operation.kind != "check" and not (isinstance(join, DiffRequest) and join.total)
    if is_written and not layout_of(job.inputs[0], job.items).format.written_here:
        check_output(job.output.name, job.output.compression, plain=job.items.plain)
    with shared_connection(on.cluster, on.cluster_wait) as cluster:
        yield Cluster(cluster.client, on.cluster_wait, here=cluster.workers is not None)


def check_report_place(report: str | None, files: Sequence[str], option: str = "--report") -> None:
    """Raise UsageError if the file of an option would replace one of `files`, which a command reads or writes."""
    if report is None:
        return
    taken = {os.path.realpath(file): file for file in files if file != "-"}
    if os.path.realpath(report) in taken:
        raise UsageError(
            f"{option} {report} would replace {taken[os.path.realpath(report)]}", way_out="give it another name"
        )
