"""The line that a terminal shows while something is compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gpumerge_cli import compiling


@contextmanager
def notices(*, quiet: bool) -> Iterator[None]:
    """Show on a terminal what is compiled until the body ends, unless `quiet`."""
    if quiet:
        yield
        return
    with compiling.notifying(_Notices()):
        yield


class _Notices:
    """Prints one line for each thing that is compiled."""

    def __init__(self) -> None:
        self._shown: set[str] = set()

    def __call__(self, notice: compiling.Notice) -> None:
        if notice.what in self._shown or sys.stderr is None or not sys.stderr.isatty():
            return
        self._shown.add(notice.what)
        with suppress(OSError):
            about = f"about {max(1, round(notice.about))} s, once: the result is kept"
            print(f"gpumerge: compiling {notice.what}, {about}", file=sys.stderr, flush=True)
