"""The fields that --field and -k name: columns of CSV, or fields of records."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gpumerge_cli.cli.columns import Header, csv_names, header_given, header_of, parse_columns, parse_csv_key
from gpumerge_cli.cli.keyspec import KeySpec
from gpumerge_cli.cli.options.groups import OrderOptions
from gpumerge_cli.cli.options.typed import SortOptions
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Certainty


@dataclass(frozen=True)
class SelectedKeys:
    """The keys of -k and --field, and what they imply about the files."""

    of_lines: tuple[KeySpec, ...] = ()
    """Those of -k and columns of --field, in the order of the command line."""
    fields: tuple[str, ...] = ()
    """The texts of --field if it names fields of records, which only the records' dtype can resolve."""
    header: int = 0
    """Lines of header: named columns imply 1."""
    csv: bool = False
    """Keys are columns of CSV: columns of --field imply it."""
    csv_implied: bool = False
    """Only --field implies it."""


def find_keys(
    options: OrderOptions, files: Sequence[str], separator: int | None, written: Sequence[KeySpec | str]
) -> SelectedKeys:
    """The keys of files. written: those of -k, of CSV as texts.

    Raises UsageError for an invalid key, InputError for a file that cannot be read.
    """
    plain = isinstance(options, SortOptions) and not options.compressed

    def header_for(option: str, lines: int, texts: Sequence[str], *, implied: bool = False) -> Header:
        names = partial(csv_names, files, separator, lines, plain=plain, option=option, implied=implied)
        return header_of(names, header_given(lines, options.given), texts, options.field)

    found = header_for("-k", options.header, [key for key in written if isinstance(key, str)])
    keys = [parse_csv_key(key, found) if isinstance(key, str) else key for key in written]
    header = _with_header(options.header, keys)
    if not options.field or _are_binary(options, files, header):
        return SelectedKeys(tuple(keys), options.field, header, options.csv)
    implied = not options.csv
    found = header_for("--field", header, (), implied=implied)
    columns = [parse_columns(text, found) for text in options.field]
    header = _with_header(header, [key for its in columns for key in its])
    return SelectedKeys(
        tuple(_in_sequence(options.sequence, keys, columns)), header=header, csv=True, csv_implied=implied
    )


def chosen_format(
    named: str | None, files: Sequence[str], *, csv: bool, implied: bool = False
) -> tuple[str | None, Certainty]:
    """The format by the options, and how certain it is: see Items.

    named: by --format. csv, implied: see SelectedKeys. Raises UsageError for --csv with a binary format.
    """
    if not csv:
        return named, "said"
    if named is None:
        return "csv", "implied" if implied else "asked"
    from gpumerge_cli.formats.kinds.lookup import holds_lines

    if not holds_lines(named):
        raise UsageError(f"{files[0]} is binary: --csv is for text", way_out="leave --csv out, or --format text")
    return "csv", "said"


def _with_header(header: int, keys: Sequence[KeySpec]) -> int:
    """The lines of header with the one that keys imply by its names."""
    return max(header, int(any(key.in_header for key in keys)))


def _in_sequence(
    sequence: Sequence[str], keys: Sequence[KeySpec], columns: Sequence[Sequence[KeySpec]]
) -> list[KeySpec]:
    """The keys of -k and the columns of each --field, in the order of `sequence`, see OrderOptions."""
    if keys and sorted(sequence) != ["field"] * len(columns) + ["key"] * len(keys):
        what = "-k and --field: which of them goes first is not known"
        raise UsageError(what, way_out="write both on the command line, or all keys with one of them")
    left = {"key": iter([key] for key in keys), "field": iter(columns)}
    return [key for name in sequence or ["field"] * len(columns) for key in next(left[name])]


def _are_binary(options: OrderOptions, files: Sequence[str], header: int) -> bool:
    """Whether the items are numbers or records. Without an option or suffix for them, sort takes files for text."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import holds_lines, is_binary, is_known

    if options.format is not None:
        return not holds_lines(options.format)
    if options.names_binary:
        return True
    if options.csv or header or options.field_separator is not None:  # which are for text alone
        return False
    suffixes = {suffix_of(name) for name in files if name != "-"}
    if isinstance(options, SortOptions):
        return any(map(is_binary, suffixes))
    return any(is_binary(suffix) or not is_known(suffix) for suffix in suffixes)
