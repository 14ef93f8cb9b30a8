"""The settings of an output of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.facts import SortedColumn

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.table import Table


@dataclass(frozen=True)
class GroupSize:
    """The largest size of the row groups of a table."""

    rows: int | None = None
    """None for any number."""
    nbytes: int | None = None
    """Bytes of values in memory; None for any number."""


USUAL_GROUP = GroupSize(1 << 18, 128 << 20)
"""The size of row groups that nobody asked for."""
_SHARES = 24
"""A group takes one of so many shares of the memory: several are read, gathered and encoded at once."""
_LEAST_GROUP = 1 << 20
"""The bytes of values of a group, however small the memory is."""
_LEAST_OF_COLUMN = 8 << 10
"""The bytes of a column of a group: its facts in the footer take some hundred bytes, and half a millisecond."""


def group_bytes(memory: int, columns: int, asked: int | None) -> int:
    """The most bytes of values of a group. memory: bytes that a job may take. asked: see GroupSize.nbytes."""
    most = max(_LEAST_GROUP, _LEAST_OF_COLUMN * columns, memory // _SHARES)
    return most if asked is None else min(most, asked)


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
    like: Table | None = None
    """The first input, as which columns are stored where the settings leave that open."""
