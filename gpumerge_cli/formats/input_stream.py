"""An opened input as a file object, for libraries that read one."""

from __future__ import annotations

import io
from typing import Any

from gpumerge_cli.formats.input import SeekableInput


class InputStream(io.RawIOBase):
    """The bytes of an input. Closing it leaves the input open. Raises InputError."""

    def __init__(self, file: SeekableInput) -> None:
        super().__init__()
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, self._file.size - self._at)
        data = self._file.read_exactly(self._at, left if size is None or size < 0 else min(size, left))
        self._at += len(data)
        return data

    def readinto(self, out: Any, /) -> int:
        view = memoryview(out).cast("B")
        count = min(len(view), max(0, self._file.size - self._at))
        self._file.read_into(self._at, view[:count])
        self._at += count
        return count
