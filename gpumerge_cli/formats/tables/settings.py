"""The settings of an output of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.facts import SortedColumn

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.table import StoredColumn, Table


@dataclass(frozen=True)
class GroupSize:
    """The largest size of the row groups of a table."""

    rows: int | None = None
    """None for any number."""
    nbytes: int | None = None
    """Bytes of values in memory; None for any number."""


@dataclass(frozen=True)
class TableSettings:
    """The settings of an output of a table."""

    compression: str | None = None
    """The value of --compression; None takes the first input's."""
    level: int | None = None
    """That of --compression-level; None for the usual one."""
    group: GroupSize | None = None
    """The size of its row groups; None for the usual one."""
    sorted_by: tuple[SortedColumn, ...] = ()
    """The first columns by which the rows are sorted; () if nobody knows."""
    stored: tuple[StoredColumn, ...] = ()
    """The forms in which its columns are stored, if they are not those of `like`."""
    like: Table | None = None
    """The first input, as which columns are stored where the settings leave that open."""
