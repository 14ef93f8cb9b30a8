"""A progress bar on standard error: bytes, rate and time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn


@contextmanager
def bar(console: Console | None = None, patience: float = 1.0) -> Iterator[Callable[[int, int], None]]:
    """A bar that disappears at the end. It gives a function of (bytes done, bytes in all) that any thread may call.

    It shows once the work has taken `patience` seconds: nobody wants one for less.
    """
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console or Console(stderr=True), transient=True)
    task = progress.add_task("merge", total=None)
    begun = time.monotonic()

    def advance(done: int, total: int) -> None:
        progress.update(task, completed=done, total=total)
        dumb = progress.console.is_dumb_terminal
        if not dumb and not progress.live.is_started and time.monotonic() - begun >= patience:
            progress.start()

    try:
        yield advance
    finally:
        if progress.live.is_started:
            progress.stop()
