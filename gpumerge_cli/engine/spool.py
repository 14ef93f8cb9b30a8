"""Temporary files for sorted runs. A file holds many of them, so their number needs no more open files."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from contextlib import suppress

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import OutputError, output_error

_LARGEST_CALL = 1 << 30


class Spool:
    """An unnamed temporary file that holds runs, one behind the other. It is closed when all its runs are.

    One thread appends to it at a time; any threads read. Raises OutputError if there can be none in the folder.
    """

    def __init__(self, folder: str) -> None:
        import tempfile

        self._folder = folder
        self._runs = 0
        self._size = 0
        self._lock = threading.Lock()
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                self.descriptor = os.dup(file.fileno())
        except OSError as error:
            raise output_error(error, folder) from None

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more runs."""
        return self.descriptor < 0

    def append(self, parts: Iterable[Bytes]) -> tuple[int, int]:
        """Write the parts of a run behind all others: (its position, its bytes). `leave` ends its use.

        If that fails, the room of what was written is given back. Raises OutputError, and any error of the parts.
        """
        start = end = self._size
        with self._lock:
            self._runs += 1
        try:
            for part in parts:
                view = memoryview(part)
                while len(view):
                    count = os.pwrite(self.descriptor, view[:_LARGEST_CALL], end)
                    view = view[count:]
                    end += count
        except BaseException as error:
            with suppress(OSError):
                os.ftruncate(self.descriptor, start)
            self.leave()
            if isinstance(error, OSError):
                raise output_error(error, self._folder) from None
            raise
        self._size = end
        return start, end - start

    def leave(self) -> None:
        """Say that one of the runs is no longer read."""
        with self._lock:
            self._runs -= 1
            if self._runs == 0:
                os.close(self.descriptor)
                self.descriptor = -1

    def read_into(self, position: int, out: Bytes) -> None:
        """Fill `out` from byte `position` on. Raises OutputError if the file ends before that."""
        view = memoryview(out)
        while len(view):
            count = os.preadv(self.descriptor, [view[:_LARGEST_CALL]], position)
            if count == 0:
                raise OutputError("a temporary file has become shorter", where=self._folder)
            view = view[count:]
            position += count
