"""The rows of joined items: each is a row of A beside one of B, where there is one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.formats.tables.cursor import Cursor
from gpumerge_cli.formats.tables.dictionaries import bytes_in_memory, table_of
from gpumerge_cli.formats.tables.kept_memory import KeptMemory
from gpumerge_cli.formats.tables.references import joined_rows
from gpumerge_cli.formats.tables.row_sizes import row_sizes
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.spooled import Keep
from gpumerge_cli.formats.tables.table import Table, arrow_errors
from gpumerge_cli.formats.tables.taking import values_at

_SIDES = 2


class JoinedPart:
    """Rows of the output that are not made yet: those of each side, once each, and the place of each among them.

    places: int64[rows] for each side; -1 for no row. nbytes: about the bytes of the rows.
    """

    def __init__(self, sides: Sequence[Any], places: Sequence[NDArray[np.int64]], nbytes: int) -> None:
        self.sides = sides
        self.places = places
        self.nbytes = nbytes

    def __len__(self) -> int:
        return len(self.places[0])

    def slice(self, low: int, high: int, nbytes: int) -> JoinedPart:
        """The rows low:high, which have so many bytes."""
        return JoinedPart(self.sides, [places[low:high] for places in self.places], nbytes)


class WantedPairs:
    """The rows of A and of B that an output takes beside each other: int64[pairs, 2], -1 for none."""

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def copied(self) -> WantedPairs:
        """The same, in memory of their own."""
        return self


class JoinGather:
    """Finds the rows of joined items. Has the attributes and methods of Gather that a RowSink uses.

    inputs: A and B, with the columns that go out. schema: that of the output. places: the number of each of its columns
    among those of A and of B, None where it has none there. key_bytes: those of the keys of an item, 0 for lines.
    sides: the references in an item; it is of A alone if there is one. group_bytes: the most bytes of a group. Others:
    see Gather.
    """

    numbered = None
    large_bytes, mean_bytes = sys.maxsize, 0.0

    def __init__(
        self,
        inputs: Sequence[Table],
        schema: pa.Schema,
        places: Sequence[tuple[int | None, int | None]],
        key_bytes: int,
        sides: int,
        group_rows: int,
        group_bytes: int,
        piece_rows: int,
        memory: int,
        settings: TableSettings,
        keep: Keep,
    ) -> None:
        self.schema = self.output_schema = schema
        self.settings = settings
        self.group_rows, self.piece_rows = group_rows, piece_rows
        self.group_bytes = group_bytes
        self.inputs = inputs
        self.nbytes = [table.file.bytes_of_rows(None) for table in inputs]
        self.unlisted = [0] * len(inputs)
        self._name = inputs[0].name
        self._key_bytes, self._sides = key_bytes, sides
        self._places = places
        self._kept = memory, keep
        self._open()

    def _open(self) -> None:
        memory, keep = self._kept
        kept = KeptMemory(memory, _SIDES, keep)
        self._cursors = [Cursor(table, kept, again=True) for table in self.inputs]

    def again(self) -> JoinGather:
        """Another one, of the same tables opened once more."""
        made = copy(self)
        made.inputs = [table.again() for table in self.inputs]
        made._open()
        return made

    def is_uneven(self, *, plain: bool) -> bool:
        """See Gather. Parts are limited by their bytes already."""
        return False

    def wanted(self, items: Bytes) -> WantedPairs:
        """The rows of whole items."""
        found = joined_rows(items, self._key_bytes, self._sides)
        if self._sides < _SIDES:
            found = np.concatenate([found, np.full_like(found, -1)], axis=1)
        return WantedPairs(found)

    def parts(self, wanted: WantedPairs, most: int) -> Iterator[JoinedPart]:
        """Rows by parts: at most so many, which do not take too many bytes. Raises InputError."""
        found = wanted.rows
        for at in range(0, len(found), most):
            with arrow_errors(self._name):
                part = self._part(found[at : at + most])
                sizes = None if part.nbytes <= self.group_bytes and not _repeats(part) else _sizes(part)
            if sizes is None:
                yield part
                continue
            ends = np.cumsum(sizes)
            low = 0
            while low < len(part):
                ahead = int(ends[low - 1]) if low else 0
                high = max(low + 1, int(np.searchsorted(ends, ahead + self.group_bytes, side="right")))
                yield part.slice(low, high, int(ends[high - 1]) - ahead)
                low = high

    def rows(self, part: JoinedPart) -> pa.Table:
        """The rows of a part; from any thread. Columns may be dictionaries. Raises InputError."""
        with arrow_errors(self._name):
            pairs = enumerate(self.schema.types)
            columns = [_wrapped(self._column(number, part), type) for number, type in pairs]
            fields = [field.with_type(one.type) for field, one in zip(self.schema, columns, strict=True)]
            return pa.Table.from_arrays(columns, schema=pa.schema(fields, self.schema.metadata))

    def _part(self, found: NDArray[np.int64]) -> JoinedPart:
        sides, places = [], []
        nbytes = 0.0
        for side, (cursor, picked) in enumerate(zip(self._cursors, self.inputs, strict=True)):
            rows, index = _once(found[:, side])
            places.append(index)
            if len(rows) and len(picked.schema):
                sides.append(table_of(cursor.taken(rows), picked.schema))
                nbytes += bytes_in_memory(sides[-1]) / len(rows) * len(index)
            else:
                sides.append(picked.schema.empty_table())
        return JoinedPart(sides, places, int(nbytes))

    def _column(self, number: int, part: JoinedPart) -> Any:
        """A column of the output."""
        (a, b), type = self._places[number], self.schema.field(number).type
        if a is None or b is None:
            side = 0 if b is None else 1
            place = a if b is None else b
            assert place is not None, "a column has a place"
            values, places = part.sides[side].column(place), part.places[side]
            if not len(values):
                return pa.chunked_array([pa.nulls(len(places), type)])
            return _taken(values, places)
        of_a, of_b = part.sides[0].column(a), part.sides[1].column(b)
        both = pa.chunked_array([*of_a.chunks, *of_b.chunks], of_a.type)
        found = _taken(both, np.where(part.places[0] >= 0, part.places[0], part.places[1] + len(of_a)))
        return found


def _once(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64] | range, NDArray[np.int64]]:
    """(the rows that are there, each once, ascending; the place of each row among them, -1 for none)."""
    is_there = rows >= 0
    all_there = bool(is_there.all())
    some = rows if all_there else rows[is_there]
    if not len(some):
        return range(0), rows
    if all_there and int(some[-1]) - int(some[0]) == len(some) - 1 and (some[1:] > some[:-1]).all():
        return range(int(some[0]), int(some[-1]) + 1), np.arange(len(some))
    if (some[1:] >= some[:-1]).all():
        first = np.ones(len(some), np.bool_)
        np.not_equal(some[1:], some[:-1], out=first[1:])
        once, index = some[first], np.cumsum(first, dtype=np.int64)
        index -= 1
    else:
        once, index = np.unique(some, return_inverse=True)
    if not all_there:
        index, among = np.full(len(rows), -1, np.int64), index
        index[is_there] = among
    low, high = int(once[0]), int(once[-1]) + 1
    return (range(low, high) if high - low == len(once) else once), index


def _taken(values: Any, places: NDArray[np.int64]) -> Any:
    """The values at places, null at -1."""
    if len(places) == len(values) and bool((places == np.arange(len(places))).all()):
        return values
    is_none = places < 0
    return values_at(values, pa.array(places, mask=is_none if is_none.any() else None))


def _wrapped(column: Any, type: pa.DataType) -> Any:
    """A column as an extension type of its values, if this is one."""
    if not isinstance(type, pa.BaseExtensionType) or column.type == type:
        return column
    return pa.chunked_array([type.wrap_array(one) for one in column.chunks], type)


def _repeats(part: JoinedPart) -> bool:
    """Whether a row goes out more than once, so that one may take any number of bytes."""
    return any(np.count_nonzero(places >= 0) > len(side) for side, places in zip(part.sides, part.places, strict=True))


def _sizes(part: JoinedPart) -> NDArray[np.int64]:
    """About the bytes of each row."""
    found = np.zeros(len(part), np.int64)
    for side, places in zip(part.sides, part.places, strict=True):
        if len(side):
            found += np.where(places >= 0, row_sizes(side)[places], 0)
    return found
