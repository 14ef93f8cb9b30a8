"""The paragraph of help that lists the suffixes of files, made from the registered formats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from gpumerge_cli.formats.format import Format

_COLUMN = 23


def suffixes() -> str:
    """A title, then a line for each format and kind of items, and the options for files of other names."""
    from gpumerge_cli.formats.kinds.lookup import all_formats

    lines = ["\b", "Suffixes:", *(line for one in all_formats() for line in _lines(one))]
    return "\n".join(
        [*lines, "  .log.1, .log-20240103 and the like: as .log", "  any other: use --dtype, --record-size or --format"]
    )


def _lines(one: Format) -> Iterator[str]:
    """A line for the suffixes without a dtype, and one for each kind of dtypes, as int8 to int64."""
    for kind, rows in groupby(one.suffixes.items(), lambda row: row[1].rstrip("0123456789")):
        found = list(rows)
        names = " ".join(suffix for suffix, _ in found if suffix)
        about = one.about or one.name
        if kind:
            about += f" {found[0][1]}" + (f" to {found[-1][1]}" if len(found) > 1 else "")
        shown = f"  {names}".ljust(_COLUMN - 1)
        yield f"  {names}, or none: {about}" if "" in dict(found) else f"{shown} {about}"
