"""A progress bar on standard error: bytes, rate and time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

PATIENCE = 1.0
"""Seconds of work before a bar shows."""


@contextmanager
def bar(console: Console | None = None, patience: float | None = None) -> Iterator[Callable[[int, int], None]]:
    """A bar that disappears at the end. It gives a function of (bytes done, bytes in all) that any thread may call.

    It shows once the work has taken `patience` seconds, by default PATIENCE, whether the function is called meanwhile
    or not; at once if these are none. Rich is not imported for shorter work.
    """
    shown, wait = _Bar(console), PATIENCE if patience is None else patience
    timer = Timer(wait, shown.show)
    timer.daemon = True
    if wait:
        timer.start()
    else:
        shown.show()
    try:
        yield shown.advance
    finally:
        timer.cancel()
        shown.close()


class _Bar:
    """A bar, shown or not yet. console: where it shows; None for standard error."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._lock = Lock()
        self._done, self._total = 0, 0
        self._progress: Progress | None = None
        self._is_over = False

    def advance(self, done: int, total: int) -> None:
        """Note the bytes done, of those in all."""
        with self._lock:
            self._done, self._total = done, total
            self._update()

    def show(self) -> None:
        """Show the bar from now on, unless the work is over, or the terminal cannot move its cursor."""
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

        columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=self._console or Console(stderr=True), transient=True)
        progress.add_task("", total=None)
        with self._lock:
            if not self._is_over and not progress.console.is_dumb_terminal:
                self._progress = progress
                self._update()
                progress.start()

    def close(self) -> None:
        """Take the bar away, for good."""
        with self._lock:
            self._is_over = True
            if self._progress is not None:
                self._progress.stop()

    def _update(self) -> None:
        if self._progress is not None and self._total:
            (task,) = self._progress.task_ids
            self._progress.update(task, completed=self._done, total=self._total)
