"""The facts of tables: what files say of themselves, and what gpumerge info shows."""

from __future__ import annotations

from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class SortedColumn:
    """A column by which rows are sorted, as columns of its type usually compare."""

    path: tuple[str, ...]
    """Its name, then those of fields of structs."""
    reverse: bool
    nulls_first: bool


@dataclass(frozen=True)
class ColumnFacts:
    """A column."""

    name: str
    type: str
    """Its type in Arrow."""
    compression: str
    """That of its values in the largest row group; several of a column with fields. "" if the format has none."""
    encoding: str


@dataclass(frozen=True)
class TableGroup:
    """A row group."""

    rows: int
    nbytes: int
    """Its bytes in the file; 0 if unknown."""
    least: str
    """The least key by the group's statistics; "" if these do not say it."""
    greatest: str
    apart: bool | None
    """Whether no rows of other files lie among its own, so that a merge can copy it; None if unknown."""


@dataclass(frozen=True)
class TableFacts:
    """A file. The fields are the keys of the JSON."""

    name: str
    rows: int
    nbytes: int
    """The bytes of the file."""
    created_by: str
    columns: tuple[ColumnFacts, ...]
    sorted_by: tuple[str, ...]
    """The columns by which it says that its rows are sorted, as --field has them."""
    nulls_first: bool
    """Whether it says that nulls go ahead of the values of the first of them."""
    contradicted: bool
    """Whether the statistics of its row groups show that its rows are not sorted so."""
    groups: tuple[TableGroup, ...]


@dataclass(frozen=True)
class TablesFacts:
    """Several files."""

    key: str
    """The key whose ranges are shown, as --field has it; "" for none."""
    tables: tuple[TableFacts, ...]
    differ: str = ""
    """The reason why a merge refuses the files, if their columns differ; "" if they do not, or there is no key."""
