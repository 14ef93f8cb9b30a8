"""The frames of Zstandard files: how long each is, and its content, as far as headers or a seek table say so."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Any

from gpumerge_cli.formats.block_index import LARGEST_BLOCK, LARGEST_PACKED, BlockCoding, BlockDamageError, Window

_FRAME = b"\x28\xb5\x2f\xfd"
_SKIPPED = b"\x2a\x4d\x18"  # behind a byte from 50 to 5f
_LARGEST_HEADER = 18
_LARGEST_PIECE = 128 << 10  # of content, in one of the blocks of a frame
_RLE, _RESERVED = 1, 3
_TABLE_END = struct.Struct("<IBI")  # frames, flags, magic
_TABLE_MAGIC = 0x8F92EAB1


def _walk(window: Window) -> Iterator[tuple[int, int]]:
    table = _table(window)
    return _frames(window) if table is None else iter(table)


def _frames(window: Window) -> Iterator[tuple[int, int]]:
    start = 0
    while start < window.size:
        head = window.read(start, _LARGEST_HEADER)
        if head[1:4] == _SKIPPED and head[0] >> 4 == 5 and len(head) >= 8:
            size, content = 8 + int.from_bytes(head[4:8], "little"), 0
        elif head.startswith(_FRAME) and len(head) > 5:
            header, content = _content_bytes(head)
            if not 0 <= content <= LARGEST_BLOCK:
                yield 0, -1
                return
            size = _frame_bytes(window, start, header, head[4], content)
            if size > LARGEST_PACKED:
                yield 0, -1
                return
        elif start == 0:
            yield 0, -1
            return
        else:
            raise BlockDamageError(start, "no frame begins there, or the frame before it is damaged")
        if start + size > window.size:
            raise BlockDamageError(start, "the file ends inside it")
        yield size, content
        start += size


def _content_bytes(head: bytes) -> tuple[int, int]:
    """(bytes of a frame's header, those of its content); the latter is -1 if the header does not say so."""
    flags = head[4]
    single = flags >> 5 & 1
    at = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    length = (single, 2, 4, 8)[flags >> 6]
    if not length or flags & 3:  # a dictionary is needed
        return at + length, -1
    return at + length, int.from_bytes(head[at : at + length], "little") + (256 if length == 2 else 0)


def _frame_bytes(window: Window, start: int, header: int, flags: int, content: int) -> int:
    """Bytes of the frame at `start`, or some more than LARGEST_PACKED. Raises BlockDamageError."""
    at, most, last = start + header, 0, False
    while not last and at - start <= LARGEST_PACKED:
        head = int.from_bytes(window.read(at, 3), "little")
        last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
        if at + 3 > window.size:
            raise BlockDamageError(start, "the file ends inside it")
        if kind == _RESERVED or size > _LARGEST_PIECE:
            raise BlockDamageError(start, "one of its blocks has an impossible header")
        at += 3 + (1 if kind == _RLE else size)
        most += _LARGEST_PIECE
    if last and content > most:
        raise BlockDamageError(start, "its content has another size than it states")
    return at + (4 if flags & 4 else 0) - start


def _table(window: Window) -> list[tuple[int, int]] | None:
    """The frames as the table behind them has them; None if there is none, or if it cannot be true.

    Its last frame is the table itself.
    """
    end = window.read(window.size - _TABLE_END.size, _TABLE_END.size) if window.size > _TABLE_END.size else b""
    if len(end) < _TABLE_END.size or not end.endswith(struct.pack("<I", _TABLE_MAGIC)):
        return None
    count, flags, _ = _TABLE_END.unpack(end)
    entry = 12 if flags & 0x80 else 8
    size = count * entry + _TABLE_END.size
    if size + 8 > window.size:
        return None
    data = window.read(window.size - size - 8, size + 8)
    if data[:8] != struct.pack("<II", 0x184D2A5E, size):
        return None
    rows = [struct.unpack_from("<II", data, 8 + number * entry) for number in range(count)]
    if sum(packed for packed, _ in rows) + size + 8 != window.size or any(packed == 0 for packed, _ in rows):
        return None
    return [*rows, (size + 8, 0)]


def _unpacker(new: Callable[[], Any]) -> Callable[[bytes, int], bytes]:
    """BlockCoding.unpack. new: makes a decompressor, as zstd.ZstdDecompressor does."""

    def unpack(data: bytes, size: int) -> bytes:
        found, start, left = [], 0, size
        while start < len(data):
            one = new()
            try:
                plain: bytes = one.decompress(data[start:] if start else data, left + 1)
            except Exception as error:
                raise BlockDamageError(start, f"it is not Zstandard data ({error})") from None
            left -= len(plain)
            if left < 0 or not one.eof:
                raise BlockDamageError(start, "its content has another size than it states")
            found.append(plain)
            start = len(data) - len(one.unused_data)
        if left:
            raise BlockDamageError(0, "its content has another size than it states")
        return found[0] if len(found) == 1 else b"".join(found)

    return unpack


def zstd_frames(library: Any) -> BlockCoding:
    """The frames. library: the module zstd of Python 3.14, or one that has its classes."""
    return BlockCoding("Zstandard frame", _walk, _unpacker(library.ZstdDecompressor))
