"""The columns of an Arrow schema by which rows compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.json_paths import split_keys
from gpumerge_cli.formats.tables.column_paths import ESCAPE, found_column, is_struct, named_so, values_type
from gpumerge_cli.order.key_kinds import KINDS, KeyKind
from gpumerge_cli.order.rules import LineKey
from gpumerge_cli.suggestions import did_you_mean, did_you_mean_column
from gpumerge_cli.units import in_short, quoted_value

if TYPE_CHECKING:
    from gpumerge_cli.formats.format import Layout

NullPlace = Literal["first", "last"]
LARGEST_FIXED = 32
"""The most bytes of a value of fixed size whose images have a fixed size, too."""
_SHOWN_NAMES = 12
_OF_NUMBERS = ("numeric", "general")
_SAME_BY_TYPE = {"time": ("is_timestamp", "is_date"), "duration": ("is_duration",)}
"""Kinds that a typed column has already, each with the tests in pyarrow.types for such columns."""
_BY_WORD = {kind.letter or kind.word: kind for kind in KINDS if (kind.letter or kind.word) and not kind.draws}
_WORDS = tuple(sorted(word for word in _BY_WORD if len(word) > 1))


@dataclass(frozen=True)
class KeyColumn:
    """A column by which rows compare."""

    path: tuple[str, ...]
    """The name of a column, then those of fields of structs inside it."""
    type: pa.DataType
    """The type of its values: of a dictionary or another encoding, that of the values that it holds."""
    reverse: bool = False
    """Whether values descend. Nulls do not change their place."""
    nulls: NullPlace = "last"
    """The place of nulls. NaN is no null: it is the largest number."""
    rule: LineKey | None = None
    """The kind of key that texts are read as, with its parameters; None if values compare as they are."""

    @property
    def name(self) -> str:
        """The path as --field has it."""
        return ".".join(self.path)

    @property
    def kind(self) -> str:
        """The name of the kind of key that texts are read as, see order.key_kinds; "" if there is none."""
        return "" if self.rule is None else self.rule.compare

    @property
    def fixed_bytes(self) -> int | None:
        """The bytes of an image without a byte for nulls; None if images are as long as the values."""
        return None if self.kind else _fixed_bytes(self.type)

    @property
    def option_text(self) -> str:
        """The key as --field has it."""
        kind = next((word for word, kind in _BY_WORD.items() if kind.name == self.kind), "")
        options = ",".join(filter(None, (kind, "r" * self.reverse))) if len(kind) > 1 else kind + "r" * self.reverse
        return f"{self.name}:{options}" if options else self.name


def key_columns(schema: pa.Schema, layout: Layout) -> tuple[KeyColumn, ...]:
    """The columns by which rows of a file compare. Raises UsageError for options that name no columns, or others."""
    _check_columns(schema)
    if layout.dtype is not None or (layout.key is not None and not layout.key.fields):
        way_out = _way_out(schema, "name a column with --field")
        raise UsageError("its columns have their own types and places", way_out=way_out)
    if layout.key is None:
        way_out = _way_out(schema, "name one of their columns as the key (--field)")
        raise UsageError("rows need a key", way_out=way_out)
    items, option = layout.items, layout.key.option
    found = named_columns(
        schema, layout.key.fields, option, reverse=items.reverse, nulls=items.nulls, kinds=items.kinds
    )
    texts = [column.name for column in found if is_text(column.type) and not column.kind]
    if texts and items.line_order.locale:
        what = f"--locale: the texts in {', '.join(texts)} compare by their bytes"
        raise UsageError(what, way_out="leave it out")
    return found


def all_columns(schema: pa.Schema) -> tuple[KeyColumn, ...]:
    """All columns as a key. Raises UsageError if the values of one have no order."""
    for field in schema:
        if not has_order(values_type(field.type)):
            what = f"values of type {field.type}, in {field.name}, do not compare, so whole rows do not"
            raise UsageError(what, way_out=_way_out(schema, "name the columns that count with --field"))
    return tuple(key_column(schema, name, "--field") for name in _names(schema))


def named_columns(
    schema: pa.Schema,
    texts: Sequence[str],
    option: str,
    *,
    reverse: bool = False,
    nulls: NullPlace = "last",
    kinds: Sequence[LineKey] = (),
) -> tuple[KeyColumn, ...]:
    """The columns that texts name as --field does: "a.b:r,c".

    reverse: turns the order of each round. kinds: the rules of kinds; others have those without parameters.
    Raises UsageError for a column that is not there, is named twice or has no order, and for unknown options.
    """
    found = [column for text in texts for column in _columns_of(schema, text, option, reverse, nulls, kinds)]
    check_once(found, f"{option} {','.join(texts)}")
    return tuple(found)


def check_once(columns: Sequence[KeyColumn], where: str) -> None:
    """Raise UsageError if two columns are one. where: begins the message."""
    paths = [column.path for column in columns]
    twice = next((path for at, path in enumerate(paths) if path in paths[:at]), None)
    if twice is not None:
        raise UsageError(f"{where}: {'.'.join(twice)} is named twice", way_out="name each column once")


def key_column(
    schema: pa.Schema, name: str, option: str, *, reverse: bool = False, nulls: NullPlace = "last"
) -> KeyColumn:
    """The column of this name, a dot between a struct and its field.

    Raises UsageError if it is not there or has no order.
    """
    _check_columns(schema)
    found = found_column(schema, name)
    if found is None:
        if (count := named_so(schema, name)) > 1:
            what = f"{option} {name}: {count} columns have the name {quoted_value(name)}"
            raise UsageError(what, way_out="give them names of their own, or name another column")
        there = {one: one for one in _names(schema)}
        raise UsageError(
            f"{option} {name}: there is no column {quoted_value(name)}",
            way_out=did_you_mean_column(name, there, _way_out(schema, "name one of its columns")),
        )
    path, type = found
    values = values_type(type)
    if not has_order(values):
        way_out = "name one of its fields, as " + f"{name}.{values.field(0).name}" if is_struct(values) else ""
        raise UsageError(
            f"{option} {name}: values of type {type} have no order",
            way_out=way_out or _way_out(schema, "name another column"),
        )
    return KeyColumn(path, values, reverse, nulls)


def key_array(column: KeyColumn, table: Any) -> Any:
    """The values of a key, an Array or ChunkedArray of KeyColumn.type, whose null_count is exact.

    table: a RecordBatch, Table or StructArray that has the column. A null struct makes its fields null. Raises
    ArrowInvalid for a value that its type does not hold, if the table has another one.
    """
    return _of_chunks(partial(_as_key, column.type), stored_array(column, table), column.type)


def _as_key(type: pa.DataType, array: Any) -> Any:
    found = plain_values(array)
    return found if found.type == type else found.cast(type)


def stored_array(column: KeyColumn, table: Any) -> Any:
    """The values of a key as the table has them, maybe in a dictionary or another encoding. See key_array."""
    found = table.field(column.path[0]) if isinstance(table, pa.StructArray) else table.column(column.path[0])
    for name in column.path[1:]:
        type = values_type(found.type).field(name).type
        found = _of_chunks(partial(_field, name), found, type)
    return found


def _field(name: str, structs: Any) -> Any:
    import pyarrow.compute as pc

    return pc.struct_field(plain_values(structs), [name])


def _of_chunks(function: Callable[[Any], Any], array: Any, type: pa.DataType) -> Any:
    """The results of a function for an Array, or for each chunk of a ChunkedArray. type: that of the results."""
    if not isinstance(array, pa.ChunkedArray):
        return function(array)
    made = [function(chunk) for chunk in array.chunks]
    return pa.chunked_array(made, made[0].type if made else type)


def plain_values(array: Any) -> Any:
    """The values of an array as an array of values_type, without dictionaries, runs and extensions."""
    while array.type != values_type(array.type):
        if pa.types.is_dictionary(array.type):
            array = _decoded(array)
        elif pa.types.is_run_end_encoded(array.type):
            import pyarrow.compute as pc

            array = pc.run_end_decode(array)
        else:
            array = array.storage
    return array


def _decoded(array: Any) -> Any:
    """The values of a DictionaryArray; those of views as large ones, which Arrow can take."""
    for view, taken in ((pa.string_view(), pa.large_string()), (pa.binary_view(), pa.large_binary())):
        if array.type.value_type == view:
            array = pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(taken))
    return array.dictionary_decode()


def _columns_of(
    schema: pa.Schema, text: str, option: str, reverse: bool, nulls: NullPlace, kinds: Sequence[LineKey]
) -> Iterator[KeyColumn]:
    """The columns that one text names."""
    for word in _split(schema, text):
        name, symbols = (word, "") if found_column(schema, word) else _parted(word)
        column = key_column(schema, name, option, nulls=nulls)
        kind, descends = _options(symbols, f"{option} {word}", column.type)
        rule = next((one for one in kinds if one.compare == kind), LineKey(kind)) if kind else None
        yield KeyColumn(column.path, column.type, descends != reverse, nulls, rule)


def _split(schema: pa.Schema, text: str) -> Iterator[str]:
    """The words of a text between its commas. A column may have commas in its name, and a kind may have ",r" behind."""
    name = _parted(text)[0]
    if found_column(schema, text) or ("," in name and found_column(schema, name)):
        yield text
        return
    if ESCAPE in text:
        yield from (f"{path}:{options}" if options else path for path, options in split_keys(text))
        return
    words = text.split(",")
    while words:
        word = words.pop(0)
        if words and words[0] == "r" and _parted(word)[1] in _WORDS:
            word += f",{words.pop(0)}"
        yield word


def _parted(word: str) -> tuple[str, str]:
    """A column and the options behind the last colon."""
    name, colon, options = word.rpartition(":")
    return (name, options) if colon else (word, "")


def _options(text: str, where: str, type: pa.DataType) -> tuple[str, bool]:
    """The kind and the direction that the options of a column say. Raises UsageError."""
    word, reverse = text, False
    if text.removesuffix(",r") in _WORDS:
        word, reverse = text.removesuffix(",r"), text.endswith(",r")
    elif "r" in text and text not in _WORDS:
        word, reverse = text.replace("r", "", 1), True
    if not word:
        return "", reverse
    kind = _BY_WORD.get(word)
    if kind is None:
        known = f"use r, {', '.join(word for word in sorted(_BY_WORD, key=str.lower))}"
        raise UsageError(
            f"{where}: invalid option {quoted_value(word)} of a key", way_out=did_you_mean(word, _WORDS, known)
        )
    if _is_of_type(kind, type):
        return "", reverse
    if not is_text(type):
        raise UsageError(f"{where}: values of type {type} are not texts", way_out=f"leave :{word} out")
    return kind.name, reverse


def _is_of_type(kind: KeyKind, type: pa.DataType) -> bool:
    """Whether a type has the order of a kind by itself."""
    if kind.name in _OF_NUMBERS and (_is_number(type) or pa.types.is_decimal(type)):
        return True
    return any(getattr(pa.types, test)(type) for test in _SAME_BY_TYPE.get(kind.name, ()))


def _names(schema: pa.Schema, above: str = "") -> Iterator[str]:
    """The names of the columns that have an order, of structs those of their fields."""
    for field in schema:
        inner = values_type(field.type)
        if is_struct(inner):
            yield from _names(pa.schema(list(inner)), f"{above}{field.name}.")
        elif has_order(inner):
            yield f"{above}{field.name}"


def _way_out(schema: pa.Schema, start: str) -> str:
    """The way out that names the columns which can be keys behind `start`."""
    names = list(_names(schema))
    listed = ", ".join(map(in_short, names[:_SHOWN_NAMES])) + ", ..." * (len(names) > _SHOWN_NAMES)
    return f"{start}: {listed}" if names else "none of its columns has an order"


def _check_columns(schema: pa.Schema) -> None:
    """Raise UsageError if there are no columns."""
    if not len(schema):
        raise UsageError("the table has no columns", way_out="leave it out")


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type))


def is_text(type: pa.DataType) -> bool:
    """Whether values are texts, or bytes of any length."""
    types = pa.types
    return bool(
        types.is_string(type) or types.is_large_string(type) or types.is_string_view(type) or types.is_binary(type)
        or types.is_large_binary(type) or types.is_binary_view(type) or types.is_fixed_size_binary(type)
    )  # fmt: skip


def has_order(type: pa.DataType) -> bool:
    """Whether values of a type, see values_type, can be keys."""
    return is_text(type) or bool(pa.types.is_null(type)) or _fixed_bytes(type) is not None


def _fixed_bytes(type: pa.DataType) -> int | None:
    types = pa.types
    if types.is_fixed_size_binary(type):
        return type.byte_width if 0 < type.byte_width <= LARGEST_FIXED else None
    if types.is_boolean(type):
        return 1
    if _is_number(type) or types.is_decimal(type) or (types.is_temporal(type) and not types.is_interval(type)):
        return int(type.bit_width) // 8
    return None
