"""gpumerge: merge and sort files and arrays on the GPU or the CPU."""

from __future__ import annotations

import time

BEGUN = time.perf_counter() - time.process_time()
"""When the program began, by `time.perf_counter`: the interpreter's start-up is work, hardly waiting."""
__version__ = "0.1.0"
__all__ = ["__version__", "is_sorted", "merge", "sort"]

TYPE_CHECKING = False  # as type checkers have it: importing typing would take as long as all before it
if TYPE_CHECKING:
    from typing import Any

    from gpumerge_cli.arrays import is_sorted, merge, sort


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line answers --help without NumPy.
    if name in ("merge", "sort", "is_sorted"):
        from gpumerge_cli import arrays

        return getattr(arrays, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
