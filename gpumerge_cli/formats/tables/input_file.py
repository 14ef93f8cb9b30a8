"""An input as a file object that pyarrow reads."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpumerge_cli.formats.input import SeekableInput

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowInput(io.RawIOBase):
    """An opened input. Closing it leaves the input open."""

    def __init__(self, file: SeekableInput) -> None:
        super().__init__()
        self._file = file
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        """The bytes of the file."""
        return self._file.size

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._file.size - self._at)
        data = self._file.read_exactly(self._at, left if size is None or size < 0 else min(size, left))
        self._at += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        count = min(len(view), max(0, self._file.size - self._at))
        self._file.read_into(self._at, view[:count])
        self._at += count
        return count


def opened(file: SeekableInput) -> pa.NativeFile:
    """The input for pyarrow, which reads a file into memory of its own."""
    import pyarrow as pa

    place = file.extent(0, file.size)
    if place is not None and place.memory is None and not place.start:
        with suppress(OSError):  # a system without such names
            return pa.OSFile(f"/proc/self/fd/{place.descriptor}", "rb")
    return pa.PythonFile(ArrowInput(file), mode="r")
