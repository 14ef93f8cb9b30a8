"""The items of a job: the way to read them from its inputs, and to compare them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.extents import DecompressedCopy
from gpumerge_cli.formats.header_lines import HeaderLines, HeaderRule
from gpumerge_cli.formats.line_ends import LineEnds
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.formats.schema import Schema
from gpumerge_cli.order.rules import NEWLINE, LineKey, LineOrder

Certainty = Literal["named", "requested", "implied"]
"""named: --format names it. requested: an option for its files is given; the name of another file overrides it.
implied: only fields are named; the first bytes of another file override it, too."""


@dataclass(frozen=True)
class Items:
    """The way to read items and to compare them."""

    format: str | None = None
    """The name of a format: formats.kinds.format_names() has all. None goes by the file's suffix."""
    dtype: str | None = None
    """NumPy's name (byte order and fields allowed); None goes by suffix or header."""
    lines: LineOrder | None = None
    """The order of lines; None for bytewise."""
    reverse: bool = False
    """Descending order of items that are not lines, and of lines if `lines` is None."""
    header_lines: int = 0
    """Lines at the start of each input that are not items; those of the first stay ahead of the output."""
    header_prefix: bytes = b""
    """The first lines of each input that begin with it are no items either; `header_lines` count behind them."""
    by_name: bool = False
    """Whether keys of lines are columns by their names in the header."""
    headers: HeaderRule = "identical"
    """The header of the output, if those of inputs differ."""
    certainty: Certainty = "named"
    """The reason to believe in `format`, if it is not None."""
    records: RecordRequest = field(default_factory=RecordRequest)
    """The options of fixed-size records."""
    plain: bool = False
    """Whether the names of files are ignored, so none is compressed; only for lines."""
    line_ends: LineEnds = ""
    """The ends of lines."""
    record_start: str = ""
    """Lines that begin records: "time" for those that have one, or an extended regular expression of POSIX. "" if each
    line is an item of its own."""
    shown: Callable[[bytes], bytes] | None = None
    """Turns whole lines into the text to write, not compressed; only for the format text."""
    counted: bool = False
    """Whether lines begin with counts, as uniq -c writes them, which belong to no key."""
    others: tuple[RecordRequest, ...] = ()
    """In place of `records`, for the inputs behind the first one; () if it holds for all."""
    lines_of_others: LineOrder | None = None
    """In place of `lines`, for the inputs behind the first one; None if they hold for all."""
    copies: tuple[DecompressedCopy | None, ...] = ()
    """The decompressed content of each input that others have made, None where there is none; () if there are none."""
    schema: Schema = "same"
    """The columns of files that have them by name, if they differ."""
    nulls: Literal["first", "last"] = "last"
    """The place of nulls in typed columns of rows, which no reversed order changes."""
    kinds: tuple[LineKey, ...] = ()
    """The rules for the texts of such columns as values of kinds, one for each kind that keys name."""
    columns: tuple[str, ...] = ()
    """The names that `schema` gives; () if the inputs of the job say them."""

    @property
    def records_of(self) -> tuple[RecordRequest, ...]:
        """The options of records for each input in turn; the last ones hold for all that follow."""
        return (self.records, *self.others)

    @property
    def header(self) -> HeaderLines:
        """The lines at the start of each input that are not items."""
        return HeaderLines(self.header_lines, self.header_prefix)

    @property
    def line_order(self) -> LineOrder:
        """The order of lines, which is bytewise by default."""
        return LineOrder(reverse=self.reverse) if self.lines is None else self.lines

    @property
    def terminator(self) -> int:
        """The byte that ends a line."""
        return NEWLINE if self.lines is None else self.lines.terminator

    @property
    def line_option(self) -> str:
        """An option that only lines have, "" if none is given."""
        given = (
            (self.record_start, "--record-start"),
            (self.line_ends, "--line-ends"),
            (self.header_prefix, "--header-prefix"),
            (self.header_lines, "--header"),
            (self.counted, "--counted"),
        )
        return next((option for value, option in given if value), "")

    @property
    def tells_format(self) -> bool:
        """Whether options give the format of files, whatever their names and first bytes are."""
        named = self.format is not None and self.certainty == "named"
        return named or self.dtype is not None or any(one.size is not None for one in self.records_of)
