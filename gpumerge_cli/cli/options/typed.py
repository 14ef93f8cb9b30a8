"""The values of each command's options, typed. See groups.py for what fields mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.groups import (
    ClusterOptions,
    ComparisonOptions,
    CountOptions,
    DeviceOptions,
    InputOptions,
    KernelOptions,
    LaunchOptions,
    LineOptions,
    MergingOptions,
    Options,
    OrderOptions,
    QuietOptions,
    RecordOptions,
    ResourceOptions,
    ShownOptions,
    SourceOptions,
    SumOptions,
    TableOptions,
    VerboseOptions,
)
from gpumerge_cli.order.equals import SETS

if TYPE_CHECKING:
    from typing import Literal

    from gpumerge_cli.compare.key_shapes import KeyShape
    from gpumerge_cli.engine.job import BackendChoice
    from gpumerge_cli.launch import Algorithm, Transfer
    from gpumerge_cli.order.asof import AsofDirection
    from gpumerge_cli.order.equals import Kept, Only


class MergeOptions(MergingOptions, SumOptions, ComparisonOptions, DeviceOptions, ClusterOptions, LaunchOptions):
    """gpumerge merge."""

    device_memory: int | None
    from_: str | None
    to: str | None
    unique: bool | Kept
    only: Only | None
    head: int | None
    tail: int | None
    plan: bool
    fan_in: int | None
    transfer: Transfer | None

    @property
    def keys_alone(self) -> bool:
        return bool(self.unique or self.only or self.sums) or super().keys_alone


class CombineOptions(MergingOptions, CountOptions, ComparisonOptions, DeviceOptions, ClusterOptions):
    """gpumerge union, intersect, difference, symmetric."""

    device_memory: int | None
    from_: str | None
    to: str | None
    distinct: bool


class CompareOptions(MergingOptions, SourceOptions, ClusterOptions):
    """gpumerge compare."""

    without_first: bool
    without_second: bool
    without_both: bool
    output_delimiter: str
    total: bool


class DiffOptions(MergingOptions, ClusterOptions):
    """gpumerge diff."""

    total: bool
    ignore: tuple[str, ...]
    changes: str | None
    multi: bool
    sort_inputs: bool


class JoinOptions(LineOptions, TableOptions, ResourceOptions, ClusterOptions, ShownOptions):
    """gpumerge join."""

    files: tuple[str, ...]
    record_size: str | None
    key_offset: str | None
    header: bool
    header_prefix: str | None
    key: str | None
    field: tuple[str, ...]
    key_1: str | None
    key_2: str | None
    type: Literal["inner", "left", "right", "outer", "anti", "semi", "asof"] | None
    direction: AsofDirection | None
    tolerance: str | None
    unpaired: tuple[str, ...]
    only_unpaired: tuple[str, ...]
    columns: tuple[str, ...]
    empty: str | None


class SortOptions(
    InputOptions,
    OrderOptions,
    SumOptions,
    ComparisonOptions,
    DeviceOptions,
    ClusterOptions,
    KernelOptions,
    ShownOptions,
):
    """gpumerge sort."""

    merge: bool
    check: Literal["diagnose-first", "quiet", "silent"] | None
    check_quiet: bool
    unique: bool | Kept
    only: Only | None
    head: int | None
    tail: int | None
    keep_order: bool
    compressed: bool
    algorithm: Literal["auto"] | Algorithm | None
    fan_in: int | None
    batch_size: int | None
    compress_program: str | None
    run_log: str | None
    resume: bool
    traceback: bool

    @property
    def keys_alone(self) -> bool:
        return self.stable or bool(self.unique or self.only or self.sums) or self.time


class CheckOptions(InputOptions, OrderOptions, DeviceOptions, ClusterOptions, ShownOptions):
    """gpumerge check."""

    unique: bool

    @property
    def keys_alone(self) -> bool:
        return self.unique or super().keys_alone


class RankOptions(MergingOptions, DeviceOptions):
    """gpumerge rank."""

    at: tuple[str, ...]
    quantile: tuple[str, ...]
    of: tuple[str, ...]
    of_file: str | None
    split: int | None
    range: str | None
    json: bool


class BatchOptions(ClusterOptions, ShownOptions):
    """gpumerge batch."""

    file: str
    jobs: int
    keep_going: bool
    dry_run: bool
    resume: bool
    resume_failed: bool
    joblog: str | None
    report: str | None
    fsync: bool
    threads: int | None
    memory: int | None
    temporary_directory: tuple[str, ...]


class BenchOptions(VerboseOptions):
    """gpumerge bench."""

    results: tuple[str, ...]
    render: bool
    kernels: str | None
    dtypes: str | None
    sizes: str | None
    shapes: str | None
    runs: str | None
    quick: bool
    repeat: int | None
    seed: int
    output: tuple[str, ...]
    figures: str | None
    backend: BackendChoice
    device: int
    threads: int | None


class PathOptions(OrderOptions, LaunchOptions, QuietOptions):
    """gpumerge path."""

    files: tuple[str, ...]
    items: tuple[str, ...]
    rank: int | None
    rounds: bool
    compare: bool
    repeat: int | None
    html: str | None
    output: str | None
    backend: BackendChoice
    device: int
    threads: int | None
    temporary_directory: tuple[str, ...]


class LearnOptions(QuietOptions):
    """gpumerge learn."""

    files: tuple[str, ...]
    """The folder, then names of puzzles."""
    check: bool
    solution: str | None
    seed: int | None
    backend: BackendChoice
    device: int


class GenerateOptions(RecordOptions, QuietOptions):
    """gpumerge generate."""

    files: tuple[str, ...]
    count: int
    shape: KeyShape
    seed: int
    sorted: bool


class InfoOptions(QuietOptions):
    """gpumerge info."""

    files: tuple[str, ...]
    field: tuple[str, ...]
    nulls: Literal["first", "last"] | None
    json: bool
    measure: bool
    config: bool


OPTION_TYPES: dict[str, type[Options]] = {
    "merge": MergeOptions,
    **dict.fromkeys(SETS, CombineOptions),
    "compare": CompareOptions,
    "diff": DiffOptions,
    "join": JoinOptions,
    "sort": SortOptions,
    "check": CheckOptions,
    "rank": RankOptions,
    "batch": BatchOptions,
    "bench": BenchOptions,
    "path": PathOptions,
    "learn": LearnOptions,
    "generate": GenerateOptions,
    "info": InfoOptions,
}
"""The class of each command's values."""
