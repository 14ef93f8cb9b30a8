"""The values of Arrow arrays as text, by whole columns: as fields of CSV, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gpumerge_cli.formats.tables.items import buffer_of
from gpumerge_cli.formats.tables.key_columns import is_text, plain_values

_ESCAPED = '["\\\\\\x00-\\x1f]'
_ESCAPES = (
    ("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"), ("\b", "\\b"), ("\f", "\\f"),
    *((chr(code), f"\\u{code:04x}") for code in range(32) if chr(code) not in "\n\r\t\b\f"),
)  # fmt: skip
_TEXT = pa.large_string()


def is_nested(type: pa.DataType) -> bool:
    """Whether values hold values."""
    return bool(pa.types.is_nested(_plain_type(type)))


def csv_fields(array: Any, separator: str) -> Any:
    """The values as fields of CSV, a LargeStringArray without nulls: a null is an empty field, an empty text is "".

    array: an Array that is not nested. Raises ArrowException for bytes that are not UTF-8.
    """
    texts = _texts(plain_values(array))
    if is_text(plain_values(array).type):
        marked = pc.match_substring_regex(texts, f'["\n\r{separator}]')
        empty = pc.equal(texts, _scalar(""))
        quoted = _joined([_scalar('"'), pc.replace_substring(texts, '"', '""'), _scalar('"')], "")
        texts = pc.if_else(pc.or_(marked, empty), quoted, texts)
    return texts.fill_null("")


def json_values(array: Any) -> Any:
    """The values as JSON, a LargeStringArray without nulls. Floats that JSON lacks, as NaN, are null.

    Numbers and booleans are those of JSON, lists are arrays, structs are objects, maps objects or arrays of pairs,
    everything else is a string. Raises ArrowException for bytes that are not UTF-8.
    """
    array = plain_values(array)
    type = array.type
    if pa.types.is_struct(type):
        fields = [json_values(one) for one in array.flatten()]
        found = json_objects([type.field(number).name for number in range(type.num_fields)], fields, len(array))
    elif pa.types.is_map(type):
        found = _json_map(array)
    elif _is_list(type):
        found = _json_list(array, json_values(_items_of(array)))
    elif is_text(type):
        found = json_strings(_texts(array))
    elif pa.types.is_floating(type):
        found = pc.if_else(pc.is_finite(array), _texts(array), pa.scalar(None, _TEXT))
    elif pa.types.is_integer(type) or pa.types.is_decimal(type) or pa.types.is_boolean(type) or pa.types.is_null(type):
        found = _texts(array)
    else:
        found = _joined([_scalar('"'), _texts(array), _scalar('"')], "")
    if array.null_count:
        found = pc.if_else(array.is_valid(), found, pa.scalar(None, _TEXT))
    return found.fill_null("null")


def json_objects(names: Sequence[str], values: Sequence[Any], count: int) -> Any:
    """Objects whose members have these names, one for each of the values of arrays of JSON."""
    if not names:
        return pa.array(["{}"] * count, _TEXT)
    keys = json_strings(pa.array(names, _TEXT)).to_pylist()
    members = [_joined([_scalar(f"{key}:"), value], "") for key, value in zip(keys, values, strict=True)]
    return _joined([_scalar("{"), _joined(members, ","), _scalar("}")], "")


def json_strings(texts: Any) -> Any:
    """Texts as strings of JSON; nulls stay nulls."""
    if pc.any(pc.match_substring_regex(texts, _ESCAPED)).as_py():
        for character, escape in _ESCAPES:
            texts = pc.replace_substring(texts, character, escape)
    return _joined([_scalar('"'), texts, _scalar('"')], "")


def lines_of_texts(texts: Any) -> Any:
    """The bytes of texts, each with a newline behind it."""
    return buffer_of(_joined([texts, _scalar("")], "\n"))


def joined_fields(fields: Sequence[Any], separator: str) -> Any:
    """The fields of rows, one array of texts for each column, as texts of rows."""
    return _joined(fields, separator)


def _json_list(array: Any, items: Any) -> Any:
    """Lists of texts as JSON. items: those of all lists, see _items_of."""
    lengths = pc.list_value_length(array).fill_null(0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(lengths)])
    lists = pa.LargeListArray.from_arrays(offsets, items)
    return _joined([_scalar("["), pc.binary_join(lists, _scalar(",")), _scalar("]")], "")


def _json_map(array: Any) -> Any:
    """Maps from texts as objects, others as arrays of pairs."""
    is_object = is_text(_plain_type(array.type.key_type))
    array = array.cast(pa.list_(pa.struct([array.type.key_field, array.type.item_field])))
    pairs = pc.list_flatten(array)
    keys, items = (json_values(one) for one in pairs.flatten())
    joined = _joined([keys, items], ":" if is_object else ",")
    if is_object:
        made = _json_list(array, joined)
        return _joined([_scalar("{"), pc.utf8_slice_codeunits(made, 1, -1), _scalar("}")], "")
    return _json_list(array, _joined([_scalar("["), joined, _scalar("]")], ""))


def _items_of(array: Any) -> Any:
    """The items of the lists that are not null."""
    if pa.types.is_fixed_size_list(array.type) or array.type.id not in (
        pa.list_(pa.null()).id,
        pa.large_list(pa.null()).id,
    ):
        array = array.cast(pa.large_list(array.type.value_type))
    return pc.list_flatten(array)


def _is_list(type: pa.DataType) -> bool:
    return pa.types.is_nested(type) and hasattr(type, "value_type")


def _texts(array: Any) -> Any:
    if pa.types.is_binary_view(array.type) or pa.types.is_fixed_size_binary(array.type):
        array = array.cast(pa.large_binary())
    return array.cast(_TEXT)


def _plain_type(type: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(type):  # Arrow makes no dictionary of views from a list
        return _plain_type(type.value_type)
    return plain_values(pa.array([], type)).type


def _scalar(text: str) -> Any:
    return pa.scalar(text, _TEXT)


def _joined(parts: Sequence[Any], separator: str) -> Any:
    return pc.binary_join_element_wise(*parts, _scalar(separator))
