"""The changed columns of the pairs in a diff of tables, as lines of CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.tables.compared_rows import MarkedItems, RowPairs
from gpumerge_cli.formats.tables.key_columns import KeyColumn, key_array
from gpumerge_cli.formats.tables.same_values import same_values
from gpumerge_cli.formats.tables.text_values import csv_fields, is_nested, joined_fields, json_values, lines_of_texts

_SEPARATOR = ","


class ChangedRows:
    """Finds the changed columns of pairs of rows. keys: the columns of the key. item_bytes: see MarkedItems."""

    def __init__(self, pairs: RowPairs, keys: Sequence[KeyColumn], item_bytes: int) -> None:
        self._pairs = pairs
        self._keys = keys
        self._item_bytes = item_bytes

    def rows(self, items: Bytes) -> bytes:
        """The rows of the file for whole items of the result: key, column, old value, new value.

        A null is an empty field, an empty text is "". Nested values are JSON. Raises InputError, and OutputError for
        values that are not UTF-8.
        """
        _, old, new = MarkedItems(items, self._item_bytes).pairs
        try:
            return b"".join(self._lines(*pair) for _, *pair in self._pairs.side_by_side(old, new))
        except (pa.ArrowException, UnicodeDecodeError) as error:
            what = f"--changes: a value cannot be written as text: {error}".splitlines()[0]
            raise OutputError(what, way_out="leave it out, or leave columns of bytes out with --ignore") from None

    def _lines(self, old: pa.RecordBatch, new: pa.RecordBatch) -> bytes:
        found, numbers = [], []
        keys: Any = None
        for column in self._pairs.columns:
            values, others = old.column(column.number), new.column(column.number)
            changed = np.flatnonzero(~same_values(values, others, column.ignored))
            if not len(changed):
                continue
            keys = self._texts_of_keys(new) if keys is None else keys
            name = csv_fields(pa.array([self._pairs.schema.names[column.number]]), _SEPARATOR)[0]
            index = pa.array(changed)
            texts = [_text(one).take(index) for one in (values, others)]
            found.append(joined_fields([keys.take(index), name, *texts], _SEPARATOR))
            numbers.append(changed)
        if not found:
            return b""
        order = np.argsort(np.concatenate(numbers), kind="stable")
        return bytes(lines_of_texts(pa.concat_arrays(found).take(pa.array(order))))

    def _texts_of_keys(self, rows: pa.RecordBatch) -> Any:
        """The key of each row as a field: several with commas between them."""
        texts = [csv_fields(key_array(key, rows), _SEPARATOR) for key in self._keys]
        return texts[0] if len(texts) == 1 else csv_fields(joined_fields(texts, _SEPARATOR), _SEPARATOR)


def _text(values: Any) -> Any:
    return csv_fields(json_values(values) if is_nested(values.type) else values, _SEPARATOR)
