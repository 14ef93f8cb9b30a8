"""The keys of tables as arrays that gpumerge merges and sorts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.arrays.key_parts import KEY_DIRECTIONS, Direction
from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.arrays.string_ranks import host_texts, string_ranks
from gpumerge_cli.arrays.text_images import text_images
from gpumerge_cli.arrays.text_key import TEXT_KINDS, TextKey
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.resources import cores
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.tables.images import fixed_images, large_binary, raw_values
from gpumerge_cli.formats.tables.key_columns import (
    KeyColumn,
    NullPlace,
    check_once,
    is_text,
    named_columns,
    plain_values,
    stored_array,
)
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder

NamedKey = str | tuple[str, Direction | TextKey]
"""A column by its name and options as --field has them, or with its direction or the kind of its texts."""
By = NamedKey | Iterable[NamedKey]
"""A column, or several in a list."""
Values = Sequence[Any]
"""The values of a column in each table, ChunkedArrays."""
_WORD = 8
_MOST_RANKS = 1 << 32


@dataclass(frozen=True)
class TableKeys:
    """The keys of tables."""

    values: Sequence[Values]
    """Those of each column."""
    arrays: Sequence[np.ndarray[Any, Any]]
    """For each table an array that orders as its rows do: of numbers, or of bytes (V)."""
    descending: bool
    """Whether the arrays descend."""

    @classmethod
    def of(cls, tables: Sequence[pa.Table], columns: Sequence[KeyColumn], threads: int | None) -> TableKeys:
        """The keys of tables that have these columns. Raises InputError for a text that its kind cannot read."""
        values = [[stored_array(column, table) for table in tables] for column in columns]
        parts = [_fixed(column, each, threads) for column, each in zip(columns, values, strict=True)]
        if len(parts) == 1 and not _has_nulls(parts[0][1]):
            [(column, each)] = parts
            numbers = [_numbers(column.type, array) for array in each]
            if all(array is not None for array in numbers):
                return cls(values, [array for array in numbers if array is not None], column.reverse)
        rows = [[fixed_images(column, array, nullable=_has_nulls(each)) for array in each] for column, each in parts]
        return cls(values, [_joined(images) for images in zip(*rows, strict=True)], descending=False)

    def shown(self, table: int, row: int) -> str:
        """The keys of a row for a message."""
        return ", ".join(str(each[table][row].as_py()) for each in self.values)


def columns_named(schema: pa.Schema, by: By, nulls: NullPlace) -> tuple[KeyColumn, ...]:
    """The columns by which rows of a schema compare. Raises UsageError."""
    if nulls not in ("first", "last"):
        raise UsageError(f"nulls={short_repr(nulls)} is not a place", way_out='use "first" or "last"')
    found = []
    for text, how in named(by):
        columns = named_columns(schema, [text], "by", reverse=how == "descending", nulls=nulls)
        found += [_with_rule(column, how) if column.kind or isinstance(how, TextKey) else column for column in columns]
    check_once(found, "by")
    return tuple(found)


def _with_rule(column: KeyColumn, how: Direction | TextKey | None) -> KeyColumn:
    """The column with all parameters of its kind. Raises UsageError for values that are not texts."""
    if not is_text(column.type):
        what = f"by {column.name}: values of type {column.type} are not texts"
        raise UsageError(what, way_out="leave the TextKey out")
    word = next((word for word, kind in TEXT_KINDS.items() if kind.name == column.kind), None)
    key = how if isinstance(how, TextKey) else TextKey(word)  # type: ignore[arg-type]
    order = key.order(descending=column.reverse).text
    assert order is not None
    [rule] = order.keys
    return replace(column, rule=rule if rule.nulls else replace(rule, nulls=column.nulls))


def named(by: Any) -> list[tuple[str, Direction | TextKey | None]]:
    """Each name and what stands beside it, as the caller gives them. Raises UsageError for anything else."""
    listed = [by] if isinstance(by, str) or _is_pair(by) else by
    found: list[tuple[str, Direction | TextKey | None]] = []
    for one in listed if isinstance(listed, Iterable) else ():
        if not isinstance(one, str) and not _is_pair(one):
            way_out = 'give names, "name:r", ("name", "descending") or ("name", TextKey(...))'
            raise UsageError(f"by: {short_repr(one)} is not the name of a column", way_out=way_out)
        found.append((one, None) if isinstance(one, str) else one)
    if not found:
        raise UsageError(f"by={short_repr(by)} names no column", way_out='give by="name", or by=["name", "other"]')
    return found


def _is_pair(one: Any) -> bool:
    if not isinstance(one, tuple) or len(one) != 2 or not isinstance(one[0], str):
        return False
    return isinstance(one[1], TextKey) or one[1] in KEY_DIRECTIONS


def _fixed(column: KeyColumn, values: Values, threads: int | None) -> tuple[KeyColumn, Values]:
    """The column with values whose images have a fixed size: ranks for texts, numbers for ordered categories."""
    if _are_ordered(values):
        values = _indices(column, values)
        return replace(column, type=values[0].type), values
    if column.kind:
        return KeyColumn(column.path, pa.uint64()), _of_kind(column, values, threads)
    if column.fixed_bytes is not None:
        return column, [pa.chunked_array(map(plain_values, array.chunks), column.type) for array in values]
    ranks = _ranks(values, threads)
    return replace(column, type=ranks[0].type), ranks


def _ranks(values: Values, threads: int | None) -> Values:
    """The ranks of texts, with their nulls. A dictionary's texts are ranked once."""
    chunks = [chunk for array in values for chunk in array.chunks]
    texts = [large_binary(plain_values(chunk.dictionary if _is_coded(chunk) else chunk)) for chunk in chunks]
    type = pa.uint32() if sum(map(len, texts)) < _MOST_RANKS else pa.uint64()
    ranked = []
    for chunk, text, ranks in zip(chunks, texts, string_ranks(list(map(host_texts, texts)), threads), strict=True):
        nulls = text.is_null().to_numpy(zero_copy_only=False) if text.null_count else None
        made = pa.array(ranks.astype(type.to_pandas_dtype()), type, mask=nulls)
        ranked.append(made.take(chunk.indices) if _is_coded(chunk) else made)
    of_each = iter(ranked)
    return [pa.chunked_array([next(of_each) for _ in array.chunks], type) for array in values]


def _is_coded(chunk: Any) -> bool:
    return bool(pa.types.is_dictionary(chunk.type))


def _are_ordered(values: Values) -> bool:
    """Whether values are categories with an order of their own."""
    types = [array.type for array in values]
    return all(pa.types.is_dictionary(type) and type.ordered for type in types) and not any(
        chunk.dictionary.null_count for array in values for chunk in array.chunks
    )


def _indices(column: KeyColumn, values: Values) -> Values:
    """The places of values in their dictionary, which says the order. Raises UsageError if dictionaries differ."""
    chunks = [chunk for array in values for chunk in array.chunks]
    if any(not chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks[1:]):
        what = f"by {column.name}: tables have different ordered categories"
        raise UsageError(what, way_out="give all tables the same categories")
    type = values[0].type.index_type
    return [pa.chunked_array([chunk.indices for chunk in array.chunks], type) for array in values]


def _of_kind(column: KeyColumn, values: Values, threads: int | None) -> Values:
    """The images of texts that are read as values of a kind. Raises UsageError, and InputError for an invalid text."""
    assert column.rule is not None
    order = Order.lines(LineOrder((column.rule,), stable=True))
    arrays = [np.array([text or b"" for text in _texts(array)], "S") for array in values]
    try:
        images = text_images(arrays, order, threads or cores())
    except InputError as error:
        where = error.where.replace("array", "table").replace("index", "row")
        raise InputError(f"{column.name}: {error.what}", where=where, way_out="leave its rows out") from None
    return [pa.chunked_array([pa.array(each)], pa.uint64()) for each in images]


def _texts(array: Any) -> Iterable[bytes | None]:
    for chunk in array.chunks:
        yield from large_binary(plain_values(chunk)).to_pylist()


def _has_nulls(values: Values) -> bool:
    return any(array.null_count for array in values)


def _numbers(type: pa.DataType, array: Any) -> np.ndarray[Any, Any] | None:
    """The values as NumPy compares them; None if it has no such numbers."""
    if pa.types.is_fixed_size_binary(type) or type.bit_width > 8 * _WORD:
        return None
    kind = "u" if pa.types.is_unsigned_integer(type) else "f" if pa.types.is_floating(type) else "i"
    chunks = [plain_values(chunk) for chunk in array.chunks]
    if pa.types.is_boolean(type):
        chunks, kind, type = [chunk.cast(pa.uint8()) for chunk in chunks], "u", pa.uint8()
    parts = [raw_values(chunk, np.dtype(f"{kind}{type.bit_width // 8}")) for chunk in chunks]
    if len(parts) == 1:
        return parts[0]  # type: ignore[no-any-return]
    return np.concatenate([*parts, np.empty(0, f"{kind}{type.bit_width // 8}")])


def _joined(images: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """Images of several columns beside each other, as numbers if they have at most 8 bytes."""
    rows, width = len(images[0]), sum(each.shape[1] for each in images)
    joined = np.zeros((rows, max(width, _WORD)), np.uint8)
    at = max(0, _WORD - width)
    for each in images:
        joined[:, at : at + each.shape[1]] = each
        at += each.shape[1]
    if width <= _WORD:
        return joined.view(">u8").reshape(-1).astype(np.uint64)
    return joined.view(f"V{width}").reshape(-1)
