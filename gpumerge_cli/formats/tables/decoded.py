"""Tables whose batches have plain values in place of some dictionaries: batches take the bytes of their rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.key_columns import KeyColumn, plain_values
from gpumerge_cli.formats.tables.key_pieces import key_pieces
from gpumerge_cli.formats.tables.table import Table, TableOver

_BATCH_BYTES = 1 << 20
"""About the most bytes of decoded texts in a batch."""


class DecodedTable(TableOver):
    """A table with plain values. columns: the names of flat columns that are dictionaries of texts."""

    def __init__(self, table: Table, columns: Collection[str]) -> None:
        super().__init__(table, table.schema)
        self._columns = frozenset(columns)

    @cached_property
    def group_rows(self) -> Sequence[int]:  # type: ignore[override]
        """See Table."""
        return self._table.group_rows

    @property
    def file(self) -> Table:
        """See Table."""
        return self._table.file

    @property
    def plain_columns(self) -> frozenset[str]:
        """See Table."""
        return self._columns | self._table.plain_columns

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        names = [one for one in self.schema.names if one in self._columns and (columns is None or one in columns)]
        keys = [KeyColumn((name,), values_type(self.schema.field(name).type)) for name in names]
        for batch in key_pieces(keys, self._table.batches(columns, group, rows), _BATCH_BYTES):
            arrays = list(batch.columns)
            for name in names:
                arrays[batch.schema.get_field_index(name)] = plain_values(batch.column(name))
            fields = [field.with_type(one.type) for field, one in zip(batch.schema, arrays, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        names = [one for one in self._columns if columns is None or one in columns]
        texts = sum(self._mean_bytes[name] for name in names) * self.rows
        return self._table.bytes_of_rows(columns) + int(texts)

    @cached_property
    def _mean_bytes(self) -> dict[str, float]:
        """The mean bytes of the values in the dictionary of each column, as its first batch has them."""
        first: Any = next(iter(self._table.batches(None, 0, 1)), None)
        found = dict.fromkeys(self._columns, 0.0)
        for name in found if first is not None else ():
            column = first.column(name)
            if pa.types.is_dictionary(column.type) and len(column.dictionary):
                found[name] = column.dictionary.nbytes / len(column.dictionary)
        return found

    def again(self) -> DecodedTable:
        """See Table."""
        return DecodedTable(self._table.again(), self._columns)

    def with_plain(self, columns: Collection[str]) -> DecodedTable:
        """See Table."""
        return DecodedTable(self._table, self._columns.union(columns))
