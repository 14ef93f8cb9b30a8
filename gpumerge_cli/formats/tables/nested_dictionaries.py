"""Dictionaries inside structs, lists and other types of Arrow.

Rows have their values in place of them from the input to the output: Arrow copies such a dictionary with each batch,
reads no two of them at once, and compares all values of all wherever batches become one. The same holds for
dictionaries of half floats: Arrow makes one of two as if their values were integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpumerge_cli.formats.tables.taking import values_at

if TYPE_CHECKING:
    from gpumerge_cli.formats.tables.table import Table

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
    return _with(type, lambda one: one.index_type)


def with_values_inside(schema: pa.Schema) -> pa.Schema:
    """A schema with the values of dictionaries in place of these, where they are inside other types."""
    return pa.schema([one.with_type(type_of_values_inside(one.type)) for one in schema], schema.metadata)


def type_of_values_inside(type: pa.DataType) -> pa.DataType:
    """The type of `values_inside` of an Array of a type."""
    if pa.types.is_dictionary(type):
        return type.value_type if pa.types.is_float16(type.value_type) else type
    return _with(type, lambda one: one.value_type) if can_change(type) else type


def schema_like(schema: pa.Schema, input: Table | None) -> pa.Schema:
    """The schema of an output, with the dictionaries inside structs and lists that the file of an input has."""
    stored = input.file.stored_schema if input is not None else None
    return schema if stored is None else with_dictionaries_inside(schema, stored)


def with_dictionaries_inside(schema: pa.Schema, like: pa.Schema) -> pa.Schema:
    """A schema of `with_values_inside` with the dictionaries of another one, in columns of its names and values.

    Their indices have 32 bits at least: those of all files may be more than fewer bits count.
    """
    for number, field in enumerate(schema):
        type = like.field(field.name).type if like.names.count(field.name) == 1 else field.type
        if type != field.type and type_of_values_inside(type) == field.type:
            schema = schema.set(number, field.with_type(with_wide_indices_inside(type)))
    return schema


def with_wide_indices_inside(type: pa.DataType) -> pa.DataType:
    """A type whose dictionaries have indices of 32 bits at least. It must be one that `can_change`."""
    return _with(type, _with_wide_indices)


def _with_wide_indices(type: pa.DataType) -> pa.DataType:
    wide = type.index_type if type.index_type.bit_width >= 32 else pa.int32()
    return pa.dictionary(wide, type.value_type, type.ordered)


def _with(type: pa.DataType, made: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """A type with others in place of its dictionaries. It must be one that `can_change`."""
    if pa.types.is_dictionary(type):
        return made(type)
    if not has_dictionary_inside(type):
        return type
    if isinstance(type, pa.BaseExtensionType):
        return _with(type.storage_type, made)
    fields = [type.field(number) for number in range(type.num_fields)]
    fields = [field.with_type(_with(field.type, made)) for field in fields]
    if pa.types.is_struct(type):
        return pa.struct(fields)
    if pa.types.is_map(type):
        return pa.map_(*fields[0].type, keys_sorted=type.keys_sorted)
    if pa.types.is_fixed_size_list(type):
        return pa.list_(fields[0], type.list_size)
    return next(make for test, make in _LISTS.items() if test(type))(fields[0])


def indices_of(array: Any) -> Any:
    """An Array with the indices of dictionaries in place of these, of the type that `with_indices` says."""
    return _converted(array, with_indices(array.type), lambda one, _: one.indices)


def values_inside(array: Any) -> Any:
    """An Array with the values of dictionaries in place of these, where they are inside other types."""
    return _converted(array, type_of_values_inside(array.type), lambda one, _: values_at(one.dictionary, one.indices))


def dictionaries_inside(column: Any, type: pa.DataType) -> Any:
    """A ChunkedArray of values with dictionaries in place of some, as a type of `with_dictionaries_inside` says.

    It has one chunk, unless its values are too many for one.
    """

    def encoded(one: Any, to: pa.DataType) -> Any:
        try:
            made = one.dictionary_encode()
        except pa.ArrowNotImplementedError:  # lists, structs and others, each of which gets an index of its own
            made = pa.DictionaryArray.from_arrays(_numbers_of(one), one)
        return pa.DictionaryArray.from_arrays(made.indices.cast(to.index_type), made.dictionary, ordered=to.ordered)

    whole = column.combine_chunks()
    chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]
    return pa.chunked_array([_converted(one, type, encoded) for one in chunks], type)


def _numbers_of(array: Any) -> Any:
    """The places of the values of an Array, null where these are null."""
    return pa.array(range(len(array)), pa.int32(), mask=array.is_null().to_numpy(zero_copy_only=False))


def _converted(array: Any, type: pa.DataType, made: Callable[[Any, pa.DataType], Any]) -> Any:
    """An Array of another type, which differs by dictionaries. made: makes each Array that is one in either type."""
    own = array.type
    if own == type:
        return array
    if pa.types.is_dictionary(own) or pa.types.is_dictionary(type):
        return made(array, type)
    if isinstance(own, pa.BaseExtensionType):
        return _converted(array.storage, type, made)
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, _converted(array, type.storage_type, made))
    if pa.types.is_struct(type):
        fields = [_converted(array.field(number), one.type, made) for number, one in enumerate(type)]
        return _struct(array, fields, type)
    own_values = pa.concat_arrays([array])  # a slice has the values of all lists
    return _lists(own_values, _converted(_items(own_values), _items_type(type), made), type)


def _items_type(type: pa.DataType) -> pa.DataType:
    return pa.struct([type.key_field, type.item_field]) if pa.types.is_map(type) else type.value_type


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
