"""Compressed files that consist of blocks, each of which can be unpacked alone: where each begins.

The content of a whole group of blocks is the unit that is read and kept. A group has one block, or as many small ones
as _GROUP_BYTES allow, so that an index is small beside the content, however small blocks are.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Protocol

from gpumerge_cli.dataclass import dataclass

LARGEST_BLOCK = 2 << 20
"""Bytes of content beyond which a block is too large to be unpacked for a few bytes of it.

Blocks at the edges of chunks, and where cuts are searched, are unpacked more than once: a merge of files whose blocks
had 8 MiB, as chunks have, unpacked them four times, and took three times as long as with copies."""
LARGEST_PACKED = 2 * LARGEST_BLOCK
"""Bytes in the file beyond which a block is too large, whatever it holds: it is read at once."""
_GROUP_BYTES = 64 << 10  # of content
_PACKED_GROUP = 1 << 20  # for blocks that hold nothing
_WINDOW = 1 << 20


class BlockDamageError(Exception):
    """A block is not what it should be. at: the byte where it begins. what: the reason."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(what)
        self.at = at
        self.what = what


class Positioned(Protocol):
    """Bytes that are read at any position."""

    size: int

    def read(self, position: int, count: int, /) -> bytes:
        """Up to `count` bytes from byte `position` on, fewer only at the end."""


class Window:
    """A file that is gone through from its start, in small pieces. went_on: called with the share gone through."""

    def __init__(self, file: Positioned, went_on: Callable[[float], None] = lambda share: None) -> None:
        self.size = file.size
        self._file = file
        self._went_on = went_on
        self._start = 0
        self._held = b""

    def read(self, position: int, count: int) -> bytes:
        """Up to `count` bytes from byte `position` on, fewer only at the end."""
        at = position - self._start
        if at < 0 or at + count > len(self._held):
            if position >= self.size:
                return b""
            self._held = self._file.read(position, max(count, _WINDOW))
            self._went_on(max(0, position - self._start) / self.size)
            self._start, at = position, 0
        return self._held[at : at + count]


@dataclass(frozen=True)
class BlockCoding:
    """The blocks of a compression."""

    word: str
    """The word for a block in messages."""
    walk: Callable[[Window], Iterator[tuple[int, int]]]
    """The bytes of each block in the file, and of its content, from the first one on.

    A content of -1 if the file is not of such blocks throughout. Raises BlockDamageError."""
    unpack: Callable[[bytes, int], bytes]
    """The content of whole blocks, which has so many bytes. Raises BlockDamageError, whose place counts from there.

    It takes no more memory than for this content, whatever the blocks hold."""
    end: bytes = b""
    """The bytes at the end of each whole file."""


class BlockIndex:
    """The groups of a file. The lists have one entry more than there are groups, for the end.

    A group may hold nothing, and is as large as it likes then.
    """

    def __init__(self) -> None:
        self.starts = array("q", [0])
        """The first byte of each group in the file."""
        self.offsets = array("q", [0])
        """The first byte of its content."""
        self.largest = 0
        """Bytes of the largest content."""
        self._packed = self._content = 0

    @property
    def size(self) -> int:
        """Bytes of the content."""
        return self.offsets[-1]

    def group_at(self, position: int) -> int:
        """The number of the group that holds a byte of the content; the groups ahead of it may hold nothing."""
        return bisect_right(self.offsets, position) - 1

    def add(self, packed: int, content: int) -> None:
        """Add a block: its bytes in the file, and those of its content."""
        if self._content + content > _GROUP_BYTES or self._packed + packed > _PACKED_GROUP:
            self.close_group()
        self._packed += packed
        self._content += content

    def close_group(self) -> None:
        """The next block begins a group."""
        if self._packed:
            self.starts.append(self.starts[-1] + self._packed)
            self.offsets.append(self.offsets[-1] + self._content)
            self.largest = max(self.largest, self._content)
            self._packed = self._content = 0


def index_of(window: Window, coding: BlockCoding) -> BlockIndex | None:
    """The index of a file; None if it is not of such blocks throughout, or one is too large.

    Raises BlockDamageError.
    """
    index = BlockIndex()
    for packed, content in coding.walk(window):
        if not 0 <= content <= LARGEST_BLOCK or (content and packed > LARGEST_PACKED):
            return None
        index.add(packed, content)
    index.close_group()
    return index if window.size else None
