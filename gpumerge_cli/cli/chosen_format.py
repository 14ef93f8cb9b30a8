"""The format that options and suffixes give the files of a job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from gpumerge_cli.cli.options.groups import FORMAT_SWITCHES, OrderOptions
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.formats.format import Format
    from gpumerge_cli.formats.items import Certainty

_Order = TypeVar("_Order", bound=OrderOptions)

COLUMN_OPTIONS = (*FORMAT_SWITCHES, "format", "schema")
"""The options that may give a format with columns."""


@dataclass(frozen=True)
class FormatChoice:
    """A format, and the reason to believe in it."""

    name: str | None = None
    """None if nothing gives it but the suffix of each file."""
    certainty: Certainty = "named"
    """See Items."""


def gives_columns(option: str, value: str | bool | None) -> bool:
    """Whether keys may be names of columns by this value of one of COLUMN_OPTIONS, None if it is not given."""
    if not isinstance(value, str):
        return value is True
    if option == "schema":
        return value != "same"
    from gpumerge_cli.formats.kinds.lookup import names_columns

    return option == "format" and names_columns(value)


def requested_columns(options: OrderOptions | JoinOptions, files: Sequence[str]) -> FormatChoice:
    """The format with columns that options give, if they give one.

    Raises UsageError if they give two, or if only the suffixes of `files` say their format, and one is binary.
    """
    named, switch = options.format, options.format_switch
    if named is None and not switch:
        return FormatChoice()
    from gpumerge_cli.formats.kinds.lookup import format_of_option, names_columns

    if named is None and options.dtype is None and (binary := binary_by_suffix(files)):
        raise _binary_error(binary, switch)
    has_columns = named is not None and names_columns(named)
    if not switch:
        return FormatChoice(named) if has_columns else FormatChoice()
    switched = format_of_option(switch).name
    if has_columns and named != switched:
        raise UsageError(f"{switch} and --format {named} name two formats", way_out="leave one of them out")
    return FormatChoice(switched, "requested" if named is None else "named")


def are_tables(options: OrderOptions | JoinOptions, files: Sequence[str]) -> bool:
    """Whether files are tables, whose columns have names without a header: by --format, else by the suffix of one."""
    from gpumerge_cli.formats.kinds.lookup import holds_rows

    if options.format is not None or options.given_format_switch:
        return options.format is not None and holds_rows(options.format)
    return any(one is not None and one.holds == "rows" for _, one in formats_by_suffix(files))


def without_schema_of_tables(options: _Order, files: Sequence[str]) -> _Order:
    """The options for keys of `files`: a schema of tables asks for no columns of text."""
    if options.schema != "same" and are_tables(options, files):
        return options.changed(schema="same")
    return options


def formats_by_suffix(files: Sequence[str]) -> list[tuple[str, Format | None]]:
    """The names of `files`, but for standard input, each with the format that its suffix gives."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import format_of_suffix

    return [(name, format_of_suffix(suffix_of(name))) for name in files if name != "-"]


def columns_by_suffix(options: OrderOptions | JoinOptions, files: Sequence[str]) -> FormatChoice:
    """The format with columns that the suffix of one of `files` gives, if no option names a format."""
    if options.format is not None:
        return FormatChoice()
    from gpumerge_cli.formats.kinds.lookup import names_columns

    names = [one.name for _, one in formats_by_suffix(files) if one is not None and names_columns(one.name)]
    return FormatChoice(names[0], "requested") if names else FormatChoice()


def named_by_path(options: OrderOptions | JoinOptions, files: Sequence[str]) -> FormatChoice:
    """The format whose keys are paths that --format or the suffix of one of `files` gives, if one does.

    Raises UsageError if a suffix gives it, and another one is binary.
    """
    if options.given_format_switch:
        return FormatChoice()
    from gpumerge_cli.formats.kinds.lookup import names_paths

    if options.format is not None:
        return FormatChoice(options.format) if names_paths(options.format) else FormatChoice()
    ones = [(name, one) for name, one in formats_by_suffix(files) if one is not None and one.named_by_path]
    name, found = next(iter(ones), ("", None))
    if found is None:
        return FormatChoice()
    if binary := binary_by_suffix(files):
        what = f"{binary} is binary, but {name} holds {found.word}"
        raise UsageError(what, way_out="convert one of them, or name the --format of all")
    return FormatChoice(found.name, "requested")


def implied_columns(files: Sequence[str]) -> FormatChoice:
    """The format whose columns --field names in `files` if nothing else gives one. Raises UsageError if one is binary.

    Options such as --header have then said that they are text.
    """
    from gpumerge_cli.formats.kinds.lookup import implied_format

    if binary := binary_by_suffix(files):
        way_out = "leave --header, -t and --format text out, or rename it if it is text"
        raise UsageError(f"{binary} is binary: --field does not name columns of it", way_out=way_out)
    return FormatChoice(implied_format().name, "implied")


def binary_by_suffix(files: Sequence[str]) -> str:
    """The first of `files` whose suffix means numbers or records; "" if there is none."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import is_binary

    return next((name for name in files if name != "-" and is_binary(suffix_of(name))), "")


def are_binary(options: OrderOptions | JoinOptions, files: Sequence[str], *, of_text: bool = False) -> bool:
    """Whether items are numbers or records: by --format, else by an option that names their type, else by a suffix.

    of_text: other options apply to text alone; they outweigh suffixes. Otherwise files are text.
    """
    from gpumerge_cli.formats.kinds.lookup import holds_lines

    if options.format is not None:
        return not holds_lines(options.format)
    return options.names_binary or (not of_text and binary_by_suffix(files) != "")


def chosen_format(named: str | None, files: Sequence[str], columns: FormatChoice) -> FormatChoice:
    """The format of `files`.

    named: by --format. columns: the one whose columns keys are. Raises UsageError if only a binary format is named.
    """
    if columns.name is None:
        return FormatChoice(named)
    from gpumerge_cli.formats.kinds.lookup import format_named, holds_lines

    if named is not None and not holds_lines(named):
        raise _binary_error(files[0], format_named(columns.name).option)
    return columns


def _binary_error(name: str, option: str) -> UsageError:
    from gpumerge_cli.formats.registry import binary_error

    return binary_error(name, option)
