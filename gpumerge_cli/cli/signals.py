"""Signals that stop the program: raised as Interrupted until the output is there, and left aside from then on."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from gpumerge_cli.errors import Interrupted

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ONE_KEYPRESS = 1.0
_SHORTLY = 0.001


def ignore_signals() -> None:
    """From here on the output is there: stopping would only keep its report back."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def handled(*, restore: bool) -> Iterator[None]:
    """Within the body, Ctrl-C, SIGTERM and SIGHUP raise Interrupted, once, so that temporary files are removed.

    Further signals are left to the first, unless they come a second later: then the process ends at once. Signals that
    the parent process has switched off stay off. restore: put things back afterwards; otherwise signals are ignored
    from then on.
    """
    first = 0.0
    hook = sys.unraisablehook

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if first == 0.0:
            first = time.monotonic()
            raise Interrupted(number)
        if time.monotonic() - first > _ONE_KEYPRESS:
            os._exit(128 + number)

    def lost(what: Any) -> None:
        # It was raised where nothing can be, as in a callback of a weak reference, which imports have many of.
        nonlocal first
        if isinstance(what.exc_value, Interrupted):
            first = 0.0
            threading.Timer(_SHORTLY, os.kill, (os.getpid(), what.exc_value.signal_number)).start()
        else:
            hook(what)

    before = {}
    sys.unraisablehook = lost
    for number in _STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler if restore else signal.SIG_IGN)
        sys.unraisablehook = hook
