"""The values of a command's options, typed: the groups that several commands share.

A field has the name of its option's parameter, and the meaning that the help of its row gives; a test compares its type
with the row. Defaults are those of the rows: no class repeats them. The classes are not dataclasses, which would take a
millisecond of each start of the program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.order.key_kinds import BY_FLAG, KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, NoReturn, Self

    from gpumerge_cli.engine.job import BackendChoice
    from gpumerge_cli.launch import KernelName, TileLoad
    from gpumerge_cli.order.key_kinds import KeyKind
    from gpumerge_cli.order.rules import Quotes


_LETTERS = {
    "dictionary_order": "d",
    "ignore_case": "f",
    "reverse": "r",
    "ignore_leading_blanks": "b",
    "ignore_nonprinting": "i",
    **{kind.option.replace("-", "_"): kind.letter for kind in KINDS if kind.option},
    **{flag: kind.symbol for flag, kind in BY_FLAG.items()},
}
"""The letters of sort, or words of kinds, for options about keys, by their parameters."""
FORMAT_SWITCHES = {"csv": "--csv"}
"""The switches that ask for a format of lines with columns, by their parameters: see Format.option."""


class Options:
    """The values that a command line, settings and defaults give the options of a command. None of them changes."""

    command: str
    """The command's name."""
    given: frozenset[str]
    """The parameters of options and arguments that were on the command line, not in settings. Not compared by ==."""
    debug: bool

    def __init__(self, values: Mapping[str, object]) -> None:
        """values: by the names of fields; others are ignored."""
        self.__dict__.update((name, values[name]) for name in self.field_names())

    @classmethod
    def field_names(cls) -> list[str]:
        """The names of all fields, those of base classes first."""
        # inspect.get_annotations would import inspect.
        return [name for kind in reversed(cls.__mro__) for name in kind.__dict__.get("__annotations__", ())]  # noqa: RUF063

    def changed(self, **values: object) -> Self:
        """The same options but for these values."""
        return type(self)({**self.__dict__, **values})

    def set_ones(self, names: Iterable[str], initial: Mapping[str, object]) -> list[str]:
        """The parameters among `names` whose initial values settings have changed."""
        values = self.__dict__
        return [one for one in names if one in values and one not in self.given and values[one] != initial[one]]

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"cannot change option {name!r}")

    def __eq__(self, other: object) -> bool:
        same = {"given": None}
        return type(self) is type(other) and {**self.__dict__, **same} == {**other.__dict__, **same}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__dict__.items())})"


class QuietOptions(Options):
    """Silence on standard error."""

    quiet: bool


class VerboseOptions(QuietOptions):
    """The options about messages on standard error."""

    verbose: bool


class ShownOptions(VerboseOptions):
    """The same, with a bar."""

    progress: bool


class InputOptions(Options):
    """The names of inputs."""

    files: tuple[str, ...]
    files0_from: str | None


class ItemOptions(Options):
    """The type of items."""

    format: str | None
    dtype: str | None
    record_size: int | str | None
    """A join has a text, which may give a number for each input."""
    key_offset: int | str | None
    """As record_size."""
    key_size: int | None
    reverse: bool
    numeric_sort: bool

    @property
    def names_binary(self) -> bool:
        """Whether an option names a type of numbers or records."""
        return any(one is not None for one in (self.dtype, self.record_size, self.key_offset, self.key_size))


class RecordOptions(ItemOptions):
    """The same, with the options of fixed-size records."""

    record_size: int | None
    key_offset: int | None
    field: tuple[str, ...]


class LineOptions(ItemOptions):
    """The options of lines that a join has, too."""

    csv: bool
    quotes: Literal["csv", "none", "backslash"]
    line_ends: Literal["first", "lf", "crlf"] | None
    field_separator: str | None
    zero_terminated: bool
    dictionary_order: bool
    ignore_case: bool
    general_numeric_sort: bool
    human_numeric_sort: bool
    month_sort: bool
    version_sort: bool
    nulls: Literal["first", "last"] | None
    null_values: tuple[str, ...]
    order_list: str | None
    time_format: str | None
    zone: str | None
    year: int | None
    thousands: str | None
    decimal: str | None
    locale: str | None
    invalid: Literal["error", "first", "last"] | None
    stable: bool
    last_resort: bool

    @property
    def given_format_switch(self) -> str:
        """The switch that asks for a format; "" if none is on."""
        return next((switch for parameter, switch in FORMAT_SWITCHES.items() if self.__dict__[parameter]), "")

    @property
    def format_switch(self) -> str:
        """The switch by which lines are those of a format, given or implied; "" if they are not."""
        return self.given_format_switch

    @property
    def quote_rule(self) -> Quotes:
        """The meaning of quotes as orders name it."""
        return "doubled" if self.quotes == "csv" else self.quotes

    @property
    def letters(self) -> set[str]:
        """The letters of sort, or words of kinds, for the options that say how keys compare."""
        return {letter for parameter, letter in _LETTERS.items() if self.__dict__.get(parameter)}

    def file_of(self, kind: KeyKind) -> str | None:
        """The file that an option gives to a kind of keys, see KeyKind.file_option."""
        file = self.__dict__.get(file_parameter(kind))
        assert file is None or isinstance(file, str)
        return file


def file_parameter(kind: KeyKind) -> str:
    """The parameter of the option that names the file of a kind."""
    return kind.file_option.replace("-", "_")


class OrderOptions(RecordOptions, LineOptions):
    """The items of one or several inputs, and their order."""

    header: int
    record_start: str | None
    header_prefix: str | None
    headers: Literal["identical", "first", "union"]
    schema: Literal["same", "union", "intersect"]
    key: tuple[str, ...]
    sort: str | None
    time: bool
    ignore_leading_blanks: bool
    ignore_nonprinting: bool
    random_sort: bool
    random_source: str | None
    sequence: tuple[str, ...]
    """The parameters key and field, one for each -k and --field of the command line, in its order."""

    @property
    def format_switch(self) -> str:
        """See LineOptions. A schema asks for its format, unless another option names one."""
        of_schema = self.schema != "same" and self.format is None
        return self.given_format_switch or (FORMAT_SWITCHES["csv"] if of_schema else "")

    @property
    def header_lines(self) -> int:
        """Lines of header behind those with a prefix: names of columns for a schema imply one."""
        return self.header or int(self.schema != "same" and self.header_prefix is None)

    @property
    def has_header(self) -> bool:
        """Whether an option says that files have a header."""
        return self.header_lines > 0 or self.header_prefix is not None

    @property
    def keys_alone(self) -> bool:
        """Whether lines with equal keys are equal, whatever their other bytes."""
        return self.time or not self.last_resort


class OutputOptions(Options):
    """The output, and the report of making it."""

    output: str | None
    compression: str | None
    fsync: bool
    report: str | None


class TableOptions(OutputOptions):
    """The output, which may be a table."""

    compression_level: int | None
    row_group_size: str | None


class SourceOptions(Options):
    """The names of inputs beside the output."""

    source: str | None


class CountOptions(SourceOptions):
    """Counts of equal items beside the output, and its parts."""

    count: Literal["ahead", "after"] | None
    count_to: str | None
    parts: int | None

    @property
    def counts(self) -> bool:
        """Whether equal items are counted."""
        return self.count is not None or self.count_to is not None


class SumOptions(CountOptions):
    """Sums over equal items."""

    sum: tuple[str, ...]
    counted: bool

    @property
    def sums(self) -> bool:
        """Whether something is summed over equal items."""
        return self.sum != () or self.counted


class ComparisonOptions(TableOptions, VerboseOptions):
    """Comparisons with libraries."""

    compare: bool
    repeat: int | None


class ResourceOptions(Options):
    """The workers, and what they may take."""

    backend: BackendChoice
    threads: int | None
    memory: int | None
    temporary_directory: tuple[str, ...]


class DeviceOptions(ResourceOptions):
    """The same, with the GPUs that may work."""

    device: tuple[int, ...] | None


class ClusterOptions(Options):
    """Workers on other machines."""

    cluster: str | None
    cluster_wait: int


class KernelOptions(Options):
    """The kernel."""

    kernel: KernelName


class LaunchOptions(KernelOptions):
    """The kernel and its launch."""

    block_size: int | None
    items_per_thread: int | None
    tile_size: int | None
    tile_load: TileLoad | None
    blocks: int | None


class MergingOptions(InputOptions, OrderOptions, TableOptions, ResourceOptions, ShownOptions):
    """Sorted inputs that are read together."""

    check: bool
