"""Dictionaries inside structs, lists and other types of Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

FieldNumbers = tuple[int, ...]
"""The numbers of the fields that lead from a column to a dictionary inside it."""


def has_dictionary_inside(type: pa.DataType) -> bool:
    """Whether a type that is no dictionary itself has one inside it, as structs, lists and extensions may have."""
    return any(pa.types.is_dictionary(one) or has_dictionary_inside(one) for one in _inner(type))


def can_change(type: pa.DataType) -> bool:
    """Whether `changed` finds all dictionaries inside a type: it does not look into unions and runs."""
    if pa.types.is_dictionary(type):
        return not has_dictionary_inside(type.value_type)
    if pa.types.is_union(type) or pa.types.is_run_end_encoded(type):
        return not has_dictionary_inside(type)
    return all(map(can_change, _inner(type)))


def changed(array: Any, change: Callable[[FieldNumbers, Any], Any], path: FieldNumbers = ()) -> Any:
    """An Array with other dictionaries inside it, or itself. Its type must be one that `can_change`.

    change: takes the path and the array of each dictionary, and returns an array of as many values of the same type.
    """
    type = array.type
    if pa.types.is_dictionary(type):
        return change(path, array)
    if not has_dictionary_inside(type):
        return array
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, changed(array.storage, change, path))
    if pa.types.is_struct(type):
        fields = [changed(array.field(number), change, (*path, number)) for number in range(type.num_fields)]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(fields, fields=list(type), mask=mask)
    items = changed(_items(array), change, (*path, 0))
    buffers = array.buffers()[: type.num_buffers]
    return pa.Array.from_buffers(type, len(array), buffers, array.null_count, array.offset, [items])


def _items(array: Any) -> Any:
    """The values of all lists of an array, whatever its offset."""
    if not pa.types.is_map(array.type):
        return array.values
    return pa.StructArray.from_arrays([array.keys, array.items], fields=[array.type.key_field, array.type.item_field])


def _inner(type: pa.DataType) -> list[pa.DataType]:
    if isinstance(type, pa.BaseExtensionType):
        return [type.storage_type]
    return [type.field(number).type for number in range(type.num_fields)]
