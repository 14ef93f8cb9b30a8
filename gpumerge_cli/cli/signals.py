"""Signals that stop the program: they raise Interrupted until the output is complete, and are ignored from then on."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gpumerge_cli.errors import Interrupted

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU)
_ONE_KEYPRESS = 1.0
_SHORTLY = 0.001


_came: list[int] = []
"""The signal that Interrupted was raised for, if one was."""


def stop_signal() -> int | None:
    """The number of the signal that stops the program, None if none came.

    Errors after a signal may be its effect: some code, such as imports of C modules, turns the exceptions raised in it
    into errors of its own.
    """
    return _came[0] if _came else None


def ignore_signals() -> None:
    """Ignore signals from here on: the output is complete, and stopping would only lose its report."""
    for number in _STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _again(number: int) -> None:
    threading.Timer(_SHORTLY, os.kill, (os.getpid(), number)).start()


@contextmanager
def handle_signals(*, restore: bool) -> Iterator[None]:
    """Let signals that stop programs raise Interrupted within the body, once, so that temporary files are removed.

    Further signals have no effect unless they come a second later: then the process ends at once. Signals that the
    parent process has switched off stay off. restore: put the handlers back afterwards; otherwise signals are ignored
    from then on.
    """
    first = 0.0
    busy = False
    hook = sys.unraisablehook

    def interrupt(number: int, _frame: FrameType | None) -> None:
        nonlocal first
        if busy:  # what is raised in the hook is lost for good
            _again(number)
        elif first == 0.0:
            first = time.monotonic()
            _came[:] = [number]
            raise Interrupted(number)
        elif time.monotonic() - first > _ONE_KEYPRESS:
            os._exit(128 + number)

    def lost(what: sys.UnraisableHookArgs) -> None:
        # Python drops exceptions in some places, such as callbacks of weak references, which imports have many of.
        nonlocal first, busy
        if not isinstance(what.exc_value, Interrupted):
            hook(what)
            return
        busy = True
        first = 0.0
        _came.clear()
        _again(what.exc_value.signal_number)
        busy = False

    before = {}
    _came.clear()
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
