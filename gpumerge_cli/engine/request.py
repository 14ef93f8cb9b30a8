"""Requests of users, complete and not yet judged: the values between the door and the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.extents import Copy
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.record_joins import JoinRules
from gpumerge_cli.order.rules import LineOrder

BackendChoice = Literal["auto", "gpu", "cpu"]
FormatChoice = str
"""The name of a format: formats.kinds.format_names() has all."""


@dataclass(frozen=True)
class ItemRequest:
    """The way to read items and to compare them.

    format: None goes by the file's suffix. dtype: NumPy's name (byte order and fields allowed), None goes by suffix or
    header. lines: the order of lines; None for bytewise. reverse: descending order of items that
    are no lines, and of lines if `lines` is None. header_lines: lines at the start of each input that are not items;
    those of the first stay ahead of the output. csv: keys are fields of CSV, quoted or not. csv_implied:
    only that fields are named says so, and bytes 0 at a file's start deny it. records: the options of fixed-size
    records. plain: the names of files say nothing about their content, so none is compressed; for lines
    alone. shown: turns whole lines into the text to write, not compressed; without `csv`. folders: for copies of
    inputs that are compressed or pipes, in turn; none for the system's. others: in place of `records`, for the inputs
    behind the first one; () if it holds for all. lines_of_others: in place of `lines`, for the inputs behind the first
    one; None if they hold for all. copies: see Content.copy, for each input; () if there are none.
    """

    format: FormatChoice | None = None
    dtype: str | None = None
    lines: LineOrder | None = None
    reverse: bool = False
    header_lines: int = 0
    csv: bool = False
    csv_implied: bool = False
    records: RecordRequest = field(default_factory=RecordRequest)
    plain: bool = False
    shown: Callable[[bytes], bytes] | None = None
    folders: tuple[str, ...] = ()
    others: tuple[RecordRequest, ...] = ()
    lines_of_others: LineOrder | None = None
    copies: tuple[Copy | None, ...] = ()

    @property
    def records_of(self) -> tuple[RecordRequest, ...]:
        """The options of records for each input in turn; the last ones hold for all that follow."""
        return (self.records, *self.others)


@dataclass(frozen=True)
class BackendRequest:
    """The place of the work: backend, kernel and launch shape, host threads (None: as many as there are cores).

    devices: the numbers of the GPUs that may work; () for all there are, None for the first one. sharing: the runs
    of this process that share its start-up. cluster: names the machines that do the work in place of this one.
    cluster_wait: seconds in which a worker must come there, if there is none.
    """

    backend: BackendChoice = "auto"
    devices: tuple[int, ...] | None = None
    threads: int | None = None
    launch: LaunchRequest = field(default_factory=LaunchRequest)
    sharing: int = 1
    cluster: str | None = None
    cluster_wait: float = 60.0

    @property
    def device(self) -> int:
        """The number of the GPU, for work that only one can do."""
        return self.devices[0] if self.devices else 0


@dataclass(frozen=True)
class CheckRequest:
    """One check of every input by itself. unique: equal items are disorder, too. memory: see MergeRequest."""

    inputs: tuple[str, ...]
    items: ItemRequest = field(default_factory=ItemRequest)
    on: BackendRequest = field(default_factory=BackendRequest)
    unique: bool = False
    memory: int | None = None


@dataclass(frozen=True)
class SortFilesRequest:
    """One sort: inputs to one output; "-" is standard input or output.

    sort: algorithm and kernel. unique: only the first of several equal items goes out. durable, parts: see
    MergeRequest. memory: bytes for all that is held; None takes half of what is available. folders: for temporary
    files, in turn; empty for the system's folder. compress_program: the program that packs them; "builtin" needs no
    program. always_spill: use temporary files even if there is memory for everything. run_log: of a sort by a cluster,
    logs its runs, which are then kept where it fails. resume: go on with that log. margin: counts beside each line; of
    equal lines only the first goes out then, with `unique` or without.
    """

    inputs: tuple[str, ...]
    output: str = "-"
    items: ItemRequest = field(default_factory=ItemRequest)
    on: BackendRequest = field(default_factory=BackendRequest)
    sort: SortRequest = field(default_factory=SortRequest)
    unique: bool = False
    memory: int | None = None
    folders: tuple[str, ...] = ()
    compress_program: str | None = None
    always_spill: bool = False
    durable: bool = False
    parts: int | None = None
    run_log: str | None = None
    resume: bool = False
    margin: Margin | None = None

    @property
    def drops(self) -> bool:
        """Whether equal items are left out."""
        return self.unique or self.margin is not None


@dataclass(frozen=True)
class RankRange:
    """The items of a merge whose ranks are start, start + 1, ..., up to but not including stop, as slices have it.

    A negative number counts from the end. stop: None for the end. Ranks that the merge has not are left out.
    """

    start: int = 0
    stop: int | None = None


@dataclass(frozen=True)
class RankRequest:
    """Questions about the ranks of a merge, from 0 on, that is not done.

    at: ranks. quantiles: numbers from 0 to 1 as fractions.Fraction reads them; each stands for the rank of the least
    item that has at least this part of all items at or ahead of it. of: items as text, whose ranks are wanted. split:
    the number of even parts whose cuts are wanted, None for none. on: its threads count lines; the rest has no say.
    memory, output, durable: see MergeRequest; answers need little memory. as_json: they are a JSON object, not tables.
    """

    inputs: tuple[str, ...]
    items: ItemRequest = field(default_factory=ItemRequest)
    at: tuple[int, ...] = ()
    quantiles: tuple[str, ...] = ()
    of: tuple[str, ...] = ()
    split: int | None = None
    on: BackendRequest = field(default_factory=BackendRequest)
    memory: int | None = None
    output: str = "-"
    durable: bool = False
    as_json: bool = False


@dataclass(frozen=True)
class MergeRequest:
    """One merge: sorted inputs to one output; "-" is standard input or output.

    check: verify the order of the inputs while they are merged. equals: the items that go out of several equal ones.
    memory: bytes of host memory for chunks in flight; None takes a quarter of what is available. device_memory: the
    same on the device; None takes what chunks of the usual size need. durable: force the output to storage before it is
    shown. lenient: merge lines that are not in order as sort -m does, and say nothing; with parts
    they are an error. parts: the number of files that the output becomes, each a range of it; `output` has {part} in
    place of their numbers. None for one file. ranks: the items of the merge that go out, None for all; they go with
    neither another `equals` nor `lenient`. The order is checked where items are read. margin: text beside each line
    that goes out, for lines alone, or counts in a file of their own, which do not go with parts. join: joins two
    inputs; `equals` is JOIN then. kind: the name of the run in its report, "" for that of `equals`. turned: the last
    input counts as the first one, and so on; the report has them in the given order.
    """

    inputs: tuple[str, ...]
    output: str = "-"
    items: ItemRequest = field(default_factory=ItemRequest)
    on: BackendRequest = field(default_factory=BackendRequest)
    check: bool = True
    equals: Equals = Equals.ALL
    memory: int | None = None
    device_memory: int | None = None
    durable: bool = False
    lenient: bool = False
    parts: int | None = None
    ranks: RankRange | None = None
    margin: Margin | None = None
    join: JoinRules | None = None
    kind: str = ""
    turned: bool = False

    @property
    def by_groups(self) -> bool:
        """Whether all items that compare equal must lie in one chunk."""
        return self.equals.groups or self.margin is not None
