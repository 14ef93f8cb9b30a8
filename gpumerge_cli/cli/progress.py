"""A progress bar on standard error: bytes, rate and time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn


@contextmanager
def bar(console: Console | None = None) -> Iterator[Callable[[int, int], None]]:
    """A bar that goes away at the end; call what it gives with (bytes done, bytes in all), from any thread."""
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console or Console(stderr=True), transient=True) as progress:
        task = progress.add_task("merge", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
