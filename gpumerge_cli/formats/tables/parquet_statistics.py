"""Statistics of columns that are written as dictionaries: pyarrow makes them by hashing each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_facts import ColumnField, RowGroup, chunks_of, column_metadata
from gpumerge_cli.formats.tables.thrift import BINARY, I64, STRUCT, Field, Struct

_NULL_COUNT, _GREATEST, _LEAST = 3, 5, 6
"""The fields of Statistics."""
_FEW = 1 << 14
_LONGEST = 4096
"""The bytes of the longest value that statistics hold, as pyarrow has it."""


def with_statistics(group: RowGroup, columns: dict[str, Any]) -> RowGroup:
    """The group with statistics of some columns, which are ChunkedArrays of dictionaries, by their names."""
    description = thrift.read(group.facts.description)
    for chunk in chunks_of(description):
        metadata = column_metadata(chunk)
        (*above, name) = metadata[ColumnField.path].value.values
        if not above and name.decode() in columns:
            metadata[ColumnField.statistics] = Field(STRUCT, _statistics(columns[name.decode()]))
    return replace(group, facts=replace(group.facts, description=thrift.written(description)))


def _statistics(column: Any) -> Struct:
    found: Struct = {_NULL_COUNT: Field(I64, column.null_count)}
    values = [_used(chunk) for chunk in column.chunks if len(chunk) > chunk.null_count]
    if not values:
        return found
    least, greatest = _extremes(pa.concat_arrays(values))
    if max(len(least), len(greatest)) <= _LONGEST:
        found[_GREATEST], found[_LEAST] = Field(BINARY, greatest), Field(BINARY, least)
    return found


def _extremes(values: Any) -> tuple[bytes, bytes]:
    if len(values) <= _FEW:  # to load pyarrow.compute would take longer
        texts = values.view(pa.binary()).to_pylist()
        return min(texts), max(texts)
    import pyarrow.compute as pc

    found = pc.min_max(values.view(pa.binary())).as_py()
    return found["min"], found["max"]


def _used(chunk: Any) -> Any:
    """The values of a dictionary that rows have."""
    size = len(chunk.dictionary)
    indices = chunk.indices.fill_null(size) if chunk.null_count else chunk.indices
    counts = np.bincount(indices.to_numpy(), minlength=size + 1)
    used = np.flatnonzero(counts[:size])
    return chunk.dictionary if len(used) == size else chunk.dictionary.take(pa.array(used))
