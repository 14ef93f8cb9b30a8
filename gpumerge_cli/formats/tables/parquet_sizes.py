"""The memory that rows of a Parquet file take, by its footer: nulls, runs and dictionaries take less in the file.

The sizes of values whose type has one size follow from their number. Newer writers say those of texts. Else they are
those of the pages, or the mean of a dictionary. Rows may be uneven, so that batches grow only as their sizes do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import pyarrow as pa

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.parquet_chunks import ChunkFacts

_OFFSET = 4
"""Bytes of the place of a text or a list, and of an index of a dictionary."""
_WIDTHS = {"BOOLEAN": 0.125, "INT32": 4.0, "INT64": 8.0, "INT96": 8.0, "FLOAT": 4.0, "DOUBLE": 8.0}
_OF_VALIDITY = 0.125
_FEW = 64
"""So few rows are taken at once first, and where large ones may follow any row."""
_UNEVEN = 4.0
"""Rows that are so many times smaller than the rest on average say that large ones follow."""
_MOST_LEFT = 2
"""So many times the bytes of a batch may be in one, if they are all that is left."""


@dataclass(frozen=True)
class Leaf:
    """A column without fields."""

    number: int
    column: str
    """The name of the column that it is in."""
    width: float | None
    """The bytes of a value; None for texts."""
    is_flat: bool
    """Whether each row has one value."""
    lists: int
    """The number of lists, each in the one before it."""


def leaves_of(schema: pa.Schema, stored: Any) -> list[Leaf]:
    """The leaves of a file. stored: its ParquetSchema."""
    found = []
    for number in range(len(stored)):
        column = stored.column(number)
        lists = column.max_repetition_level
        top = column.path.split(".")[0]
        at = schema.get_field_index(top)
        width = _WIDTHS.get(column.physical_type)
        if column.physical_type == "FIXED_LEN_BYTE_ARRAY":
            width = float(max(column.length, 16 if column.converted_type == "DECIMAL" else 0))
        if at >= 0 and column.path == top:
            type = values_type(schema.field(at).type)
            if pa.types.is_primitive(type) or pa.types.is_decimal(type) or pa.types.is_fixed_size_binary(type):
                width = type.bit_width / 8
        found.append(Leaf(number, top, width, not lists, lists))
    return found


class RowBytes:
    """The bytes of rows of a file in memory.

    leaves: its columns. group_rows: of each group. chunk: the facts of a leaf in a group. mean_text: the mean bytes of
    the values in the dictionary of a leaf in a group; None if unknown. dictionaries: the columns read as such.
    """

    def __init__(
        self,
        leaves: Sequence[Leaf],
        group_rows: Sequence[int],
        chunk: Callable[[int, int], ChunkFacts],
        mean_text: Callable[[ChunkFacts], float | None],
        dictionaries: Sequence[str],
    ) -> None:
        self._leaves = leaves
        self.group_rows = group_rows
        self._chunk = chunk
        self._mean_text = mean_text
        self._dictionaries = frozenset(dictionaries)
        self._known: dict[tuple[int, int], tuple[float, bool]] = {}
        self._even: dict[tuple[str, ...] | None, float] = {}
        self._sums: dict[tuple[int, tuple[str, ...] | None], tuple[float, bool]] = {}

    def of_group(self, group: int, columns: Sequence[str] | None) -> float:
        """The bytes of the rows of a group. columns: see Table.batches."""
        return self._uneven_of(group, columns)[0] + self._each_even(columns) * self.group_rows[group]

    def uneven_of_group(self, group: int, *, plain: bool) -> float:
        """Those of the columns whose values have different sizes. plain: also those of dictionaries, taken apart."""
        if not plain or not self._dictionaries:
            return self._uneven_of(group, None)[0]
        leaves = (leaf for leaf in self._leaves if leaf.width is None or not self._is_even(leaf))
        return sum(self._uneven(group, leaf)[0] for leaf in leaves)

    def are_even(self, columns: Sequence[str] | None) -> bool:
        """Whether all rows take the same bytes."""
        return all(map(self._is_even, self._picked(columns)))

    def are_known(self, group: int, columns: Sequence[str] | None) -> bool:
        """Whether the file says the bytes of a group at all."""
        return self._uneven_of(group, columns)[1]

    def _each_even(self, columns: Sequence[str] | None) -> float:
        """The bytes of each row in columns whose values have one size."""
        names = None if columns is None else tuple(columns)
        if names not in self._even:
            even = (leaf for leaf in self._picked(columns) if self._is_even(leaf))
            self._even[names] = sum(_OF_VALIDITY + (_OFFSET if leaf.width is None else leaf.width) for leaf in even)
        return self._even[names]

    def _uneven_of(self, group: int, columns: Sequence[str] | None) -> tuple[float, bool]:
        """(the bytes of the rows of a group in the other columns, whether they are known)."""
        place = group, None if columns is None else tuple(columns)
        if place not in self._sums:
            found = [self._uneven(group, leaf) for leaf in self._picked(columns) if not self._is_even(leaf)]
            self._sums[place] = sum(size for size, _ in found), all(is_known for _, is_known in found)
        return self._sums[place]

    @cached_property
    def _of_column(self) -> dict[str, list[Leaf]]:
        found: dict[str, list[Leaf]] = {}
        for leaf in self._leaves:
            found.setdefault(leaf.column, []).append(leaf)
        return found

    def _picked(self, columns: Sequence[str] | None) -> Sequence[Leaf]:
        if columns is None:
            return self._leaves
        return [leaf for name in dict.fromkeys(columns) for leaf in self._of_column.get(name, ())]

    def _is_even(self, leaf: Leaf) -> bool:
        return leaf.is_flat and (leaf.width is not None or leaf.column in self._dictionaries)

    def _uneven(self, group: int, leaf: Leaf) -> tuple[float, bool]:
        """(the bytes of a leaf in a group, whether they are known)."""
        place = group, leaf.number
        if place not in self._known:
            facts, rows = self._chunk(*place), self.group_rows[group]
            of_lists = leaf.lists * (_OFFSET + _OF_VALIDITY) * rows
            values = max(0, facts.num_values)
            if leaf.width is not None:
                self._known[place] = of_lists + values * (leaf.width + _OF_VALIDITY), True
            else:
                texts, is_known = self.texts(facts)
                self._known[place] = of_lists + values * (_OFFSET + _OF_VALIDITY) + texts, is_known
        return self._known[place]

    def texts(self, facts: ChunkFacts) -> tuple[float, bool]:
        """About the bytes of texts, each as often as it is there, and whether these are known."""
        if facts.text_bytes is not None:
            return float(max(0, facts.text_bytes)), True
        pages = float(max(0, facts.uncompressed))
        if not facts.dictionary_pages:
            return pages, not facts.expands
        each = self._mean_text(facts)
        if each is None:
            return pages, False
        there = max(0, facts.num_values - (facts.nulls or 0))
        return pages + facts.dictionary_pages * there * each, False


class Pace:
    """The rows of the batches of a file, one after the other.

    rows: the most of one. nbytes: the bytes that one may take. sizes, columns: of the rows. first: their first group.
    A batch has twice the rows of the one before it at most. Where the rows seen of a group are much smaller than the
    file says of all, large ones are still to come, perhaps all at once: then batches are short until they are found.
    """

    def __init__(self, sizes: RowBytes, columns: Sequence[str] | None, first: int, rows: int, nbytes: float) -> None:
        self._sizes = sizes
        self._columns = columns
        self._most, self._nbytes = rows, nbytes
        self._is_even = sizes.are_even(columns)
        self._last, self._each = _FEW, 0.0
        self._group = first - 1
        self._left_rows = 0
        if not self._is_even:
            self._begin()

    @property
    def varies(self) -> bool:
        """Whether batches may have different numbers of rows, so that `took` must be called."""
        return not self._is_even

    @property
    def rows(self) -> int:
        """The rows of the next batch."""
        if self._is_even:
            return self._most
        average = max(0.0, self._left_bytes) / max(1, self._left_rows)
        found = min(self._most, 2 * self._last, int(self._nbytes / max(self._each, average, 1.0)))
        if self._is_known and self._left_bytes > _MOST_LEFT * self._nbytes and average > _UNEVEN * self._mean:
            found = min(found, _FEW)
        return max(1, found)

    def took(self, rows: int, nbytes: int) -> None:
        """A batch had so many rows and bytes."""
        if self._is_even or not rows:
            return
        self._last, self._each = rows, nbytes / rows
        while rows and self._left_rows:
            some = min(rows, self._left_rows)
            self._left_rows -= some
            self._left_bytes -= self._each * some
            self._rows_seen += some
            self._bytes_seen += self._each * some
            rows -= some
            if not self._left_rows:
                self._begin()

    @property
    def _mean(self) -> float:
        """The bytes of a row of the group so far."""
        return self._bytes_seen / max(1, self._rows_seen)

    def _begin(self) -> None:
        """Begin the next group that has rows."""
        self._left_bytes, self._rows_seen, self._bytes_seen = 0.0, 0, 0.0
        self._is_known = False
        while not self._left_rows and self._group + 1 < len(self._sizes.group_rows):
            self._group += 1
            self._left_rows = self._sizes.group_rows[self._group]
        if self._left_rows:
            self._left_bytes = self._sizes.of_group(self._group, self._columns)
            self._is_known = self._sizes.are_known(self._group, self._columns)
