"""The files that this process holds open."""

from __future__ import annotations

import gc
import os
from contextlib import suppress
from pathlib import Path


def open_under(folder: Path) -> list[str]:
    """Paths of the open files in `folder`, removed ones included, in order.

    Only a test's own folder tells its leaks: threads that other tests left open sockets and files of /proc.
    """
    gc.collect()
    found = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            path = os.readlink(f"/proc/self/fd/{number}")
            if path.startswith(f"{folder}/"):
                found.append(path)
    return sorted(found)
