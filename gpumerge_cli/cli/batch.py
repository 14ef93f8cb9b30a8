"""gpumerge batch: the jobs of a file, in one process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpumerge_cli.cli import options
from gpumerge_cli.errors import GpumergeError, UsageError, as_os_error, input_error
from gpumerge_cli.units import format_counted, visible

if TYPE_CHECKING:
    from gpumerge_cli.jobs.spec import Job, Limits

EPILOG = """\b
A job file in TOML, with paths relative to it:
  [defaults]
  operation = "merge"                 # merge, sort or check
  numeric-sort = true                 # any long option of the operation
  output = "merged/{job}.txt"
  [[job]]
  name = "monday"
  inputs = ["monday/*.txt", "late.txt"]
  [[job]]
  name = "week"
  inputs = ["merged/monday.txt", "${ARCHIVE}/tuesday.txt"]

\b
In JSON lines, each line is a job; a line {"defaults": {...}} holds defaults.

\b
Names, outputs and paths may hold:
  ${NAME}     the environment's; $${NAME} is the text itself
  {job}       the job's name
  {name} {stem} {suffix} {dir}   of the first input: in/a.txt has a.txt, a,
              .txt and in; {{ and }} are braces

Globs match files that are there and outputs of other jobs, not the job's own
output, nor what is named beside them. A job that reads another's output runs
after it. Mistakes in the file are told, with their lines, before any job runs.

\b
Exit codes:
  0    all jobs are done
  2    a job failed, or anything else is wrong; the last line says how many
  130, 143   stopped by Ctrl-C or SIGTERM; what was done stays"""


def batch(
    jobs: Annotated[str, typer.Argument(metavar="JOBS", help="A job file, TOML or JSON lines; - is standard input.")],
    at_once: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="Jobs that run at a time.")] = 1,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            "-S",
            metavar="SIZE",
            show_default=False,
            help="Host memory for what is in flight, of all jobs together, for example 256M or 2GiB; by default a "
            "quarter of what is free. Each job at a time gets an equal part, unless it asks for more or less.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads",
            metavar="N",
            min=1,
            show_default=False,
            help="Host threads of all jobs together; by default all cores. Each job at a time gets an equal part, "
            "unless it asks for more or less.",
        ),
    ] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", "-k", help="Start further jobs though one has failed.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Run nothing: print the commands of all jobs, in an order that they can run in."
        ),
    ] = False,
    joblog: Annotated[
        str | None,
        typer.Option(
            "--joblog",
            metavar="FILE",
            show_default=False,
            help="Log every job when it ends, in the columns of GNU parallel, and Bytes, Backend and Kernel. Replaces "
            "an earlier log, unless --resume goes on with it.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Leave out what --joblog says has run: jobs that are done and whose inputs and outputs nobody has "
            "written since, and jobs that failed. A job is known by its command.",
        ),
    ] = False,
    resume_failed: Annotated[
        bool, typer.Option("--resume-failed", help="As --resume, but run again what failed.")
    ] = False,
    report: Annotated[
        str | None,
        typer.Option(
            "--report",
            metavar="FILE",
            show_default=False,
            help="Write a line of JSON for every job that ends, or fails since another has, to FILE, .jsonl; --resume "
            "goes on with it.",
        ),
    ] = None,
    progress: Annotated[
        bool, typer.Option("--progress/--no-progress", help="Whether a terminal shows how far the jobs are.")
    ] = True,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing on standard error but what went wrong.")
    ] = False,
    debug: options.Debug = False,
) -> None:
    """Run many merges, sorts and checks, as a file of jobs says.

    All jobs are judged before the first one runs: what is wrong is told with its line. Jobs share the process, the GPU
    and compiled kernels. Each output appears whole or not at all.
    """
    resume = resume or resume_failed
    if resume and joblog is None:
        raise UsageError("--resume: there is no log to go on with", way_out="name it with --joblog")
    if report is not None and os.path.splitext(report)[1].lower() != ".jsonl":
        raise UsageError(f"--report: {report!r} is no name for lines of JSON", way_out="end the name in .jsonl")

    from gpumerge_cli.engine.resources import default_memory
    from gpumerge_cli.jobs.spec import Limits

    limits = Limits(at_once, options.parse_memory(memory, "--memory") or default_memory(), threads)
    judged = _judged(jobs, {"the log of jobs": joblog, "the report": report}, limits)
    if dry_run:
        _show_plan(judged, joblog if resume else None, resume_failed)
        return
    from gpumerge_cli.cli.batch_run import Wishes, run

    begun = time.perf_counter()
    progress = progress and not quiet
    results = run(judged, Wishes(limits, keep_going, joblog, report, resume, resume_failed, progress, debug))
    if not quiet:
        from gpumerge_cli.cli.batch_view import show

        show(results, time.perf_counter() - begun)
    failed = sum(result.state == "failed" for result in results)
    left = sum(result.state == "left" for result in results)
    if failed:
        told = f"{failed} of {format_counted(len(results), 'job')} failed"
        if left:
            raise GpumergeError(f"{told}, {left} did not run", way_out="--keep-going runs those, too")
        raise GpumergeError(told, way_out="what went wrong is said above")


def _judged(name: str, others: dict[str, str | None], limits: Limits) -> list[Job]:
    """The jobs of the file `name`. Tells all mistakes; raises the last."""
    from gpumerge_cli.cli.batch_run import say
    from gpumerge_cli.cli.batch_tasks import commands
    from gpumerge_cli.jobs.expand import JOB_FILE, Folder
    from gpumerge_cli.jobs.read import read_jobs

    taken: dict[str, str] = {} if name == "-" else {os.path.realpath(name): JOB_FILE}
    for what, other in others.items():
        if other is not None and taken.setdefault(os.path.realpath(other), what) != what:
            raise UsageError(f"{other} is {taken[os.path.realpath(other)]}", way_out=f"name another file for {what}")
    # What comes through a pipe has no folder of its own.
    base = os.path.dirname(name) if os.path.isfile(name) else ""
    commands.cache_clear()  # settings may have changed since this process's last batch
    jobs, mistakes = read_jobs(_read(name), Folder(base, taken), commands(), limits)
    errors = [UsageError(each.what, where=f"{name}:{each.line}", way_out=each.way_out) for each in mistakes]
    if len(errors) > 1:
        for error in errors:
            say(str(error))
        raise UsageError(f"{len(errors)} mistakes", where=name, way_out="mend them; no job was run")
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


def _show_plan(jobs: Sequence[Job], joblog: str | None, retry_failed: bool) -> None:
    """Print the jobs as a script for a shell. joblog: of an earlier run, to go on with."""
    from gpumerge_cli.jobs.joblog import read_log, standing_of
    from gpumerge_cli.jobs.runner import in_order

    entries = read_log(joblog) if joblog is not None else {}
    runs: set[int] = set()
    for job in in_order(jobs):
        standing = None
        if not runs & job.after:
            standing = standing_of(job, entries.get(job.command), retry_failed=retry_failed)
        if standing is None:
            runs.add(job.number)
        print(f"{f'# {standing} already: ' if standing else ''}{job.command}  # {visible(job.name)}")
