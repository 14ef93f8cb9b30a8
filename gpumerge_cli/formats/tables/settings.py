"""The settings of an output of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.key_columns import KeyColumn


@dataclass(frozen=True)
class TableSettings:
    """The settings of an output of a table."""

    compression: str | None = None
    """The value of --compression; None takes the first input's."""
    level: int | None = None
    """That of --compression-level; None for the usual one."""
    sorted_by: tuple[KeyColumn, ...] = ()
    """The keys by which the rows are sorted; () if nobody knows."""
