"""BGZF as the specification of SAM has it, in plain Python."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import pairwise

EOF_BLOCK = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


def block(content: bytes, *, level: int = 6, extra: bytes = b"") -> bytes:
    """One block. extra: further subfields, ahead of the one that tells the size."""
    packer = zlib.compressobj(level, wbits=-15)
    data = packer.compress(content) + packer.flush()
    fields = extra + struct.pack("<2sHH", b"BC", 2, 12 + len(extra) + 6 + len(data) + 8 - 1)
    head = struct.pack("<BBBBIBBH", 0x1F, 0x8B, 8, 4, 0, 0, 255, len(fields))
    return head + fields + data + struct.pack("<II", zlib.crc32(content), len(content))


def in_blocks(data: bytes, ends: Sequence[int] = (), *, end: bytes = EOF_BLOCK) -> bytes:
    """A file of blocks. ends: the places in `data` between two of them; by default each 5000 bytes."""
    places = [0, *(ends or range(5000, len(data), 5000)), len(data)]
    return b"".join(block(data[low:high]) for low, high in pairwise(places) if data) + end


def blocks_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(where it begins, its content) of each block of a file."""
    at = 0
    while at < len(data):
        assert data[at : at + 4] == b"\x1f\x8b\x08\x04"
        assert data[at + 12 : at + 16] == b"BC\x02\0"
        size = int.from_bytes(data[at + 16 : at + 18], "little") + 1
        content = zlib.decompress(data[at : at + size], 31)
        assert len(content) == int.from_bytes(data[at + size - 4 : at + size], "little") <= 1 << 16
        yield at, content
        at += size
    assert at == len(data)
