"""The sizes of the row groups of an output, and of the pieces of items that become them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.formats.format import Purpose
from gpumerge_cli.formats.tables.settings import GroupSize

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.items import Form

MOST_ROWS = 1 << 18
"""The most rows of a group that is written."""
GROUP_BYTES = 128 << 20
"""The most bytes of values of a group that is written."""
_LEAST_PIECE = 1 << 16
"""The least items that are merged at once, which may become several groups."""
_SHARES = 16
"""A group takes one of so many shares of the memory: several are read, gathered and encoded at once."""
_LEAST_GROUP = 1 << 20
"""The bytes of values of a group, however small the memory is."""
_LINE_BYTES = 32
"""About the bytes of an item that is a line."""


def rows_of_group(rows: int, nbytes: int, purpose: Purpose) -> int:
    """The rows of a group of an output that has so many rows, of so many bytes in memory."""
    size = purpose.output.group or GroupSize(MOST_ROWS, GROUP_BYTES)
    most_bytes = min(group_bytes(purpose), nbytes)
    return max(1, min(size.rows or rows, int(most_bytes / max(1.0, nbytes / max(1, rows)))))


def group_bytes(purpose: Purpose) -> int:
    """The most bytes of values of a group."""
    size = purpose.output.group or GroupSize(MOST_ROWS, GROUP_BYTES)
    most = max(_LEAST_GROUP, purpose.memory // _SHARES)
    return min(most, size.nbytes or most)


def piece_of(form: Form, rows: int) -> int:
    """The bytes of items that are merged at once, for groups of so many rows."""
    item = form.order(piece=0).item_bytes or _LINE_BYTES
    return rows * -(-_LEAST_PIECE // rows) * item
