"""The compression of Arrow's IPC files and streams, and the bytes of their batches."""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.tables.arrow_footer import TAIL, blocks_in, field_at, footer_length, offset_at
from gpumerge_cli.formats.tables.settings import TableSettings

_BEHIND_MAGIC = 8
_CODECS = ("lz4", "zstd")
"""By their numbers in the metadata of a batch."""
AHEAD_OF_METADATA = 8
"""The bytes ahead of the metadata of a message."""
_HEADER, _COMPRESSION, _CODEC = 2, 3, 0
"""Numbers of fields of Message, RecordBatch and BodyCompression."""


def codec_of(source: Any, *, is_file: bool) -> str:
    """The compression of the first batch, "none" if there is none. source: an opened file or stream."""
    if is_file:
        source.seek(_BEHIND_MAGIC)
    with suppress(pa.ArrowException, EOFError, OSError, struct.error, IndexError, StopIteration):
        for message in pa.ipc.MessageReader.open_stream(source):
            if message.type == "record batch":
                return _codec(message.metadata.to_pybytes())
    return "none"


def batch_bytes(source: Any, *, is_file: bool) -> tuple[int, ...]:
    """The bytes of each batch in the file or stream; () if they cannot be told. source: see codec_of."""
    with suppress(pa.ArrowException, EOFError, OSError, struct.error, IndexError):
        return _blocks(source) if is_file else _message_bytes(source)
    return ()


def _message_bytes(stream: Any) -> tuple[int, ...]:
    batches = (one for one in pa.ipc.MessageReader.open_stream(stream) if one.type == "record batch")
    return tuple(AHEAD_OF_METADATA + one.metadata.size + (one.body.size if one.body else 0) for one in batches)


def _blocks(file: Any) -> tuple[int, ...]:
    """The bytes of the batches that a file's footer lists."""
    size = file.size()
    file.seek(size - TAIL)
    length = footer_length(file.read(TAIL))
    file.seek(size - TAIL - length)
    return tuple(block.metadata + block.body for block in blocks_in(file.read(length)))


def _codec(data: bytes) -> str:
    """The compression in the metadata of a batch, which is a Message in the form of FlatBuffers."""
    table = offset_at(data, 0)
    for field in (_HEADER, _COMPRESSION):
        place = field_at(data, table, field)
        if not place:
            return "none"
        table = offset_at(data, place)
    place = field_at(data, table, _CODEC)
    return _CODECS[data[place] if place else 0]


def codec_to_write(settings: TableSettings, usual: str) -> Any:
    """The compression of an output as pyarrow takes it. usual: where settings leave it open.

    Raises UsageError for one that Arrow lacks.
    """
    name = settings.compression or usual
    if name != "none" and name not in _CODECS:
        raise UsageError(f"--compression {name}: Arrow supports none, lz4 and zstd", way_out="use one of these")
    if settings.level is None:
        return None if name == "none" else name
    if name != "zstd":
        what = f"--compression-level {settings.level}: {name} has no levels in Arrow"
        raise UsageError(what, way_out="leave it out, or use --compression zstd")
    least, most = pa.Codec.minimum_compression_level(name), pa.Codec.maximum_compression_level(name)
    if not least <= settings.level <= most:
        what = f"--compression-level {settings.level}: the levels of zstd go from 1 to {most}"
        raise UsageError(what, way_out="use one of these")
    return pa.Codec(name, settings.level)
