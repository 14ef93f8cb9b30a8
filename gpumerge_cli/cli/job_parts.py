"""The parts of a job, made from the values of options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli import keyspec
from gpumerge_cli.cli.fields import csv_keys, format_of, resolve_fields
from gpumerge_cli.cli.gnu_values import parse_separator
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.salt import read_salt
from gpumerge_cli.cli.values import Values
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Margin
from gpumerge_cli.order.rules import LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Resources
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import RecordRequest
    from gpumerge_cli.launch import LaunchRequest, SortRequest

_PLAIN = (LineOrder(), LineOrder(reverse=True), LineOrder(stable=True), LineOrder(reverse=True, stable=True))


def file_names(values: Values) -> tuple[str, ...]:
    """The inputs that the command line names. Raises UsageError if it names none or does so in two ways."""
    if values.files0_from is None:
        if not values.files:
            raise UsageError(
                "no file was named", way_out="name at least one, or - for standard input; --help tells more"
            )
        return tuple(values.files)
    if values.files:
        raise UsageError(f"{values.files[0]}: files are named by --files0-from already", way_out="use one of the two")
    from gpumerge_cli.engine.inputs import read_names

    return read_names(values.files0_from)


def items_of(values: Values, files: Sequence[str]) -> Items:
    """The type of the items of `files`, and their order.

    Raises UsageError for an impossible order, InputError for a header that is needed and cannot be read.
    """
    from gpumerge_cli.formats.items import Items

    values, order = read_order(values, files)
    lines = None
    if order not in _PLAIN:
        lines = salted(order, values.random_source)
    format, certainty = format_of(values, files)
    return Items(
        format,
        values.dtype,
        lines,
        values.reverse,
        values.header,
        certainty,
        records=record_options(values),
    )


def read_order(values: Values, files: Sequence[str] = ()) -> tuple[Values, LineOrder]:
    """The values with all that --field implies, and the order of lines without its salt.

    The order is LineOrder() if no option asks for another. Raises as keyspec.line_order and resolve_fields do.
    """
    letters = {
        option.letter
        for option in command(values.command).options
        if option.letter and option.letter in keyspec.LETTERS and values.get(option.parameter)
    }
    if values.sort is not None:
        letters.add(keyspec.parse_sort_word(values.sort))
    separator = None if values.field_separator is None else parse_separator(values.field_separator)
    if values.csv:
        values, keys = csv_keys(values, values.key, files, separator)
    else:
        keys = list(map(keyspec.parse_key, values.key))
    resolved, keys = resolve_fields(values, files, separator, keys)
    order = keyspec.line_order(
        letters,
        keys,
        separator=separator,
        stable=not values.last_resort or values.get("unique", False),
        zero_terminated=values.zero_terminated,
    )
    return resolved, order


def salted(order: LineOrder, source: str | None) -> LineOrder:
    """The order with a salt, if it needs one. Raises InputError if that cannot be read from the file `source`."""
    return replace(order, salt=read_salt(source)) if keyspec.is_random(order) else order


def record_options(values: Values) -> RecordRequest:
    """The options of records; values.field is that of resolve_fields."""
    from gpumerge_cli.formats.record_options import RecordRequest

    return RecordRequest(values.record_size, values.key_offset, values.key_size, tuple(values.field))


def resources(values: Values) -> Resources:
    """The workers that the options ask for, and what they may take."""
    from gpumerge_cli.engine.job import Resources

    devices = values.get("device")
    if isinstance(devices, int):  # of a command that takes one, by default the first
        devices = (devices,) if devices else None
    return Resources(
        values.backend,
        devices,
        values.threads,
        values.get("memory"),
        values.get("device_memory"),
        values.get("temporary_directory", ()),
        cluster=values.get("cluster"),
        cluster_wait=float(values.get("cluster_wait", 60)),
    )


def margin_of(values: Values) -> Margin | None:
    """The counts that --count or --count-to asks for, None without them. Raises UsageError for both."""
    count = values.get("count")
    if values.get("count_to") is None:
        return None if count is None else Margin(count)
    if count is not None:
        raise UsageError("--count and --count-to put the numbers in two places", way_out="use one of the two")
    if values.parts is not None:
        raise UsageError("--count-to writes the counts of one output", way_out="leave --parts out")
    return Margin("apart", file=values.count_to)


def counts_equals(values: Values) -> bool:
    """Whether equal items are counted."""
    return values.get("count") is not None or values.get("count_to") is not None


def launch_of(values: Values) -> LaunchRequest:
    """The kernel and its launch, as far as the command has options for them."""
    from gpumerge_cli.dataclass import names_of
    from gpumerge_cli.launch import LaunchRequest

    said = {name: values.get(name, getattr(LaunchRequest, name)) for name in names_of(LaunchRequest)}
    return LaunchRequest(**said)


def sort_launch_of(values: Values) -> SortRequest:
    """The algorithm of a sort and its kernel, as far as the command has options for them."""
    from gpumerge_cli.launch import SortRequest

    return SortRequest(values.algorithm or "auto", launch_of(values))
