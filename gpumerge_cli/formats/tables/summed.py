"""Columns of an output of rows that hold the sums of groups of equal rows.

Integers, decimals and durations are added exactly, as signed digits of 32 bits. Floats are added in the order of the
merge, as doubles. Nulls count as nothing; the sum of nothing is null.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.summed_fields import is_key, refuse_twice
from gpumerge_cli.formats.tables.numbered import RowNumbers
from gpumerge_cli.order.rows import RowOrder
from gpumerge_cli.order.sums import SummedColumn, SumRequest, SumRules
from gpumerge_cli.suggestions import did_you_mean_column
from gpumerge_cli.units import visible

_ROWS = 1 << 16
"""Rows whose values are added at once."""
_SHOWN = 40
_BITS, _MASK = 32, np.int64(0xFFFFFFFF)


ValuesOf = Callable[[Any, Sequence[str]], Any]
"""Gives the columns of these names for some rows, which are WantedRows, as a table."""


@dataclass(frozen=True)
class GroupSums:
    """The summed columns of the rows that go out, a row for each group."""

    columns: tuple[Any, ...]

    def __getitem__(self, part: slice) -> GroupSums:
        return GroupSums(tuple(column[part] for column in self.columns))


@dataclass(frozen=True)
class SummedRows:
    """Rows that go out, with their sums."""

    wanted: Any
    sums: GroupSums


class RowGroups:
    """Groups of equal rows in turn, the last of which may go on behind them.

    head: the rows ahead of the first group, which belong to one that began ahead of all. wanted: a row for each group.
    """

    def __init__(self, columns: SumColumns, head: Any, wanted: Any, totals: list[_Total], values: ValuesOf) -> None:
        self._columns = columns
        self._values = values
        self._wanted = wanted
        self._totals = totals
        self.head = head

    def __len__(self) -> int:
        return len(self._wanted)

    def ended(self) -> SummedRows:
        """The rows of all groups but the last one. Raises InputError for a sum that does not fit its column."""
        return self._rows(0, len(self) - 1)

    def last(self) -> RowGroups:
        """The last group alone."""
        at = len(self) - 1
        totals = [total.part(at, at + 1) for total in self._totals]
        return RowGroups(self._columns, self.head.part(0, 0), self._wanted.part(at, at + 1), totals, self._values)

    def go_on(self, rows: Any) -> None:
        """Add rows to the only group."""
        if len(rows):
            self._columns.add(self._totals, rows, np.zeros(len(rows), np.int64), self._values)
            if self._columns.last:
                self._wanted = rows.part(len(rows) - 1, len(rows)).copied()

    def all(self) -> SummedRows:
        """The rows of all groups. Raises as `ended` does."""
        return self._rows(0, len(self))

    def _rows(self, low: int, high: int) -> SummedRows:
        sums = []
        for total, field in zip(self._totals, self._columns.fields, strict=True):
            one = total.part(low, high)
            try:
                sums.append(one.values())
            except (OverflowError, pa.ArrowInvalid):
                at = low + one.first_unfit()
                rows = self._columns.described(self._wanted.part(at, at + 1), self._values)
                what = f"--sum {field.name}: the sum of {rows} does not fit {field.type}"
                raise InputError(what, way_out="convert the column to a wider type first") from None
        return SummedRows(self._wanted.part(low, high), GroupSums(tuple(sums)))


class SumColumns:
    """The summed columns of rows. See NumberColumns; its numbers are GroupSums.

    Raises UsageError for a column that is not there, has no numbers, or is the key. A number from 1 is a column, too.
    """

    def __init__(self, request: SumRequest, schema: pa.Schema, order: RowOrder) -> None:
        names = request.names
        places = sorted({_place(name, schema) for name in names})
        refuse_twice([(name, _place(name, schema)) for name in names])
        self.fields = [schema.field(place) for place in places]
        self._places = places
        for field in self.fields:
            if any(key.name == field.name or key.name.startswith(f"{field.name}.") for key in order.keys_of_rows):
                raise is_key(field.name)
            if not _is_summed(field.type):
                what = f"--sum {field.name}: the column is {field.type}, which is not summed"
                raise UsageError(what, way_out="name one of integers, decimals, float32, float64 or durations")
        self._keys = [key.name for key in order.keys_of_rows if key.name in schema.names]
        self.rules = SumRules("rows", tuple(SummedColumn(field.name) for field in self.fields))
        self.last = request.last

    def schema_with(self, schema: pa.Schema) -> pa.Schema:
        """See NumberColumns."""
        return schema

    def added_to(self, rows: pa.Table, numbers: RowNumbers) -> pa.Table:
        """See NumberColumns."""
        for place, field, values in zip(self._places, self.fields, numbers.columns, strict=True):
            rows = rows.set_column(place, field, values)
        return rows

    def groups(self, rows: Any, follows: NDArray[np.int64], values: ValuesOf) -> RowGroups:
        """The groups of rows. follows: for each 1 if it belongs to the group of the row ahead of it, else 0."""
        begins = np.flatnonzero(follows == 0)
        first = int(begins[0]) if len(begins) else len(follows)
        head, rest = rows.part(0, first), rows.part(first, len(follows))
        totals = [_Total.of(field.type, len(begins)) for field in self.fields]
        self.add(totals, rest, np.cumsum(follows[first:] == 0) - 1, values)
        kept = np.zeros(len(rest), np.bool_)
        kept[np.append(begins[1:] - first, len(rest)) - 1 if self.last else begins - first] = True
        return RowGroups(self, head, rest.kept(kept), totals, values)

    def add(self, totals: list[_Total], rows: Any, groups: NDArray[np.int64], values: ValuesOf) -> None:
        """Add the values of rows to the sums of their groups, whose numbers ascend."""
        names = [field.name for field in self.fields]
        for low in range(0, len(groups), _ROWS):
            some = values(rows.part(low, min(len(groups), low + _ROWS)), names)
            for total, column in zip(totals, some.columns, strict=True):
                total.add(column.combine_chunks(), groups[low : low + _ROWS])

    def described(self, row: Any, values: ValuesOf) -> str:
        """The words for the group of a row, which name its keys as far as they are columns that texts can show."""
        shown = []
        for name in self._keys:
            column = values(row, [name]).column(0)
            try:
                plain = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
                text = str(plain.cast(pa.string())[0].as_py() if plain[0].is_valid else "null")
            except (pa.ArrowException, UnicodeDecodeError):
                continue
            shown.append(f"{name} {visible(text[:_SHOWN])}{'...' * (len(text) > _SHOWN)}")
        return f"the rows with {', '.join(shown)}" if shown else "equal rows"


def _place(name: str, schema: pa.Schema) -> int:
    found = schema.get_all_field_indices(name)
    if len(found) == 1:
        return int(found[0])
    if not found and name.isascii() and name.isdecimal() and 0 < int(name) <= len(schema):
        return int(name) - 1
    choices = did_you_mean_column(name, {one: one for one in schema.names}, f"use {', '.join(schema.names)}")
    raise UsageError(f"--sum {name}: there is no such column", way_out=choices)


def _is_summed(kind: pa.DataType) -> bool:
    floats = pa.types.is_float32(kind) or pa.types.is_float64(kind)
    return bool(floats or pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_duration(kind))


class _Total(ABC):
    """The sums of one column over groups. kind: its type."""

    def __init__(self, kind: pa.DataType, groups: int) -> None:
        self.kind = kind
        self.numbers = np.zeros(groups, np.int64)
        """The values of each group that are no nulls."""
        self.sums: NDArray[Any]
        """A row for each group."""

    @staticmethod
    def of(kind: pa.DataType, groups: int) -> _Total:
        """The sums of a column of this type, over so many groups."""
        return _FloatTotal(kind, groups) if pa.types.is_floating(kind) else _ExactTotal(kind, groups)

    def part(self, low: int, high: int) -> Self:
        """The sums of groups low to high - 1."""
        found = copy(self)
        found.numbers = self.numbers[low:high].copy()
        found.sums = self.sums[low:high].copy()
        return found

    def add(self, column: Any, groups: NDArray[np.int64]) -> None:
        """Add the values of rows. groups: that of each row."""
        valid = np.asarray(column.is_valid())
        self.numbers += np.bincount(groups[valid], minlength=len(self.numbers)) if valid.any() else 0
        if not valid.all():
            column, groups = column.filter(pa.array(valid)), groups[valid]
        if len(groups):
            self._add(column, groups)

    def first_unfit(self) -> int:
        """The first group whose sum does not fit, if one does not."""
        low, high = 0, len(self.sums)
        while high - low > 1:
            middle = (low + high) // 2
            try:
                self.part(low, middle).values()
                low = middle
            except (OverflowError, pa.ArrowInvalid):
                high = middle
        return low

    @abstractmethod
    def _add(self, column: Any, groups: NDArray[np.int64]) -> None:
        """Add the values of rows, none of which is null."""

    @abstractmethod
    def values(self) -> Any:
        """The sums, of the column's type. Raises OverflowError or ArrowInvalid for one that does not fit it."""


class _FloatTotal(_Total):
    """Each sum is a row of two doubles: the sum of finite numbers, and that of infinities and NaNs, 0 without any."""

    def __init__(self, kind: pa.DataType, groups: int) -> None:
        super().__init__(kind, groups)
        self.sums = np.zeros((groups, 2))
        self.sums[:, 0] = -0.0  # which changes no number that is added

    def _add(self, column: Any, groups: NDArray[np.int64]) -> None:
        values = np.asarray(column, np.float64)
        is_special = ~np.isfinite(values)
        with np.errstate(invalid="ignore", over="ignore"):
            np.add.at(self.sums[:, 0], groups, np.where(is_special, -0.0, values))
            np.add.at(self.sums[:, 1], groups[is_special], values[is_special])

    def values(self) -> Any:
        finite, special = self.sums.T
        with np.errstate(over="ignore"):
            found = np.where(special == 0, finite, special).astype(self.kind.to_pandas_dtype())
        if (np.isinf(found) & (special == 0)).any():
            raise OverflowError
        return pa.array(found, self.kind, mask=self.numbers == 0)


class _ExactTotal(_Total):
    """Each sum is a row of digits of 32 bits, the lowest first; all of them may be too large until they are carried."""

    def __init__(self, kind: pa.DataType, groups: int) -> None:
        super().__init__(kind, groups)
        # Narrow decimals are added as wider ones.
        self._as = pa.decimal128(kind.precision, kind.scale) if _is_narrow(kind) else kind
        self._words = self._as.byte_width // 8 if pa.types.is_decimal(kind) else 1
        self.sums = np.zeros((groups, 2 * self._words), np.int64)
        self._unsigned = pa.types.is_unsigned_integer(kind)

    def _add(self, column: Any, groups: NDArray[np.int64]) -> None:
        words = self._words_of(column)
        starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
        first = groups[starts]
        for number in range(self._words):
            word = words[:, number]
            top = number == self._words - 1 and not self._unsigned
            high = word >> _BITS if top else (word.view(np.uint64) >> np.uint64(_BITS)).view(np.int64)
            self.sums[first, 2 * number] += np.add.reduceat(word & _MASK, starts)
            self.sums[first, 2 * number + 1] += np.add.reduceat(high, starts)

    def _words_of(self, column: Any) -> NDArray[np.int64]:
        """The values as signed 64-bit words, the lowest first."""
        if not pa.types.is_decimal(self.kind):
            wide = pa.uint64() if self._unsigned else pa.int64()
            plain = column.cast(pa.int64()) if pa.types.is_duration(self.kind) else column.cast(wide)
            return np.ascontiguousarray(plain.to_numpy(zero_copy_only=False)).view(np.int64).reshape(-1, 1)
        wider = column.cast(self._as)
        words = np.frombuffer(wider.buffers()[1], np.int64).reshape(-1, self._words)
        return words[wider.offset : wider.offset + len(wider)]

    def values(self) -> Any:
        digits, last = self.sums.copy(), 2 * self._words - 1
        for at in range(last):
            digits[:, at + 1] += digits[:, at] >> _BITS
            digits[:, at] &= _MASK
        top = digits[:, last]
        low, high = (0, 1 << _BITS) if self._unsigned else (-1 << (_BITS - 1), 1 << (_BITS - 1))
        if ((top < low) | (top >= high)).any():
            raise OverflowError
        words = digits[:, 0::2] | digits[:, 1::2] << _BITS
        is_null = self.numbers == 0
        if pa.types.is_decimal(self.kind):
            valid = pa.array(~is_null).buffers()[1]
            held = pa.py_buffer(np.ascontiguousarray(words))
            found = pa.Array.from_buffers(self._as, len(words), [valid, held])
            found.validate(full=True)  # whether sums have no more digits than the type
            return found.cast(self.kind)
        if self._unsigned:
            return pa.array(words[:, 0].view(np.uint64), pa.uint64(), mask=is_null).cast(self.kind)
        found = pa.array(words[:, 0], pa.int64(), mask=is_null)
        return found.cast(self.kind)


def _is_narrow(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind)) and kind.byte_width < 16
