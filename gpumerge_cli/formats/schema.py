"""The columns that files whose columns differ have together, by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from gpumerge_cli.errors import InputError

Schema = Literal["same", "union", "intersect"]
"""same: all files have the same columns. union: the columns of all files, in the order in which they come first.
intersect: those that all files have, in the order of the first file."""


def common_columns(files: Sequence[tuple[str, Sequence[str]]], schema: Schema) -> tuple[str, ...]:
    """The names of the columns of all rows. files: FILE:LINE of each header, and its names.

    Raises InputError for two columns of one name, and if files have no column in common.
    """
    for where, names in files:
        name, count = next(iter(Counter(names).most_common(1)), ("", 0))
        if count > 1:
            what = f"it has {count} columns {name!r}, and --schema goes by their names"
            raise InputError(what, where=where, way_out="give each its own name")
    if schema == "union":
        return tuple(dict.fromkeys(name for _, names in files for name in names))
    columns = files[0][1] if files else ()
    for where, names in files:
        known = set(names)
        left = tuple(name for name in columns if name in known)
        if columns and not left:
            what = "it has no column that all files before it have, too"
            raise InputError(what, where=where, way_out="use --schema union, or leave it out")
        columns = left
    return tuple(columns)
