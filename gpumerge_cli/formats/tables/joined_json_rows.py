"""Rows of a table from lines of JSON, and from joined ones: the columns of A, and behind them those of B."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.json_joins import LinesOfPairs
from gpumerge_cli.formats.json_members import LinesOfItems
from gpumerge_cli.formats.tables.item_rows import ItemRows
from gpumerge_cli.formats.tables.json_rows import JsonRows, sorted_columns
from gpumerge_cli.formats.tables.json_schema import SchemaOfLines
from gpumerge_cli.order.joins import suffix_apart
from gpumerge_cli.order.rules import END, MARK, LineKey, LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.formats.output_items import OutputItems

_NO_MEMBERS = b"{}"
"""The line in place of a missing one: all its columns are null."""
_Places = tuple[int | None, int | None]


def json_rows(items: OutputItems) -> ItemRows:
    """The way from lines to rows. Raises InputError as JsonRows does, and for lines without columns."""
    if isinstance(items.shown, LinesOfPairs):
        found: ItemRows = JoinedJsonRows(items, items.shown)
    else:
        assert isinstance(items.shown, LinesOfItems), "of JSON Lines"
        found = JsonRows(items, items.shown)
    if not len(found.schema):
        what = "its lines have no members, which would be columns"
        raise InputError(what, where=items.sources[0].name, way_out="write JSON Lines")
    return found


class JoinedJsonRows(ItemRows):
    """See ItemRows. lines: the joined lines that rows stand for. Raises InputError as JsonRows does.

    A column of B has one name in all rows, whereas a member of B gets a suffix if its own line of A has its name.
    """

    def __init__(self, items: OutputItems, lines: LinesOfPairs) -> None:
        self._lines = lines
        self._sources = items.sources
        of_side = LinesOfItems(len(lines.keys))
        self._sides = [
            None if lines.request.only_one == 1 - side else JsonRows(replace(items, sources=(source,)), of_side)
            for side, source in enumerate(items.sources)
        ]
        schemas = [pa.schema([]) if side is None else side.schema for side in self._sides]
        fields, self._places = self._columns(*schemas)
        self.schema = pa.schema(fields)
        self.sorted_by = sorted_columns(self._kept_keys((items.order.text or LineOrder()).requested), self.schema)

    def rows(self, data: Bytes) -> pa.Table:
        """See ItemRows."""
        if not len(data):
            return self.schema.empty_table()
        pairs = [item.split(MARK) for item in bytes(data).split(END)[:-1]]
        read: list[Any] = []
        for side, rows in enumerate(self._sides):
            has_columns = rows is not None and len(rows.schema) > 0
            read.append(rows.rows_of_text(_text_of(pairs, side)) if rows is not None and has_columns else None)
        has_a = pa.array([bool(pair[0]) for pair in pairs])
        columns = []
        for field, (a, b) in zip(self.schema, self._places, strict=True):
            if b is None:
                columns.append(read[0].column(a))
            elif a is None:
                columns.append(read[1].column(b))
            else:
                both = (table.column(number).cast(field.type) for table, number in zip(read, (a, b), strict=True))
                columns.append(pa.compute.if_else(has_a, *both))
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _columns(self, a: pa.Schema, b: pa.Schema) -> tuple[list[pa.Field], list[_Places]]:
        """The columns of the output, and the number of each in A and B; None where it is not in it."""
        lacks_a, _ = self._lines.request.may_lack
        names = {of_b: of_a for of_a, of_b in self._lines.names}
        """The name in A of each key of B; "" where it lies deeper."""
        keys = {of_a: of_b for of_b, of_a in names.items() if of_a} if lacks_a else {}
        fields: list[pa.Field] = []
        places: list[_Places] = []
        for number, field in enumerate(a):
            other = b.get_field_index(keys[field.name]) if field.name in keys else -1
            fields.append(field if other < 0 else self._common(field, b.field(other)))
            places.append((number, other if other >= 0 else None))
        taken = {*a.names, *keys, *(name for name in b.names if not names.get(name))}
        for number, field in enumerate(b):
            name = names.get(field.name, "")
            if field.name in names and (not lacks_a or name in a.names):
                continue
            if not name:
                name = field.name
                clashes = name in a.names or name in keys
                name += suffix_apart(name, taken) if clashes else ""
                taken.add(name)
            fields.append(field.with_name(name))
            places.append((None, number))
        return fields, places

    def _common(self, a: pa.Field, b: pa.Field) -> pa.Field:
        """A key of A that has the values of B, too, where there is no line of A."""
        if pa.types.is_null(b.type) or a.type == b.type:
            return a
        if pa.types.is_null(a.type):
            return a.with_type(b.type)
        first = self._sides[0]
        assert first is not None, "both have columns"
        (found,) = SchemaOfLines(self._texts_of_keys, first.place).schema(self._sources, [a.name])
        return found

    def _texts_of_keys(self, source: Source) -> Iterator[tuple[int, Bytes]]:
        """(position, text of whole lines) of an input, in which keys have the names that they have in A."""
        side = self._sides[0]
        assert side is not None, "both have columns"
        for position, text in side.texts(source):
            if source is self._sources[1]:
                lines = bytes(text).split(b"\n")[:-1]
                text = self._lines(b"".join(MARK + line + END for line in lines))
            yield position, text

    def _kept_keys(self, order: LineOrder) -> list[LineKey]:
        """The first keys by whose columns rows are in order."""
        lacks = self._lines.request.may_lack
        found = []
        for named, (a, b) in zip(order.keys, self._lines.keys, strict=True):
            if lacks[0] and (len(a.path) > 1 or len(b.path) > 1):
                break  # the two lie in columns of their own
            found.append(named)
            if all(lacks):
                break  # behind it, the nulls of A go ahead of those of B
        return found


def _text_of(pairs: Sequence[Sequence[bytes]], side: int) -> bytes:
    """The lines of A or of B in pairs."""
    return b"\n".join([pair[side] or _NO_MEMBERS for pair in pairs] + [b""])
