"""Parquet files as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gpumerge_cli.dataclass import replace
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.tables.column_paths import values_type
from gpumerge_cli.formats.tables.dictionaries import bytes_in_memory, with_known_dictionaries
from gpumerge_cli.formats.tables.facts import SortedColumn
from gpumerge_cli.formats.tables.input_file import opened
from gpumerge_cli.formats.tables.nested_dictionaries import with_values_inside
from gpumerge_cli.formats.tables.parquet_annotations import intervals
from gpumerge_cli.formats.tables.parquet_chunks import ChunkFacts, ChunkReader, value_of
from gpumerge_cli.formats.tables.parquet_columns import stored_columns
from gpumerge_cli.formats.tables.parquet_dictionaries import large_dictionaries, plainly_typed
from gpumerge_cli.formats.tables.parquet_footer import footer_of
from gpumerge_cli.formats.tables.parquet_groups import sorting_of
from gpumerge_cli.formats.tables.parquet_pages import (
    digest_of_dictionary,
    mean_of_dictionary,
    page_bytes,
    values_of_dictionary,
)
from gpumerge_cli.formats.tables.parquet_sizes import Pace, RowBytes, leaves_of
from gpumerge_cli.formats.tables.table import Stored, StoredColumn, Table, arrow_errors, with_valid_names

_SAMPLED = 1 << 10
"""The rows whose size stands for that of all, where the file says none."""
_LEAST_OF_BATCH = 1 << 18
"""Batches of fewer bytes are not made smaller."""
_BUFFERS = 16 << 20
"""The bytes that are read at once of all columns."""
_LEAST_BUFFER, _LARGEST_BUFFER = 16 << 10, 1 << 20
_PAYS = 2
"""Texts that are so many times larger than their dictionary and the references to it keep the dictionary."""
_SHORT = 2.5
"""Bytes of a value of a column that refers to a dictionary, with its share of that."""


class ParquetTable(Table):
    """An opened Parquet file. Raises InputError if it is none."""

    def __init__(self, file: SeekableInput) -> None:
        self.name = file.name
        self._file = file
        self.footer = footer_of(self.read, file.size, self.name)
        """Its footer, of which pyarrow does not tell all. It is read first: pyarrow may end at an encrypted file."""
        with arrow_errors(self.name):
            self._reader = pq.ParquetFile(opened(file), pre_buffer=False)
            self.metadata = self._reader.metadata
            stored = with_valid_names(self._reader.schema_arrow)
            groups = [self.metadata.row_group(number) for number in range(self.metadata.num_row_groups)]
        self.schema = with_values_inside(stored)
        self.stored_schema = None if self.schema == stored else stored
        self.group_rows = [group.num_rows for group in groups]
        self._groups = groups
        self._bytes_of_rows: dict[tuple[str, ...] | None, float] = {}
        self._pages: dict[int, int] = {}

    @property
    def stored(self) -> Stored:
        """See Table."""
        groups = tuple(
            sum(self._chunks(number, leaf).compressed for leaf in range(group.num_columns))
            for number, group in enumerate(self._groups)
        )
        writer = self.footer.created_by.decode(errors="replace")
        return Stored(self._file.size, writer, self.stored_columns, groups, self._sorted_by())

    @cached_property
    def stored_columns(self) -> tuple[StoredColumn, ...]:
        """See Stored. A dictionary that is larger than its references still pays if these stand for long texts."""
        found = stored_columns(self.footer)
        group = self.group_rows.index(max(self.group_rows)) if found else 0
        return tuple(
            replace(one, pays=True) if not one.pays and one.dictionary and self._pays(group, number) else one
            for number, one in enumerate(found)
        )

    def _pays(self, group: int, leaf: int) -> bool:
        facts = self._chunks(group, leaf)
        return facts.dictionary_pages == 1.0 and self._sizes.texts(facts)[0] > _PAYS * facts.uncompressed

    def _sorted_by(self) -> tuple[SortedColumn, ...]:
        """The first columns by which all groups are sorted."""
        paths, found = [one.path for one in self.stored_columns], []
        stated = [sorting_of(group) for group in self.footer.groups]
        for columns in zip(*stated, strict=False):
            first = columns[0]
            if any(one != first for one in columns) or not 0 <= first.number < len(paths):
                break
            found.append(SortedColumn(paths[first.number], first.descending, first.nulls_first))
        return tuple(found)

    @cached_property
    def _chunks(self) -> ChunkReader:
        return ChunkReader(self.footer)

    def read(self, start: int, size: int) -> bytes:
        """Bytes of the file. Raises InputError if it ends before."""
        return self._file.read_exactly(start, size)

    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """See Table."""
        yield from self._paced(columns, group, rows, rows * self.bytes_of_rows(columns) / max(1, self.rows))

    def _paced(self, columns: Sequence[str] | None, group: int, rows: int, nbytes: float) -> Iterator[pa.RecordBatch]:
        """The same. nbytes: those of a batch, about, if it has more than one row."""
        with arrow_errors(self.name):
            nbytes = max(nbytes, _LEAST_OF_BATCH)
            reader = pq.ParquetFile(
                opened(self._file),
                metadata=self._metadata_as_read,
                buffer_size=self._buffer_bytes(columns),
                pre_buffer=False,
                read_dictionary=[one for one in self._dictionaries if columns is None or one in columns],
            )
            pace = Pace(self._sizes, columns, group, rows, nbytes)
            known: dict[int, Any] = {}
            groups = range(group, len(self.group_rows))
            for batch in reader.iter_batches(pace.rows, row_groups=groups, columns=columns, use_threads=True):
                batch = with_known_dictionaries(batch, known)
                yield batch
                if pace.varies:
                    pace.took(batch.num_rows, bytes_in_memory(batch))
                    reader.reader.set_batch_size(pace.rows)

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        leaf = self._leaf(path)
        return leaf is None or any(self._chunks(group, leaf).nulls != 0 for group in range(len(self._groups)))

    def most_values(self, name: str) -> int | None:
        """See Table. The values in the dictionaries of all groups."""
        leaf = self._leaf([name])
        if leaf is None:
            return None
        found = 0
        for group in self._with_rows:
            chunk = self._chunks(group, leaf)
            count = values_of_dictionary(self.read, chunk) if chunk.dictionary_pages == 1.0 else None
            if count is None:
                return None
            found += count
        return found

    def has_order(self, path: Sequence[str]) -> bool:
        """See Table. An interval is months, days and milliseconds."""
        return tuple(path) not in self._intervals

    @cached_property
    def _intervals(self) -> frozenset[tuple[str, ...]]:
        return intervals(self.footer)

    def extremes(self, group: int, path: Sequence[str]) -> tuple[Any, Any, bool] | None:
        """See Table."""
        leaf = self._leaf(path)
        if leaf is None:
            return None
        facts, type = self._chunks(group, leaf), self._type(path)
        if facts.nulls is None:
            return None
        if facts.nulls == self.group_rows[group]:
            return None, None, True
        if facts.least is None or facts.greatest is None:
            return None
        least, greatest = (value_of(type, facts.physical, one) for one in (facts.least, facts.greatest))
        return None if least is None or greatest is None else (least, greatest, facts.nulls > 0)

    def has_exact_extremes(self, group: int, path: Sequence[str]) -> bool:
        """See Table."""
        leaf = self._leaf(path)
        if leaf is None or self.footer.column_orders is None:
            return False
        facts = self._chunks(group, leaf)
        has_nans = pa.types.is_floating(self._type(path)) and facts.nans != 0
        return facts.exact and facts.nulls == 0 and not has_nans

    def _type(self, path: Sequence[str]) -> pa.DataType:
        type = self.schema.field(path[0]).type
        for name in path[1:]:
            type = values_type(type).field(name).type
        return values_type(type)

    def _leaf(self, path: Sequence[str]) -> int | None:
        """The number of a column among the leaves of the schema; None for one that is not a leaf."""
        return self._leaves.get(".".join(path))

    @cached_property
    def _paths(self) -> list[str]:
        """The paths of the leaves of the schema."""
        schema = self.metadata.schema
        with arrow_errors(self.name):  # damaged names are not UTF-8
            return [schema.column(number).path for number in range(len(schema))]

    @cached_property
    def _leaves(self) -> dict[str, int]:
        """The numbers of leaves of the schema by their paths; not those of paths that several have."""
        paths = self._paths
        several = {path for path, count in Counter(paths).items() if count > 1}
        return {path: number for number, path in enumerate(paths) if path not in several}

    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        names = None if columns is None else tuple(columns)
        if names not in self._bytes_of_rows:
            self._bytes_of_rows[names] = sum(self._sizes.of_group(number, columns) for number in self._with_rows)
            if not all(self._sizes.are_known(number, columns) for number in self._with_rows):
                self._bytes_of_rows[names] = max(self._bytes_of_rows[names], self._sampled(columns) * self.rows)
        return int(self._bytes_of_rows[names])

    def _sampled(self, columns: Sequence[str] | None) -> float:
        """The bytes of each of the first rows."""
        rows = nbytes = 0
        for batch in self._paced(columns, 0, _SAMPLED, _LEAST_OF_BATCH):
            rows += batch.num_rows
            nbytes += bytes_in_memory(batch)
            if rows >= _SAMPLED or nbytes >= _LEAST_OF_BATCH:
                break
        return nbytes / max(1, rows)

    def largest_rows(self, nbytes: int) -> float:
        """See Table."""
        found = super().largest_rows(nbytes)
        for number in self._with_rows:
            size = self._sizes.of_group(number, None)
            if size >= nbytes:
                found = max(found, size / self.group_rows[number])
        return found

    def most_uneven(self, *, plain: bool) -> float:
        """See Table. Those of a group."""
        found = (self._sizes.uneven_of_group(number, plain=plain) for number in self._with_rows)
        return max(found, default=0.0)

    @cached_property
    def _with_rows(self) -> list[int]:
        """The groups that have rows."""
        return [number for number, rows in enumerate(self.group_rows) if rows]

    @cached_property
    def _sizes(self) -> RowBytes:
        with arrow_errors(self.name):
            leaves = leaves_of(self.schema, self.metadata.schema)
        references = [*self._dictionaries, *self._held_dictionaries]
        return RowBytes(leaves, self.group_rows, self._chunks, self._mean_text, references)

    def _mean_text(self, chunk: ChunkFacts) -> float | None:
        """The mean bytes of the values of a column's dictionary; None if they are unknown."""
        if not self._file.extent(0, self._file.size):  # reading from stores takes long
            return None
        return mean_of_dictionary(self.read, chunk)

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table. A page of each column, as it is stored and decoded, and its dictionary."""
        leaves = self._leaves_of(columns)
        return sum(self._open_bytes(leaf) for leaf in leaves) + len(leaves) * self._buffer_bytes(columns)

    def _open_bytes(self, leaf: int) -> int:
        if leaf not in self._pages:
            sizes = [group.total_byte_size for group in self._groups]
            chunk = self._chunks(sizes.index(max(sizes)), leaf) if sizes else None
            read = self.read if self._file.extent(0, self._file.size) else None  # reading from stores takes long
            self._pages[leaf] = page_bytes(read, chunk) if chunk else 0
        return self._pages[leaf]

    def _buffer_bytes(self, columns: Sequence[str] | None) -> int:
        """The bytes of a column that are read at once."""
        return max(_LEAST_BUFFER, min(_LARGEST_BUFFER, _BUFFERS // max(1, len(self._leaves_of(columns)))))

    def _leaves_of(self, columns: Sequence[str] | None) -> Sequence[int]:
        """The numbers of the leaves of columns."""
        if columns is None:
            return range(len(self._paths))
        tops = tuple(f"{name}." for name in columns)
        return [number for number, path in enumerate(self._paths) if f"{path}.".startswith(tops)]

    @cached_property
    def _dictionaries(self) -> list[str]:
        """The columns of short dictionaries that are read as such."""
        found = []
        for number, field in enumerate(self.schema):
            leaf = self._leaf([field.name])
            if leaf is None or not (pa.types.is_string(field.type) or pa.types.is_binary(field.type)):
                continue
            if field.name in self.plain_columns:
                continue
            chunks = [self._chunks(group, leaf) for group in range(len(self._groups))]
            if self.schema.get_field_index(field.name) == number and _have_short_dictionaries(chunks):
                found.append(field.name)
        return found

    @cached_property
    def plain_columns(self) -> frozenset[str]:
        """See Table. Those of large dictionaries."""
        found = {}
        for field in self.schema:
            leaf = self._leaf([field.name])
            if leaf is not None and pa.types.is_dictionary(field.type) and not field.type.ordered:
                found[field.name] = [self._chunks(group, leaf) for group in range(len(self._groups))]
        return frozenset(large_dictionaries(found, self._digest))

    def _digest(self, chunk: ChunkFacts) -> bytes | None:
        if not self._file.extent(0, self._file.size):  # reading from stores takes long
            return None
        return digest_of_dictionary(self.read, chunk)

    def with_plain(self, columns: Collection[str]) -> ParquetTable:
        """See Table."""
        made = copy(self)
        for name in ("_sizes", "_dictionaries", "_held_dictionaries", "_metadata_as_read"):
            made.__dict__.pop(name, None)
        made._bytes_of_rows = {}
        made.__dict__["plain_columns"] = self.plain_columns.union(columns)
        return made

    @cached_property
    def _held_dictionaries(self) -> list[str]:
        """The columns that Arrow types as dictionaries, and that are read as such."""
        flat = (
            one.name for one in self.schema if pa.types.is_dictionary(one.type) and self._leaf([one.name]) is not None
        )
        return [name for name in flat if name not in self.plain_columns]

    @cached_property
    def _metadata_as_read(self) -> Any:
        """The metadata by which batches have plain columns."""
        dictionaries = (one for one in self.schema if pa.types.is_dictionary(one.type))
        types = {one.name: one.type.value_type for one in dictionaries if one.name in self.plain_columns}
        if self.stored_schema is not None:
            pairs = zip(self.schema, self.stored_schema, strict=True)
            types |= {own.name: own.type for own, stored in pairs if own.type != stored.type}
        return plainly_typed(self.footer, types) if types else self.metadata

    def again(self) -> ParquetTable:
        """See Table."""
        return copy(self)


def _have_short_dictionaries(chunks: Sequence[ChunkFacts]) -> bool:
    """Whether a column has a dictionary in each group, which are all in all much shorter than its values."""
    size = sum(chunk.uncompressed for chunk in chunks)
    return all(chunk.has_dictionary for chunk in chunks) and size <= _SHORT * sum(chunk.num_values for chunk in chunks)
