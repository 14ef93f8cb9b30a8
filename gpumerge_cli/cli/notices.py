"""The line that tells a terminal of compiling."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpumerge_cli import compiling


@contextmanager
def notices(*, quiet: bool) -> Iterator[None]:
    """Until the body ends, tell a terminal of compiling, unless the command is to be quiet."""
    if quiet:
        yield
        return
    with compiling.told(_Teller()):
        yield


class _Teller:
    """Tells in one line for each thing that is compiled."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, notice: compiling.Notice) -> None:
        if notice.what in self._told or sys.stderr is None or not sys.stderr.isatty():
            return
        self._told.add(notice.what)
        with suppress(OSError):
            about = f"about {max(1, round(notice.about))} s, once: the result is kept"
            print(f"gpumerge: compiling {notice.what}, {about}", file=sys.stderr, flush=True)
