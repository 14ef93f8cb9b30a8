"""The fields that --field names: columns of CSV, or fields of records."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.cli.keyspec import KeySpec, csv_names, needs_names, parse_columns
from gpumerge_cli.cli.values import Values
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError


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
    plain, implied = values.command == "sort" and not values.compressed, not values.csv
    header = max(values.header, int(any(map(needs_names, values.field))))

    def names() -> list[str] | None:
        return csv_names(files, separator, header, plain=plain, option="--field", implied=implied)

    columns = [parse_columns(text, names) for text in values.field]
    values = replace(values.saying(field=(), csv=True, header=header), csv_implied=implied)
    return values, _in_sequence(values.sequence, keys, columns)


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
    from gpumerge_cli.formats.kinds import format_of, holds_lines, is_binary

    if values.format is not None:
        return not holds_lines(values.format)
    if any(values.get(name) is not None for name in ("dtype", "record_size", "key_offset", "key_size")):
        return True
    if values.csv or values.header or values.field_separator is not None:  # which are for text alone
        return False
    suffixes = {suffix_of(name) for name in files if name != "-"}
    if values.command == "sort":
        return any(map(is_binary, suffixes))
    return any(is_binary(suffix) or format_of(suffix) is None for suffix in suffixes)
