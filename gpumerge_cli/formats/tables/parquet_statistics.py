"""Statistics of columns that are written as dictionaries: pyarrow makes them by hashing each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.parquet_facts import ColumnField, RowGroup, chunks_of, column_metadata
from gpumerge_cli.formats.tables.thrift import BINARY, I64, STRUCT, Field, Struct

_NULL_COUNT, _GREATEST, _LEAST = 3, 5, 6
"""The fields of Statistics."""
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
    extremes = pc.min_max(pa.concat_arrays(values)).as_py()
    least, greatest = (one.encode() if isinstance(one, str) else one for one in (extremes["min"], extremes["max"]))
    if max(len(least), len(greatest)) <= _LONGEST:
        found[_GREATEST], found[_LEAST] = Field(BINARY, greatest), Field(BINARY, least)
    return found


def _used(chunk: Any) -> Any:
    """The values of a dictionary that rows have."""
    size = len(chunk.dictionary)
    indices = chunk.indices.fill_null(size) if chunk.null_count else chunk.indices
    counts = np.bincount(indices.to_numpy(), minlength=size + 1)
    return chunk.dictionary.take(pa.array(np.flatnonzero(counts[:size])))
