"""Rows of a table from items of other formats."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.tables.facts import SortedColumn

if TYPE_CHECKING:
    import numpy as np

    from gpumerge_cli.formats.output_items import OutputItems


class ItemRows(ABC):
    """The way from items to rows."""

    schema: pa.Schema
    """The columns of the rows."""
    sorted_by: tuple[SortedColumn, ...] = ()
    """The first columns by which the rows are sorted, if items are in order."""

    @abstractmethod
    def rows(self, data: Bytes) -> pa.Table:
        """The rows of whole items, from any thread. Raises InputError for a value that its column cannot hold."""


def record_rows(items: OutputItems) -> ItemRows | None:
    """The way from records with fields to rows; None for other items. Raises InputError for a type without a column."""
    import numpy as np

    dtype = None if items.dtype is None else np.dtype(items.dtype)
    return None if dtype is None or dtype.names is None else RecordRows(dtype, items.sources[0].name)


class RecordRows(ItemRows):
    """Records. dtype: as files have them. name: the first file. Raises InputError for a field without a column."""

    def __init__(self, dtype: np.dtype[np.void], name: str) -> None:
        self._dtype = dtype
        self._name = name
        self.schema = self._table(b"").schema

    def rows(self, data: Bytes) -> pa.Table:
        """See ItemRows."""
        return self._table(data)

    def _table(self, data: Bytes) -> pa.Table:
        import numpy as np

        records = np.frombuffer(data, self._dtype)
        return pa.table({name: self._column(name, records[name]) for name in self._dtype.names or ()})

    def _column(self, name: str, values: np.ndarray) -> pa.Array:
        import numpy as np

        values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        kind = values.dtype.kind
        try:
            if values.ndim == 1 and kind in "iufbMmU":
                return pa.array(values, pa.string() if kind == "U" else None)
            if values.ndim == 1 and kind == "S":
                return pa.array(values.tolist(), pa.binary())  # without the zero bytes that fill a field up
            if values.ndim == 1 and kind == "V" and values.dtype.names is None:
                size = values.dtype.itemsize
                buffers = [None, pa.py_buffer(values.tobytes())]
                return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(values), buffers)
        except (pa.ArrowException, ValueError):
            pass
        what = f"the field {name!r} is {self._dtype[name]}, which no column of a table holds"
        raise InputError(what, where=self._name, way_out="write .npy or raw records")
