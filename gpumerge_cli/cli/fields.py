"""The fields that --field and -k name: columns of CSV, or fields of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli.columns import csv_names, header_of, parse_columns, parse_csv_key
from gpumerge_cli.cli.keyspec import KeySpec
from gpumerge_cli.cli.values import Values
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.formats.items import Certainty


def csv_keys(
    values: Values, texts: Sequence[str], files: Sequence[str], separator: int | None
) -> tuple[Values, list[KeySpec]]:
    """`values` with the header that names of -k imply beside --csv, and the keys of its texts.

    Raises as resolve_fields does.
    """

    def names() -> list[str] | None:
        return csv_names(files, separator, values.header, plain=_is_plain(values))

    header = header_of(names, values, texts, values.field)
    keys = [parse_csv_key(text, header) for text in texts]
    return _with_header(values, keys), keys


def resolve_fields(
    values: Values, files: Sequence[str], separator: int | None, keys: Sequence[KeySpec]
) -> tuple[Values, list[KeySpec]]:
    """`values` with what their --field implies, and all keys of lines: `keys`, those of -k, and columns of --field.

    They are in the order of the command line. Columns imply csv, and header 1 where they are named; `field` is then ().
    Fields of records stay as they are, since only the records' dtype tells which there are. Raises UsageError for a
    field that cannot be, InputError for a file that cannot be read.
    """
    if not values.field or _are_binary(values, files):
        return values, list(keys)
    implied = not values.csv

    def names() -> list[str] | None:
        plain = _is_plain(values)
        return csv_names(files, separator, values.header, plain=plain, option="--field", implied=implied)

    header = header_of(names, values, (), values.field)
    columns = [parse_columns(text, header) for text in values.field]
    values = _with_header(values, [key for its in columns for key in its])
    values = replace(values.saying(field=(), csv=True), csv_implied=implied)
    return values, _in_sequence(values.sequence, keys, columns)


def format_of(values: Values, files: Sequence[str]) -> tuple[str | None, Certainty]:
    """The format that options say, and how certain it is: see Items. Raises UsageError for --csv beside another one."""
    if not values.csv:
        return values.format, "said"
    if values.format is None:
        return "csv", "implied" if values.csv_implied else "asked"
    from gpumerge_cli.formats.kinds.lookup import holds_lines

    if not holds_lines(values.format):
        raise UsageError(f"{files[0]} is binary: --csv is for text", way_out="leave --csv out, or --format text")
    return "csv", "said"


def _is_plain(values: Values) -> bool:
    """Whether files are not compressed, even if their names say so."""
    return values.command == "sort" and not values.compressed


def _with_header(values: Values, keys: Sequence[KeySpec]) -> Values:
    """`values` with the header that keys imply by its names."""
    return values.saying(header=max(values.header, int(any(key.in_header for key in keys))))


def _in_sequence(
    sequence: Sequence[str], keys: Sequence[KeySpec], columns: Sequence[Sequence[KeySpec]]
) -> list[KeySpec]:
    """The keys of -k and the columns of each --field, as `sequence` says, see Values."""
    if keys and sorted(sequence) != ["field"] * len(columns) + ["key"] * len(keys):
        what = "-k and --field: which of them goes first is not known"
        raise UsageError(what, way_out="write both on the command line, or all keys with one of them")
    left = {"key": iter([key] for key in keys), "field": iter(columns)}
    return [key for name in sequence or ["field"] * len(columns) for key in next(left[name])]


def _are_binary(values: Values, files: Sequence[str]) -> bool:
    """Whether the items are numbers or records. Without an option or suffix for them, sort takes files for text."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds.lookup import holds_lines, is_binary, is_known

    if values.format is not None:
        return not holds_lines(values.format)
    if any(values.get(name) is not None for name in ("dtype", "record_size", "key_offset", "key_size")):
        return True
    if values.csv or values.header or values.field_separator is not None:  # which are for text alone
        return False
    suffixes = {suffix_of(name) for name in files if name != "-"}
    if values.command == "sort":
        return any(map(is_binary, suffixes))
    return any(is_binary(suffix) or not is_known(suffix) for suffix in suffixes)
