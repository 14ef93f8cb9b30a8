"""The quotes of CSV, and what they enclose, by the library."""

from __future__ import annotations

import ctypes
from typing import Any

from gpumerge_cli.buffers import address_of
from gpumerge_cli.native.library import library

WORD_OF_MARKS = 64
"""Text comes in pieces of a multiple of so many bytes."""


class CsvMarks:
    """A file's text, one piece after the other. separator: the text between fields."""

    def __init__(self, separator: bytes) -> None:
        lib = library()
        self._separator = ctypes.create_string_buffer(separator)
        self._words = (ctypes.c_int64 * (2 * len(separator)))()
        self._marks: Any = lib.CsvMarks(proper=1, lines=1, bound=1, separator_size=len(separator))
        self._marks.separator = ctypes.addressof(self._separator)
        self._marks.words = ctypes.addressof(self._words)
        self._go_on = lib.gm_csv_marks

    def take(self, text: bytearray, nbytes: int, end: int = -1) -> None:
        """Go on with the first `nbytes` bytes of `text`, a multiple of WORD_OF_MARKS.

        end: the byte that newlines become that end records; -1 for none.
        """
        assert nbytes % WORD_OF_MARKS == 0, "of whole words"
        assert nbytes <= len(text), "beyond the text"
        self._go_on(self._marks, address_of(text), nbytes, end)

    @property
    def proper(self) -> bool:
        """Whether quotes enclose whole fields so far, and carriage returns stand only ahead of newlines."""
        return bool(self._marks.proper)

    @property
    def lines(self) -> bool:
        """Whether no quotes enclose a newline so far."""
        return bool(self._marks.lines)

    @property
    def doubled(self) -> bool:
        """Whether there are quotes within quotes so far."""
        return bool(self._marks.doubled)

    @property
    def inside(self) -> bool:
        """Whether the last byte was enclosed."""
        return bool(self._marks.inside)
