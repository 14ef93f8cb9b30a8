"""Formats of rows: columns with types and nulls, whose rows lie in groups.

The keys of each file are decoded and turned into items, images and references to rows, which lie in a temporary file.
All work is done on them: see order.rows. An output gathers the rows that its items refer to, and writes them in groups.
A format of rows subclasses RowFormat. Tables, see formats.tables, need pyarrow, which is loaded as a file is opened.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import IO, TYPE_CHECKING, Any

from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, refuse_others
from gpumerge_cli.formats.format import (
    Beside,
    Column,
    Counted,
    Format,
    Layout,
    Named,
    PreparedSources,
    Purpose,
    Written,
)
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.naming import open_input
from gpumerge_cli.formats.places import OTHER_COLUMNS, refuse_delimiter
from gpumerge_cli.formats.tables.group_sizes import (
    SHARES_OF_READING,
    bytes_of_group,
    bytes_of_piece,
    rows_of_group,
    rows_of_piece,
)
from gpumerge_cli.formats.tables.row_sources import FixedItems, OpenedTable, TextItems, all_items, source_of
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rows import FixedRowOrder, TextRowOrder

if TYPE_CHECKING:
    from contextlib import ExitStack

    from gpumerge_cli.formats.tables.apart import Apart
    from gpumerge_cli.formats.tables.facts import TablesFacts
    from gpumerge_cli.formats.tables.gather import Gather
    from gpumerge_cli.formats.tables.items import Form
    from gpumerge_cli.formats.tables.settings import TableSettings
    from gpumerge_cli.formats.tables.spooled import Keep
    from gpumerge_cli.formats.tables.table import Table, TableWriter
    from gpumerge_cli.order.equals import Margin
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.sums import SumRequest, SumRules

_LEAST_MEMORY = 1 << 16
"""Bytes that a sort takes which is to use temporary files."""


class RowFormat(Format):
    """A format of rows."""

    holds = "rows"
    takes_rows = True
    joins_by_request = True
    written_here = True
    has_titles = True
    has_schemas = True
    word = untyped_items = "rows"

    def readings(self, items: Items) -> int:
        """See Format."""
        return 1

    @abstractmethod
    def table(self, file: SeekableInput) -> Table:
        """The table in an opened file. Raises InputError."""

    @abstractmethod
    def writer(self, schema: Any, settings: TableSettings) -> TableWriter:
        """The writer of an output with columns of an Arrow schema.

        Raises OutputError for columns that it cannot hold, UsageError for settings that it cannot follow.
        """

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> OpenedTable:
        """See Format."""
        return OpenedTable(file, self._table(file, plain=layout.items.plain))

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        """See Format. Raises InputError if the columns of files differ, or for a key that is not one."""
        from gpumerge_cli.formats.tables.alike import alike, check_keys
        from gpumerge_cli.formats.tables.apart import WrongRangeError
        from gpumerge_cli.formats.tables.facts import SortedColumn
        from gpumerge_cli.formats.tables.gather import Gather
        from gpumerge_cli.formats.tables.items import Form
        from gpumerge_cli.formats.tables.memory import keep_freed_memory
        from gpumerge_cli.formats.tables.ranking import ranked_key, with_ranks
        from gpumerge_cli.formats.tables.references import check_rows
        from gpumerge_cli.formats.tables.sources import with_sources
        from gpumerge_cli.formats.tables.stated import keys_of_job

        keep_freed_memory(large=layout.purpose.sort is None)
        opened = [source for source in sources if isinstance(source, OpenedTable)]
        if layout.purpose.join is not None:
            from gpumerge_cli.formats.tables.joined_tables import joined_tables

            return joined_tables(opened, layout, layout.purpose.join, progress)
        if layout.purpose.diff is not None:
            from gpumerge_cli.formats.tables.compared_tables import compared_tables

            return compared_tables(opened, layout, layout.purpose.diff, progress)
        first = opened[0].table
        counts = not layout.purpose.only_checks
        tables = alike([source.table for source in opened], layout.items.schema, counts=counts)
        for source, table in zip(opened, tables, strict=True):
            source.table = table
            check_rows(table.name, table.rows)
        try:
            keys = keys_of_job(tables, layout)
        except UsageError as error:
            raise InputError(error.what, where=tables[0].name, way_out=error.way_out) from None
        check_keys(tables, [key.path for key in keys])
        margin = layout.purpose.margin
        if margin is not None and margin.title:
            tables = with_sources(tables, margin.title)
            for source, table in zip(opened, tables, strict=True):
                source.table = table
        ranks, inputs = None, tables
        if layout.purpose.sort is not None and not layout.purpose.by_ranges and layout.purpose.most is None:
            tables, ranks = with_ranks(tables, keys, layout.purpose.memory)
            for source, table in zip(opened, tables, strict=True):
                source.table = table
        compared = [ranked_key(key, ranks) for key in keys]
        form = Form.of(compared, [any(table.may_have_nulls(key.path) for table in tables) for key in compared])
        count, nbytes = sum(table.rows for table in tables), sum(table.bytes_of_rows(None) for table in tables)
        rows = rows_of_group(count, nbytes, len(tables[0].schema), layout.purpose)
        piece = rows_of_piece(rows, nbytes / max(1, count), layout.purpose)
        order = replace(form.order(bytes_of_piece(form, piece)), stated=layout.key is None)
        usual = takewhile(lambda key: not key.kind, keys if layout.purpose.is_ordered else ())
        sorted_by = tuple(SortedColumn(key.path, key.reverse, key.nulls == "first") for key in usual)
        settings = replace(layout.purpose.output, sorted_by=sorted_by, like=first)
        schema, memory, item_bytes = inputs[0].schema, layout.purpose.memory, order.item_bytes

        def gather(
            tables: Sequence[Table], keep: Keep | None = None, unasked: Sequence[frozenset[int]] | None = None
        ) -> Gather:
            share, key = memory // SHARES_OF_READING, form.stated_key(schema if ranks is None else ranks.ranked_schema)
            large = bytes_of_group(len(schema), memory, layout.purpose.output.group)
            return Gather(tables, schema, rows, piece, share, item_bytes, settings, large, key, keep, unasked, ranks)

        if layout.purpose.by_ranges:
            from gpumerge_cli.formats.tables.table_ranges import TableRanges

            ranged = tuple(TableRanges(number, one, form, order) for number, one in enumerate(opened))
            return PreparedSources(ranged, order, Written(rows=gather(tables)), is_copied=False)
        if layout.purpose.sort is not None:
            return _sorted(opened, inputs, form, order, layout.purpose, gather)
        apart = self._apart(tables, form, layout.purpose, settings)
        forms = [form] * len(opened)
        checks = layout.purpose.checks or len(keys) > 1 or not form.is_fixed
        try:
            most = layout.purpose.most
            found = all_items(opened, forms, order, progress, apart, memory, checks=checks, most=most)
        except WrongRangeError:
            apart = None
            found = all_items(opened, forms, order, progress, apart, memory)
        unasked = [apart[number].groups if apart else frozenset[int]() for number in range(len(tables))]
        way = gather(tables, opened[0].file.beside, unasked if layout.purpose.copies else None)
        if apart:
            way.unlisted = [groups.unlisted(table) for groups, table in zip(apart, tables, strict=True)]
        return PreparedSources(tuple(found), order, Written(rows=way))

    def _apart(
        self, tables: Sequence[Table], form: Form, purpose: Purpose, settings: TableSettings
    ) -> list[Apart] | None:
        """The groups of the tables of which no single row is asked for, None for none."""
        from gpumerge_cli.formats.tables.apart import groups_apart

        if not purpose.copies and not purpose.only_checks:
            return None
        found = groups_apart(tables, form, self.writer(tables[0].schema, settings).takes if purpose.copies else _any)
        return found if any(one.groups for one in found or ()) else None

    def columns(self, name: str, items: Items) -> tuple[Column, ...] | None:
        """See Format."""
        file = open_input(name, plain=items.plain)
        try:
            return tuple(Column(field.name, str(field.type)) for field in self._table(file, plain=items.plain).schema)
        finally:
            file.close()

    def facts(self, names: Sequence[str], layouts: Sequence[Layout], stack: ExitStack) -> TablesFacts:
        """The facts of tables, which the stack closes. Raises InputError, for a key that is not a column, too."""
        from gpumerge_cli.formats.tables.about import about_tables

        tables = []
        for name, layout in zip(names, layouts, strict=True):
            file = open_input(name, plain=layout.items.plain)
            stack.callback(file.close)
            assert isinstance(layout.format, RowFormat), "of tables"
            tables.append(layout.format._table(file, plain=layout.items.plain))
        return about_tables(tables, layouts[0])

    def counted(self, margin: Margin, head: bytes, order: Order, written: Written) -> Counted:
        """See Format. The column is the last one."""
        from gpumerge_cli.formats.tables.numbered import CountColumn, refuse_title

        assert written.rows is not None, "of rows"
        column = CountColumn()
        refuse_title(written.rows.schema, column, "--count", "write the counts to a file of their own with --count-to")
        written.rows.numbered = column
        return Counted(replace(margin, count="apart"), head, written)

    def placed(self, margin: Margin, order: Order, written: Written) -> Beside:
        """See Format. The column is the first one."""
        from gpumerge_cli.formats.tables.numbered import PlaceColumn, refuse_title

        assert written.rows is not None, "of rows"
        refuse_delimiter(margin)
        column = PlaceColumn(margin)
        refuse_title(written.rows.schema, column, "compare", OTHER_COLUMNS)
        written.rows.numbered = column
        total = b"%d rows are in the first file alone, %d in the second alone, %d in both" if margin.total else None
        return Beside(replace(margin, columns_apart=True, total=total), written)

    def summed(self, request: SumRequest, order: Order, dtype: Dtype | None, written: Written) -> SumRules:
        """See Format. The margin notes groups of equal rows, which are found and summed as they are written."""
        from gpumerge_cli.formats.tables.summed import SumColumns
        from gpumerge_cli.order.rows import RowOrder

        assert written.rows is not None, "of rows"
        assert isinstance(order, RowOrder), "of rows"
        columns = SumColumns(request, written.rows.schema, order)
        written.rows.numbered = columns
        return columns.rules

    def named(self, title: str, names: Sequence[str], head: bytes, order: Order, written: Written) -> Named:
        """See Format. Its rows have had the column since they were prepared."""
        return Named((), head, written)

    def item_of(self, words: Sequence[bytes], order: Order) -> bytes:
        """See Format."""
        assert isinstance(order, FixedRowOrder | TextRowOrder)
        return order.item([key.image(word) for key, word in zip(order.keys_of_rows, words, strict=True)])

    def _table(self, file: SeekableInput, *, plain: bool) -> Table:
        """The table in an opened file. Raises InputError, which names another format if the file has one."""
        from importlib.util import find_spec

        if find_spec("pyarrow") is None:
            raise InputError(
                f"{self.name} files need pyarrow, which is not installed",
                where=file.name,
                way_out="pip install 'gpumerge[tables]'",
            )
        try:
            return self.table(file)
        except InputError as error:
            found = error
        refuse_others(file.name, file.read(0, LOOKED_AT), self, plain=plain)
        raise found


def _sorted(
    opened: Sequence[OpenedTable],
    inputs: Sequence[Table],
    form: Form,
    order: FixedRowOrder | TextRowOrder,
    purpose: Purpose,
    gather: Callable[[Sequence[Table]], Gather],
) -> PreparedSources:
    """Sorted runs of all rows. inputs: the files. gather: makes that of the tables of runs."""
    from gpumerge_cli.formats.tables.runs import SelectedRows, sorted_runs

    assert purpose.sort is not None
    first, folders = opened[0], purpose.folders or (None,)

    def spool(write: Callable[[IO[bytes]], None], number: int) -> SeekableInput:
        return first.file.beside(write, folders[number % len(folders)])

    sources: list[FixedItems | TextItems] = []
    tables: list[Table] = []
    memory = purpose.memory if not purpose.spills else _LEAST_MEMORY
    wanted = None if purpose.most is None else SelectedRows(abs(purpose.most), purpose.sift)
    for run in sorted_runs([one.table for one in opened], form, order, purpose.sort, memory, spool, wanted):
        sources.append(source_of(run.items, form, order, first))
        tables.append(run.table)
    if not tables:
        tables.append(first.table)
        sources.append(source_of(spool(lambda out: None, 0), form, order, first))
    way = gather(tables)
    way.inputs = inputs
    return PreparedSources(tuple(sources), order, Written(rows=way), is_sorted=True)


def _any(table: Table, group: int) -> bool:
    return True
