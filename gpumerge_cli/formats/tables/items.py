"""The items of rows: images of the keys of each row, and a reference to it. See order.rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.formats.tables.gather import StatedKey
from gpumerge_cli.formats.tables.images import (
    fixed_images,
    fixed_of_value,
    has_values,
    line_images,
    line_of_value,
    uint64_images,
    value_of_fixed,
    value_of_line,
    values_of_uint64,
)
from gpumerge_cli.formats.tables.key_columns import KeyColumn, key_array
from gpumerge_cli.formats.tables.key_pieces import key_pieces
from gpumerge_cli.formats.tables.key_text import shown_value, value_of_word
from gpumerge_cli.formats.tables.references import reference_texts
from gpumerge_cli.order.rows import REFERENCE_BYTES, FixedRowOrder, TextRowOrder
from gpumerge_cli.order.rules import MARK, NUL, LineKey, LineOrder

_LARGEST_NATIVE = 8


@dataclass(frozen=True)
class ItemKey:
    """A key column, and the form of its images. See order.rows.RowKey."""

    column: KeyColumn
    width: int
    nullable: bool = False
    """Whether a fixed image has a byte for nulls."""

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def reverse(self) -> bool:
        return self.column.reverse

    @property
    def option_text(self) -> str:
        return self.column.option_text

    def shown(self, image: bytes) -> bytes:
        return shown_value(self.column, self._value(image))

    def image(self, word: bytes) -> bytes:
        """The image of the value that a text says. Raises UsageError."""
        value = value_of_word(self.column, word)
        if self.width:
            return fixed_of_value(value, self.column, nullable=self.nullable)
        return line_of_value(value, self.column)

    def _value(self, image: bytes) -> bytes | None:
        if self.width:
            return value_of_fixed(image, self.column, nullable=self.nullable)
        return value_of_line(image, self.column)


@dataclass(frozen=True)
class Form:
    """The form of the items of a job's inputs, and the functions that make them."""

    keys: tuple[ItemKey, ...]
    native: bool
    """Whether the image of the only key is a number."""
    side: int = -1
    """0 for A and 1 for B of a join: a null of one equals none of the other, and those of A go first. -1 for others."""

    @classmethod
    def of(cls, columns: Sequence[KeyColumn], nullable: Sequence[bool]) -> Form:
        """The form of items by these columns. nullable: whether each may have nulls."""
        if any(column.fixed_bytes is None for column in columns):
            return cls(tuple(ItemKey(column, 0) for column in columns), False)
        pairs = zip(columns, nullable, strict=True)
        keys = tuple(ItemKey(one, (one.fixed_bytes or 0) + null, null) for one, null in pairs)
        return cls(keys, len(keys) == 1 and not nullable[0] and keys[0].width <= _LARGEST_NATIVE)

    @classmethod
    def of_order(cls, order: FixedRowOrder | TextRowOrder) -> Form:
        """The form of the items that an order compares, which another process has made."""
        keys = tuple(key for key in order.keys_of_rows if isinstance(key, ItemKey))
        return cls(keys, isinstance(order, FixedRowOrder) and order.kind != "bytes")

    @property
    def is_fixed(self) -> bool:
        """Whether items have one size."""
        return bool(self.keys[0].width)

    def order(self, piece: int) -> FixedRowOrder | TextRowOrder:
        """The order of the items. piece: see RowOrder."""
        if self.is_fixed:
            return FixedRowOrder.by_columns(self.keys, native=self.native, piece=piece)
        rules = tuple(
            replace(
                key.column.rule or LineKey("bytes"),
                start_field=number,
                end_field=number,
                reverse=key.reverse,
                name=key.name,
                nulls=key.column.nulls if key.column.rule else "",
            )
            for number, key in enumerate(self.keys)
        )
        order = LineOrder(rules, MARK, stable=True, terminator=NUL)
        return TextRowOrder("lines", rules=order, keys_of_rows=self.keys, piece=piece)

    def stated_key(self, schema: pa.Schema) -> StatedKey | None:
        """The key if its images say its values, and it is one of several columns of the schema; else None."""
        key = self.keys[0].column
        names = schema.names
        if not self.native or not 1 < len(names) == len(set(names)) or len(key.path) > 1:
            return None
        if not has_values(key.type) or schema.field(key.path[0]).type != key.type:
            return None
        return StatedKey(key.path[0], partial(values_of_uint64, key))

    def item(self, image: bytes, found: Any) -> bytes:
        """The item with an image of the only key, which has one size. found: its reference."""
        if self.native:
            return bytes(np.array([int.from_bytes(image, "big"), *found], np.uint64))
        return image + bytes(found)

    def values(self, rows: Any) -> list[Any]:
        """The values of each key, see key_array. Raises ValueError for nulls where images have no place for them."""
        arrays = [key_array(key.column, rows) for key in self.keys]
        for key, array in zip(self.keys, arrays, strict=True):
            if self.is_fixed and not key.nullable and array.null_count:
                raise ValueError(f"its statistics say that {key.name} has no nulls, and there are some")
        return arrays

    def pieces(self, batches: Iterable[Any], nbytes: int) -> Iterator[Any]:
        """The rows of batches, whose keys take about `nbytes` at most as `items` are made of a piece."""
        return iter(batches) if self.is_fixed else key_pieces([key.column for key in self.keys], batches, nbytes)

    def items(self, rows: Any, found: Any) -> Any:
        """The items of rows as one buffer of bytes. rows: a RecordBatch or Table with the keys. found: references."""
        arrays = self.values(rows)
        if self.native:
            made = np.empty((len(found), 2), np.uint64)
            made[:, 0] = uint64_images(self.keys[0].column, arrays[0])
            made[:, 1] = found
            return made
        if self.is_fixed:
            made = np.empty((len(found), sum(key.width for key in self.keys) + REFERENCE_BYTES), np.uint8)
            at = 0
            for key, array in zip(self.keys, arrays, strict=True):
                made[:, at : at + key.width] = fixed_images(key.column, array, nullable=key.nullable)
                at += key.width
                if self.side == 1 and array.null_count:
                    made[np.asarray(array.is_null()), at - 1] = 1
            made[:, at:] = found.view(np.uint8).reshape(-1, REFERENCE_BYTES)
            return made
        import pyarrow.compute as pc

        texts = [self._line_images(key, array) for key, array in zip(self.keys, arrays, strict=True)]
        return buffer_of(
            pc.binary_join_element_wise(*texts, reference_texts(found), pa.scalar(MARK, pa.large_binary()))
        )

    def _line_images(self, key: ItemKey, array: Any) -> Any:
        images = line_images(key.column, array)
        if self.side < 0 or key.reverse == bool(self.side) or not array.null_count or key.column.kind:
            return images
        import pyarrow.compute as pc

        null = line_of_value(None, key.column)
        return pc.if_else(np.asarray(array.is_null()), pa.scalar(2 * null, pa.large_binary()), images)


def buffer_of(texts: Any) -> Any:
    """The bytes of all texts of a LargeBinaryArray, one behind the other."""
    if not len(texts):
        return b""
    offsets = np.frombuffer(texts.buffers()[1], np.int64, len(texts) + 1, 8 * texts.offset)
    return memoryview(texts.buffers()[2])[int(offsets[0]) : int(offsets[-1])]
