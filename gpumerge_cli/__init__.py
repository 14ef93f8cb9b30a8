"""gpumerge: merge and sort files and arrays on the GPU or the CPU.

merge, sort, unique, topk, argsort, argtopk, is_sorted, rank, rank_of, union, intersect, difference, symmetric, join,
asof_join and diff take arrays. A TextKey says what values the text in arrays is read as. A ColumnArray holds texts of
any lengths, or values with nulls. merge_tables and sort_table take tables of pyarrow, and frames of polars and pandas.
merge_files, sort_files and check_files do what the commands do. run carries out a Job of files. An invalid argument
raises a GpumergeError.
"""

from __future__ import annotations

import time

BEGUN = time.perf_counter() - time.process_time()
"""The start of the program, by `time.perf_counter`; the interpreter's start-up counts with its processor time."""
__version__ = "0.2.0"

_ROOMS: dict[str, str] = {}
"""The modules of public names, once one is used."""


def _rooms() -> dict[str, str]:
    """The modules of public names. __init__.pyi states them, one a line, for type checkers and for Python."""
    if not _ROOMS:
        with open(f"{__file__}i", encoding="utf-8") as file:
            lines = [line.split() for line in file]
        _ROOMS.update((words[3], words[1]) for words in lines if words[:1] == ["from"])
    return _ROOMS


def __getattr__(name: str) -> object:
    # Loaded on first use: the command line answers --help without NumPy.
    if name == "__all__":
        return __dir__()
    if name.startswith("__") or name not in _rooms():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(_rooms()[name]), name)
    globals()[name] = found  # so that this function is called once for each name
    return found


def __dir__() -> list[str]:
    return sorted([*_rooms(), "__version__"])
