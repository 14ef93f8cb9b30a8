"""The entry point of the `gpumerge` command and of `python -m gpumerge_cli`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line that the process was started with, and exit."""
    # NumPy's library for linear algebra, which nothing here uses, would start a thread a core.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from gpumerge_cli.cli.app import run

        code = run(sys.argv[1:], last=True)
    except KeyboardInterrupt:
        print("gpumerge: interrupted; no output was written", file=sys.stderr)
        code = 130
    # Everything is written and flushed. The interpreter's own end would take time, and wait for threads, one of which
    # may still wait for a pipe that never ends.
    os._exit(code)


if __name__ == "__main__":
    main()
