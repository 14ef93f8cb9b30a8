"""One dictionary for all chunks of a column. No value changes.

Arrow unifies most dictionaries. It refuses those that hold nulls, lists or structs, reads half floats as integers, and
reads memory outside of its arrays if the index of a null is no index of the dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.formats.tables.growing_dictionary import GrowingDictionary
from gpumerge_cli.formats.tables.nested_dictionaries import can_change, has_dictionary_inside
from gpumerge_cli.formats.tables.taking import values_at

_INDICES = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


def unified(column: Any) -> Any:
    """A ChunkedArray whose dictionaries are one. Raises ArrowInvalid if its indices cannot count the values of all.

    Dictionaries inside other types are in unions, runs or dictionaries: in place of others, rows have their values.
    """
    type = column.type
    if column.num_chunks < 2 or not (pa.types.is_dictionary(type) or has_dictionary_inside(type)):
        return column
    if not can_change(type):
        if _has_half_floats(type):
            raise pa.ArrowNotImplementedError(f"the dictionaries of {type} do not become one")
        return column.unify_dictionaries()
    assert pa.types.is_dictionary(type), "rows have values in place of others"
    chunks = [_with_valid_indices(with_null_indices(one)) for one in column.chunks]
    column = pa.chunked_array(chunks, type)
    if not _has_half_floats(type):
        try:
            return column.unify_dictionaries()
        except pa.ArrowNotImplementedError:
            pass
    return _unified_by_values(column)


def unified_widely(columns: Sequence[Any]) -> Any:
    """The chunks of dictionaries of the same values as one column; its indices are wider if they need to be.

    columns: ChunkedArrays.
    """
    types = [column.type for column in columns]
    index = widest([type.index_type for type in types])
    for wider in (index, *wider_indices(index)):
        type = pa.dictionary(wider, types[0].value_type, types[0].ordered)
        chunks = [with_indices_of(chunk, wider) for column in columns for chunk in column.chunks]
        try:
            return unified(pa.chunked_array(chunks, type))
        except pa.ArrowInvalid:
            if wider == _INDICES[-1]:
                raise
    raise AssertionError("indices of 64 bits count all values")


def widest(indices: Sequence[pa.DataType]) -> pa.DataType:
    """The type of indices that holds those of all types, the first one if it does."""
    first = indices[0]
    if all(type == first for type in indices):
        return first
    bits = [type.bit_width + pa.types.is_unsigned_integer(type) for type in indices]
    return next((type for type in _INDICES if type.bit_width >= max(bits)), _INDICES[-1])


def wider_indices(index: pa.DataType) -> list[pa.DataType]:
    """The signed types of indices with more bits, in order."""
    return [type for type in _INDICES if type.bit_width > index.bit_width]


def with_indices_of(array: Any, index: pa.DataType) -> Any:
    """A DictionaryArray with this type of indices, which must hold them."""
    if array.type.index_type == index:
        return array
    return pa.DictionaryArray.from_arrays(array.indices.cast(index), array.dictionary, ordered=array.type.ordered)


def with_null_indices(column: Any) -> Any:
    """A DictionaryArray whose dictionary has no null, with which Arrow unifies none."""
    dictionary = column.dictionary
    if not dictionary.null_count:
        return column
    is_value = dictionary.is_valid().to_numpy(zero_copy_only=False)
    places = pa.array(np.cumsum(is_value, dtype=np.int64) - 1, mask=~is_value)
    indices = places.take(column.indices).cast(column.type.index_type)
    values = values_at(dictionary, pa.array(np.flatnonzero(is_value)))
    return pa.DictionaryArray.from_arrays(indices, values, ordered=column.type.ordered)


def _with_valid_indices(array: Any) -> Any:
    """A DictionaryArray whose nulls have the index 0: Arrow's unification also reads what their indices refer to."""
    if not array.indices.null_count:
        return array
    mask = array.indices.is_null().to_numpy(zero_copy_only=False)
    indices = pa.array(array.indices.fill_null(0).to_numpy(), array.type.index_type, mask=mask)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary, ordered=array.type.ordered)


def address(dictionary: Any) -> int:
    """A number that tells dictionaries in memory apart."""
    return max((one.address for one in dictionary.buffers() if one is not None), default=0)


def _unified_by_values(column: Any) -> Any:
    """See unified."""
    known = GrowingDictionary(column.chunk(0).dictionary.slice(0, 0))
    places = [known.places_of(one.dictionary) for one in column.chunks]
    type = column.type
    indices = [of.take(one.indices).cast(type.index_type) for of, one in zip(places, column.chunks, strict=True)]
    made = [pa.DictionaryArray.from_arrays(one, known.values, ordered=type.ordered) for one in indices]
    return pa.chunked_array(made, type)


def _has_half_floats(type: pa.DataType) -> bool:
    """Whether the values of a dictionary that is this type, or is inside it, are half floats."""
    if pa.types.is_dictionary(type):
        return bool(pa.types.is_float16(type.value_type))
    if isinstance(type, pa.BaseExtensionType):
        return _has_half_floats(type.storage_type)
    return any(_has_half_floats(type.field(number).type) for number in range(type.num_fields))
