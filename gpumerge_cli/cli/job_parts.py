"""The parts of a job, made from the values of options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.cli import keyspec
from gpumerge_cli.cli.fields import SelectedKeys, chosen_format, find_keys, said_columns
from gpumerge_cli.cli.gnu_values import parse_separator
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.options.groups import (
    ClusterOptions,
    CountOptions,
    DeviceOptions,
    InputOptions,
    LaunchOptions,
    OrderOptions,
    RecordOptions,
    ResourceOptions,
)
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Margin
from gpumerge_cli.order.rules import LineOrder

if TYPE_CHECKING:
    from gpumerge_cli.engine.job import Resources
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import RecordRequest
    from gpumerge_cli.launch import LaunchRequest

_PLAIN = (LineOrder(), LineOrder(reverse=True), LineOrder(stable=True), LineOrder(reverse=True, stable=True))


def file_names(options: InputOptions) -> tuple[str, ...]:
    """The inputs that the command line names. Raises UsageError if it names none."""
    if options.files0_from is None:
        if not options.files:
            raise UsageError(
                "no file was named", way_out="name at least one, or - for standard input; --help tells more"
            )
        return options.files
    from gpumerge_cli.formats.naming import read_names

    return read_names(options.files0_from)


def items_of(options: OrderOptions, files: Sequence[str]) -> Items:
    """The type of the items of `files`, and their order.

    Raises UsageError for an impossible order, InputError for a header that is needed and cannot be read.
    """
    from gpumerge_cli.formats.items import Items

    keys, order = read_order(options, files)
    lines = None
    if order not in _PLAIN:
        lines = with_parameters(order, options)
    format, certainty = chosen_format(options.format, files, columns_of=keys.columns_of, implied=keys.implied)
    return Items(
        format,
        options.dtype,
        lines,
        options.reverse,
        keys.header,
        certainty,
        records=record_options(options, keys.fields),
    )


def read_order(options: OrderOptions, files: Sequence[str] = ()) -> tuple[SelectedKeys, LineOrder]:
    """The keys by the options, and the order of lines, without parameters.

    The order is LineOrder() if no option asks for another. Raises as keyspec.line_order and find_keys do.
    """
    letters = options.letters
    if options.sort is not None:
        letters.add(keyspec.parse_sort_word(options.sort))
    separator = None if options.field_separator is None else parse_separator(options.field_separator)
    written = options.key if said_columns(options) else [*map(keyspec.parse_key, options.key)]
    keys = find_keys(options, files, separator, written)
    order = keyspec.line_order(
        letters,
        keys.of_lines,
        separator=separator,
        stable=options.keys_alone,
        zero_terminated=options.zero_terminated,
    )
    return keys, order


def record_options(options: RecordOptions, fields: tuple[str, ...]) -> RecordRequest:
    """The options of records. fields: those that are the key, see SelectedKeys."""
    from gpumerge_cli.formats.record_options import RecordRequest

    return RecordRequest(options.record_size, options.key_offset, options.key_size, fields)


def resources(options: ResourceOptions) -> Resources:
    """The workers that the options ask for, and what they may take."""
    from gpumerge_cli.engine.job import Resources

    on = Resources(options.backend, threads=options.threads, memory=options.memory, folders=options.temporary_directory)
    if isinstance(options, DeviceOptions):
        on = replace(on, devices=options.device)
    if isinstance(options, ClusterOptions):
        on = replace(on, cluster=options.cluster, cluster_wait=float(options.cluster_wait))
    return on


def margin_of(options: CountOptions) -> Margin | None:
    """The counts that --count or --count-to asks for, None without them."""
    if options.count_to is not None:
        return Margin("apart", file=options.count_to)
    return None if options.count is None else Margin(options.count)


def launch_of(options: LaunchOptions) -> LaunchRequest:
    """The kernel and its launch."""
    from gpumerge_cli.launch import LaunchRequest

    return LaunchRequest(
        options.kernel,
        options.block_size,
        options.items_per_thread,
        options.tile_size,
        options.tile_load,
        options.blocks,
    )
