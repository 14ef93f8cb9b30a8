"""A job: one merge, sort, check or question about ranks, complete and not yet checked.

The command line, the jobs of a batch and Python make it alike. Whoever works on it is given the job itself, or one of
its parts. It is frozen, and pickles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.tables.settings import GroupSize
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.differences import Diff, DiffRequest
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.order.record_joins import JoinRules
    from gpumerge_cli.order.row_joins import JoinRequest

OperationKind = Literal["merge", "sort", "check", "rank"]
OPERATION_KINDS: tuple[OperationKind, ...] = get_args(OperationKind)
_MOST_NAMED = 3
BackendChoice = Literal["auto", "gpu", "cpu"]


@dataclass(frozen=True)
class RankRange:
    """The items of a merge whose ranks are start, start + 1, ... up to but not including stop, as in slices.

    A negative number counts from the end. Ranks beyond the merge are left out.
    """

    start: int = 0
    stop: int | None = None
    """None for the end."""


@dataclass(frozen=True)
class KeyInterval:
    """The items of a merge whose keys are `start` or go behind it, and go before `stop`. See engine.key_interval."""

    start: str | None = None
    """The first keys of items, as text; None for the first item."""
    stop: str | None = None
    """As `start`; None for the end."""


@dataclass(frozen=True)
class StatedItem:
    """An item that a user wrote as text."""

    text: str
    where: str
    """Stands ahead of it in errors: an option, or a file and the number of the line, with colons."""
    has_return: bool = False
    """Whether a carriage return stood behind it, which may be a part of it."""


@dataclass(frozen=True)
class Questions:
    """Questions about the ranks of a merge, from 0 on, that is not done."""

    at: tuple[int, ...] = ()
    """Ranks, whose items are wanted."""
    quantiles: tuple[str, ...] = ()
    """Parts of the merge as units.parse_quantile reads them.

    Each stands for the rank of the least item that has at least this part of all items at or ahead of it."""
    of: tuple[StatedItem, ...] = ()
    """Items whose ranks are wanted."""
    split: int | None = None
    """The number of even parts whose cuts are wanted, None for none."""
    as_json: bool = False
    """Answers are a JSON object, not tables."""


@dataclass(frozen=True)
class Operation:
    """A merge, set, join, sort, check or rank of the items, and its rules."""

    kind: OperationKind = "merge"
    """merge: sorted inputs to one output. sort: inputs in any order. check: of every input by itself. rank: answers."""
    equals: Equals = Equals.ALL
    """The items that remain of several equal ones. In a check, anything but ALL makes equal items disorder."""
    check: bool = True
    """Verify the order of the inputs while they are merged."""
    lenient: bool = False
    """Merge lines that are not in order as sort -m does, and say nothing; with parts they are an error."""
    ranks: RankRange | None = None
    """The items that are written, None for all; of a merge not with another `equals`, nor with `lenient`.

    The order is checked where items are read. A sort writes its first items or its last ones, see engine.selection."""
    keys: KeyInterval | None = None
    """The items that are combined and written, None for all; not with `ranks`, `lenient` or a join.

    The order is checked where items are read."""
    margin: Margin | None = None
    """Text added to each line of the output, for lines alone, or counts in a file of their own; not with parts."""
    join: JoinRules | JoinRequest | DiffRequest | None = None
    """Joins two inputs, or tells their differences; `equals` is JOIN then. Requests become rules once the inputs are
    opened."""
    questions: Questions | None = None
    """Set if the kind is rank."""
    launch: LaunchRequest | SortRequest = field(default_factory=LaunchRequest)
    """The requested kernel, and the algorithm of a sort."""
    name: str = ""
    """The name of the run in its report, "" for that of the kind or of `equals`."""
    keep_order: bool = False
    """A sort leaves the items that remain in the order of the inputs; not with `margin`, nor with parts."""
    turned: bool = False
    """The last input counts as the first one, and so on; the report has them in the given order."""

    def __post_init__(self) -> None:
        if self.kind == "sort" and isinstance(self.launch, LaunchRequest):  # says nothing of the algorithm
            object.__setattr__(self, "launch", SortRequest(launch=self.launch))

    @property
    def selects(self) -> bool:
        """Whether it sorts, and writes the first or last items alone."""
        return self.kind == "sort" and self.ranks is not None

    @property
    def takes_others(self) -> bool:
        """Whether its inputs may have different columns, types and headers."""
        return self.join is not None and not isinstance(self.join, DiffRequest | Diff)

    @property
    def by_groups(self) -> bool:
        """Whether all items that compare equal must lie in one chunk."""
        return self.equals.groups or (self.margin is not None and self.margin.groups)

    @property
    def keeps_sizes(self) -> bool:
        """Whether all items are written as they are, so that the place of each in the output is known ahead."""
        return self.equals.keeps_all and self.margin is None

    @property
    def title(self) -> str:
        """`name`, or the word for what it does: "merge", "sort", "dedupe", "check", "rank", "union", "join"."""
        if self.keep_order:
            return self.name or "dedupe"
        return self.name or (self.equals.name_of_set if self.kind == "merge" else self.kind)


@dataclass(frozen=True)
class Destination:
    """The destination of a job's output."""

    name: str = "-"
    """A file or URL; "-" is standard output. {part} stands for the numbers of parts."""
    parts: int | None = None
    """The number of files that the output becomes, each a range of it; None for one file."""
    durable: bool = False
    """Force the output to storage before it is shown."""
    compression: str | None = None
    """The value of --compression; None goes by the suffix of the name, and by the inputs if that leaves a choice."""
    level: int | None = None
    """The level of the compression of a table's columns; None for the usual one."""
    group: GroupSize | None = None
    """The size of the row groups of a table; None for the usual one."""


@dataclass(frozen=True)
class Resources:
    """The workers of a job, and the memory and folders that they may take."""

    backend: BackendChoice = "auto"
    devices: tuple[int, ...] | None = None
    """The numbers of the GPUs that may work; () for all there are, None for the first one."""
    threads: int | None = None
    """Host threads; None for as many as there are cores."""
    memory: int | None = None
    """Bytes of host memory. None: for chunks in flight of a merge a quarter of what is available, for a sort half."""
    device_memory: int | None = None
    """Bytes of the device's memory for chunks in flight; None takes what chunks of the usual size need."""
    folders: tuple[str, ...] = ()
    """Folders for temporary files, in turn; () for the system's."""
    compress_program: str | None = None
    """The program that packs a sort's temporary files; "builtin" needs no program."""
    always_spill: bool = False
    """A sort uses temporary files even if there is memory for everything."""
    sharing: int = 1
    """The number of runs of this process that share its start-up."""
    cluster: str | None = None
    """Names the machines that do the work in place of this one."""
    cluster_wait: float = 60.0
    """Seconds in which a worker must come there, if there is none."""
    run_log: str | None = None
    """Logs the runs of a sort by a cluster, which are then kept where it fails."""
    resume: bool = False
    """Go on with `run_log`."""

    @property
    def device(self) -> int:
        """The number of the GPU, for work that only one can do."""
        return self.devices[0] if self.devices else 0


@dataclass(frozen=True)
class Job:
    """One job."""

    inputs: tuple[str, ...]
    """Names of files and URLs; "-" is standard input."""
    items: Items = field(default_factory=Items)
    operation: Operation = field(default_factory=Operation)
    output: Destination = field(default_factory=Destination)
    resources: Resources = field(default_factory=Resources)

    @property
    def description(self) -> str:
        """Its work in words: "merge of a.txt, b.txt to c.txt"."""
        names = [*self.inputs[:_MOST_NAMED], *([f"{len(self.inputs)} files in all"] * (len(self.inputs) > _MOST_NAMED))]
        to = "" if self.operation.kind == "check" else f" to {shown(self.output.name)}"
        return f"{self.operation.title} of {', '.join(map(shown, names))}{to}"
