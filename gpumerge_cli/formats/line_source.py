"""Lines of text. Bytes, not characters: a line ends at its terminator, a newline or NUL, and may hold anything else."""

from __future__ import annotations

from gpumerge_cli.formats.ended_source import EndedSource
from gpumerge_cli.formats.input import SeekableInput

BOM = b"\xef\xbb\xbf"
"""The UTF-8 byte order mark."""


class LineSource(EndedSource):
    """The lines of a file behind its header; a missing last terminator is supplied.

    terminator: the byte that ends a line. header_lines, header_asked: lines at the file's start that are not items, as
    far as it has so many. marked: a byte order mark at the file's start belongs to no item, even without a header.
    """

    def __init__(
        self, file: SeekableInput, terminator: int = 10, header_lines: int = 0, *, marked: bool = False
    ) -> None:
        super().__init__(file, terminator)
        self.header_asked = header_lines
        self.marked = marked
        self._header_lines = 0
        start = 0
        is_mark = file.size == len(BOM) and file.read(0, len(BOM)) == BOM
        while self._header_lines < header_lines and start < file.size and not is_mark:
            start = min(file.size, self.item_end(start))
            self._header_lines += 1
        if start == 0 and (marked or header_lines) and file.read(0, len(BOM)) == BOM:
            start = len(BOM)
            if start == file.size:
                self._unfinished = False
        self.mark = BOM if self._header_lines == 0 and start else b""
        """The byte order mark ahead of the first item; b"" if there is none or a header holds it."""
        # From here on positions count from behind the header.
        self._base = start
        self._held = file.size - start
        self.size = self._held + self._unfinished if self._held else 0

    @property
    def file(self) -> SeekableInput:
        """The file whose lines these are, header included."""
        return self._file

    @property
    def header(self) -> bytes:
        """The lines that are no items, each with its terminator."""
        if not self._header_lines:
            return b""
        data = self._file.read_exactly(0, self._base)
        return data if data.endswith(self._end) or not data else data + self._end

    def place(self, start: int) -> str:
        return f"{self.name}:{self._header_lines + self._items_before(start) + 1}"
