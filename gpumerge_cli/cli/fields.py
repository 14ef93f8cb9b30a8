"""The fields that --field names: columns of CSV, or fields of records."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.cli.keyspec import KeySpec, csv_names, needs_names, parse_columns
from gpumerge_cli.cli.values import Values


def resolve_fields(values: Values, files: Sequence[str], separator: int | None) -> tuple[Values, list[KeySpec]]:
    """`values` with what their --field implies, and the keys that it makes of columns.

    Columns imply csv, and header 1 where they are named; `field` is then (). Fields of records stay as they are, since
    only the records' dtype tells which there are. Raises UsageError for a field that cannot be, InputError for a file
    that cannot be read.
    """
    if not values.field:
        return values, []
    if _are_binary(values, files):
        return values, []
    header = max(values.header, int(any(map(needs_names, values.field))))
    plain = values.command == "sort" and not values.compressed

    def names() -> list[str]:
        return csv_names(files, separator, header, plain=plain, option="--field")

    keys = [key for text in values.field for key in parse_columns(text, names)]
    return values.saying(field=(), csv=True, header=header), keys


def _are_binary(values: Values, files: Sequence[str]) -> bool:
    """Whether the items are numbers or records: sort takes for text what it is not told of, the others do not."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.kinds import format_of, is_binary

    if values.format is not None:
        return bool(values.format != "text")
    if any(values.get(name) is not None for name in ("dtype", "record_size", "key_offset", "key_size")):
        return True
    suffixes = {suffix_of(name) for name in files if name != "-"}
    if values.command == "sort":
        return any(map(is_binary, suffixes))
    return any(is_binary(suffix) or format_of(suffix) is None for suffix in suffixes)
