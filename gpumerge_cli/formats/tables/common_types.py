"""The type that columns of several files get together, and their values as that type. No value changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from gpumerge_cli.formats.tables.key_columns import plain_values

_FAMILIES = (
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
)
_NAMED_FORMS = ("arrow.uuid", "arrow.json")
"""Extensions that say what the values of another type are."""
_UNITS = ("s", "ms", "us", "ns")
_SHORT_INDEX_BITS = 32
_FLOATS = {16: pa.float16(), 32: pa.float32(), 64: pa.float64()}
_WHOLE_BITS = {16: 11, 32: 24, 64: 53}
"""The bits of the integers that floats hold without a change."""
_MOST_DIGITS, _MOST_DIGITS_128 = 76, 38


def common_field(first: pa.Field, other: pa.Field, *, widens: bool = False) -> pa.Field | None:
    """The field for the values of both, see common_type. Its name and metadata are those of the first one."""
    type = common_type(first.type, other.type, widens=widens)
    if type is None or first.name != other.name:
        return None
    return first.with_type(type).with_nullable(first.nullable or other.nullable)


def common_type(first: pa.DataType, other: pa.DataType, *, widens: bool = False) -> pa.DataType | None:
    """The type that holds the values of both without a change, the first one if it can; None if none does.

    widens: numbers may get a type with more bits or digits.
    """
    if first == other or pa.types.is_null(other):
        return first
    if pa.types.is_null(first):
        return other
    if _is_named(first) or _is_named(other):
        bare = [type.storage_type if _is_named(type) else type for type in (first, other)]
        common = common_type(*bare, widens=widens)
        return first if common == bare[0] else None
    if pa.types.is_dictionary(first) or pa.types.is_dictionary(other):
        return _common_dictionary(first, other, widens)
    if any(_is_one_of(first, family) and _is_one_of(other, family) for family in _FAMILIES):
        return first
    makers = {pa.types.is_list: pa.list_, pa.types.is_large_list: pa.large_list}
    if _is_one_of(first, makers) and _is_one_of(other, makers):
        field = common_field(first.value_field, other.value_field.with_name(first.value_field.name), widens=widens)
        return None if field is None else next(make for test, make in makers.items() if test(first))(field)
    if pa.types.is_struct(first) and pa.types.is_struct(other) and first.num_fields == other.num_fields:
        fields = [common_field(*pair, widens=widens) for pair in zip(first, other, strict=True)]
        return None if any(field is None for field in fields) else pa.struct(fields)
    return _finer(first, other) or (_wider(first, other) if widens else None)


def are_stored_alike(first: pa.DataType, other: pa.DataType) -> bool:
    """Whether files of the same physical types store a value of both types in the same way."""
    return bool(_form(first) == _form(other))


def _form(type: pa.DataType) -> pa.DataType:
    """One type for all types whose values are stored alike."""
    if _is_named(type):
        return _form(type.storage_type)
    if pa.types.is_dictionary(type):
        return _form(type.value_type)
    for family in _FAMILIES:
        if _is_one_of(type, family):
            return pa.string() if family is _FAMILIES[0] else pa.binary()
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.list_(_form(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, _form(field.type)) for field in type])
    if pa.types.is_timestamp(type) and type.tz is not None:
        return pa.timestamp(type.unit, "UTC")
    return type


def as_type(array: Any, type: pa.DataType) -> Any:
    """The values as this type, or as a dictionary of it if they are one. Raises ArrowInvalid if one does not fit."""
    if array.type == type:
        return array
    if pa.types.is_null(array.type):
        return nulls_of(type, len(array))
    if _is_named(array.type):
        return as_type(array.storage, type)
    if _is_named(type):
        return pa.ExtensionArray.from_storage(type, as_type(array, type.storage_type))
    is_dictionary = pa.types.is_dictionary(type)
    values = type.value_type if is_dictionary else type
    if pa.types.is_dictionary(array.type) and values not in (pa.string_view(), pa.binary_view()):
        index = type.index_type if is_dictionary else array.type.index_type
        ordered = is_dictionary and type.ordered
        return pa.DictionaryArray.from_arrays(array.indices.cast(index), array.dictionary.cast(values), ordered=ordered)
    array = plain_values(array) if pa.types.is_dictionary(array.type) else array
    if not is_dictionary:
        return array.cast(type)
    encoded = array.cast(values).dictionary_encode()
    indices = encoded.indices.cast(type.index_type)
    return pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=type.ordered)


def nulls_of(type: pa.DataType, count: int) -> Any:
    """So many nulls, in which fields of structs have no nulls where they may not."""
    if not pa.types.is_struct(type):
        return pa.nulls(count, type)
    made = [(nulls_of if field.nullable else zeros_of)(field.type, count) for field in type]
    return pa.StructArray.from_arrays(made, fields=list(type), mask=pa.repeat(True, count))


def zeros_of(type: pa.DataType, count: int) -> Any:
    """So many values that are not null: zeros, and empty ones."""
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, zeros_of(type.storage_type, count))
    if pa.types.is_struct(type):
        made = [(nulls_of if field.nullable else zeros_of)(field.type, count) for field in type]
        return pa.StructArray.from_arrays(made, fields=list(type))
    if pa.types.is_dictionary(type):
        return pa.DictionaryArray.from_arrays(zeros_of(type.index_type, count), zeros_of(type.value_type, 1))
    if pa.types.is_nested(type):
        return pa.repeat(pa.scalar([], type), count)
    return pa.Array.from_buffers(type, count, [None, *pa.nulls(count, type).buffers()[1:]])


def _is_named(type: pa.DataType) -> bool:
    return isinstance(type, pa.BaseExtensionType) and type.extension_name in _NAMED_FORMS


def _common_dictionary(first: pa.DataType, other: pa.DataType, widens: bool) -> pa.DataType | None:
    values, index_bits = [], []
    for type in (first, other):
        is_dictionary = pa.types.is_dictionary(type)
        if is_dictionary and type.ordered:
            return None  # its values have an order of their own
        values.append(type.value_type if is_dictionary else type)
        index_bits.append(type.index_type.bit_width if is_dictionary else 0)
    common = common_type(*values, widens=widens)
    if common is None or not pa.types.is_dictionary(first):
        return common
    if index_bits[0] == index_bits[1] and first.index_type == other.index_type:
        return pa.dictionary(first.index_type, common)
    return pa.dictionary(pa.int32() if max(index_bits) <= _SHORT_INDEX_BITS else pa.int64(), common)


def _finer(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type of times for those of two units, and of instants in the zone of the first; None for other types."""
    types = pa.types
    for test in (types.is_timestamp, types.is_duration, types.is_time):
        if test(first) and test(other):
            unit = max(first.unit, other.unit, key=_UNITS.index)
            if unit == first.unit and not types.is_timestamp(first):
                return first
            if types.is_timestamp(first):
                return pa.timestamp(unit, first.tz) if (first.tz is None) == (other.tz is None) else None
            if types.is_duration(first):
                return pa.duration(unit)
            return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return None


def _wider(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type of numbers of two types; None if none holds both without a change."""
    types = pa.types
    if types.is_decimal(first) and types.is_decimal(other):
        scale = max(first.scale, other.scale)
        digits = scale + max(first.precision - first.scale, other.precision - other.scale)
        make = pa.decimal128 if digits <= _MOST_DIGITS_128 else pa.decimal256
        return make(digits, scale) if digits <= _MOST_DIGITS else None
    if types.is_floating(first) and types.is_floating(other):
        return max(first, other, key=lambda type: int(type.bit_width))
    if types.is_integer(first) and types.is_integer(other):
        return _wider_integer(first, other)
    if types.is_integer(other):
        first, other = other, first
    if types.is_integer(first) and types.is_floating(other):
        bits = first.bit_width - (0 if types.is_unsigned_integer(first) else 1)
        enough = [size for size, whole in _WHOLE_BITS.items() if size >= other.bit_width and whole >= bits]
        return _FLOATS[enough[0]] if enough else None
    return None


def _wider_integer(first: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    first_unsigned, other_unsigned = map(pa.types.is_unsigned_integer, (first, other))
    if first_unsigned == other_unsigned:
        return max(first, other, key=lambda type: int(type.bit_width))
    signed, unsigned = (other, first) if first_unsigned else (first, other)
    bits = max(signed.bit_width, 2 * unsigned.bit_width)
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits)


def _is_one_of(type: pa.DataType, tests: Any) -> bool:
    return any(test(type) for test in tests)
