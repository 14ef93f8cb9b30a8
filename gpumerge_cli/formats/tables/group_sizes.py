"""The sizes of the row groups of an output, and of the pieces of items that become them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.formats.format import Purpose
from gpumerge_cli.formats.tables.settings import GroupSize

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.items import Form

USUAL_GROUP = GroupSize(1 << 18, 128 << 20)
"""The size of row groups that nobody asked for."""
SHARES_OF_READING = 4
"""Batches that are kept take one of so many shares of the memory, and the readers of tables another one."""
_USUAL_PIECE, _LEAST_PIECE = 1 << 16, 1 << 12
"""The rows that are merged at once, rounded up to whole groups: fewer than the usual number if rows are large."""
_SHARES_OF_PIECE = 12
"""Then a piece takes one of so many shares of the memory."""
_LEAST_BYTES = 4 << 20
"""A piece may have so many bytes of rows, however small the memory is."""
_SHARES_OF_GROUP = 24
"""A group takes one of so many shares of the memory: several are read, gathered and encoded at once."""
_LEAST_GROUP = 1 << 20
"""A group may have so many bytes of values, however small the memory is."""
_LEAST_OF_COLUMN = 8 << 10
"""The same for each column of a group: its facts in the footer take some hundred bytes, and half a millisecond."""
_LINE_BYTES = 32
"""About the bytes of an item that is a line."""


def bytes_of_group(columns: int, memory: int, asked: GroupSize | None) -> int:
    """The most bytes of values of a group. memory: bytes that the job may take. asked: see TableSettings.group."""
    most = max(_LEAST_GROUP, _LEAST_OF_COLUMN * columns, memory // _SHARES_OF_GROUP)
    return min(most, (asked or USUAL_GROUP).nbytes or most)


def rows_of_group(rows: int, nbytes: int, columns: int, purpose: Purpose) -> int:
    """The rows of a group of an output that has so many rows, of so many bytes in memory."""
    asked = purpose.output.group
    most_bytes = min(nbytes, bytes_of_group(columns, purpose.memory, asked))
    return max(1, min((asked or USUAL_GROUP).rows or rows, int(most_bytes / max(1.0, nbytes / max(1, rows)))))


def rows_of_piece(rows: int, row_bytes: float, purpose: Purpose) -> int:
    """The rows that are merged at once, whole groups of `rows`. row_bytes: of a row in memory."""
    most = int(purpose.memory / _SHARES_OF_PIECE / max(1.0, row_bytes))
    least = min(_LEAST_PIECE, int(_LEAST_BYTES / max(1.0, row_bytes)))
    return rows * -(-max(1, least, min(_USUAL_PIECE, most)) // rows)


def bytes_of_piece(form: Form, rows: int) -> int:
    """The bytes of the items of so many rows."""
    return rows * (form.order(piece=0).item_bytes or _LINE_BYTES)
