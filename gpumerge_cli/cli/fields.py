"""The fields that --field and -k name: columns of lines, or fields of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.columns import Header, column_names, header_given, header_of, parse_column_key, parse_columns
from gpumerge_cli.cli.keyspec import KeySpec
from gpumerge_cli.cli.options.groups import OrderOptions
from gpumerge_cli.cli.options.typed import JoinOptions, SortOptions
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
    columns_of: str = ""
    """The name of the format whose columns keys are; "" if there are none, or if the suffixes of files say it."""
    implied: bool = False
    """It is CSV only because --field names columns."""


def find_keys(
    options: OrderOptions, files: Sequence[str], separator: int | None, written: Sequence[KeySpec | str]
) -> SelectedKeys:
    """The keys of files. written: those of -k, columns as texts.

    Raises UsageError for an invalid key, InputError for a file that cannot be read.
    """
    plain = isinstance(options, SortOptions) and not options.compressed
    said = said_columns(options)
    own, holding = said, files
    if options.field and not said:
        own = _columns_by_suffix(options, files)
        if own:  # files of other formats are refused once all layouts are known
            holding = [name for name in files if _columns_by_suffix(options, [name]) == own]

    def header_for(option: str, lines: int, texts: Sequence[str], *, implied: bool = False) -> Header:
        def names() -> list[str] | None:
            from gpumerge_cli.formats.items import Items
            from gpumerge_cli.order.rules import LineOrder

            order = LineOrder(separator=separator)
            certainty: Certainty = "implied" if implied else "requested"
            items = Items(own or "csv", lines=order, header_lines=max(1, lines), certainty=certainty, plain=plain)
            return column_names(holding, items)

        return header_of(names, header_given(lines, options.given), texts, options.field)

    found = header_for("-k", options.header, [key for key in written if isinstance(key, str)])
    keys = [parse_column_key(key, found) if isinstance(key, str) else key for key in written]
    header = _with_header(options.header, keys)
    if not options.field or _are_binary(options, files, header):
        return SelectedKeys(tuple(keys), options.field, header, said)
    implied = not own
    if implied and not isinstance(options, SortOptions):  # which takes files for text whatever their suffixes are
        _refuse_foreign(files)
    found = header_for("--field", header, (), implied=implied)
    columns = [parse_columns(text, found) for text in options.field]
    header = _with_header(header, [key for its in columns for key in its])
    return SelectedKeys(
        tuple(_in_sequence(options.sequence, keys, columns)),
        header=header,
        columns_of="csv" if implied else said,
        implied=implied,
    )


def said_columns(options: OrderOptions | JoinOptions) -> str:
    """The name of the format with columns that options say; "" for none. Raises UsageError if they name two."""
    if options.format is None:
        return "csv" if options.csv else ""
    from gpumerge_cli.formats.kinds.lookup import names_columns

    named = options.format if names_columns(options.format) else ""
    if options.csv and named not in ("", "csv"):
        raise UsageError(f"--csv and --format {named} name two formats", way_out="leave one of them out")
    return "csv" if options.csv else named


def columns_format(options: OrderOptions | JoinOptions, files: Sequence[str]) -> str:
    """The name of the format with columns that options say, else the suffix of one of `files`; "" for none."""
    return said_columns(options) or _columns_by_suffix(options, files)


def _columns_by_suffix(options: OrderOptions | JoinOptions, files: Sequence[str]) -> str:
    if options.format is not None:
        return ""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import format_of_suffix, names_columns

    ones = [format_of_suffix(suffix_of(name)) for name in files if name != "-"]
    return next((one.name for one in ones if one is not None and names_columns(one.name)), "")


def chosen_format(
    named: str | None, files: Sequence[str], *, columns_of: str, implied: bool = False
) -> tuple[str | None, Certainty]:
    """The format by the options, and how certain it is: see Items.

    named: by --format. columns_of, implied: see SelectedKeys. Raises UsageError for --csv with a binary format.
    """
    if columns_of in ("", named):
        return named, "named"
    if named is None:
        return columns_of, "implied" if implied else "requested"
    from gpumerge_cli.formats.kinds.lookup import holds_lines

    if not holds_lines(named):
        raise UsageError(f"{files[0]} is binary: --csv applies to text", way_out="leave --csv out, or --format text")
    return columns_of, "named"


def _refuse_foreign(files: Sequence[str]) -> None:
    """Raise UsageError for a suffix that means another format than CSV, as without --field."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.foreign import refuse_foreign

    for name in files:
        refuse_foreign(name, suffix_of(name) if name != "-" else "")


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
    """Whether the items are numbers or records, by an option or a suffix. All other files are text."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import holds_lines, is_binary

    if options.format is not None:
        return not holds_lines(options.format)
    if options.names_binary:
        return True
    if options.csv or header or options.field_separator is not None:  # which are for text alone
        return False
    return any(is_binary(suffix_of(name)) for name in files if name != "-")
