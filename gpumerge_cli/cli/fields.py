"""What --field names: columns of CSV, or the key field of records."""

from __future__ import annotations

from collections.abc import Sequence

from gpumerge_cli.cli.keyspec import KeySpec, csv_names, needs_names, parse_columns
from gpumerge_cli.cli.values import Values
from gpumerge_cli.errors import UsageError


def resolve_fields(values: Values, files: Sequence[str], separator: int | None) -> tuple[Values, list[KeySpec]]:
    """`values` with what their --field implies, and the keys that it makes of columns.

    Columns imply csv, and header 1 where they are named; `field` is then (). Of records, `field` is (the one field,),
    and ":r" behind it means reverse. Raises UsageError for a field that cannot be, InputError for a file that cannot be
    read.
    """
    if not values.field:
        return values, []
    if _are_binary(values, files):
        return of_records(values), []
    header = max(values.header, int(any(map(needs_names, values.field))))
    plain = values.command == "sort" and not values.compressed

    def names() -> list[str]:
        return csv_names(files, separator, header, plain=plain, option="--field")

    keys = [key for text in values.field for key in parse_columns(text, names)]
    return values.saying(field=(), csv=True, header=header), keys


def of_records(values: Values) -> Values:
    """`values` whose --field, if any, names the key of records; see resolve_fields."""
    field: Sequence[str] = values.field
    if not field:
        return values
    name, colon, letters = field[0].rpartition(":")
    name = name if colon else letters
    if len(field) > 1 or "," in name:
        raise UsageError(
            f"--field {','.join(field)}: the key of records is one field",
            way_out="name one; of CSV, several columns can be named",
        )
    if colon and letters != "r":
        raise UsageError(f"--field {field[0]}: records take no {letters!r}", way_out="write NAME or NAME:r")
    return values.saying(field=(name,), reverse=True) if colon else values.saying(field=(name,))


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
    return any(format_of(suffix) is None or is_binary(suffix) for suffix in suffixes)
