"""gpumerge: merge and sort files and arrays on the GPU or the CPU.

merge, sort, argsort, is_sorted, rank, rank_of, union, intersect, difference, symmetric and join take arrays. A TextKey
says what their text is read as.
run carries out a Job of files, as the command line does. An invalid argument raises a GpumergeError.
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter() - time.process_time()
"""The start of the program, by `time.perf_counter`; the interpreter's start-up counts with its processor time."""
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
    "TextKey",
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
_JOB = "engine.job"
_ROOMS = {
    "Destination": _JOB, "Items": "formats.items", "Job": _JOB, "Operation": _JOB, "Resources": _JOB,
    "run": "engine.run",
    "join": "arrays.joining", "merge": "arrays.merging", "rank": "arrays.ranking", "rank_of": "arrays.ranking",
    "difference": "arrays.sets", "intersect": "arrays.sets", "symmetric": "arrays.sets", "union": "arrays.sets",
    "TextKey": "arrays.text_key",
    "argsort": "arrays.sorting", "is_sorted": "arrays.sorting", "sort": "arrays.sorting",
}  # fmt: skip
"""The modules of exported names, apart from errors."""

TYPE_CHECKING = False  # as type checkers have it: importing typing would take as long as everything before it
if TYPE_CHECKING:
    from typing import Any

    from gpumerge_cli.arrays.joining import join
    from gpumerge_cli.arrays.merging import merge
    from gpumerge_cli.arrays.ranking import rank, rank_of
    from gpumerge_cli.arrays.sets import difference, intersect, symmetric, union
    from gpumerge_cli.arrays.sorting import argsort, is_sorted, sort
    from gpumerge_cli.arrays.text_key import TextKey
    from gpumerge_cli.engine.job import Destination, Job, Operation, Resources
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
    from gpumerge_cli.formats.items import Items


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line answers --help without NumPy.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{_ROOMS.get(name, 'errors')}"), name)
    globals()[name] = found  # so that this function is called once for each name
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
