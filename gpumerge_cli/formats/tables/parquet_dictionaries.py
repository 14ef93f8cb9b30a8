"""Columns of Parquet files that Arrow types as dictionaries, because the writer left its schema in the metadata.

pyarrow copies the whole dictionary of a row group for each batch. Small dictionaries are read in large batches. Large
ones are read as plain values, so that batches take the bytes of their rows.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables.nested_dictionaries import has_dictionary_inside
from gpumerge_cli.formats.tables.parquet_chunks import ChunkFacts
from gpumerge_cli.formats.tables.parquet_facts import MAGIC, ParquetFooter
from gpumerge_cli.formats.tables.parquet_footer import footer_bytes

_MOST_HELD = 64 << 20
"""Bytes of the dictionaries of a file that may be in memory beside its rows, if those of a group are large."""
_LARGE = 2 << 20
"""Dictionaries of groups are large from so many bytes on: most writers end one at 1 MB."""
_OF_INDEX = 5
"""More than the bytes of an index in a page, with its levels."""
_SCHEMA = b"ARROW:schema"


def large_dictionaries(
    columns: Mapping[str, Sequence[ChunkFacts]], digest: Callable[[ChunkFacts], bytes | None]
) -> list[str]:
    """The columns that are read as plain values. A dictionary that equals that of the group ahead counts once.

    columns: the chunks of those that Arrow types as dictionaries. digest: of the dictionary of a chunk, None if it is
    unknown; asked if the dictionaries are too large where each counts.
    """
    found, held = [], 0
    for name, chunks in columns.items():
        nbytes = sum(map(_bytes, chunks))
        if _are_large(held, nbytes, len(chunks)):
            nbytes = count = 0
            for chunk in _different(chunks, digest):
                nbytes, count = nbytes + _bytes(chunk), count + 1
                if held + nbytes > _MOST_HELD and nbytes > _LARGE * len(chunks):
                    break
            if _are_large(held, nbytes, count):
                found.append(name)
                continue
        held += nbytes
    return found


def _are_large(held: int, nbytes: int, count: int) -> bool:
    """Whether so many dictionaries of `nbytes` in all are too large beside others that are held."""
    return held + nbytes > _MOST_HELD and nbytes > _LARGE * count


def _bytes(chunk: ChunkFacts) -> int:
    """About the bytes of the dictionary of a column in a group."""
    return max(0, chunk.uncompressed - _OF_INDEX * chunk.num_values)


def _different(chunks: Sequence[ChunkFacts], digest: Callable[[ChunkFacts], bytes | None]) -> Iterator[ChunkFacts]:
    """The chunks whose dictionary is not that of the chunk ahead."""
    last = None
    for chunk in chunks:
        own = digest(chunk)
        if own is None or own != last:
            yield chunk
        last = own


def plainly_typed(footer: ParquetFooter, types: Mapping[str, pa.DataType]) -> pq.FileMetaData:
    """The metadata of a file, in which Arrow types some columns by their values. Raises errors of Arrow.

    types: those of the values, by the names of the columns.
    """
    metadata = [(key, _plain(value, types) if value and key == _SCHEMA else value) for key, value in footer.metadata]
    data = MAGIC + footer_bytes(replace(footer, metadata=tuple(metadata)), footer.rows, footer.groups)
    return pq.read_metadata(pa.BufferReader(data))


def _plain(encoded: bytes, types: Mapping[str, pa.DataType]) -> bytes:
    """A schema as metadata have it, with the types of values of some columns, which may not be those that it says."""
    schema = pa.ipc.read_schema(pa.py_buffer(b64decode(encoded)))
    for number, field in enumerate(schema):
        if field.name in types and (pa.types.is_dictionary(field.type) or has_dictionary_inside(field.type)):
            schema = schema.set(number, field.with_type(types[field.name]))
    return b64encode(schema.serialize().to_pybytes())
