"""Finds out whether another user could have written a file. The program neither runs nor trusts such a file."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache


def distrusted(place: str, status: os.stat_result, *, by_root: bool = False) -> str:
    """The reason why another user could have written the file or folder `place`; "" if none could.

    status: the stat result of `place`. by_root: trust files of root too, because root can write everywhere anyway.
    """
    if status.st_uid != os.geteuid() and not (by_root and status.st_uid == 0):
        return f"{place} belongs to somebody else; use chown"
    # Many systems give each user a group with the user's own number, and make new files writable by that group.
    others = stat.S_IWOTH | (stat.S_IWGRP if status.st_gid != status.st_uid else 0)
    return f"others may write to {place}; use chmod go-w" if status.st_mode & others else ""


@lru_cache(maxsize=256)
def warn_once(line: str) -> None:
    """Print the line on standard error, once for each different line."""
    from gpumerge_cli.units import visible

    if sys.stderr is not None:
        print("gpumerge:", visible(line), file=sys.stderr, flush=True)
