"""Tables: files of typed columns whose rows lie in groups, and writers of such files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import GpumergeError, InputError
from gpumerge_cli.formats.tables.facts import SortedColumn

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 200
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class StoredColumn:
    """The form in which a file stores a column, or a field of one."""

    path: tuple[str, ...]
    codec: str
    """The compression as --compression has it; "" for another one."""
    dictionary: bool
    """Whether most of its pages refer to a dictionary."""
    pays: bool
    """Whether all pages refer to that dictionary, and it is smaller than they are."""
    encoding: str
    """That of values without a dictionary; "" for the usual one."""


@dataclass(frozen=True)
class Stored:
    """The form in which a file holds its rows."""

    nbytes: int = 0
    """The bytes of the file."""
    created_by: str = ""
    """The program that wrote it."""
    columns: tuple[StoredColumn, ...] = ()
    """Those of its largest group, fields apart."""
    group_bytes: tuple[int, ...] = ()
    sorted_by: tuple[SortedColumn, ...] = ()
    """The first columns by which all groups say that they are sorted."""


class Table(ABC):
    """An opened file of a table. Its methods may be called from one thread at a time, but for `again`."""

    name: str
    """The file, for messages."""
    schema: pa.Schema
    """Its columns, with the file's metadata."""
    group_rows: Sequence[int]
    """The rows of each group."""
    stored_schema: pa.Schema | None = None
    """The same with the dictionaries inside structs and lists, in place of which batches have their values; None if
    there are none."""
    has_utf8: bool = False
    """Whether rows are refused whose texts are not UTF-8."""
    reads_forward: bool = False
    """Whether all groups ahead of one are read to reach it."""

    @property
    def file(self) -> Table:
        """The table as its file has it, with the same rows."""
        return self

    @property
    def is_changed(self) -> bool:
        """Whether values have another form in the file, so that its groups cannot be copied."""
        return False

    @property
    def plain_columns(self) -> frozenset[str]:
        """The columns of which batches have plain values where the schema has a dictionary of these."""
        return frozenset()

    @cached_property
    def starts(self) -> list[int]:
        """The number of the first row of each group, and of all rows."""
        return [0, *accumulate(self.group_rows)]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.starts[-1]

    @abstractmethod
    def batches(self, columns: Sequence[str] | None, group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """The rows from the start of a group on, at most `rows` at a time. Raises InputError.

        columns: the names of columns, in the order of the schema; None for all.
        """

    def columns_of(self, paths: Iterable[Sequence[str]]) -> list[str]:
        """The columns at the beginnings of paths, as `batches` takes them. paths: see may_have_nulls."""
        wanted = {path[0] for path in paths}
        return [name for name in self.schema.names if name in wanted]

    @abstractmethod
    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """Whether a column may have nulls. path: its name, then those of fields of structs."""

    def has_order(self, path: Sequence[str]) -> bool:
        """Whether values of a column that can be a key by its type have an order. path: see may_have_nulls."""
        return True

    def extremes(self, group: int, path: Sequence[str]) -> tuple[Any, Any, bool] | None:
        """The least and the greatest value of a column in a group, and whether it may have nulls; None if unknown.

        path: see may_have_nulls. A file may be wrong about them.
        """
        return None

    def has_exact_extremes(self, group: int, path: Sequence[str]) -> bool:
        """Whether the file says that `extremes` are values of the group, and no others lie outside: no null, no NaN."""
        return False

    @property
    def stored(self) -> Stored:
        """The form in which the file holds its rows, as far as it says it. Raises InputError."""
        return Stored()

    def most_values(self, name: str) -> int | None:
        """The most distinct values that a column has, as the file says it; None if it does not. It may be wrong."""
        return None

    @abstractmethod
    def bytes_of_rows(self, columns: Sequence[str] | None) -> int:
        """About the bytes of all rows in memory. columns: see batches."""

    def largest_rows(self, nbytes: int) -> float:
        """About the most bytes of a row in memory, on average over any rows of `nbytes` or more that are together."""
        return self.bytes_of_rows(None) / max(1, self.rows)

    def most_uneven(self, *, plain: bool) -> float:
        """About the most bytes in memory that rows of different sizes may have which follow each other closely.

        0 if all rows have one size. plain: dictionaries are taken apart.
        """
        return 0.0 if all(map(_has_one_size, self.schema.types)) else float(self.bytes_of_rows(None))

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """About the bytes that reading `batches` takes beside these: pages, or whole batches of the file.

        columns: see batches.
        """
        return 0

    @abstractmethod
    def again(self) -> Table:
        """The same file, opened once more."""

    def with_plain(self, columns: Collection[str]) -> Table:
        """The same file with more plain_columns, as far as it can."""
        return self

    def check_read(self, rows: int) -> None:
        """Raise InputError if all batches together had another number of rows than it says."""
        if rows != self.rows:
            what = f"it has {rows} rows, and says that it has {self.rows}"
            raise InputError(what, where=self.name, way_out="copy or write it again")

    def place(self, row: int) -> str:
        """The place of a row, for messages."""
        group = bisect_right(self.starts, row) - 1
        return f"row group {group}, row {row - self.starts[group]}"


class TableOver(Table):
    """Another table whose rows have other columns or types. schema: its own. A class over it adds batches and again."""

    def __init__(self, table: Table, schema: pa.Schema) -> None:
        self.name = table.name
        self.schema = schema
        self.has_utf8 = table.has_utf8
        self.reads_forward = table.reads_forward
        self._table = table

    def may_have_nulls(self, path: Sequence[str]) -> bool:
        """See Table."""
        return self._table.may_have_nulls(path)

    @property
    def stored(self) -> Stored:
        """See Table."""
        return self._table.stored

    def open_bytes(self, columns: Sequence[str] | None) -> int:
        """See Table."""
        return self._table.open_bytes(columns)

    def check_read(self, rows: int) -> None:
        """See Table."""
        self._table.check_read(rows)

    def place(self, row: int) -> str:
        """See Table."""
        return self._table.place(row)


class TableWriter(ABC):
    """Makes the bytes of an output of rows."""

    head: bytes = b""
    """The bytes before all rows."""
    needs_utf8: bool = False
    """Whether texts must be UTF-8."""
    takes_dictionaries: bool = False
    """Whether columns may be dictionaries where the schema has their values."""

    @abstractmethod
    def encoded(self, rows: pa.Table) -> Any:
        """A group of rows as `appended` takes it. From any thread."""

    @abstractmethod
    def appended(self, group: Any, start: int) -> Bytes:
        """The bytes of a group, in the order of the output; they will lie at byte `start` of the file."""

    def detached(self, group: Any) -> tuple[Any, Bytes]:
        """The bytes of an encoded group, and the facts by which another process makes the group again."""
        return None, group

    def attached(self, facts: Any, data: Bytes) -> Any:
        """The group, as `encoded` gives it, of its facts and bytes."""
        return data

    def takes(self, table: Table, group: int) -> bool:
        """Whether it is a CopyingWriter that can take a group of another file. Raises InputError."""
        return False

    @abstractmethod
    def end(self, start: int) -> bytes:
        """The bytes behind all groups, which lie at byte `start`."""


class CopyingWriter(TableWriter):
    """A writer that takes groups of other files as they are stored."""

    @abstractmethod
    def takes(self, table: Table, group: int) -> bool:
        """Whether `copied` can take a group of another file. Raises InputError."""

    @abstractmethod
    def copied(self, table: Table, group: int, start: int) -> Iterator[bytes]:
        """The bytes of such a group, as `appended` gives them, a few at a time. Raises InputError."""


def _has_one_size(type: pa.DataType) -> bool:
    """Whether each value of a type takes the same bytes."""
    try:
        return bool(type.bit_width)
    except ValueError:  # of those that vary
        return False


def with_valid_names(schema: pa.Schema) -> pa.Schema:
    """The schema. Raises ValueError for names of fields and time zones that are not UTF-8, also within structs."""
    left = list(schema)
    while left:
        field = left.pop()
        try:
            _ = field.name
        except UnicodeDecodeError:
            raise ValueError("the name of a column is not UTF-8") from None
        try:
            _ = getattr(getattr(field.type, "value_type", field.type), "tz", None)
        except UnicodeDecodeError:
            raise ValueError("the time zone of a column is not UTF-8") from None
        left += [field.type.field(number) for number in range(field.type.num_fields)]
    return schema


def rows_of_range(table: Table, batches_from: Callable[[int], Iterator[Any]], wanted: range) -> Iterator[Any]:
    """The rows of a range, in batches. batches_from: all rows from a group on. Raises InputError if there are fewer."""
    if not wanted:
        return
    group = bisect_right(table.starts, wanted.start) - 1
    at = table.starts[group]
    for batch in batches_from(group):
        low, high = max(wanted.start, at), min(wanted.stop, at + batch.num_rows)
        if low < high:
            yield batch.slice(low - at, high - low)
        at += batch.num_rows
        if at >= wanted.stop:
            return
    table.check_read(at)


def reading(name: str, found: Iterator[_Found]) -> Iterator[_Found]:
    """The items of an iterator that reads the file `name`, its errors of Arrow as InputErrors."""
    with arrow_errors(name):
        yield from found


@contextmanager
def arrow_errors(name: str, way_out: str = "the file may be damaged: copy or write it again") -> Iterator[None]:
    """Errors of Arrow in the body as InputErrors of the file `name`."""
    import pyarrow as pa

    try:
        yield
    except GpumergeError:
        raise
    except pa.ArrowNotImplementedError as error:
        what = str(error).strip().splitlines() or ["Arrow does not know its types"]
        way_out = "write it again with types that pyarrow reads, as decimals for integers of 128 bits"
        raise InputError(what[0][:_LONGEST].rstrip("."), where=name, way_out=way_out) from None
    except (pa.ArrowException, OSError, ValueError, OverflowError, TypeError, KeyError, IndexError) as error:
        what = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(what[0][:_LONGEST].rstrip("."), where=name, way_out=way_out) from None
