"""Formats of rows: columns with types and nulls, whose rows are read and written by groups.

Each file is turned, group by group, into a temporary file of lines, whose order is order.rows. An output turns lines
into rows again: each piece of lines becomes groups, and the facts that a footer states about them are kept until the
end. A format of rows subclasses RowFormat.
"""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import IO, Any, Protocol

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.format import Column, Format, Layout, PreparedSources, Written
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import EndedSource
from gpumerge_cli.formats.naming import open_input
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rows import BYTES, RowKey, RowOrder, escaped, image_of, unescaped
from gpumerge_cli.order.rules import END, MARK
from gpumerge_cli.suggestions import did_you_mean_column

Values = Sequence[Any]
"""The values of a column in a group, as Python has them, bytes for BYTES; None for a null."""
GROUP_ROWS = 1 << 16
"""The most rows of a group that is written."""
_LETTERS = {"int64": "q", "uint64": "Q", "float64": "d", BYTES: "I"}


class RowTable(Protocol):
    """An opened file of rows."""

    columns: tuple[Column, ...]
    groups: int
    """The number of groups."""

    def group(self, number: int) -> Sequence[Values]:
        """The values of all columns in a group; they are as many as its rows. Raises InputError."""


@dataclass(frozen=True)
class Group:
    """A group of an output."""

    start: int
    """Its first byte in the file."""
    size: int
    """Its bytes."""
    rows: int
    """The number of its rows."""


class Writer(Protocol):
    """The bytes of an output of rows."""

    head: bytes
    """The bytes before all groups."""

    def group(self, columns: Sequence[Values]) -> bytes:
        """The bytes of a group; from any thread. See Table.group."""

    def foot(self, groups: Sequence[Group]) -> bytes:
        """The bytes behind all groups, which are given in their order in the file."""


class RowFormat(Format):
    """A format of rows."""

    holds = "rows"
    joins = False
    changed = "rows"

    def readings(self, items: Items) -> int:
        """See Format."""
        return 1

    @abstractmethod
    def table(self, file: SeekableInput) -> RowTable:
        """The table in an opened file. Raises InputError."""

    @abstractmethod
    def writer(self, columns: Sequence[Column]) -> Writer:
        """The writer of an output with these columns. Raises OutputError for columns that it cannot hold."""

    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> RowSource:
        """See Format. Raises InputError for a key that is not a column, too."""
        table = self.table(file)
        try:
            keys = keys_of(table.columns, layout)
        except UsageError as error:
            raise InputError(error.what, where=file.name, way_out=error.way_out) from None
        return RowSource(file.replaced(lambda out: _write_lines(table, keys, out, progress)), table.columns, keys)

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        """See Format. Raises InputError if the columns of files differ."""
        rows = [source for source in sources if isinstance(source, RowSource)]
        first = rows[0]
        for other in rows:
            if other.table_columns != first.table_columns:
                raise InputError(
                    f"its columns are {_listed(other.table_columns)}, those of {first.name} are "
                    f"{_listed(first.table_columns)}",
                    where=other.name,
                    way_out="give all files the same columns",
                )
        return PreparedSources(tuple(rows), RowOrder.by_columns(first.keys), Written(columns=first.table_columns))

    def columns(self, name: str, items: Items) -> tuple[Column, ...] | None:
        """See Format."""
        file = open_input(name, plain=items.plain)
        try:
            return self.table(file).columns
        finally:
            file.close()

    def item_of(self, words: Sequence[bytes], order: Order) -> bytes:
        """See Format."""
        assert isinstance(order, RowOrder)
        pairs = zip(order.keys_of_rows, words, strict=True)
        return MARK.join([*(escaped(image_of(key.type, _value(key.type, word))) for key, word in pairs), b""])


class RowSource(EndedSource):
    """The rows of a file as lines. See formats.base.Source."""

    def __init__(self, file: SeekableInput, columns: tuple[Column, ...], keys: tuple[RowKey, ...]) -> None:
        super().__init__(file, END[0])
        self.table_columns = columns
        self.keys = keys


def keys_of(columns: Sequence[Column], layout: Layout) -> tuple[RowKey, ...]:
    """The columns by which rows compare. Raises UsageError for options that name no columns, or others."""
    there = ", ".join(column.name for column in columns)
    if layout.dtype is not None or (layout.key is not None and not layout.key.fields):
        raise UsageError("its columns have their own types and places", way_out=f"name a column with --field: {there}")
    if layout.key is None:
        raise UsageError("rows need a key", way_out=f"name one of their columns as the key (--field): {there}")
    types = {column.name: column.type for column in columns}
    texts = layout.key.fields
    words = [word for text in texts for word in ([text] if text.removesuffix(":r") in types else text.split(","))]
    found = []
    for word in words:
        name = word if word in types else word.removesuffix(":r")
        if name not in types:
            way_out = did_you_mean_column(name, {one: one for one in types}, f"its columns are {there}")
            raise UsageError(f"{layout.key.option} {word}: there is no column {name!r}", way_out=way_out)
        found.append(RowKey(name, types[name], (name != word) != layout.items.reverse))
    names = [key.name for key in found]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise UsageError(
            f"{layout.key.option} {','.join(names)}: {twice} is named twice", way_out="name each column once"
        )
    return tuple(found)


def lines_of(columns: Sequence[Column], values: Sequence[Values], keys: Sequence[RowKey]) -> bytes:
    """The lines of a group."""
    names = [column.name for column in columns]
    images = [[escaped(image_of(key.type, value)) for value in values[names.index(key.name)]] for key in keys]
    rows = _packed(columns, values)
    return b"".join(MARK.join(parts) + END for parts in zip(*images, map(escaped, rows), strict=True))


def values_of(columns: Sequence[Column], lines: Iterable[bytes]) -> list[list[Any]]:
    """The values of rows, a list for each column. lines: without their ends."""
    head = _head(columns)
    found: list[list[Any]] = [[] for _ in columns]
    for line in lines:
        row = unescaped(line.rpartition(MARK)[2])
        fixed: Sequence[Any] = head.unpack_from(row)
        at = head.size
        for number, column in enumerate(columns):
            is_null, value = fixed[2 * number : 2 * number + 2]
            if column.type == BYTES:
                start, at = at, at + value
                value = row[start:at]
            found[number].append(None if is_null else value)
    return found


def group_bytes(writer: Writer, columns: Sequence[Column], lines: Bytes) -> Piece:
    """The groups of whole lines."""
    rows = bytes(lines).split(END)[:-1]
    made, sizes = [], []
    for at in range(0, len(rows), GROUP_ROWS):
        some = rows[at : at + GROUP_ROWS]
        made.append(writer.group(values_of(columns, some)))
        sizes.append((len(made[-1]), len(some)))
    return Piece(b"".join(made), sizes)


class RowFooter:
    """The footer of an output of rows. See formats.sink.Footer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._groups: list[Group] = []

    def note(self, start: int, data: Bytes) -> None:
        if isinstance(data, Piece):
            self._groups += data.groups(start)

    def made(self) -> bytes:
        return self._writer.foot(sorted(self._groups, key=attrgetter("start")))


class Piece(bytes):
    """The bytes of groups, with their sizes for the footer."""

    sizes: Sequence[tuple[int, int]]
    """(bytes, rows) of each group."""

    def __new__(cls, data: bytes, sizes: Sequence[tuple[int, int]]) -> Piece:
        made = super().__new__(cls, data)
        made.sizes = sizes
        return made

    def groups(self, start: int) -> Iterator[Group]:
        """The groups, if the first one starts at byte `start`."""
        for size, rows in self.sizes:
            yield Group(start, size, rows)
            start += size


def _write_lines(table: RowTable, keys: Sequence[RowKey], out: IO[bytes], progress: Callable[[float], None]) -> None:
    for number in range(table.groups):
        out.write(lines_of(table.columns, table.group(number), keys))
        progress(1 / table.groups)


def _head(columns: Sequence[Column]) -> struct.Struct:
    """For each column whether the value is null, and the value, or for bytes their number."""
    return struct.Struct("<" + "".join(f"?{_LETTERS[column.type]}" for column in columns))


def _packed(columns: Sequence[Column], values: Sequence[Values]) -> Iterator[bytes]:
    """Each row as bytes: see _head, then all values that are bytes."""
    head = _head(columns)
    of_bytes = [number for number, column in enumerate(columns) if column.type == BYTES]
    for row in zip(*values, strict=True):
        fixed = [part for value in row for part in (value is None, 0 if value is None else value)]
        for number in of_bytes:
            fixed[2 * number + 1] = len(row[number] or b"")
        yield head.pack(*fixed) + b"".join(row[number] or b"" for number in of_bytes)


def _value(type: str, word: bytes) -> Any:
    """The value that a text says, None for "null" in place of a number. Raises UsageError."""
    if word == b"null" and type != BYTES:
        return None
    try:
        value: Any = word if type == BYTES else float(word) if type == "float64" else int(word)
        image_of(type, value)
    except ValueError:
        raise UsageError(f"{word.decode(errors='replace')!r} is not a valid {type}", way_out="write a number") from None
    return value


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(f"{column.name} {column.type}" for column in columns)
