"""The entry point of the `gpumerge` command and of `python -m gpumerge_cli`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line that the process was started with, and exit."""
    # First of all, so that a signal ends in a line while things are imported, too. There is nothing to clean up yet.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGXCPU):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    # NumPy's library for linear algebra, which nothing here uses, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Importing makes many objects and drops few, so the collector would look through them in vain, again and again.
    gc.set_threshold(50_000)
    try:
        from gpumerge_cli.cli.app import run

        code = run(sys.argv[1:], last=True)
    except MemoryError:  # not even for the way that errors are told; Python's own exit code would mean disorder
        os.write(2, b"gpumerge: not enough memory; close other programs\n")
        os._exit(2)
    # Everything is written and flushed. The interpreter's own end would take time, and wait for threads, one of which
    # may still wait for a pipe that never ends.
    os._exit(code)


def _end(number: int, _frame: FrameType | None) -> None:
    try:
        os.write(2, b"gpumerge: interrupted; no output was written\n")
    finally:
        os._exit(128 + number)


if __name__ == "__main__":
    main()
