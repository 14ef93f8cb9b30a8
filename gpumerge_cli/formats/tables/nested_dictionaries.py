"""Dictionaries inside structs, lists and other types of Arrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

FieldNumbers = tuple[int, ...]
"""The numbers of the fields that lead from a column to a dictionary inside it."""


_LISTS: dict[Callable[[pa.DataType], bool], Callable[[pa.Field], pa.DataType]] = {
    pa.types.is_list: pa.list_,
    pa.types.is_large_list: pa.large_list,
    pa.types.is_list_view: pa.list_view,
    pa.types.is_large_list_view: pa.large_list_view,
}


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
        return _struct(array, fields, type)
    return _lists(array, changed(_items(array), change, (*path, 0)), type)


def with_indices(type: pa.DataType) -> pa.DataType:
    """A type with the indices of dictionaries in place of these. It must be one that `can_change`."""
    if pa.types.is_dictionary(type):
        return type.index_type
    if not has_dictionary_inside(type):
        return type
    if isinstance(type, pa.BaseExtensionType):
        return with_indices(type.storage_type)
    fields = [type.field(number) for number in range(type.num_fields)]
    fields = [field.with_type(with_indices(field.type)) for field in fields]
    if pa.types.is_struct(type):
        return pa.struct(fields)
    if pa.types.is_map(type):
        return pa.map_(*fields[0].type, keys_sorted=type.keys_sorted)
    if pa.types.is_fixed_size_list(type):
        return pa.list_(fields[0], type.list_size)
    return next(make for test, make in _LISTS.items() if test(type))(fields[0])


def indices_of(array: Any) -> Any:
    """An Array with the indices of dictionaries in place of these, of the type that `with_indices` says."""
    type = array.type
    if pa.types.is_dictionary(type):
        return array.indices
    if not has_dictionary_inside(type):
        return array
    if isinstance(type, pa.BaseExtensionType):
        return indices_of(array.storage)
    if pa.types.is_struct(type):
        fields = [indices_of(array.field(number)) for number in range(type.num_fields)]
        return _struct(array, fields, with_indices(type))
    return _lists(array, indices_of(_items(array)), with_indices(type))


def _struct(array: Any, fields: list[Any], type: pa.DataType) -> Any:
    """Structs that are null where those of an array are."""
    return pa.StructArray.from_arrays(fields, fields=list(type), mask=array.is_null() if array.null_count else None)


def _lists(array: Any, items: Any, type: pa.DataType) -> Any:
    """Lists that have other items than those of an array."""
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
