"""Names of the files of an output in parts."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.output_stream import descriptor_named
from gpumerge_cli.replacement import is_stream

FIELD = "{part}"
"""It stands for the number of a part in the name of an output."""
MOST_PARTS = 1 << 16
"""The most parts that a merge is cut into for a user."""


def part_names(name: str, parts: int | None) -> tuple[str, ...]:
    """The names of an output's files, given the name that a user wrote: that one alone if `parts` is None.

    Each part has its number in place of {part}, counted from 0, with zeros ahead so that all numbers are of one length.
    Raises UsageError for a name that does not go with `parts`.
    """
    if parts is None:
        if FIELD in name:
            what = f"{name}: {FIELD} stands for the number of a part, but the output has no parts"
            raise UsageError(what, way_out="add --parts N, or give it another name")
        return (name,)
    if not 1 <= parts <= MOST_PARTS:
        raise UsageError(f"--parts {parts}: an output has 1 to {MOST_PARTS} parts", way_out="choose such a number")
    if FIELD not in name:
        reason = "the output is standard output" if name == STDIO else f"{name} is one file"
        raise UsageError(f"--parts {parts}: {reason}", way_out=f"name the parts, for example -o 'out.{FIELD}.txt'")
    width = len(str(parts - 1))
    return tuple(name.replace(FIELD, f"{number:0{width}}") for number in range(parts))


def check_part_names(names: Sequence[str]) -> None:
    """Raise OutputError if one of these names of parts is a stream, or the same file as another one."""
    taken: dict[str, str] = {}
    for name in names:
        if descriptor_named(name) is not None or is_stream(name):
            way_out = "name files, or leave --parts out"
            raise OutputError("a part cannot be a pipe or a device", where=name, way_out=way_out)
        other = taken.setdefault(os.path.realpath(name), name)
        if other != name:
            raise OutputError(f"it is the same file as the part {other}", where=name, way_out="remove the link")
