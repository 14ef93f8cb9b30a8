"""Compiling on the user's machine. Code that compiles reports it here; code that shows or times it listens.

Compiling takes seconds, but only the first time. So it is shown while it goes on, and timed apart from the work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.measure import COMPILE, Span

NOTICE_DELAY = 0.3
"""Seconds before compiling is reported. A shorter time means that the code was compiled already."""


@dataclass(frozen=True)
class Notice:
    """A compilation that has begun."""

    what: str
    """The code that is being compiled, in words."""
    about: float
    """Roughly how many seconds all of it takes."""


_tell: list[Callable[[Notice], None]] = []
_take: list[Callable[[Span], None]] = []


@contextmanager
def notifying(listener: Callable[[Notice], None]) -> Iterator[None]:
    """Until the body ends, call `listener` for each compilation that takes a while, from any thread."""
    _tell.append(listener)
    try:
        yield
    finally:
        _tell.remove(listener)


@contextmanager
def timed(listener: Callable[[Span], None]) -> Iterator[None]:
    """Until the body ends, call `listener` with the span of each compilation or wait for one, in its thread.

    If several runs share the process, each one hears of the compilations of all.
    """
    _take.append(listener)
    try:
        yield
    finally:
        _take.remove(listener)


@contextmanager
def compiling(what: str, about: float) -> Iterator[None]:
    """Report that the body compiles something, or finds it compiled. what, about: as in Notice."""
    timer = threading.Timer(NOTICE_DELAY, _tell_all, (Notice(what, about),))
    timer.daemon = True
    began = time.perf_counter()  # before the timer starts, so that every reported compilation is also timed
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        seconds = time.perf_counter() - began
        if seconds >= NOTICE_DELAY:
            for listener in tuple(_take):
                listener(Span(COMPILE, seconds))


def _tell_all(notice: Notice) -> None:
    for listener in tuple(_tell):
        listener(notice)
