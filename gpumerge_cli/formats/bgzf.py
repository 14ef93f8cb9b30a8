"""BGZF, as bgzip, samtools and tabix have it: gzip members of at most 64 KiB that say how long they are."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from gpumerge_cli.formats.block_index import BlockCoding, BlockDamageError, Window

BGZF_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block behind all others."""
_HEAD = BGZF_END[:16]  # behind it, the block's bytes less one; a flag in it says that there is no name or comment
_CONTENT = 65280  # what other writers put into a block, so that its bytes fit a uint16 whatever it holds
_LARGEST = 1 << 16
_GZIP = BGZF_END[:3]
_LEAST = 18  # of any member of gzip
_FIXED = 12  # bytes ahead of the extra field
_TAIL = 8  # the checksum of the content, and its bytes
_RAW = -15  # zlib's word for data without a header


def packer(library: Any, level: int) -> Callable[[Any], bytes]:
    """A function that makes blocks of a chunk. library: zlib, or a module that has its functions, with a level."""
    deflate, crc32 = partial(library.compress, level=level, wbits=_RAW), library.crc32

    def block(content: memoryview) -> bytes:
        data = deflate(content)
        if len(data) + len(BGZF_END) > _LARGEST:
            data = b"\x01" + struct.pack("<HH", len(content), len(content) ^ 0xFFFF) + content  # stored
        size = len(_HEAD) + 2 + len(data) + _TAIL - 1
        return b"".join((_HEAD, struct.pack("<H", size), data, struct.pack("<II", crc32(content), len(content))))

    def blocks(chunk: Any) -> bytes:
        view = memoryview(chunk).cast("B")
        return b"".join(block(view[at : at + _CONTENT]) for at in range(0, len(view), _CONTENT))

    return blocks


def _block_bytes(window: Window, start: int) -> int:
    """Bytes of the block at `start`; 0 if other data begin there, as gzip has them. Raises BlockDamageError."""
    head = window.read(start, _LEAST)
    if start and not head.startswith(_GZIP):
        if _are_zeros(window, start):  # which may follow members of gzip
            return 0
        raise BlockDamageError(start, "no block begins there, or the block before it is damaged")
    if len(head) < _LEAST:
        if start:
            raise BlockDamageError(start, "the file ends inside it")
        return 0
    if not head.startswith(_HEAD[:4]):
        return 0
    if head[10:16] == _HEAD[10:]:
        return head[16] + (head[17] << 8) + 1
    fields = window.read(start + _FIXED, head[10] + (head[11] << 8))
    at = 0
    while at + 4 <= len(fields):
        length = fields[at + 2] + (fields[at + 3] << 8)
        if fields[at : at + 2] == b"BC" and length == 2 and at + 6 <= len(fields):
            return fields[at + 4] + (fields[at + 5] << 8) + 1
        at += 4 + length
    return 0


def _are_zeros(window: Window, start: int) -> bool:
    """Whether nothing but zeros stands from byte `start` on."""
    return not any(any(window.read(at, _LARGEST)) for at in range(start, window.size, _LARGEST))


def _walk(window: Window) -> Iterator[tuple[int, int]]:
    start = 0
    while start < window.size:
        size = _block_bytes(window, start)
        if not size:
            yield 0, -1
            return
        if start + size > window.size:
            raise BlockDamageError(start, "the file ends inside it")
        content = int.from_bytes(window.read(start + size - 4, 4), "little")
        if content > _LARGEST or size < len(BGZF_END):
            raise BlockDamageError(start, "its header or its end states an impossible size")
        yield size, content
        start += size


def _unpacker(library: Any) -> Callable[[bytes, int], bytes]:
    """BlockCoding.unpack. library: zlib, or a module that has its functions."""
    new, crc32 = library.decompressobj, library.crc32

    def unpack(data: bytes, size: int) -> bytes:
        found, start, window = [], 0, Window(_Memory(data))
        for packed, content in _walk(window):
            if content < 0:
                break
            begin = start + _FIXED + data[start + 10] + (data[start + 11] << 8)
            one = new(_RAW)
            try:
                plain: bytes = one.decompress(data[begin : start + packed - _TAIL], content + 1)
            except Exception as error:
                raise BlockDamageError(start, f"it is not deflate data ({error})") from None
            if len(plain) != content or not one.eof:
                raise BlockDamageError(start, "its content has another size than it states")
            if crc32(plain) != int.from_bytes(data[start + packed - _TAIL : start + packed - 4], "little"):
                raise BlockDamageError(start, "its content has another checksum (CRC-32) than it states")
            found.append(plain)
            start += packed
        joined = found[0] if len(found) == 1 else b"".join(found)
        if len(joined) != size:
            raise BlockDamageError(start, "its blocks have changed since it was opened")
        return joined

    return unpack


class _Memory:
    """Bytes in memory. See Positioned."""

    def __init__(self, data: bytes) -> None:
        self.size = len(data)
        self._data = data

    def read(self, position: int, count: int, /) -> bytes:
        return self._data[position : position + count]


def bgzf_blocks(library: Any) -> BlockCoding:
    """The blocks, unpacked by zlib or a module that has its functions."""
    return BlockCoding("BGZF block", _walk, _unpacker(library), BGZF_END)
