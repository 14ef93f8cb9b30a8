"""Items of one size, keys or records, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.extents import Extent
from gpumerge_cli.formats.input import SeekableInput

if TYPE_CHECKING:
    from gpumerge_cli.order.key_types import Dtype


class FixedSource:
    """Items of one dtype, from byte `header` of a file on. Keys are shown in native byte order, records as they are."""

    def __init__(self, file: SeekableInput, dtype: Dtype, header: int, size: int) -> None:
        self.name = file.name
        self.size = size
        self.dtype: Dtype | None = dtype
        self._file = file
        self._header = header
        self._width = dtype.itemsize
        self._native = foreign_keys(dtype)

    @property
    def tag(self) -> str:
        return self._file.tag

    @property
    def extent(self) -> Extent | None:
        return self._file.extent(self._header, self.size, 0 if self._native is None else self._width)

    def read_into(self, start: int, out: Bytes) -> None:
        self._file.read_into(self._header + start, out)
        if self._native is not None:
            import numpy as np

            np.asarray(out).view(self._native).byteswap(inplace=True)

    def item_start(self, position: int) -> int:
        return min(self.size, -(-position // self._width) * self._width)

    def item_at(self, start: int) -> bytes:
        item = self._file.read_exactly(self._header + start, self._width)
        return item if self._native is None else item[::-1]

    def item_before(self, start: int) -> bytes:
        return self.item_at(start - self._width)

    def item_end(self, start: int) -> int:
        return start + self._width

    def location(self, start: int) -> str:
        return f"{self.name}@{start // self._width}"

    def count(self, stop: int | None = None) -> int:
        return (self.size if stop is None else stop) // self._width

    def check_unchanged(self) -> None:
        self._file.check_unchanged()

    def close(self) -> None:
        self._file.close()


def foreign_keys(dtype: Dtype) -> Dtype | None:
    """The native type of keys that are in foreign byte order; None for other keys, and for records."""
    return None if dtype.isnative or dtype.kind in "SV" else dtype.newbyteorder("=")
