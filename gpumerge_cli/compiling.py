"""Compiling on the user's machine: who compiles says so here, and who shows or times it listens.

It takes seconds, once, where everything else takes less; so it is told while it goes on, and timed apart from the work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gpumerge_cli.measure import COMPILE, Span

PATIENCE = 0.3
"""Seconds after which compiling is told: what takes less found its code compiled already."""


@dataclass(frozen=True)
class Notice:
    """What is being compiled, in words, and about how many seconds all of it takes."""

    what: str
    about: float


_tell: list[Callable[[Notice], None]] = []
_take: list[Callable[[Span], None]] = []


@contextmanager
def told(listener: Callable[[Notice], None]) -> Iterator[None]:
    """Call `listener`, from any thread, whenever something has been compiling for a while; until the body ends."""
    _tell.append(listener)
    try:
        yield
    finally:
        _tell.remove(listener)


@contextmanager
def timed(listener: Callable[[Span], None]) -> Iterator[None]:
    """Call `listener` with the span of whatever was compiled, or waited for, in the thread that did; in the body.

    Runs at the same time in one process hear of each other's.
    """
    _take.append(listener)
    try:
        yield
    finally:
        _take.remove(listener)


@contextmanager
def compiling(what: str, about: float) -> Iterator[None]:
    """Compile something in the body, or find it compiled; `what` and `about` as of Notice."""
    timer = threading.Timer(PATIENCE, _tell_all, (Notice(what, about),))
    timer.daemon = True
    began = time.perf_counter()  # ahead of the timer, so that what was told is timed too
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        seconds = time.perf_counter() - began
        if seconds >= PATIENCE:
            for listener in tuple(_take):
                listener(Span(COMPILE, seconds))


def _tell_all(notice: Notice) -> None:
    for listener in tuple(_tell):
        listener(notice)
