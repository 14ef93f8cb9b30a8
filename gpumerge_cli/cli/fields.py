"""The fields that --field and -k name: columns of lines, or fields of records."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpumerge_cli.cli.chosen_format import (
    FormatChoice,
    are_binary,
    columns_by_suffix,
    implied_columns,
    named_by_path,
    requested_columns,
)
from gpumerge_cli.cli.columns import (
    ColumnNames,
    Header,
    column_names,
    header_given,
    header_of,
    parse_column_key,
    parse_columns,
)
from gpumerge_cli.cli.keyspec import KeySpec, field_key, is_symbols, parse_key, symbols_of, unknown_symbols
from gpumerge_cli.cli.options.groups import OrderOptions
from gpumerge_cli.cli.options.typed import JoinOptions, SortOptions
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.units import quoted_value


@dataclass(frozen=True)
class SelectedKeys:
    """The keys of -k and --field, and what they imply about the files."""

    of_lines: tuple[KeySpec, ...] = ()
    """Those of -k and columns of --field, in the order of the command line."""
    fields: tuple[str, ...] = ()
    """The texts of --field if it names fields of records, which only the records' dtype can resolve."""
    header: int = 0
    """Lines of header: named columns imply 1."""
    columns: FormatChoice = FormatChoice()
    """The format whose columns keys are, unless there are none, or the suffixes of files give it."""

    @property
    def by_name(self) -> bool:
        """Whether one of `of_lines` is a column by its name in the header."""
        return any(key.in_header for key in self.of_lines)


def find_keys(
    options: OrderOptions, files: Sequence[str], separator: bytes | None, written: Sequence[KeySpec | str]
) -> SelectedKeys:
    """The keys of files. written: those of -k, columns as texts.

    Raises UsageError for an invalid key, InputError for a file that cannot be read.
    """
    requested = requested_columns(options, files)
    if not written and not options.field:
        return SelectedKeys(header=options.header_lines, columns=requested)
    by_path = named_by_path(options, files)
    if options.field and by_path.name is not None:
        keys = [key if isinstance(key, KeySpec) else parse_key(key) for key in written]
        columns = path_keys(options.field, by_path.name)
        chosen = by_path if by_path.certainty == "named" else FormatChoice()
        ordered = _in_sequence(options.sequence, keys, columns)
        return SelectedKeys(tuple(ordered), header=options.header, columns=chosen)
    own, holding = requested, files
    if options.field and requested.name is None:
        own = columns_by_suffix(options, files)
        if own.name is not None:  # files of other formats are refused once all layouts are known
            holding = [name for name in files if columns_by_suffix(options, [name]) == own]
        elif not _are_binary(options, files, options.has_header):
            own = implied_columns(files)

    def header_for(option: str, lines: int, texts: Sequence[str]) -> Header:
        def names() -> ColumnNames:
            return column_names(holding, _items_of_header(options, own, separator, _with_names(options, lines)))

        given = True if options.header_prefix is not None else header_given(lines, options.given)
        return header_of(names, given, texts, options.field, of_several=len(files) > 1)

    found = header_for("-k", options.header_lines, [key for key in written if isinstance(key, str)])
    keys = [parse_column_key(key, found) if isinstance(key, str) else key for key in written]
    header = _with_header(options, options.header_lines, keys)
    if not options.field or _are_binary(options, files, bool(header) or options.has_header):
        return SelectedKeys(tuple(keys), options.field, header, requested)
    if own.certainty == "implied" and options.format is None and not isinstance(options, SortOptions):
        _refuse_foreign(files)
    found = header_for("--field", header, ())
    columns = [parse_columns(text, found) for text in options.field]
    header = _with_header(options, header, [key for its in columns for key in its])
    return SelectedKeys(
        tuple(_in_sequence(options.sequence, keys, columns)),
        header=header,
        columns=own if own.certainty == "implied" else requested,
    )


def path_keys(texts: Sequence[str], format: str, option: str = "--field") -> list[list[KeySpec]]:
    """The keys that each text of an option names by paths. Raises UsageError for options that keys do not take."""
    from gpumerge_cli.formats.kinds.lookup import format_named

    found: list[list[KeySpec]] = []
    number = 0
    for text in texts:
        found.append([])
        for path, letters in format_named(format).split_keys(text):
            if not path:
                raise UsageError(
                    f"{option} {quoted_value(text)}: a path is empty", way_out="write names with dots between, as a.b"
                )
            if not is_symbols(letters):
                raise unknown_symbols(f"{option} {text}", letters)
            found[-1].append(field_key(number, symbols_of(letters), path))
            number += 1
    return found


def _items_of_header(options: OrderOptions, columns: FormatChoice, separator: bytes | None, lines: int) -> Items:
    """The items of files, as far as reading a header needs them."""
    plain = isinstance(options, SortOptions) and not options.compressed
    order = LineOrder(separator=separator, quotes=options.quote_rule)
    prefix = header_prefix(options)
    return Items(
        columns.name, lines=order, header_lines=lines, header_prefix=prefix, certainty=columns.certainty, plain=plain,
        schema=options.schema,
    )  # fmt: skip


def _refuse_foreign(files: Sequence[str]) -> None:
    """Raise UsageError for a suffix that means another format than CSV, as without --field."""
    from gpumerge_cli.formats.compressed import suffix_of
    from gpumerge_cli.formats.foreign import refuse_foreign

    for name in files:
        refuse_foreign(name, suffix_of(name) if name != "-" else "")


def _with_header(options: OrderOptions, header: int, keys: Sequence[KeySpec]) -> int:
    """The lines of header with the one that keys imply by its names."""
    return _with_names(options, header) if any(key.in_header for key in keys) else header


def _with_names(options: OrderOptions, header: int) -> int:
    """The lines of a header that has names of columns: one at least, unless a line with a prefix may have them."""
    return header if options.header_prefix is not None else max(1, header)


def header_prefix(options: OrderOptions | JoinOptions) -> bytes:
    """The bytes with which lines of headers begin; b"" without the option. Raises UsageError for an empty text."""
    if options.header_prefix == "":
        raise UsageError(
            "--header-prefix '': every line begins with an empty text",
            way_out="write the text that lines of headers have",
        )
    return os.fsencode(options.header_prefix or "")


def _in_sequence(
    sequence: Sequence[str], keys: Sequence[KeySpec], columns: Sequence[Sequence[KeySpec]]
) -> list[KeySpec]:
    """The keys of -k and the columns of each --field, in the order of `sequence`, see OrderOptions."""
    if keys and sorted(sequence) != ["field"] * len(columns) + ["key"] * len(keys):
        what = "-k and --field: the order of these keys is not known"
        raise UsageError(what, way_out="write both on the command line, or all keys with one of them")
    left = {"key": iter([key] for key in keys), "field": iter(columns)}
    return [key for name in sequence or ["field"] * len(columns) for key in next(left[name])]


def _are_binary(options: OrderOptions, files: Sequence[str], header: bool) -> bool:
    """Whether the items are numbers or records. header: whether there is one."""
    of_text = options.format_switch != "" or header or options.field_separator is not None
    return are_binary(options, files, of_text=of_text)
