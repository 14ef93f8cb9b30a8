"""The pages of Parquet's columns."""

from __future__ import annotations

from hashlib import blake2b

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_chunks import ChunkFacts
from gpumerge_cli.formats.tables.parquet_facts import number_in, value_in
from gpumerge_cli.formats.tables.parquet_groups import Read
from gpumerge_cli.formats.tables.thrift import STRUCT, DamagedError, Struct

_USUAL = 1 << 20
"""The bytes of a page by most writers."""
_READ_AT_ONCE = 1 << 20
_HEADER = 8 << 10
"""More than the header of a page takes, as a rule."""
_TYPE, _UNCOMPRESSED, _COMPRESSED = 1, 2, 3
"""The fields of PageHeader."""
_OF_DICTIONARY, _LENGTH = 7, 4
"""The field of PageHeader that describes a dictionary, and the bytes of the length of a text."""
_DICTIONARY = 2
"""The type of a page that holds a dictionary."""


def page_bytes(read: Read | None, chunk: ChunkFacts) -> int:
    """About the bytes that a reader holds of a column: a page as it is stored and as it is decoded, and a dictionary.

    The first page stands for all. read: None assumes one of the usual size.
    """
    usual = min(max(0, chunk.uncompressed), _USUAL) + min(max(0, chunk.compressed), _USUAL)
    if chunk.uncompressed <= _USUAL or read is None:
        return usual
    try:
        kind, uncompressed, compressed, header = _page_at(read, chunk, 0)
        if kind != _DICTIONARY:
            return uncompressed + compressed
        _, of_page, stored, _ = _page_at(read, chunk, header + compressed)
        return uncompressed + of_page + stored
    except (DamagedError, InputError):
        return usual


def mean_of_dictionary(read: Read, chunk: ChunkFacts) -> float | None:
    """The mean bytes of the texts in the dictionary of a column; None if they are unknown."""
    found = _dictionary(read, chunk)
    if found is None:
        return None
    size, count = found
    return max(0.0, size / count - _LENGTH) if count > 0 else 0.0


def values_of_dictionary(read: Read, chunk: ChunkFacts) -> int | None:
    """The number of values in the dictionary of a column; None if it is unknown."""
    found = _dictionary(read, chunk)
    return None if found is None else max(0, found[1])


def digest_of_dictionary(read: Read, chunk: ChunkFacts) -> bytes | None:
    """A digest of the dictionary of a column as it is stored; None if it is unknown. It reads all bytes of it."""
    try:
        kind, size, stored, header = _page_at(read, chunk, 0)
        if kind != _DICTIONARY:
            return None
        found = blake2b(size.to_bytes(8, "little"))
        for at in range(0, stored, _READ_AT_ONCE):
            found.update(read(chunk.start + header + at, min(_READ_AT_ONCE, stored - at)))
        return found.digest()
    except (DamagedError, InputError):
        return None


def _dictionary(read: Read, chunk: ChunkFacts) -> tuple[int, int] | None:
    """(the bytes, the number of values) of the dictionary of a column; None if they are unknown."""
    try:
        kind, size, _, _, page = _header_at(read, chunk, 0)
        if kind != _DICTIONARY or _OF_DICTIONARY not in page:
            return None
        return size, number_in(value_in(page, _OF_DICTIONARY, STRUCT), 1)
    except (DamagedError, InputError):
        return None


def _page_at(read: Read, chunk: ChunkFacts, at: int) -> tuple[int, int, int, int]:
    """(type, bytes of the values, bytes as they are stored, bytes of the header) of the page behind `at` bytes."""
    return _header_at(read, chunk, at)[:4]


def _header_at(read: Read, chunk: ChunkFacts, at: int) -> tuple[int, int, int, int, Struct]:
    """The same, and the header."""
    data = bytes(read(chunk.start + at, max(0, min(_HEADER, chunk.compressed - at))))
    length = thrift.struct_length(data)
    page = thrift.read(data[:length])
    sizes = [number_in(page, id) for id in (_TYPE, _UNCOMPRESSED, _COMPRESSED)]
    if min(sizes) < 0:
        raise DamagedError("a page has a negative size")
    return sizes[0], min(sizes[1], chunk.uncompressed), min(sizes[2], chunk.compressed), length, page
