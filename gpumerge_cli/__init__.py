"""gpumerge: merge and sort files and arrays on the GPU or the CPU.

merge, sort, argsort, is_sorted, rank, rank_of, union, intersect, difference, symmetric and join take arrays. run does a
Job of files, as the command line does. An argument that they cannot take raises a GpumergeError.
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter() - time.process_time()
"""The program's begin, by `time.perf_counter`: the interpreter's start-up is work, hardly waiting."""
__version__ = "0.1.0"
__all__ = [
    "ClusterError",
    "Destination",
    "DeviceError",
    "DeviceMemoryError",
    "DisorderError",
    "GpumergeError",
    "InputError",
    "Items",
    "Job",
    "Operation",
    "OutputError",
    "Resources",
    "UsageError",
    "__version__",
    "argsort",
    "difference",
    "intersect",
    "is_sorted",
    "join",
    "merge",
    "rank",
    "rank_of",
    "run",
    "sort",
    "symmetric",
    "union",
]
_OF_JOBS = ("Destination", "Items", "Job", "Operation", "Resources")

TYPE_CHECKING = False  # as type checkers have it: importing typing would take as long as all before it
if TYPE_CHECKING:
    from typing import Any

    from gpumerge_cli.arrays import (
        argsort,
        difference,
        intersect,
        is_sorted,
        join,
        merge,
        rank,
        rank_of,
        sort,
        symmetric,
        union,
    )
    from gpumerge_cli.engine.job import Destination, Items, Job, Operation, Resources
    from gpumerge_cli.engine.run import run
    from gpumerge_cli.errors import (
        ClusterError,
        DeviceError,
        DeviceMemoryError,
        DisorderError,
        GpumergeError,
        InputError,
        OutputError,
        UsageError,
    )


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line answers --help without NumPy.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name.endswith("Error"):
        from gpumerge_cli import errors

        found = getattr(errors, name)
    elif name in _OF_JOBS:
        from gpumerge_cli.engine import job

        found = getattr(job, name)
    elif name == "run":
        from gpumerge_cli.engine.run import run as found
    else:
        from gpumerge_cli import arrays

        found = getattr(arrays, name)
    globals()[name] = found  # so that this function is called once for each name
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
