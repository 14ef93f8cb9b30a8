"""The memory of decoded rows and of the readers that decode them, shared by the cursors of several tables."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from gpumerge_cli.formats.tables.spooled import Keep, spooled
from gpumerge_cli.formats.tables.table import Table

_LARGEST_BATCH, _LEAST_BATCH = 16 << 20, 16 << 10
LEAST_OPEN = 32 << 20
"""The bytes that readers of tables may hold, however small the memory is."""
_BATCHES = 4
"""A batch takes one of so many shares of the memory of its table."""
_AHEAD = 2
"""Rows that nobody has asked for yet are decoded while less than one of so many shares of the memory is held."""


class KeptMemory:
    """The memory of batches that the cursors of several tables keep, and the same again of what their readers hold.

    most: bytes of the former. keep: where tables are spooled to if readers would hold more than that; None if never.
    """

    def __init__(self, most: int, tables: int, keep: Keep | None) -> None:
        self.batch_bytes = max(_LEAST_BATCH, min(_LARGEST_BATCH, most // _BATCHES // max(1, tables)))
        """The bytes of a batch."""
        self._most = most
        self._held = 0
        self._open = 0
        self._keep = keep
        self._spooling = threading.Lock()
        self._lock = threading.Lock()

    def is_over(self, change: int) -> bool:
        """Whether too much is held after a change by so many bytes."""
        with self._lock:
            self._held += change
            return self._held > self._most

    def reserve(self) -> bool:
        """Hold the bytes of a batch that is decoded ahead, if there is room. They are given back by `is_over`."""
        with self._lock:
            if self._held + self.batch_bytes > self._most // _AHEAD:
                return False
            self._held += self.batch_bytes
            return True

    def opened(self, table: Table, nbytes: int, rows: int, columns: Sequence[str] | None) -> tuple[Table, bool]:
        """The table, and whether its reader counts until it is closed; one in a temporary file if it is too large.

        nbytes: those that its reader holds. rows: of a batch. columns: see Table.batches.
        """
        if self._keep is None:
            self.count(nbytes)
            return table, True
        if self.may_open(nbytes):
            return table, True
        with self._spooling:
            return spooled(table, self._keep, max(self._most, LEAST_OPEN), rows, columns), False

    def may_open(self, nbytes: int) -> bool:
        """Count a reader that holds so many bytes until it is closed, if there is room."""
        with self._lock:
            if self._open + nbytes > max(self._most, LEAST_OPEN):
                return False
            self._open += nbytes
            return True

    def count(self, nbytes: int) -> None:
        """Count a reader that holds so many bytes until it is closed."""
        with self._lock:
            self._open += nbytes

    def close(self, nbytes: int) -> None:
        """Count a reader no longer."""
        with self._lock:
            self._open -= nbytes
