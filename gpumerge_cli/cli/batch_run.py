"""Runs the jobs of a batch, and writes their results to the log, the report and the terminal."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING

from gpumerge_cli.batch.joblog import JobLog, Standing, standing_of
from gpumerge_cli.batch.runner import Caller, CarryOut, JobError, Runner, StoppedError
from gpumerge_cli.batch.spec import BatchJob, Limits, Result
from gpumerge_cli.cli.batch_jobs import commands, report_of
from gpumerge_cli.cli.failures import describe_failure
from gpumerge_cli.cli.messages import print_message, tell_of_suffix
from gpumerge_cli.cli.perform import Progress, run_job
from gpumerge_cli.cli.signals import ignore_signals
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import Interrupted
from gpumerge_cli.json_text import dumps
from gpumerge_cli.line_file import LineFile
from gpumerge_cli.secret_values import concealed
from gpumerge_cli.temporary_files import remove_leftovers
from gpumerge_cli.units import format_counted, visible_lines
from gpumerge_cli.urls import is_url, redacted

if TYPE_CHECKING:
    from gpumerge_cli.cli.batch_view import BatchBar
    from gpumerge_cli.results.run import JobReport


@dataclass(frozen=True)
class RunOptions:
    """The options of a run."""

    limits: Limits
    keep_going: bool
    """Go on with other jobs after one has failed."""
    joblog: str | None
    """The file of the log, if any."""
    report: str | None
    """The file of the report, if any."""
    resume: bool
    """Continue the log and the report."""
    retry_failed: bool
    """Run jobs again that the log lists as failed."""
    progress: bool
    """Show a progress bar."""
    quiet: bool
    """Print no warnings."""
    debug: bool
    """Show tracebacks of errors."""
    cluster: tuple[str, float] | None = None
    """The address of the cluster that jobs share, and seconds to wait for its workers."""


def run_jobs(jobs: Sequence[BatchJob], options: RunOptions) -> list[Result]:
    """Run the jobs; their results in the order of the file. Raises GpumergeError or Interrupted."""
    with ExitStack() as stack:
        if options.cluster is not None:  # jobs share the connection
            from gpumerge_cli.cluster.connect import shared_connection

            stack.enter_context(shared_connection(*options.cluster))
        batch = _Batch(jobs, options, stack)
        runner = Runner(jobs, batch, options.limits, keep_going=options.keep_going)
        try:
            runner.run()
            ignore_signals()
        except Interrupted as error:
            done = sum(result.state in ("done", "skipped") for result in runner.results.values())
            more = "--joblog lets --resume go on" if options.joblog is None else "--resume goes on"
            remaining = f"{done} of {format_counted(len(jobs), 'job')} are done; {more}"
            raise Interrupted(error.signal_number, way_out=remaining) from None
    return [runner.results[job.number] for job in jobs]


class _Batch:
    """The work of a runner, see batch.runner.Work."""

    def __init__(self, jobs: Sequence[BatchJob], options: RunOptions, stack: ExitStack) -> None:
        self._options = options
        self._sharing = len(jobs)
        remove_leftovers(name for job in jobs for name in job.outputs if not is_url(name))
        self._log = self._lines = None
        if options.joblog is not None:
            self._log = JobLog(options.joblog, resume=options.resume)
            stack.callback(self._log.close)
        if options.report is not None:
            self._lines = LineFile(options.report, keep=options.resume, begins='{"job": ', what="report of a batch")
            stack.callback(self._lines.close)
        limits = options.limits
        alone = limits.at_once == 1
        self._threads = limits.threads if alone else max(1, (limits.threads or cores()) // limits.at_once)
        # Processes are forked ahead of the bar, which has a thread.
        self._done_by = self._carry_out if alone else _side_by_side(jobs, limits.at_once, self._carry_out, stack)
        self._bar: BatchBar | None = None
        if options.progress and sys.stderr is not None and sys.stderr.isatty():
            from gpumerge_cli.cli.batch_view import batch_bar

            self._bar = stack.enter_context(batch_bar(jobs))

    def earlier(self, job: BatchJob) -> Standing | None:
        entry = None if self._log is None else self._log.entries.get(job.command)
        return standing_of(job, entry, retry_failed=self._options.retry_failed)

    def do(self, job: BatchJob, memory: int, check: Callable[[], None]) -> JobReport:
        def advance(done: int, total: int) -> None:
            check()
            if self._bar is not None:
                self._bar.advance(job, done, total)

        return self._done_by(job, memory, Caller(check, advance, self._say))

    def _carry_out(self, job: BatchJob, memory: int, caller: Caller) -> JobReport:
        """See CarryOut."""
        try:
            whole = job.job or commands()[job.operation].parse(job.options, job.inputs)
            limited = _with_limits(whole, memory, self._threads, self._sharing)
            progress = Progress(caller.advance)
            done = run_job(limited, report=report_of(job.options), progress=progress, settle=caller.check)
        except StoppedError:
            raise
        except Exception as error:
            if self._options.debug and sys.stderr is not None:
                shown = visible_lines(concealed(redacted("".join(traceback.format_exception(error)))))
                print(shown, end="", file=sys.stderr)
            message, code = describe_failure(error)
            raise JobError(concealed(message), code) from error
        tell_of_suffix(limited, lambda text: caller.say(f"job {job.name}: {text}"))
        return done

    def report(self, result: Result) -> None:
        # The log comes last: jobs that it holds are not done again.
        if self._lines is not None and (result.started or result.state == "failed"):
            self._lines.write(_as_json(result))
        if self._log is not None and result.started:
            self._log.add(result)
        if result.state == "failed":
            self._say(f"job {result.job.name}: {result.error}")
        if self._bar is not None:
            self._bar.ended(result)

    def _say(self, text: str) -> None:
        (print_message if self._bar is None else self._bar.print_line)(text)


def _side_by_side(jobs: Sequence[BatchJob], at_once: int, carry_out: CarryOut, stack: ExitStack) -> CarryOut:
    """The function that does jobs in processes of their own where it can, else in the thread that calls it."""
    from gpumerge_cli.cli.batch_processes import Processes, may_fork

    count = min(at_once, len(jobs))
    if count < 2 or not may_fork(jobs):
        return carry_out
    processes = Processes(jobs, count, carry_out)
    stack.callback(processes.close)
    return processes.do


def _with_limits(job: Job, memory: int, threads: int | None, sharing: int) -> Job:
    """The job with this memory and these threads where it asks for none itself.

    sharing: how many jobs of this process share its start-up.
    """
    given = job.resources
    elsewhere = given.cluster is not None  # where machines have memory of their own
    chosen = memory if given.memory is None and not elsewhere else given.memory
    resources = replace(given, memory=chosen, threads=given.threads or threads, sharing=sharing)
    return replace(job, resources=resources)


def _as_json(result: Result) -> str:
    """A result as one line: the job's report, and its name, command, state, exit code, error, start and seconds.

    The state is "done", "failed", or "not run" for a job that failed before it began.
    """
    about = {
        "job": result.job.name,
        "line": result.job.line,
        "command": result.job.command,
        "state": result.state if result.started else "not run",
        "exit": result.exit_code,
        "error": result.error,
        "started": result.started or None,
        "seconds": result.seconds,
    }
    return dumps(about | ({} if result.report is None else asdict(result.report)))
