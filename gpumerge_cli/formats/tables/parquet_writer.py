"""The writer of Parquet files: row groups are encoded by any threads, and composed to a file in their order."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.formats.codecs import COLUMN_COMPRESSIONS
from gpumerge_cli.formats.tables.dictionaries import (
    check_index_types,
    rows_without_unused,
    rows_without_views,
    schema_without_views,
)
from gpumerge_cli.formats.tables.nested_dictionaries import schema_like
from gpumerge_cli.formats.tables.parquet_annotations import annotated
from gpumerge_cli.formats.tables.parquet_columns import has_integer_decimals, is_int96, shape_of, stored_columns
from gpumerge_cli.formats.tables.parquet_facts import (
    MAGIC,
    GroupFacts,
    RowGroup,
    SortingColumn,
)  # fmt: skip
from gpumerge_cli.formats.tables.parquet_footer import composed, split
from gpumerge_cli.formats.tables.parquet_groups import facts_of
from gpumerge_cli.formats.tables.parquet_limits import check_values
from gpumerge_cli.formats.tables.parquet_statistics import with_statistics
from gpumerge_cli.formats.tables.parquet_table import ParquetTable
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.formats.tables.table import CopyingWriter, Table

_USUAL = "zstd"
_LEAST_COPIED = 1 << 16
"""Smaller groups are joined to larger ones rather than copied."""
_COPIED_AT_ONCE = 8 << 20
_UNWRITABLE = ("", "lzo")
_USUAL_DICTIONARY = 1 << 19
"""pyarrow ends dictionaries at twice as many bytes."""
_LARGE_DICTIONARY = 8 << 20
"""Dictionaries of more bytes are encoded one at a time, because encoding takes about four times their bytes."""
_ONE_AT_A_TIME = threading.Lock()
_LARGEST_SHORT_DECIMAL = 18


class ParquetWriter(CopyingWriter):
    """Makes a Parquet file.

    schema: its columns and metadata. Raises OutputError, or UsageError for a level that its compression lacks.
    """

    head = MAGIC
    takes_dictionaries = True

    def __init__(self, schema: pa.Schema, settings: TableSettings) -> None:
        self._schema = schema_without_views(_without_ranges(schema_like(schema, settings.like)))
        self._settings = settings
        like = settings.like
        self._options = _options(settings, like if isinstance(like, ParquetTable) else None)
        try:
            self.template, _ = split(self._file(None))
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise OutputError(f"Parquet cannot hold these columns: {error}".splitlines()[0]) from None
        if isinstance(like, ParquetTable):
            self.template = annotated(self.template, like.footer)
        self.shape = shape_of(self.template)
        """See parquet_columns.shape_of."""
        schema = pq.read_metadata(pa.BufferReader(self._file(None))).schema
        self._paths = [schema.column(number).path for number in range(len(schema))]
        self._sorting = self._sorting_columns(settings)
        self._groups: list[tuple[int, GroupFacts]] = []

    def encoded(self, rows: pa.Table) -> RowGroup:
        """See TableWriter. Raises InputError and OutputError for values that the types of the file do not hold."""
        check_index_types(rows, self._schema)
        check_values(rows, int96=bool(self._options.get("use_deprecated_int96_timestamps")))
        rows = rows_without_unused(rows_without_views(rows))
        pairs = [pair for pair in zip(rows.schema, self._schema, strict=True) if pair[0].type != pair[1].type]
        dictionaries = {own.name: rows.column(own.name) for own, _ in pairs if pa.types.is_dictionary(own.type)}
        try:
            (group,) = split(self._file(rows, dictionaries))[1]
        except pa.ArrowInvalid as error:  # as of a value below a null
            what = f"Parquet cannot hold these rows: {error}".splitlines()[0]
            raise OutputError(what, way_out="write Arrow (.arrow)") from None
        return with_statistics(group, dictionaries) if dictionaries else group

    def appended(self, group: RowGroup, start: int) -> Any:
        """See TableWriter."""
        self._groups.append((start, group.facts))
        return group.data

    def detached(self, group: RowGroup) -> tuple[Any, Any]:
        """See TableWriter."""
        return group.facts, group.data

    def attached(self, facts: GroupFacts, data: Any) -> RowGroup:
        """See TableWriter."""
        return RowGroup(data, facts)

    def takes(self, table: Table, group: int) -> bool:
        """See CopyingWriter. A group is taken if its columns and their compressions are those that are written."""
        is_changed, table = table.is_changed, table.file
        if not isinstance(table, ParquetTable) or is_changed or self._settings.level is not None:
            return False
        if shape_of(table.footer) != self.shape or not self._fits(table.group_rows[group]):
            return False
        asked = self._options["compression"]
        stored = stored_columns(table.footer, group)
        codecs = [asked if isinstance(asked, str) else asked.get(".".join(one.path)) for one in stored]
        return codecs == [one.codec for one in stored]

    def copied(self, table: Table, group: int, start: int) -> Iterator[bytes]:
        """See CopyingWriter."""
        table = table.file
        assert isinstance(table, ParquetTable), "of a group that is taken"
        facts, pieces = facts_of(table.read, table.footer, group)
        self._groups.append((start, facts))
        for first, size in pieces:
            for at in range(first, first + size, _COPIED_AT_ONCE):
                yield table.read(at, min(_COPIED_AT_ONCE, first + size - at))

    def _fits(self, rows: int) -> bool:
        """Whether a group with so many rows has the size of others."""
        asked = self._settings.group
        if asked is None:
            return rows >= _LEAST_COPIED
        return asked.rows is not None and asked.rows // 2 <= rows <= asked.rows

    def end(self, start: int) -> bytes:
        """See TableWriter."""
        return composed(self.template, self._groups, start, self._sorting)

    def _file(self, rows: pa.Table | None, without_statistics: Collection[str] = ()) -> memoryview:
        """The rows as a file of one group; None for a file without any. without_statistics: names of columns."""
        out, options = pa.BufferOutputStream(), self._options
        largest = max(map(_dictionary_bytes, () if rows is None else rows.columns), default=0)
        if largest > _USUAL_DICTIONARY:  # else pyarrow gives it up, and writes each value
            options = {**options, "dictionary_pagesize_limit": 2 * largest}
        if without_statistics:
            options = {**options, "write_statistics": [one for one in self._paths if one not in without_statistics]}
        with (
            _ONE_AT_A_TIME if largest > _LARGE_DICTIONARY else nullcontext(),
            pq.ParquetWriter(out, self._schema if rows is None else rows.schema, **options) as writer,
        ):
            if rows is not None:
                writer.write_table(rows, row_group_size=max(1, rows.num_rows))
        return memoryview(out.getvalue())

    def _sorting_columns(self, settings: TableSettings) -> Sequence[SortingColumn]:
        found = []
        paths = self._paths
        for key in settings.sorted_by:
            path = ".".join(key.path)
            if paths.count(path) != 1:
                break
            found.append(SortingColumn(paths.index(path), key.reverse, key.nulls_first))
        return found


def _dictionary_bytes(column: Any) -> int:
    """The most bytes of a dictionary of the chunks of a column."""
    is_dictionary = pa.types.is_dictionary(column.type)
    return max((int(one.dictionary.nbytes) for one in column.chunks), default=0) if is_dictionary else 0


def _options(settings: TableSettings, like: ParquetTable | None) -> dict[str, Any]:
    """The options of pyarrow's writer. like: the first input; None if that is not Parquet."""
    if settings.compression is not None and settings.compression not in COLUMN_COMPRESSIONS:
        what = f"--compression {settings.compression}: columns of tables have no such compression"
        raise UsageError(what, way_out=f"use {', '.join(COLUMN_COMPRESSIONS)}")
    stored = settings.stored or (() if like is None else like.stored_columns)
    options: dict[str, Any] = {
        "version": "2.6",  # types that all readers of the last years know
        "data_page_version": "1.0",
        "write_page_index": True,
        "write_statistics": True,
        "compression": settings.compression or _USUAL,
        "compression_level": settings.level,
    }
    if stored and settings.compression is None:
        codecs = {".".join(one.path): _USUAL if one.codec in _UNWRITABLE else one.codec for one in stored}
        options["compression"] = codecs if len(set(codecs.values())) > 1 else next(iter(codecs.values()))
    if stored:
        options["use_dictionary"] = [".".join(one.path) for one in stored if one.pays]
        encodings = {".".join(one.path): one.encoding for one in stored if one.encoding}
        options["column_encoding"] = encodings or None
    if like is not None:
        options["use_deprecated_int96_timestamps"] = is_int96(like.footer)
        options["store_decimal_as_integer"] = has_integer_decimals(like.footer)
    if settings.level is not None:
        compressions = options["compression"]
        for codec in {compressions} if isinstance(compressions, str) else set(compressions.values()):
            _check_level(codec, settings.level)
    return options


def _check_level(codec: str, level: int) -> None:
    """Raise UsageError if a compression lacks a level."""
    if codec in ("none", "snappy"):
        what = "what is not compressed" if codec == "none" else codec
        raise UsageError(f"--compression-level {level}: {what} has no levels", way_out="leave it out, or use zstd")
    least, most = pa.Codec.minimum_compression_level(codec), pa.Codec.maximum_compression_level(codec)
    if not least <= level <= most:
        what = f"--compression-level {level}: the levels of {codec} go from {max(1, least)} to {most}"
        raise UsageError(what, way_out="use one of these")


def _without_ranges(schema: pa.Schema) -> pa.Schema:
    """The schema, without the numbers of rows that pandas had as its index: readers number the rows anew."""
    metadata = dict(schema.metadata or {})
    try:
        about = json.loads(metadata[b"pandas"])
        kept = [one for one in about["index_columns"] if not (isinstance(one, dict) and one["kind"] == "range")]
    except (KeyError, ValueError, TypeError, RecursionError):
        return schema
    about["index_columns"] = kept
    return schema.with_metadata({**metadata, b"pandas": json.dumps(about).encode()})
