"""Sums of columns over groups of equal items: what options ask for, and where the columns lie in items."""

from __future__ import annotations

from typing import Literal

from gpumerge_cli.dataclass import dataclass

SumForm = Literal[
    "fields of lines", "fields of records", "members of lines", "numbers of records", "counts of lines", "rows"
]
"""The places of summed columns: SumForm of kernels/cpu/entries.h, or rows of tables."""
COUNTED = "--counted"
"""The name of the only column of lines that begin with counts, in messages."""


@dataclass(frozen=True)
class SumRequest:
    """The columns that are to be summed, before their places are known."""

    names: tuple[str, ...]
    """As options name them."""
    titles: tuple[str, ...] = ()
    """The names of columns in the header of lines."""
    last: bool = False
    """Whether the last of equal items goes out, and not the first one."""
    separators: tuple[int, int] = (0, 0)
    """The bytes between digits and ahead of the fraction of numbers in text; 0 for none and for a point."""


@dataclass(frozen=True)
class SummedColumn:
    """A summed column of items."""

    name: str
    """As options name it."""
    place: int = 0
    """The number of a field from 0, or the byte in a record."""
    width: int = 0
    """The bytes of a number in a record."""
    kind: int = 0
    """The ItemKind of a number in a record."""
    big_endian: bool = False
    """Whether the most significant byte of a number in a record comes first."""
    path: tuple[str, ...] = ()
    """The names of members that lead to a value of JSON."""


@dataclass(frozen=True)
class SumRules:
    """The summed columns of opened inputs."""

    form: SumForm
    columns: tuple[SummedColumn, ...]
    """Fields in ascending order."""
    end: int = 0
    """The byte that ends a line."""
    separator: int = 0
    """The separator of fields as compiled code reads it, see rules.separator_word."""
    quotes: str = "none"
    """The meaning of quotes in records of CSV that were taken to pieces; see rules.Quotes."""
    record: int = 0
    """The bytes of a record."""
    keys: int = 0
    """The number of images ahead of a line of JSON."""
    last: bool = False
    """See SumRequest."""
    separators: tuple[int, int] = (0, 0)
    """See SumRequest. Sums have no bytes between digits."""

    @property
    def in_rows(self) -> bool:
        """Whether the columns are those of tables, whose rows are found as they are written."""
        return self.form == "rows"

    @property
    def of_text(self) -> bool:
        """Whether the columns are fields, whose numbers have the separators that options name."""
        return self.form in ("fields of lines", "fields of records")
