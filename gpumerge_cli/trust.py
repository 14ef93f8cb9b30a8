"""Whether other users could have written a file: what they could write is neither run nor believed."""

from __future__ import annotations

import os
import stat
import sys
from functools import lru_cache


def distrusted(place: str, status: os.stat_result, *, by_root: bool = False) -> str:
    """Why somebody else could have written what is at `place`, in words; "" if nobody could. status: of it.

    by_root: what belongs to root is trusted as the user's own is. Root writes everywhere.
    """
    if status.st_uid != os.geteuid() and not (by_root and status.st_uid == 0):
        return f"{place} belongs to somebody else; chown mends that"
    # Where every user has a group of their own, it bears their number, and new files may be writable by it.
    others = stat.S_IWOTH | (stat.S_IWGRP if status.st_gid != status.st_uid else 0)
    return f"others may write to {place}; chmod go-w mends that" if status.st_mode & others else ""


@lru_cache(maxsize=256)
def tell_once(line: str) -> None:
    """Print the line on standard error, the first time alone."""
    from gpumerge_cli.units import visible

    if sys.stderr is not None:
        print("gpumerge:", visible(line), file=sys.stderr, flush=True)
