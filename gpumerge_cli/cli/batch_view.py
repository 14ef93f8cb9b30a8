"""A batch in the terminal: a bar over its jobs and bytes, and a table at its end."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import get_args

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn
from rich.table import Table
from rich.text import Text

from gpumerge_cli.batch.runner import in_order
from gpumerge_cli.batch.spec import BatchJob, JobState, Result
from gpumerge_cli.report.terminal import PlainConsole, fitted, plain_table
from gpumerge_cli.units import format_bytes, format_counted, format_seconds, format_throughput, visible

_PATIENCE = 1.0
_ROWS = 20
_STYLES = {"failed": "bold red", "left": "yellow"}
_WORDS = {"left": "did not run"}


class BatchBar:
    """A progress bar of jobs. It appears once they have taken a second."""

    def __init__(self, progress: Progress, jobs: Sequence[BatchJob]) -> None:
        self._progress = progress
        self._sizes = _sizes(jobs)
        self._total = sum(self._sizes.values())
        self._done: dict[int, int] = {}
        self._ended = 0
        self._begun = time.monotonic()
        self._lock = threading.Lock()
        self._jobs = len(jobs)
        self._task = progress.add_task("", total=self._total)

    def advance(self, job: BatchJob, done: int, total: int) -> None:
        """Show that a job has done so many of its bytes. Any thread may call this."""
        with self._lock:
            self._done[job.number] = self._sizes[job.number] * done // max(1, total)
            self._show()

    def ended(self, result: Result) -> None:
        """Show that a job has ended."""
        with self._lock:
            self._done[result.job.number] = self._sizes[result.job.number]
            self._ended += 1
            self._show()

    def print_line(self, line: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(Text(visible(f"gpumerge: {line}")), soft_wrap=True)

    def _show(self) -> None:
        described = f"{self._ended} of {format_counted(self._jobs, 'job')}"
        self._progress.update(self._task, completed=sum(self._done.values()), description=described)
        late = time.monotonic() - self._begun >= _PATIENCE
        if late and not self._progress.console.is_dumb_terminal and not self._progress.live.is_started:
            self._progress.start()


def _sizes(jobs: Sequence[BatchJob]) -> dict[int, int]:
    """Bytes of the jobs' inputs. The output of a job counts as many bytes as its inputs."""
    sizes: dict[int, int] = {}
    for job in in_order(jobs):
        sizes[job.number] = job.nbytes + sum(sizes[number] for number in job.after)
    return sizes


@contextmanager
def batch_bar(jobs: Sequence[BatchJob]) -> Iterator[BatchBar]:
    """A bar that disappears at the end."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=PlainConsole(stderr=True), transient=True)
    try:
        yield BatchBar(progress, jobs)
    finally:
        if progress.live.is_started:
            progress.stop()


def show_results(results: Sequence[Result], seconds: float, *, stats: bool) -> None:
    """Print one line about all jobs together. stats: print a table ahead of it."""
    console = PlainConsole(stderr=True)
    if stats:
        _show_table(results, console)
    nbytes = sum(result.nbytes for result in results)
    counts = Counter(result.state for result in results)
    states = ", ".join(f"{counts[state]} {_WORDS.get(state, state)}" for state in get_args(JobState) if counts[state])
    rate = f", {format_throughput(nbytes, seconds)}" if nbytes else ""
    jobs = format_counted(len(results), "job")
    console.print(Text(f"{jobs}: {states}; {format_bytes(nbytes)} in {format_seconds(seconds)}{rate}"), soft_wrap=True)


def _show_table(results: Sequence[Result], console: PlainConsole) -> None:
    shown = list(results)
    if len(shown) > _ROWS:
        slowest = sorted(range(len(shown)), key=lambda at: shown[at].seconds, reverse=True)[: _ROWS // 2]
        shown = [results[at] for at in sorted(slowest)]
        console.print(Text(f"the {len(shown)} slowest of {len(results)} jobs"))
    table: Table = plain_table(
        "job", "operation", "state", "backend", "kernel", "seconds", "bytes", "throughput", left=5
    )
    for result in shown:
        table.add_row(
            Text(visible(result.job.name)),
            result.job.operation,
            _WORDS.get(result.state, result.state),
            result.backend,
            result.kernel,
            f"{result.seconds:.3f}" if result.started else "-",
            format_bytes(result.nbytes) if result.nbytes else "-",
            format_throughput(result.nbytes, result.seconds) if result.nbytes else "-",
            style=_STYLES.get(result.state, ""),
        )
    console.print(fitted(table, console, "kernel", "operation", "backend", "bytes"))
