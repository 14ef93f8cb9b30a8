"""gpumerge batch: the jobs of a file, in one process."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import GpumergeError, Interrupted, UsageError, as_os_error, input_error
from gpumerge_cli.units import format_counted

if TYPE_CHECKING:
    from gpumerge_cli.cli.batch_view import Bar
    from gpumerge_cli.jobs.joblog import Standing
    from gpumerge_cli.jobs.runner import Result
    from gpumerge_cli.jobs.spec import Job


def batch(values: Values) -> None:
    """Do what the command line asks for. Raises GpumergeError."""
    jobs, joblog, report = values.file, values.joblog, values.report
    threads, at_once, quiet = values.threads, values.jobs, values.quiet
    resume = values.resume or values.resume_failed
    if resume and joblog is None:
        raise UsageError("--resume: there is no log to go on with", way_out="name it with --joblog")
    if report is not None and os.path.splitext(report)[1].lower() != ".jsonl":
        raise UsageError(f"--report: {report!r} is no name for lines of JSON", way_out="end the name in .jsonl")

    from gpumerge_cli.engine.resources import cores, default_memory

    budget = values.memory or default_memory()
    judged = _judged(jobs, {"the log of jobs": joblog, "the report": report}, budget, threads)
    if values.dry_run:
        _show_plan(judged, joblog if resume else None, values.resume_failed)
        return
    begun = time.perf_counter()
    shared = threads if at_once == 1 else max(1, (threads or cores()) // at_once)
    results = _run(
        judged,
        _Settings(
            at_once,
            budget,
            threads,
            shared,
            values.keep_going,
            resume,
            values.resume_failed,
            values.progress and not quiet,
            values.debug,
        ),
        joblog,
        report,
    )
    if not quiet:
        from gpumerge_cli.cli.batch_view import show

        show(results, time.perf_counter() - begun, stats=values.verbose)
    failed = sum(result.state == "failed" for result in results)
    left = sum(result.state == "left" for result in results)
    if failed:
        told = f"{failed} of {format_counted(len(results), 'job')} failed"
        if left:
            raise GpumergeError(f"{told}, {left} did not run", way_out="--keep-going runs those, too")
        raise GpumergeError(told, way_out="what went wrong is said above")


@dataclass(frozen=True)
class _Settings:
    """How jobs run. threads: host threads of all, None for no limit. share: of each, None for what it takes."""

    at_once: int
    memory: int
    threads: int | None
    share: int | None
    keep_going: bool
    resume: bool
    retry_failed: bool
    progress: bool
    debug: bool


def _run(jobs: list[Job], settings: _Settings, joblog: str | None, report: str | None) -> list[Result]:
    from gpumerge_cli.cli.batch_tasks import REPORT_BEGINS, as_json, do
    from gpumerge_cli.cli.signals import ignore_signals
    from gpumerge_cli.jobs.joblog import JobLog, LineFile, standing_of
    from gpumerge_cli.jobs.runner import Runner

    with ExitStack() as stack:
        log = writer = None
        if joblog is not None:
            log = JobLog(joblog, resume=settings.resume)
            stack.callback(log.close)
        if report is not None:
            writer = LineFile(report, keep=settings.resume, begins=REPORT_BEGINS, what="report of a batch")
            stack.callback(writer.close)
        bar = stack.enter_context(_progress(jobs, settings.progress))

        def earlier(job: Job) -> Standing | None:
            entry = log.entries.get(job.command) if log is not None and settings.resume else None
            return standing_of(job, entry, retry_failed=settings.retry_failed)

        def told(result: Result) -> None:
            # The log last: what it has is not done again.
            if writer is not None and (result.started or result.state == "failed"):
                writer.write(as_json(result))
            if log is not None and result.started:
                log.add(result)
            if result.state == "failed":
                _say(f"job {result.job.name}: {result.error}", None if bar is None else bar.say)
            if bar is not None:
                bar.ended(result)

        runner = Runner(
            jobs,
            partial(do, threads=settings.share, sharing=len(jobs), debug=settings.debug),
            at_once=settings.at_once,
            memory=settings.memory,
            threads=settings.threads,
            keep_going=settings.keep_going,
            earlier=earlier,
            told=told,
            advance=None if bar is None else bar.advance,
        )
        try:
            runner.run()
            ignore_signals()
        except Interrupted as error:
            done = sum(result.state in ("done", "skipped") for result in runner.results.values())
            more = "--joblog lets --resume go on" if log is None else "--resume goes on"
            told_so_far = f"{done} of {format_counted(len(jobs), 'job')} are done; {more}"
            raise Interrupted(error.signal_number, way_out=told_so_far) from None
        return [runner.results[job.number] for job in jobs]


@contextmanager
def _progress(jobs: Sequence[Job], wanted: bool) -> Iterator[Bar | None]:
    """A bar where a terminal shows one, None elsewhere."""
    if not wanted or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from gpumerge_cli.cli.batch_view import bar

    with bar(jobs) as shown:
        yield shown


def _judged(name: str, others: dict[str, str | None], memory: int, threads: int | None) -> list[Job]:
    """The jobs of the file `name`. Tells all mistakes; raises the last."""
    from gpumerge_cli.cli.batch_tasks import commands
    from gpumerge_cli.jobs.files import JOB_FILE
    from gpumerge_cli.jobs.read import read_jobs

    named = {**others, JOB_FILE: None if name == "-" else name}
    taken = {os.path.realpath(other): what for what, other in named.items() if other is not None}
    for what, other in others.items():
        if other is not None and taken[os.path.realpath(other)] != what:
            raise UsageError(f"{other} is {taken[os.path.realpath(other)]}", way_out=f"name another file for {what}")
    # What comes through a pipe has no folder of its own.
    base = os.path.dirname(name) if os.path.isfile(name) else ""
    commands.cache_clear()  # settings may have changed since this process's last batch
    jobs, mistakes = read_jobs(_read(name), base, commands(), taken=taken, memory=memory, threads=threads)
    errors = [UsageError(each.what, where=f"{name}:{each.line}", way_out=each.way_out) for each in mistakes]
    if len(errors) > 1:
        for error in errors:
            _say(str(error))
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
        entry = entries.get(job.command)
        standing = None if runs & job.after else standing_of(job, entry, retry_failed=retry_failed)
        if standing is None:
            runs.add(job.number)
        print(f"{f'# {standing} already: ' if standing else ''}{job.command}  # {_one_line(job.name)}")


def _say(line: str, say: Callable[[str], None] | None = None) -> None:
    if say is not None:
        say(f"gpumerge: {_one_line(line)}")
    elif sys.stderr is not None:
        print("gpumerge:", _one_line(line), file=sys.stderr, flush=True)


def _one_line(text: str) -> str:
    from gpumerge_cli.cli.app import one_line

    return one_line(text)
