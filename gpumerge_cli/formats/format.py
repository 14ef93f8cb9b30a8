"""Formats of files, and their registry. Each format is one file in formats/kinds.

NumPy is imported neither here nor there until a file is opened, since help lists all suffixes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.tables.settings import TableSettings
from gpumerge_cli.order.rules import LINES, Spelling

if TYPE_CHECKING:
    from gpumerge_cli.buffers import Bytes
    from gpumerge_cli.extents import DecompressedCopy
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.line_source import LineSource
    from gpumerge_cli.formats.output_items import OutputItems
    from gpumerge_cli.formats.record_options import Key
    from gpumerge_cli.formats.tables.gather import Gather
    from gpumerge_cli.formats.tables.item_rows import ItemRows
    from gpumerge_cli.formats.tables.join_gather import JoinGather
    from gpumerge_cli.formats.tables.table import TableWriter
    from gpumerge_cli.order.differences import DiffRequest
    from gpumerge_cli.order.equals import Margin
    from gpumerge_cli.order.joins import Join
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order
    from gpumerge_cli.order.record_joins import JoinRules
    from gpumerge_cli.order.row_joins import JoinRequest
    from gpumerge_cli.order.rules import LineOrder
    from gpumerge_cli.order.sums import SumRequest, SumRules

Holds = Literal["lines", "untyped", "typed", "rows"]
"""lines: lines of text, which options for lines compare. untyped: items whose dtype comes from options or the suffix.
typed: items whose type the file states. rows: columns with types and nulls, see formats/rows.py."""


class Format(ABC):
    """A format of files. A subclass holds everything about one format."""

    name: str
    """Its name for --format."""
    holds: Holds
    suffixes: Mapping[str, str] = {}
    """The suffixes of its files, each with the name of its dtype, or ""."""
    begins: bytes = b""
    """A regular expression for how its files begin; b"" if nothing identifies them."""
    about: str = ""
    """A note for the list of suffixes in help."""
    word: str = "binary"
    """The word for its files in messages."""
    untyped_items: str = "lines of text"
    """The words for its items if they have no dtype."""
    option: str = "--format"
    """The option that asks for it."""
    joins: bool = True
    """Whether its items can be joined."""
    joins_by_request: bool = False
    """Whether `prepared` makes items for a join, by a JoinRequest. Otherwise a join is one of the items themselves."""
    names_in_header: bool = False
    """Whether keys may be names of `columns` in the header of files, so that all headers must be alike."""
    has_schemas: bool = False
    """Whether files whose columns differ are brought to the same ones, see Items.schema."""
    spelling: Spelling = LINES
    """The words for its lines. `prepared` puts them into the order, with the order that options ask for."""
    tables: Mapping[str, bytes] = {}
    """Suffixes of its tables that are read as plain lines unless an option asks for it, each with the bytes that may
    separate fields there."""
    separators: bytes = b""
    """The bytes that may separate fields of a table called .txt."""
    empty_item: bytes = b""
    """The item whose only field is empty."""
    written_here: bool = False
    """Whether the process that opens an output writes it, though others encode what it holds."""
    changed: str = "lines that are changed as they are written"
    """The items that a cluster cannot merge, because outputs hold other bytes than the lines that were compared."""
    unchanged_by: str = ""
    """A way for a user to have lines that outputs hold as they are; "" if there is none."""
    takes_separator: bool = False
    """Whether -t names the byte between its fields. Others know it, or have none."""
    is_implied: bool = False
    """Whether names of columns imply it where neither an option nor a suffix gives a format. One format has it."""

    takes_rows: bool = False
    """Whether rows can be written to files of it, as a table or as text."""
    gives_rows: bool = False
    """Whether `rows_of` makes rows of its items for files of another format."""
    has_titles: bool = False
    """Whether each item has the names of its fields, so that one more field has a name, too."""
    named_by_path: bool = False
    """Whether --field names keys by their paths within an item, so that no header is read; see split_keys."""

    def takes(self, items: Items) -> bool:
        """Whether its suffixes select it for these items, if it is a format of lines; else they are plain lines."""
        return True

    def split_keys(self, text: str) -> Sequence[tuple[str, str]]:
        """The paths that a text of --field names, each with the options behind its colon."""
        return ()

    def readings(self, items: Items) -> int:
        """Times that all of a file is read, or copied, before the work can begin."""
        return 0

    def check_items(self, items: Items) -> None:
        """Raise UsageError if options of the items do not go with the format."""
        if items.record_start or items.line_ends:
            raise UsageError(f"{items.line_option}: the files hold {self.word}", way_out="leave it out")

    @abstractmethod
    def open(self, file: SeekableInput, layout: Layout, progress: Callable[[float], None]) -> Source:
        """The source of an opened file. Raises InputError.

        progress: called with the share of the file that was gone through, again and again, if all of it is read.
        """

    def refuse(self, name: str, start: bytes, items: Items) -> None:  # noqa: B027 - optional
        """Raise InputError if a file that begins with `start`, its first bytes, cannot be of this format."""

    def tells_order(self, dtype: Dtype | None) -> bool:
        """Whether only files tell how their items compare. dtype: the one that options or the suffix give."""
        return self.holds == "rows" or (self.holds == "typed" and dtype is None)

    def order(self, layout: Layout, dtype: Dtype | None) -> Order:
        """The order of the items before they are prepared. dtype: that of the first file, None for lines."""
        from gpumerge_cli.formats.record_options import order_of
        from gpumerge_cli.order.kinds import Order

        if dtype is None:
            return Order.lines(layout.items.line_order)
        return order_of(dtype, layout.key, descending=layout.items.reverse)

    def prepared(
        self, sources: Sequence[Source], layout: Layout, progress: Callable[[int, float], None]
    ) -> PreparedSources:
        """The opened sources of all files of a job as they are worked on. Sources that are replaced are closed.

        layout: that of the first. progress: called with (number of the source, share of it gone through), again and
        again while files are read or copied. Raises InputError.
        """
        return PreparedSources(tuple(sources), self.order(layout, sources[0].dtype), Written(layout.items.shown))

    def columns(self, name: str, items: Items) -> tuple[Column, ...] | None:
        """The columns of the file `name`; () if the format has none, None if the file is empty. Raises InputError."""
        return ()

    def same_header(self, header: bytes, other: bytes, items: Items) -> bool:
        """Whether two headers are the same, but for a byte order mark and the ends of lines."""
        bare, bare_other = (each.removeprefix(b"\xef\xbb\xbf").replace(b"\r", b"") for each in (header, other))
        return bare == bare_other

    def fields_of_header(self, line: bytes, items: Items) -> Sequence[bytes]:
        """The fields of the last line of a header, without its end; quotes around them are no part of them."""
        return line.split(items.line_order.separator or b"\t")

    def counted(self, margin: Margin, head: bytes, order: Order, written: Written) -> Counted | None:
        """The way in which equal items go out with their numbers beside them; None if the format has no place for them.

        margin: counts, ahead of items or after them. head, order, written: those of the items without numbers. Raises
        UsageError if numbers cannot stand there.
        """
        return None

    def placed(self, margin: Margin, order: Order, written: Written) -> Beside | None:
        """The way in which items of two inputs go out with the columns of compare; None if the format has no place.

        margin: the columns for lines of text. order, written: those of the items alone. Raises UsageError if the
        columns cannot stand there.
        """
        whole = order.text is not None and order.text.first_line  # records of lines are written as they are
        return Beside(margin, written) if order.plain_lines or whole else None

    def summed(self, request: SumRequest, order: Order, dtype: Dtype | None, written: Written) -> SumRules:
        """The places of the requested columns in items, of which equal ones are summed.

        order, dtype, written: those of the prepared items. Raises
        UsageError for a column that is not there, has no numbers, or is the key.
        """
        from gpumerge_cli.formats.record_sums import summed_numbers

        return summed_numbers(request, order, dtype)

    def torn_way_out(self, lines: Sequence[bytes]) -> str:
        """The way out where lines of a text seem to be pieces of items of this format; "" if they do not."""
        return ""

    def key_warning(self, line: bytes, order: LineOrder) -> str:
        """A warning about keys that may mean other fields of an item, `line`, than they seem to; "" if none do."""
        return ""

    def check_join(self, sources: Sequence[LineSource], order: LineOrder, filler: bytes) -> None:  # noqa: B027 - optional
        """Raise InputError if prepared lines of two files cannot be joined, or UsageError if fields cannot be filled.

        order: that of the lines. filler: stands for empty and missing fields.
        """

    def header_names(self, header: bytes, join: Join) -> Sequence[bytes]:
        """The names that a header of a join's input gives to fields, each as it stands there; () for none."""
        return ()

    def joined_header(self, header: bytes, join: Join) -> bytes:
        """The header of a join that has columns, in which no two of them need the same name."""
        return header

    def named(self, title: str, names: Sequence[str], head: bytes, order: Order, written: Written) -> Named | None:
        """The names of inputs as a column with this title; None if the format has no such column.

        head, order, written: those of the items without names. Raises UsageError for a name that cannot stand there.
        """
        return None

    def item_of(self, words: Sequence[bytes], order: Order) -> bytes:
        """The item, without its end, that a line of a file holds, or of rows one with these values of the keys.

        Raises UsageError for an invalid line or value.
        """
        (line,) = words
        return line

    def rows_of(self, items: OutputItems) -> ItemRows | None:
        """The way from items to rows; None if they have no columns. Raises InputError."""
        return None

    def text_writer(self, schema: Any, suffix: str) -> TableWriter | None:
        """The writer of rows with an Arrow schema as text, to a file with this suffix; None if it writes none.

        Raises OutputError for columns that it cannot hold.
        """
        return None

    def header(self, dtype: Dtype, count: int) -> bytes:
        """The bytes before `count` items of a dtype, always of one length; b"" if there are none."""
        return b""


@dataclass(frozen=True)
class Column:
    """A column of a file. Any of its values may be null, if it has a type."""

    name: str
    type: str = ""
    """The name of its type in Arrow; "" for text."""


@dataclass(frozen=True)
class Purpose:
    """The use that a job makes of its opened inputs."""

    memory: int = 1 << 28
    """Bytes that they may take in this process."""
    sort: Callable[[Any, int, Any, Any], None] | None = None
    """Sorts items of rows, see formats.tables.runs.SortItems; None if the job does not sort."""
    spills: bool = False
    """Whether a sort uses temporary files even if there is memory for everything."""
    folders: tuple[str, ...] = ()
    """Those of temporary files; () for the system's."""
    keeps_order: bool = False
    """Whether items that go out stay in the order of the inputs. Then whole rows compare without a key."""
    is_ordered: bool = False
    """Whether the output is in order, or the job fails."""
    copies: bool = False
    """Whether all rows go to one output, so that groups of them may be copied."""
    checks: bool = True
    """Whether the order of rows is checked."""
    by_ranges: bool = False
    """Whether other processes make the items of ranges of the files, so that formats give a RangedSource."""
    margin: Margin | None = None
    """The text and columns beside items of the output, before a format prepares them."""
    only_checks: bool = False
    """Whether nothing else is done with them, and equal rows are in order."""
    most: int | None = None
    """The most items of each input, or of a sort's runs, that can be among those that are wanted: the first ones, or
    with a negative number the last ones. None for all."""
    sift: Callable[[Any], Any] | None = None
    """Leaves out items of rows that cannot be among the wanted ones of a sort; None if it writes all rows."""
    output: TableSettings = TableSettings()
    """The settings of its output, if that is a table."""
    join: JoinRequest | None = None
    """The join for which a format makes items; None for another job."""
    diff: DiffRequest | None = None
    """The diff that the job is; None for another job."""

    @property
    def added(self) -> tuple[str, ...]:
        """The titles of the columns that the output adds to those of its items."""
        if self.diff is not None:
            return self.diff.added
        return () if self.margin is None else self.margin.added


@dataclass(frozen=True)
class Layout:
    """The layout of one file: its format, and for keys and records their dtype and key."""

    format: Format
    items: Items
    """Those of the job."""
    number: int = 0
    """The number of the file among the inputs."""
    dtype: Dtype | None = None
    """With its byte order; None if the file states it."""
    key: Key | None = None
    """The part of an item that is its key, if options give it."""
    purpose: Purpose = Purpose()
    """The use that the job makes of the file."""

    @property
    def copy(self) -> DecompressedCopy | None:
        """See Items.copies."""
        return self.items.copies[self.number] if self.items.copies else None


@dataclass(frozen=True)
class Written:
    """The way from lines to the bytes of an output."""

    shown: Callable[[bytes], bytes] | None = None
    """Turns whole lines into the bytes to write; None if they are written as they are."""
    rows: Gather | JoinGather | None = None
    """The way to the rows that items refer to, which go to an output of a format of rows."""
    changes: Callable[[Bytes], bytes] | None = None
    """Makes the file of changed columns of whole items of a diff; None if they are lines."""


@dataclass(frozen=True)
class Counted:
    """The way in which equal items go out with their numbers beside them."""

    margin: Margin
    head: bytes
    """The start of the output, ahead of all items, with the name of the column if there is one."""
    written: Written


@dataclass(frozen=True)
class Beside:
    """The way in which items go out with the columns of compare beside them."""

    margin: Margin
    written: Written


@dataclass(frozen=True)
class Named:
    """The names of inputs, as a column of the output."""

    names: tuple[bytes, ...]
    """The text directly ahead of the items of each input; () if the items have the names already."""
    head: bytes
    """The start of the output, ahead of all items, with the title of the column."""
    written: Written


@dataclass(frozen=True)
class PreparedSources:
    """The inputs of a job as they are worked on."""

    sources: tuple[Source, ...]
    order: Order
    written: Written
    is_sorted: bool = False
    """Whether a job that sorts gets sorted runs, which need only be merged."""
    is_copied: bool = True
    """Whether files were copied for that, where the format has to read them."""
    join: JoinRules | None = None
    """The join of the items, if they were made for one."""


FORMATS: dict[str, Format] = {}
"""By name: those that formats.kinds.lookup has loaded."""


def register_format(format: Format) -> None:
    """Make a format known. Its name and suffixes must be new."""
    taken = {suffix for other in FORMATS.values() for suffix in other.suffixes}
    assert format.name not in FORMATS, f"there is a format {format.name} already"
    assert not taken & set(format.suffixes), f"{taken & set(format.suffixes)} say another format already"
    FORMATS[format.name] = format
