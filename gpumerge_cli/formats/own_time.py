"""The times at which files changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from gpumerge_cli.formats.base import STDIO

_DAY = 86400
_FIRST, _LAST = -62_000_000_000, 250_000_000_000
"""Seconds of the years 5 and 9892: what calendars can hold."""


def latest_second(names: Sequence[str]) -> int | None:
    """A day behind the time at which the newest of these files changed, in seconds since 1970.

    A time that was written into one of them is not behind it. None if one is no local file, such as standard
    input.
    """
    changed = []
    for name in names:
        if name == STDIO:
            return None
        try:
            found = os.stat(name)
        except (OSError, ValueError):
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        changed.append(int(found.st_mtime))
    return min(max(max(changed), _FIRST), _LAST) + _DAY if changed else None
