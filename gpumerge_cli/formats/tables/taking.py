"""Rows of Arrow tables by their numbers, for columns of any type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_MOST_SLICES = 1 << 10


def rows_at(rows: Any, places: NDArray[np.int64]) -> Any:
    """The rows of a table or batch at these places, as a table or batch."""
    index = pa.array(places)
    columns = [values_at(column, index) for column in rows.columns]
    made = type(rows).from_arrays(columns, schema=rows.schema)
    return made if len(rows.columns) else rows.slice(0, len(places))


def values_at(values: Any, index: Any) -> Any:
    """The values of an Array or ChunkedArray at places."""
    if isinstance(values, pa.ChunkedArray):
        if not values.num_chunks:
            return values
        whole = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
        return pa.chunked_array([_values_at(whole, index)], values.type)
    return _values_at(values, index)


def _values_at(values: Any, index: Any) -> Any:
    try:
        return values.take(index)
    except pa.ArrowNotImplementedError:
        pass
    type = values.type
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, _values_at(values.storage, index))
    if pa.types.is_run_end_encoded(type):
        import pyarrow.compute as pc

        return pc.run_end_encode(_values_at(pc.run_end_decode(values), index), run_end_type=type.run_end_type)
    plain = _without_views(type)
    if plain != type:
        return _values_at(values.cast(plain), index).cast(type)
    return _one_by_one(values, index.to_pylist())


def _without_views(type: Any) -> Any:
    """The type with the usual forms of strings and binary in place of views, also within nested types.

    Arrow takes no views, and a slice of views, however small, has the bytes of all values.
    """
    if pa.types.is_string_view(type):
        return pa.large_string()
    if pa.types.is_binary_view(type):
        return pa.large_binary()
    if pa.types.is_struct(type):
        return pa.struct([_field_without_views(field) for field in type])
    if pa.types.is_map(type):
        return pa.map_(_field_without_views(type.key_field), _field_without_views(type.item_field), type.keys_sorted)
    if pa.types.is_large_list(type):
        return pa.large_list(_field_without_views(type.value_field))
    if pa.types.is_fixed_size_list(type):
        return pa.list_(_field_without_views(type.value_field), type.list_size)
    return pa.list_(_field_without_views(type.value_field)) if pa.types.is_list(type) else type


def _field_without_views(field: Any) -> Any:
    return field.with_type(_without_views(field.type))


def _one_by_one(values: Any, places: list[int]) -> Any:
    """Values whose type has no faster way."""
    parts = []
    for at in range(0, len(places), _MOST_SLICES):
        parts.append(pa.concat_arrays([values.slice(place, 1) for place in places[at : at + _MOST_SLICES]]))
    return pa.concat_arrays(parts) if parts else values.slice(0, 0)
