"""gpumerge join: two files, sorted by fields of each, to the lines or records of both that belong together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpumerge_cli.cli.chosen_format import are_binary, are_tables, binary_by_suffix, chosen_format, requested_columns
from gpumerge_cli.cli.fields import header_prefix
from gpumerge_cli.cli.gnu_values import parse_separator, parse_whole
from gpumerge_cli.cli.job_parts import destination_of, resources
from gpumerge_cli.cli.join_columns import OPTION as _COLUMNS_OPTION
from gpumerge_cli.cli.join_keys import columns_of, given_fields, join_keys, values_format
from gpumerge_cli.cli.join_options import asof_of, of_lines_alone, shown_items
from gpumerge_cli.cli.line_settings import without_line_settings
from gpumerge_cli.cli.options.typed import JoinOptions
from gpumerge_cli.cli.perform import check_report_place
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.joins import Join
from gpumerge_cli.order.rules import END

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.order.record_joins import RecordJoin
    from gpumerge_cli.order.row_joins import JoinRequest

_LINE_END = b"\n"


def run_join(options: JoinOptions) -> None:
    """Carry out the command line. Raises GpumergeError."""
    from gpumerge_cli.cli.merge import run_and_report

    run_and_report(job_of(options), options)


def job_of(options: JoinOptions) -> Job:
    """The join that options ask for. Raises GpumergeError."""
    from gpumerge_cli.engine.job import Job, Operation
    from gpumerge_cli.order.equals import Equals

    names = tuple(options.files)
    if len(names) != 2:
        named = "1 file was named" if len(names) == 1 else f"{len(names)} files were named"
        in_words = f"; between columns write commas, as {_COLUMNS_OPTION} id,name"
        more = in_words if options.columns and len(names) > 2 else ""
        raise UsageError(named, way_out=f"a join needs two, A and B{more}")
    options = without_line_settings(options, names)
    output = "-" if options.output is None else options.output
    check_report_place(options.report, (*names, output))
    items, rules = _items_and_rules(options, names)
    operation = Operation(equals=Equals.JOIN, join=rules)
    destination = destination_of(options, output)
    return Job(names, items, operation, destination, resources(options))


def _items_and_rules(
    options: JoinOptions, names: tuple[str, ...]
) -> tuple[Items, Join] | tuple[Items, RecordJoin] | tuple[Items, JoinRequest]:
    """The items and the rules by the options. Raises UsageError, or InputError for a header."""
    if are_tables(options, names):
        from gpumerge_cli.cli.join_rows import of_tables

        return of_tables(options, names)
    by_path = values_format(options, names)
    if by_path.name is not None:
        from gpumerge_cli.cli.join_rows import of_values

        return of_values(options, names, by_path)
    return _of_records(options, names) if are_binary(options, names) else _of_lines(options, names)


def _of_lines(options: JoinOptions, names: tuple[str, ...]) -> tuple[Items, Join]:
    """The items and the rules by the options. Raises UsageError, or InputError for a header."""
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import RecordRequest

    rules, named = rules_of(options, names)
    prefix = header_prefix(options)
    header = options.header or (named and not prefix)
    columns = columns_of(options, names)
    implied = columns.certainty == "implied"
    chosen = chosen_format(options.format, names, columns if implied else requested_columns(options, names))
    size, offset = _sizes(options)[0], _offsets(options)[0]
    items = Items(
        chosen.name, options.dtype, rules.rules[0], header_lines=int(header), header_prefix=prefix,
        certainty=chosen.certainty, records=RecordRequest(size, offset, options.key_size),
        lines_of_others=rules.rules[1], line_ends=options.line_ends or "",
    )  # fmt: skip
    return items, rules


def rules_of(options: JoinOptions, names: tuple[str, ...]) -> tuple[Join, bool]:
    """The rules by the options, and whether these name fields or columns of a header.

    Raises UsageError, or InputError for a header that cannot be read.
    """
    separator, between = _separators(options.field_separator, zero_terminated=options.zero_terminated)
    keys = join_keys(options, names, separator)
    if options.field_separator == "" and len(keys.fields[0]) > 1:
        raise UsageError("-t '': a whole line is one field", way_out="name the byte between fields, or one field")
    of_columns = not options.columns and columns_of(options, names).name is not None
    rules = Join(
        fields=keys.fields,
        key=keys.order,
        separator=separator,
        between=between,
        quotes=options.quote_rule,
        shows=shown_items(options),
        asof=asof_of(options),
        columns=keys.chosen.columns,
        auto=keys.chosen.auto or of_columns,
        refuses_more=of_columns,
        filler=b"" if options.empty is None else os.fsencode(options.empty),
        names=keys.names,
        options=keys.options,
        header_of_a=options.type in ("anti", "semi") and not options.columns,
    )
    return rules, keys.named


def _of_records(options: JoinOptions, names: tuple[str, ...]) -> tuple[Items, RecordJoin]:
    """The items and the rules of a join of records. Raises UsageError."""
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import RecordRequest
    from gpumerge_cli.formats.registry import binary_error
    from gpumerge_cli.order.record_joins import RecordJoin

    option = next((name for name, value in of_lines_alone(options).items() if value), None)
    if option is not None:
        if option != _COLUMNS_OPTION and options.format is None and (binary := binary_by_suffix(names)):
            raise binary_error(binary, option)
        way_out = "leave it out; --output names the file to write" if option == _COLUMNS_OPTION else "leave it out"
        raise UsageError(f"{option}: the items are records, not lines", way_out=way_out)
    first, second = (
        RecordRequest(size, offset, options.key_size, given.texts, given.option)
        for size, offset, given in zip(_sizes(options), _offsets(options), given_fields(options), strict=True)
    )
    items = Items(
        options.format, options.dtype, reverse=options.reverse, records=first, others=(second,),
    )  # fmt: skip
    return items, RecordJoin(shown_items(options), _filler(options.empty), asof=asof_of(options))


def _sizes(options: JoinOptions) -> tuple[int | None, int | None]:
    """The bytes of a record of A, and of one of B."""
    return two_numbers(options.record_size, "--record-size", 1)


def _offsets(options: JoinOptions) -> tuple[int | None, int | None]:
    """The first byte of the key in a record of A, and in one of B."""
    return two_numbers(options.key_offset, "--key-offset", 0)


def two_numbers(text: str | None, option: str, least: int) -> tuple[int | None, int | None]:
    """The numbers in "16" or "16,24", for A and for B. Raises UsageError."""
    if text is None:
        return None, None
    words = text.split(",")
    if len(words) > 2:
        raise UsageError(f"{option} {text}: a join has two files", way_out="write one number, or A,B")
    numbers = [parse_whole(word, option, least) for word in words]
    return numbers[0], numbers[-1]


def _filler(text: str | None) -> bytes:
    try:
        return b"\0" if text is None else bytes([int(text, 0)])
    except ValueError:
        what = f"-e {text}: records are filled with one byte"
        raise UsageError(what, way_out="write its number, from 0 to 255") from None


def _separators(text: str | None, *, zero_terminated: bool) -> tuple[bytes | None, bytes]:
    """The text between fields as Join has it, and the one of the output."""
    if text is None:
        return None, b" "
    if not text:  # all of a line is one field
        return END if zero_terminated else _LINE_END, _LINE_END
    separator = parse_separator(text)
    return separator, separator
