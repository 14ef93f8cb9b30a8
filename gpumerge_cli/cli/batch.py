"""gpumerge batch: the jobs of a file."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli.cli.messages import print_message
from gpumerge_cli.cli.options.typed import BatchOptions
from gpumerge_cli.errors import GpumergeError, UsageError, as_os_error, input_error
from gpumerge_cli.units import format_counted, quoted_value, visible

if TYPE_CHECKING:
    from gpumerge_cli.batch.spec import BatchJob, JobCommand, Limits

_MOST_SHOWN = 20
"""Mistakes of a job file that are shown; the same one may be in thousands of jobs."""


def run_batch(options: BatchOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    jobs, joblog, report = options.file, options.joblog, options.report
    resume = options.resume or options.resume_failed
    if report is not None and os.path.splitext(report)[1].lower() != ".jsonl":
        raise UsageError(
            f"--report: {quoted_value(report)} has no suffix of JSON lines", way_out="end the name in .jsonl"
        )

    from gpumerge_cli.batch.spec import Limits
    from gpumerge_cli.engine.resources import default_memory

    limits = Limits(options.jobs, options.memory or default_memory(), options.threads)
    others = {"the log of jobs": joblog, "the report": report}
    from gpumerge_cli.cli.batch_jobs import commands

    commands.cache_clear()  # settings may have changed since this process's last batch
    operations = partial(commands, options.fsync, options.temporary_directory, options.cluster)
    checked = _checked_jobs(jobs, others, limits, operations)
    if options.dry_run:
        _show_plan(checked, joblog if resume else None, options.resume_failed)
        return
    from gpumerge_cli.cli.batch_run import RunOptions, run_jobs

    begun = time.perf_counter()
    progress = options.progress and not options.quiet
    cluster = None if options.cluster is None else (options.cluster, float(options.cluster_wait))
    run_options = RunOptions(
        limits,
        options.keep_going,
        joblog,
        report,
        resume,
        options.resume_failed,
        progress,
        options.quiet,
        options.debug,
        cluster,
    )
    results = run_jobs(checked, run_options)
    if not options.quiet:
        from gpumerge_cli.cli.batch_view import show_results

        show_results(results, time.perf_counter() - begun, stats=options.verbose)
    failed = sum(result.state == "failed" for result in results)
    left = sum(result.state == "left" for result in results)
    if failed:
        message = f"{failed} of {format_counted(len(results), 'job')} failed"
        if left:
            raise GpumergeError(f"{message}, {left} did not run", way_out="--keep-going runs those, too")
        raise GpumergeError(message, way_out="see the errors above")


def _checked_jobs(
    name: str, others: dict[str, str | None], limits: Limits, operations: Callable[[], dict[str, JobCommand]]
) -> list[BatchJob]:
    """The jobs of the file `name`. If there are mistakes, the first ones are printed, and an error is raised.

    others: files that no job may write, by what they are. operations: those of jobs.
    """
    from gpumerge_cli.batch.expand import JOB_FILE, Folder
    from gpumerge_cli.batch.read import read_jobs

    taken: dict[str, str] = {} if name == "-" else {os.path.realpath(name): JOB_FILE}
    for what, other in others.items():
        if other is not None and taken.setdefault(os.path.realpath(other), what) != what:
            raise UsageError(f"{other} is {taken[os.path.realpath(other)]}", way_out=f"name another file for {what}")
    # A job file that comes through a pipe has no folder of its own.
    base = os.path.dirname(name) if os.path.isfile(name) else ""
    jobs, mistakes = read_jobs(_read(name), Folder(base, taken), operations(), limits)
    errors = [UsageError(each.what, where=f"{name}:{each.line}", way_out=each.way_out) for each in mistakes]
    if len(errors) > 1:
        for error in errors[:_MOST_SHOWN]:
            print_message(error)
        more = len(errors) - _MOST_SHOWN
        message = f"{len(errors)} mistakes" + (f", {more} of them not shown" if more > 0 else "")
        raise UsageError(message, where=name, way_out="correct them; no job was run")
    if errors:
        raise errors[0]
    return jobs


def _read(name: str) -> bytes:
    try:
        if name != "-":
            with open(name, "rb") as file:
                return file.read()
        if sys.stdin is None:
            raise ValueError
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:
        raise input_error(as_os_error(error), "standard input" if name == "-" else name) from None


def _show_plan(jobs: Sequence[BatchJob], joblog: str | None, retry_failed: bool) -> None:
    """Print the jobs as a shell script. joblog: the log of an earlier run that this one resumes."""
    from gpumerge_cli.batch.joblog import read_log, standing_of
    from gpumerge_cli.batch.runner import in_order

    entries = read_log(joblog) if joblog is not None else {}
    runs: set[int] = set()
    for job in in_order(jobs):
        standing = None
        if not runs & job.after:
            standing = standing_of(job, entries.get(job.command), retry_failed=retry_failed)
        if standing is None:
            runs.add(job.number)
        print(f"{f'# {standing} already: ' if standing else ''}{job.command}  # {visible(job.name)}")
