"""The parts of a job, made from the values of options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from gpumerge_cli.cli.chosen_format import chosen_format, requested_columns, without_schema_of_tables
from gpumerge_cli.cli.fields import SelectedKeys, find_keys, header_prefix
from gpumerge_cli.cli.gnu_values import parse_separator
from gpumerge_cli.cli.key_sources import with_parameters
from gpumerge_cli.cli.keyspec import (
    KeySpec,
    is_symbols,
    line_order,
    parse_key,
    parse_sort_word,
    split_columns,
    symbols_of,
)
from gpumerge_cli.cli.line_settings import OF_KINDS, without_line_settings
from gpumerge_cli.cli.options.groups import (
    ClusterOptions,
    CountOptions,
    DeviceOptions,
    InputOptions,
    LaunchOptions,
    LineOptions,
    OrderOptions,
    OutputOptions,
    RecordOptions,
    ResourceOptions,
    SumOptions,
    TableOptions,
)
from gpumerge_cli.cli.parse import parse_count
from gpumerge_cli.cli.perform import check_report_place
from gpumerge_cli.dataclass import replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.key_kinds import KINDS
from gpumerge_cli.order.number_separators import number_separators
from gpumerge_cli.order.rules import LineKey, LineOrder
from gpumerge_cli.units import parse_size

if TYPE_CHECKING:
    from gpumerge_cli.cli.options.typed import MergeOptions, SortOptions
    from gpumerge_cli.engine.job import Destination, Job, Operation, RankRange, Resources
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.formats.record_options import RecordRequest
    from gpumerge_cli.formats.tables.settings import GroupSize
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

    options = without_line_settings(options, files)
    schema, options = options.schema, without_schema_of_tables(options, files)
    separator = None if options.field_separator is None else parse_separator(options.field_separator)
    written = options.key if requested_columns(options, files).name else [*map(parse_key, options.key)]
    keys = find_keys(options, files, separator, written)
    order = line_order_of(options, keys.of_lines)
    placed = with_parameters(order, options_of_lines(options, keys), files)
    chosen = chosen_format(options.format, files, keys.columns)
    return Items(
        chosen.name,
        options.dtype,
        None if placed in _PLAIN else placed,
        options.reverse,
        keys.header,
        header_prefix(options),
        by_name=keys.by_name,
        headers=options.headers,
        certainty=chosen.certainty,
        line_ends=options.line_ends or "",
        record_start=options.record_start or "",
        records=record_options(options, keys.fields),
        schema=schema,
        nulls=nulls_of_columns(options, keys),
        kinds=kinds_of_columns(options, keys, files),
        counted=isinstance(options, SumOptions) and options.counted,
    )


def nulls_of_columns(options: OrderOptions, keys: SelectedKeys) -> Literal["first", "last"]:
    """The place of nulls in keys that are typed columns."""
    return (options.nulls or "last") if keys.fields else "last"


def kinds_of_columns(options: OrderOptions, keys: SelectedKeys, files: Sequence[str]) -> tuple[LineKey, ...]:
    """See Items.kinds. Raises as with_parameters does."""
    return kinds_of(options, keys.fields, files)


def kinds_of(options: LineOptions, fields: Sequence[str], files: Sequence[str]) -> tuple[LineKey, ...]:
    """See Items.kinds. fields: the texts that name keys which are typed columns. Raises as with_parameters does."""
    if not fields:
        return ()
    words = [word for text in fields for word in split_columns(text)]
    written = [word.rpartition(":")[2] for word in words if ":" in word]
    symbols = {symbol for one in written if is_symbols(one) for symbol in symbols_of(one)}
    named = tuple(LineKey(kind.name) for kind in KINDS if kind.symbol in symbols and not kind.draws)
    return with_parameters(LineOrder(named, stable=True), options.changed(nulls=None), files).keys


def options_of_lines(options: OrderOptions, keys: SelectedKeys) -> OrderOptions:
    """The options that are rules of lines: without those for nulls and kinds if keys are typed columns."""
    if not keys.fields:
        return options
    none = {name: () if name == "null_values" else None for name in OF_KINDS}
    return options.changed(given=options.given - set(OF_KINDS), **none)


def line_order_of(options: OrderOptions, keys: Sequence[KeySpec]) -> LineOrder:
    """The order of lines by keys and other options, without parameters: LineOrder() if none asks for another.

    Raises as line_order does.
    """
    letters = options.letters
    if options.sort is not None:
        letters.add(parse_sort_word(options.sort))
    order = line_order(
        letters,
        keys,
        separator=None if options.field_separator is None else parse_separator(options.field_separator),
        stable=options.keys_alone,
        zero_terminated=options.zero_terminated,
    )
    return replace(order, quotes=options.quote_rule)


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


def job_to_output(
    names: tuple[str, ...], items: Items, operation: Operation, output: str, on: Resources, options: OutputOptions
) -> Job:
    """The job of these inputs, whose output is named `output`.

    Raises UsageError if the file of an option would replace another file of the job.
    """
    from gpumerge_cli.engine.job import Job
    from gpumerge_cli.formats.part_names import part_names

    parts, count_to = (options.parts, options.count_to) if isinstance(options, CountOptions) else (None, None)
    files = (*names, *part_names(output, parts))
    check_report_place(count_to, files, "--count-to")
    files = files if count_to is None else (*files, count_to)
    check_report_place(options.report, files)
    check_report_place(on.run_log, files, "--run-log")
    return Job(names, items, operation, destination_of(options, output, parts), on)


def destination_of(options: OutputOptions, output: str, parts: int | None = None) -> Destination:
    """The output called `output`, and its settings. Raises UsageError."""
    from gpumerge_cli.engine.job import Destination

    made = Destination(output, parts, durable=options.fsync, compression=options.compression)
    if not isinstance(options, TableOptions):
        return made
    group = None if options.row_group_size is None else parse_group_size(options.row_group_size)
    return replace(made, level=options.compression_level, group=group)


def parse_group_size(text: str) -> GroupSize:
    """The value of --row-group-size: rows, as 500000 or 1e6, or bytes, as 64M. Raises UsageError."""
    from gpumerge_cli.formats.tables.settings import GroupSize

    if text.strip()[-1:].isalpha():
        found = GroupSize(nbytes=parse_size(text, "--row-group-size"))
    else:
        found = GroupSize(rows=parse_count(text, "--row-group-size"))
    if not found.rows and not found.nbytes:
        raise UsageError(f"--row-group-size {text}: a group holds a row at least", way_out="write 500000 or 64M")
    return found


def rule_of(options: MergeOptions | SortOptions) -> Equals:
    """The equal items that go out. Raises UsageError for counts of items of which all go out."""
    if options.counts and options.only == "all-duplicates":
        what = "--only all-duplicates writes each of several equal items, so it has no counts"
        raise UsageError(what, way_out="use --only duplicates, or leave the counts out")
    return Equals.of(options.unique or options.counts or options.sums, options.only)


def head_or_tail(options: MergeOptions | SortOptions) -> RankRange | None:
    """The ranks that --head or --tail names, None without them."""
    from gpumerge_cli.engine.job import RankRange

    if options.head is not None:
        return RankRange(0, options.head)
    if options.tail is None:
        return None
    return RankRange(-options.tail, None) if options.tail else RankRange(0, 0)


def margin_of(options: CountOptions) -> Margin | None:
    """The counts or sums that options ask for, or the column of --source; None without them. Raises UsageError."""
    if isinstance(options, SumOptions) and options.sums:
        separators, option = (0, 0), ""
        if isinstance(options, LineOptions):
            separators = number_separators(options.thousands, options.decimal)
            option = next((f"--{name}" for name in ("thousands", "decimal") if name in options.given), "")
        sums = columns_of_sums(options)
        return Margin(sums=sums, separators=separators, separated_by=option, counted=options.counted)
    if options.count_to is not None:
        return Margin("apart", file=options.count_to, title=options.source)
    if options.count is None and options.source is None:
        return None
    return Margin(options.count, title=options.source)


def columns_of_sums(options: SumOptions) -> tuple[str, ...]:
    """The columns that --sum names. Raises UsageError for an empty name."""
    from gpumerge_cli.formats.json_paths import split_words

    words = tuple(word for text in options.sum for word in split_words(text))
    if not all(words):
        raise UsageError(
            f"--sum {','.join(options.sum)}: a column has no name", way_out="write --sum NAME, or a number"
        )
    return words


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
