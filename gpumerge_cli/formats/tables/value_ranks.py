"""Columns of a sort that files hold as dictionaries: rows have the ranks of their values among the values of all files.

A text that many rows have is held once, whatever its length is. A key compares by its rank. Runs in temporary files
have the ranks in place of the texts, and none has a dictionary of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from gpumerge_cli.formats.tables.cursor import batch_rows
from gpumerge_cli.formats.tables.dictionaries import too_long
from gpumerge_cli.formats.tables.table import Table, TableOver

_BATCH_BYTES = 4 << 20
"""Bytes of rows that are decoded at once at least: pyarrow copies a whole dictionary for each batch."""
RANK = pa.int32()
"""The type of ranks."""


class ValueRanks:
    """The ranks of the values of some columns. schema: of the tables. values: by the name of a column, in order."""

    def __init__(self, schema: pa.Schema, values: dict[str, Any]) -> None:
        import pyarrow.compute as pc

        self.schema = schema
        self._values = values
        fields = [field.with_type(RANK) if field.name in values else field for field in schema]
        self.ranked_schema = pa.schema(fields, schema.metadata)
        """The columns of tables with ranks."""
        self.longest = sum(int(pc.max(pc.binary_length(one)).as_py() or 0) for one in values.values())
        """The most bytes of the values of a row."""

    @property
    def names(self) -> Collection[str]:
        """The columns that have ranks."""
        return self._values.keys()

    def ranked(self, name: str, dictionary: Any) -> Any:
        """The ranks of the values of a dictionary of a column, int32; null for null."""
        import pyarrow.compute as pc

        return pc.index_in(dictionary.cast(self._values[name].type), self._values[name])

    def restored(self, rows: pa.Table) -> pa.Table:
        """Rows with dictionaries in place of ranks. Raises InputError if indices cannot count the values of these."""
        for number, field in enumerate(rows.schema):
            if field.name in self._values:
                column = self._restored(self.schema.field(field.name), rows.column(number))
                rows = rows.set_column(number, field.with_type(column.type), column)
        return rows

    def _restored(self, field: pa.Field, ranks: Any) -> Any:
        """A column of ranks as a dictionary of the values that it has."""
        whole, values = ranks.combine_chunks(), self._values[field.name]
        mask = whole.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
        places = whole.fill_null(0).to_numpy(zero_copy_only=False)
        used, places = np.unique(places, return_inverse=True)
        if len(values):
            values = values.take(pa.array(used))
        type = field.type if pa.types.is_dictionary(field.type) else pa.dictionary(RANK, field.type)
        try:
            indices = pa.array(places, mask=mask).cast(type.index_type)
        except pa.ArrowInvalid:
            raise too_long(field.name, type) from None
        return pa.DictionaryArray.from_arrays(indices, values.cast(type.value_type))


class RankedTable(TableOver):
    """A table with ranks in place of values."""

    def __init__(self, table: Table, ranks: ValueRanks) -> None:
        super().__init__(table, ranks.ranked_schema)
        self.group_rows = table.group_rows
        self._ranks = ranks

    @property
    def is_changed(self) -> bool:
        """See Table."""
        return True

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        known: dict[str, tuple[Any, Any]] = {}
        names = None if columns is None else list(columns)
        for batch in self._table.batches(columns, group, max(rows, batch_rows(self._table, names, _BATCH_BYTES))):
            arrays = list(batch.columns)
            for number, name in enumerate(batch.schema.names):
                if name in self._ranks.names:
                    dictionary = arrays[number].dictionary
                    if name not in known or not known[name][0].equals(dictionary):
                        known[name] = dictionary, self._ranks.ranked(name, dictionary)
                    arrays[number] = known[name][1].take(arrays[number].indices)
            fields = [field.with_type(one.type) for field, one in zip(batch.schema, arrays, strict=True)]
            made = pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, batch.schema.metadata))
            yield from (made.slice(at, rows) for at in range(0, made.num_rows, rows))

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.bytes_of_rows(columns)

    def largest_rows(self, nbytes: int) -> float:
        """See Table."""
        return self._table.largest_rows(nbytes)

    def most_uneven(self, *, plain: bool) -> float:
        """See Table."""
        return self._table.most_uneven(plain=plain)

    def again(self) -> RankedTable:
        """See Table."""
        return RankedTable(self._table.again(), self._ranks)
