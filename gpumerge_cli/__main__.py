"""The entry point of the `gpumerge` command and of `python -m gpumerge_cli`."""

from __future__ import annotations

import os
import sys

_STOPPED_BY_SIGNAL = (129, 130, 143)


def main() -> None:
    """Run the command line that the process was started with, and exit."""
    try:
        from gpumerge_cli.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        print("gpumerge: interrupted; no output was written", file=sys.stderr)
        code = 130
    if code in _STOPPED_BY_SIGNAL:
        # A thread may still wait for a pipe that never ends; the interpreter would wait for the thread.
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    main()
