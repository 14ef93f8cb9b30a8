"""Lines of text. Bytes, not characters: a line ends at its terminator, a newline or NUL, and may hold anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats.header_lines import HeaderLines
from gpumerge_cli.formats.input import SeekableInput

if TYPE_CHECKING:
    from gpumerge_cli.formats.returns import Returns
    from gpumerge_cli.order.key_types import Dtype

BOM = b"\xef\xbb\xbf"
"""The UTF-8 byte order mark."""
_BLOCK = 1 << 12
_LARGEST_BLOCK = 1 << 24
_HEADER_BLOCK = 1 << 16
_COUNTED = 1 << 18  # stays in the caches


class EndedSource:
    """The items of a file, each of which ends in a byte; a missing last one is supplied. See formats.base.Source.

    terminator: that byte.
    """

    dtype: Dtype | None = None

    def __init__(self, file: SeekableInput, terminator: int) -> None:
        self.name = file.name
        self.terminator = terminator
        self._file = file
        self._end = bytes([terminator])
        self._unfinished = file.size > 0 and file.read(file.size - 1, 1) != self._end
        self._base = 0
        self._held = file.size
        self.size = file.size + self._unfinished

    @property
    def tag(self) -> str:
        return self._file.tag

    @property
    def held(self) -> int:
        """The bytes of the stream that the file holds: all, or all but the supplied last terminator."""
        return self._held

    @property
    def extent(self) -> Extent | None:
        return self._file.extent(self._base, self._held)

    def read_into(self, start: int, out: Bytes) -> None:
        inside = max(0, min(len(out), self._held - start))
        self._file.read_into(self._base + start, memoryview(out)[:inside])
        memoryview(out)[inside:] = self._end * (len(out) - inside)

    def item_start(self, position: int) -> int:
        return 0 if position <= 0 else self.item_end(position - 1)

    def item_at(self, start: int) -> bytes:
        stop = self.item_end(start) - 1
        return self._bytes(start, stop)

    def item_before(self, start: int) -> bytes:
        stop = start - 1
        block, low = _BLOCK, stop
        while low > 0:
            high, low = low, max(0, low - block)
            found = self._bytes(low, high).rfind(self._end)
            if found >= 0:
                low += found + 1
                break
            block = min(2 * block, _LARGEST_BLOCK)
        return self._bytes(low, stop)

    def item_end(self, start: int) -> int:
        block, at = _BLOCK, start
        while at < self._held:
            found = self._read(at, block).find(self._end)
            if found >= 0:
                return at + found + 1
            at += block
            block = min(2 * block, _LARGEST_BLOCK)
        return self.size

    def _read(self, at: int, count: int) -> bytes:
        return self._file.read(self._base + at, count)

    def _bytes(self, start: int, stop: int) -> bytes:
        return self._file.read_exactly(self._base + start, stop - start)

    def location(self, start: int) -> str:
        return f"{self.name}@{self._items_before(start)}"

    def count(self, stop: int | None = None) -> int:
        return self._items_before(self.size if stop is None else stop)

    def _items_before(self, stop: int) -> int:
        lines, held = 0, min(stop, self._held)
        for at in range(0, held, _COUNTED):
            lines += self._read(at, min(_COUNTED, held - at)).count(self._end)
        return lines + (stop > self._held)

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def close(self) -> None:
        self._file.close()


class LineSource(EndedSource):
    """The lines of a file behind its header; a missing last terminator is supplied.

    terminator: the byte that ends a line. header: the lines at the file's start that are not items. marked: a byte
    order mark at the file's start belongs to no item, even without a header.
    """

    def __init__(
        self,
        file: SeekableInput,
        terminator: int = 10,
        header: HeaderLines = HeaderLines(),  # noqa: B008 - frozen
        *,
        marked: bool = False,
    ) -> None:
        super().__init__(file, terminator)
        self.requested_header = header
        self.marked = marked
        self.origin: int | None = None
        """The bytes of the file's items, of which this is a copy with longer or shorter lines; None for others."""
        self.returns: Returns | None = None
        """Describes the carriage returns that this copy of a file lacks; None for others."""
        self.is_rearranged = False
        """Whether the columns of the file are others, so that no place in it is known."""
        self.left_out = ""
        """The names of columns of the file that its lines lack, as in a header."""
        self.header_count = 0
        """The lines of the header that the file has."""
        start = 0
        has_mark = bool(marked or header) and file.read(0, len(BOM)) == BOM
        is_mark = has_mark and file.size == len(BOM)
        if header.prefix and not is_mark:
            start, self.header_count = self._prefixed(header.prefix, len(BOM) if has_mark else 0)
        self.prefixed = start
        """The bytes of the file's first lines that begin with the prefix of headers."""
        most = self.header_count + header.count
        while self.header_count < most and start < file.size and not is_mark:
            start = min(file.size, self.item_end(start))
            self.header_count += 1
        if start == 0 and has_mark:
            start = len(BOM)
            if start == file.size:
                self._unfinished = False
        self.mark = BOM if self.header_count == 0 and start else b""
        """The byte order mark ahead of the first item; b"" if there is none or a header holds it."""
        # From here on positions count from behind the header.
        self._base = start
        self._held = file.size - start
        self.size = self._held + self._unfinished if self._held else 0

    @property
    def file(self) -> SeekableInput:
        """The file whose lines these are, header included."""
        return self._file

    def _prefixed(self, prefix: bytes, first: int) -> tuple[int, int]:
        """The bytes and number of the file's first lines that begin with `prefix`, the first one at byte `first`."""
        start, count, data, low = 0, 0, b"", 0
        while True:
            at = (start or first) - low
            end = data.find(self._end, at) + 1
            if not end:
                low, at = start or first, 0
                data = self._read(low, _HEADER_BLOCK)
                end = data.find(self._end) + 1
            if not data.startswith(prefix, at):
                return start, count
            start = low + end if end else min(self._file.size, self.item_end(low))
            count += 1

    doubted: bool = True
    """Whether its lines are looked at for a header that no option names, and for keys that are empty."""

    @property
    def header_known(self) -> bool:
        """Whether an option says that the file has a header, or its format that it has none."""
        return bool(self.requested_header) or not self.doubted

    def skipped_ahead(self, start: int) -> int:
        """The bytes of lines of the file ahead of the item at `start` that are neither items nor its header."""
        return 0

    @property
    def header(self) -> bytes:
        """The lines that are not items, each with its terminator."""
        if not self.header_count:
            return b""
        data = self._file.read_exactly(0, self._base)
        return data if data.endswith(self._end) or not data else data + self._end

    @property
    def first_line(self) -> bytes | None:
        """The last line of the header, or else the first item, without mark and terminator; None if there is none."""
        header = self.header.removeprefix(BOM)
        if header:
            return header[:-1].rpartition(self._end)[2]
        return self.first_item

    @property
    def first_item(self) -> bytes | None:
        """The first item without its terminator; None if there is none."""
        return self.item_at(0) if self.size else None

    def location(self, start: int) -> str:
        return f"{self.name}:{self.header_count + self._items_before(start) + 1}"

    def copied(
        self, write: Callable[[IO[bytes]], None], terminator: int, kind: type[LineSource] | None = None
    ) -> LineSource:
        """The source of what `write` makes of the file, whose lines end in `terminator`; this one is closed.

        kind: the class of the copy, LineSource by default.
        """
        copy = (kind or LineSource)(self._file.replaced(write), terminator, self.requested_header, marked=self.marked)
        copy.left_out, copy.origin, copy.returns = self.left_out, self.origin, self.returns
        copy.is_rearranged = self.is_rearranged
        return copy

    def place_in_file(self, position: int) -> int | None:
        """The byte of the file, counted from its first item, at which an item lies; None if only `origin` is known."""
        if self.returns is not None:
            return self.returns.place(self._file, self._base + position)
        return min(position, self.held) if self.origin is None else None
