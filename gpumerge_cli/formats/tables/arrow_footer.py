"""The footer of Arrow's IPC files, a table of FlatBuffers that says where dictionaries and batches lie.

Source: https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format, https://flatbuffers.dev/internals/.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

MAGIC = b"ARROW1"
TAIL = 10
"""The bytes of the length of the footer, and of the magic."""
_DICTIONARIES, _BATCHES = 2, 3
"""The numbers of fields of Footer."""
_BLOCK = struct.Struct("<qi4xq")
_ALIGNED = 8
_COUNT = 4
"""The bytes of the length of a vector."""


class Block(NamedTuple):
    """A dictionary or a batch in a file."""

    start: int
    """Its first byte."""
    metadata: int
    """The bytes ahead of its body."""
    body: int


def footer_length(tail: bytes) -> int:
    """The bytes of the footer. tail: the last bytes of the file, see TAIL. Raises struct.error."""
    (length,) = struct.unpack_from("<i", tail)
    return int(length)


def footer_in(data: bytes) -> bytes:
    """The footer of a file. data: its bytes, or its last ones."""
    return data[len(data) - TAIL - footer_length(data[-TAIL:]) : len(data) - TAIL]


def blocks_in(footer: bytes) -> list[Block]:
    """The batches that a footer lists. Raises struct.error for a damaged one."""
    place = field_at(footer, offset_at(footer, 0), _BATCHES)
    if not place:
        return []
    start = offset_at(footer, place)
    (count,) = struct.unpack_from("<I", footer, start)
    return [Block(*_BLOCK.unpack_from(footer, start + _COUNT + _BLOCK.size * number)) for number in range(count)]


def with_blocks(footer: bytes, dictionaries: Sequence[Block], batches: Sequence[Block]) -> bytes:
    """The end of a file: a footer with these blocks in place of its own, its length and the magic."""
    made = bytearray(footer)
    table = offset_at(footer, 0)
    for field, blocks in ((_DICTIONARIES, dictionaries), (_BATCHES, batches)):
        made += bytes((_ALIGNED - _COUNT - len(made)) % _ALIGNED)
        place = field_at(footer, table, field)
        assert place, "pyarrow writes both fields"
        struct.pack_into("<I", made, place, len(made) - place)
        made += struct.pack("<I", len(blocks)) + b"".join(_BLOCK.pack(*block) for block in blocks)
    return bytes(made) + struct.pack("<i", len(made)) + MAGIC


def offset_at(data: bytes, at: int) -> int:
    """The place to which an offset at a place refers."""
    return at + int(struct.unpack_from("<I", data, at)[0])


def field_at(data: bytes, table: int, number: int) -> int:
    """The place of a field of a table; 0 if it has its usual value."""
    (back,) = struct.unpack_from("<i", data, table)
    fields = table - back
    (size,) = struct.unpack_from("<H", data, fields)
    at = 4 + 2 * number
    found = int(struct.unpack_from("<H", data, fields + at)[0]) if at < size else 0
    return table + found if found else 0
