"""Programs whose standard error is a terminal."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def standard_error(
    command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None, *, terminal: bool = True
) -> tuple[int, bytes]:
    """The exit code of a program, and what it writes to its standard error: a terminal, or else a pipe."""
    ours, theirs = os.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stderr=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # how a terminal ends
            break
        if not part:
            break
        text += part
    os.close(ours)
    return process.wait(60), text
