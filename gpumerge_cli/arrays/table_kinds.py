"""The kinds of tables that Python's calls take and return: those of pyarrow, polars and pandas."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from gpumerge_cli.arrays.interchange import check_listed, name_of
from gpumerge_cli.arrays.merged_positions import RowPositions
from gpumerge_cli.arrays.taken_rows import taken_column
from gpumerge_cli.errors import GpumergeError, UsageError
from gpumerge_cli.formats.tables.nested_dictionaries import (
    dictionaries_inside,
    type_of_values_inside,
    values_inside,
    with_wide_indices_inside,
)
from gpumerge_cli.formats.tables.table import with_valid_names
from gpumerge_cli.formats.tables.unified import unified, unified_widely

_WAY_OUT = "give tables of pyarrow, polars or pandas"
_BEHIND_NAME = ("", ".", ":", ",")


class TableKind(ABC):
    """A kind of tables: the work on several tables of it, which have the same columns."""

    @abstractmethod
    def columns(self, table: Any) -> list[tuple[Any, Any]]:
        """(the name, the type) of each column."""

    def are_alike(self, type: Any, first: Any) -> bool:
        """Whether a column of a type can follow one of the type `first`."""
        return bool(type == first)

    def brought(self, tables: Sequence[Any]) -> Sequence[Any]:
        """Tables that are alike, as `keys` and `gathered` take them."""
        return tables

    @abstractmethod
    def keys(self, table: Any, names: Sequence[str]) -> pa.Table:
        """The columns of these names. Raises exceptions of the table's library."""

    @abstractmethod
    def gathered(self, tables: Sequence[Any], positions: RowPositions) -> Any:
        """The rows at these positions in the concatenation of tables. Raises exceptions of the tables' library."""


class ArrowTables(TableKind):
    """pyarrow.Table, and what becomes one."""

    def columns(self, table: Any) -> list[tuple[Any, Any]]:
        try:
            return [(field.name, field.type) for field in with_valid_names(table.schema)]
        except ValueError as error:
            raise UsageError(str(error), way_out="rename the columns, with rename_columns") from None

    def are_alike(self, type: Any, first: Any) -> bool:
        """See TableKind. Dictionaries may have indices of other types."""
        if not pa.types.is_dictionary(type) or not pa.types.is_dictionary(first):
            return bool(type == first)
        return bool(type.value_type == first.value_type and type.ordered == first.ordered)

    def keys(self, table: Any, names: Sequence[str]) -> pa.Table:
        return table.select(names)

    def gathered(self, tables: Sequence[Any], positions: RowPositions) -> Any:
        schema = tables[0].schema
        if not len(schema):
            return pa.concat_tables(tables)
        columns = []
        for number, field in enumerate(schema):
            parts = [table.column(number) for table in tables]
            plain = type_of_values_inside(field.type)
            if pa.types.is_dictionary(plain):
                whole = unified_widely(parts)
            else:
                chunks = [values_inside(chunk) for part in parts for chunk in part.chunks]
                whole = unified(pa.chunked_array(chunks, plain))
            taken = taken_column(whole, pa.array(positions))
            if plain != field.type:
                taken = dictionaries_inside(taken, with_wide_indices_inside(field.type))
            columns.append(taken)
        fields = [field.with_type(column.type) for field, column in zip(schema, columns, strict=True)]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, schema.metadata))


class ArrowBatches(ArrowTables):
    """pyarrow.RecordBatch."""

    def keys(self, table: Any, names: Sequence[str]) -> pa.Table:
        return pa.Table.from_batches([table.select(names)])

    def gathered(self, tables: Sequence[Any], positions: RowPositions) -> Any:
        found = super().gathered([pa.Table.from_batches([table]) for table in tables], positions)
        batches = found.combine_chunks().to_batches()
        if len(batches) > 1:
            raise UsageError("the rows do not fit one RecordBatch", way_out="give pyarrow.Table.from_batches([batch])")
        return batches[0] if batches else tables[0].slice(0, 0)


class ArrowStreams(ArrowTables):
    """Tables of other libraries that offer Arrow's C interface, read once. The result is a pyarrow.Table."""


class PolarsFrames(TableKind):
    """polars.DataFrame."""

    def columns(self, table: Any) -> list[tuple[Any, Any]]:
        return list(table.schema.items())

    def keys(self, table: Any, names: Sequence[str]) -> pa.Table:
        return pa.table(table.select(names))

    def gathered(self, tables: Sequence[Any], positions: RowPositions) -> Any:
        polars = sys.modules["polars"]
        whole = polars.concat(tables, rechunk=True)  # one that has chunks takes rows slowly
        return whole[polars.Series(positions)]


class PandasFrames(TableKind):
    """pandas.DataFrame. Its missing values, NaN among them, are nulls."""

    def columns(self, table: Any) -> list[tuple[Any, Any]]:
        return [*zip(table.columns, table.dtypes, strict=True)]

    def are_alike(self, type: Any, first: Any) -> bool:
        """See TableKind. Categories without an order may be others of their type."""
        if not _has_categories(type) or not _has_categories(first) or type.ordered or first.ordered:
            return bool(type == first)
        own, usual = type.categories, first.categories
        return not len(own) or not len(usual) or bool(own.dtype == usual.dtype)

    def brought(self, tables: Sequence[Any]) -> Sequence[Any]:
        """See TableKind. Categories are those of all tables: pandas concatenates others as objects."""
        return _with_all_categories(tables)

    def keys(self, table: Any, names: Sequence[str]) -> pa.Table:
        return pa.Table.from_pandas(table[list(names)], preserve_index=False)

    def gathered(self, tables: Sequence[Any], positions: RowPositions) -> Any:
        whole = sys.modules["pandas"].concat(tables) if len(tables) > 1 else tables[0]
        return whole.take(positions)


def table_kind_of(tables: Any) -> tuple[TableKind, list[Any]]:
    """The kind of tables, and the tables as it takes them. Raises UsageError for tables of several kinds, or none."""
    check_listed(tables, "tables")
    if _is_table(tables) or not isinstance(tables, Iterable):
        what = f"tables: {name_of(tables)} is not a list of tables"
        raise UsageError(what, way_out="give a list, as [table]" if _is_table(tables) else _WAY_OUT)
    given = list(tables)
    if not given:
        raise UsageError("no tables to merge", way_out="give at least one")
    kinds = [_kind(table) for table in given]
    for number, kind in enumerate(kinds):
        if type(kind) is not type(kinds[0]):
            what = f"table {number} is a {name_of(given[number])}, and table 0 a {name_of(given[0])}"
            raise UsageError(what, way_out="convert them to one kind")
    if isinstance(kinds[0], ArrowStreams):
        given = [_read(table) for table in given]
    return kinds[0], given


def check_alike(kind: TableKind, tables: Sequence[Any]) -> None:
    """Raise UsageError if the columns of tables differ."""
    first = kind.columns(tables[0])
    for number, table in enumerate(tables[1:], 1):
        columns = kind.columns(table)
        if len(columns) != len(first):
            what = f"table {number} has {len(columns)} columns, and table 0 has {len(first)}"
            raise UsageError(what, way_out="give all tables the same columns")
        for (name, type), (usual, usual_type) in zip(columns, first, strict=True):
            if name != usual:
                what = f"table {number} has the column {name!r} where table 0 has {usual!r}"
                raise UsageError(what, way_out="give all tables the same columns in one order")
            if not kind.are_alike(type, usual_type):
                if _has_categories(type) and _has_categories(usual_type) and (type.ordered or usual_type.ordered):
                    what = f"the ordered categories of the column {name!r} of table {number} differ from table 0"
                    raise UsageError(what, way_out="give all tables the same categories")
                types = f"{_shown(type)}, and in table 0 it is {_shown(usual_type)}"
                what = f"the column {name!r} of table {number} is {types}"
                raise UsageError(what, way_out="cast one of them")


def key_tables(kind: TableKind, tables: Sequence[Any], texts: Sequence[str]) -> tuple[list[pa.Table], pa.Schema]:
    """The columns that texts may name, as tables of Arrow, and a schema with all columns, whose others have no type.

    Raises UsageError for columns that Arrow cannot read.
    """
    all_names = [name for name, _ in kind.columns(tables[0])]
    names = [name for name in all_names if isinstance(name, str)]
    if all_names and not names:
        what = f"{name_of(tables[0])}: no column has a name of type str: the first one is {all_names[0]!r}"
        raise UsageError(what, way_out="rename the columns")
    wanted = [name for name in dict.fromkeys(names) if any(_may_name(text, name) for text in texts)]
    twice = next((name for name in wanted if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"by: {names.count(twice)} columns are called {twice!r}", way_out="rename them")
    with errors_of(tables[0]):
        found = [kind.keys(table, wanted) for table in tables]
    fields = {field.name: field for field in found[0].schema}
    return found, pa.schema([fields.get(name, pa.field(name, pa.null())) for name in names])


@contextmanager
def errors_of(table: Any) -> Iterator[None]:
    """Turn exceptions of the table's library into a UsageError of one line."""
    try:
        yield
    except (GpumergeError, MemoryError):
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        detail = lines[0].rstrip(".") if lines else type(error).__name__
        what = f"{name_of(table)}: {detail}"
        raise UsageError(what, way_out="cast the column, or leave it out") from error


def _has_categories(type: Any) -> bool:
    """Whether the type of a column of pandas is that of categories."""
    return hasattr(type, "categories") and hasattr(type, "ordered")


def _shown(type: Any) -> str:
    return f"{type} of {type.categories.dtype}" if _has_categories(type) else str(type)


def _with_all_categories(frames: Sequence[Any]) -> list[Any]:
    """Frames of pandas whose categories are those of all."""
    made = [frame.copy(deep=False) for frame in frames]
    for number, type in enumerate(frames[0].dtypes):
        types = [frame.dtypes.iloc[number] for frame in frames]
        if not _has_categories(type) or all(one == type for one in types):
            continue
        known = [one.categories for one in types if len(one.categories)] or [type.categories]
        categories = known[0].append(known[1:]).unique()
        for frame in made:
            frame.isetitem(number, frame.iloc[:, number].cat.set_categories(categories))
    return made


def _may_name(text: str, name: str) -> bool:
    """Whether a text of `by` may name a column, or a field in it."""
    return any(word.startswith(name) and word[len(name) :][:1] in _BEHIND_NAME for word in (text, *text.split(",")))


def _is_table(given: Any) -> bool:
    return hasattr(type(given), "columns") or hasattr(given, "__arrow_c_stream__")


def _kind(table: Any) -> TableKind:
    if isinstance(table, pa.Table):
        return ArrowTables()
    if isinstance(table, pa.RecordBatch):
        return ArrowBatches()
    for library, kind in (("polars", PolarsFrames), ("pandas", PandasFrames)):
        loaded = sys.modules.get(library)
        if loaded is not None and isinstance(table, loaded.DataFrame):
            return kind()
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        return ArrowStreams()
    way_out = "collect it first" if type(table).__name__ == "LazyFrame" else _WAY_OUT
    raise UsageError(f"{name_of(table)} is not a table", way_out=way_out)


def _read(table: Any) -> pa.Table:
    try:
        return pa.table(table)
    except (pa.ArrowException, TypeError):
        raise UsageError(f"{name_of(table)} is not a table", way_out=_WAY_OUT) from None
