"""A pass: one walk of a job over all items of some sources, in tasks that differ in their ranges alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.inputs import Inputs
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.memory import ChunkBudget
from gpumerge_cli.engine.reading_progress import Advance, OnStage
from gpumerge_cli.engine.writers import NullWriter, ResultWriter
from gpumerge_cli.formats.base import Source
from gpumerge_cli.formats.ranges import RangedSource
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk, Planner

if TYPE_CHECKING:
    from gpumerge_cli.order.record_joins import JoinRules

Action = Literal["merge", "heads", "sort", "select", "whole", "first seen", "check", "values", "unpack"]
"""merge: of sources in order, by ranges. heads: by the next lines of sources in any order. sort: of a range to a run.
select: of the items of a range that may be among the first or last ones of a sort, to runs. whole: a sort of everything
at once. first seen: of equal items in any order, those that remain. check: of the order. values: for invalid keys
alone. unpack: of a compressed input to a copy."""


@dataclass(frozen=True)
class Pass:
    """One pass of a job. A sort beyond memory takes two: one that sorts pieces to runs, and one that merges these."""

    job: Job
    action: Action
    sources: Sequence[Source]
    """Opened: the inputs of the job, or runs."""
    order: Order
    """Compares the items; of a join those of the first source."""
    mean_bytes: float
    """Bytes of an item on average."""
    writer: ResultWriter
    """Takes the results."""
    origins: Sequence[int] = ()
    """The number of each run's input; empty unless sources are runs, each of one input."""
    parts: Sequence[Chunk] = ()
    """Parts of the sources, one for each part of the output; none if that is one file with all items."""
    pieces: Sequence[Chunk] | None = None
    """The range of each task; None if the planner cuts them."""
    budget: ChunkBudget | None = None
    """Tasks at once and bytes of each; None if the workers choose."""
    grid: tuple[int, int] = (1, 0)
    """The blocks of the output's file at which it is cut, see Planner."""
    whole_groups: bool = False
    """Equal items go to one task, even if the operation needs no whole groups."""
    advance: Advance | None = None
    """Called with (bytes done, bytes in all), from any thread but one at a time."""
    on_stage: OnStage | None = None
    """Called with the word for what a task of a sort at once goes on with. See run."""

    @classmethod
    def of(cls, job: Job, action: Action, inputs: Inputs, writer: ResultWriter) -> Pass:
        """A pass over these inputs, all of them, to a single output."""
        return cls(job, action, inputs.sources, inputs.order, inputs.mean_bytes, writer)

    @property
    def equals(self) -> Equals:
        """The items that remain of several equal ones. Runs keep all."""
        return Equals.ALL if self.action == "sort" else self.job.operation.equals

    @property
    def margin(self) -> Margin | None:
        """See Operation. Its names are those of the sources."""
        margin = None if self.action == "sort" else self.job.operation.margin
        return margin.of_runs(self.origins) if margin is not None and self.origins else margin

    @property
    def join(self) -> JoinRules | None:
        """See Operation."""
        return cast("JoinRules | None", self.job.operation.join)  # requests became rules as inputs were opened

    @property
    def check(self) -> bool:
        """Whether the order of the sources is checked on the way."""
        return self.job.operation.kind == "merge" and (self.job.operation.check or self.job.operation.lenient)

    @property
    def lenient(self) -> bool:
        """Whether an item out of order is no error: the pass ends ahead of it."""
        return self.job.operation.lenient and self.job.output.parts is None

    @property
    def checks(self) -> bool:
        """Whether it looks at blocks of one source, and writes nothing."""
        return self.action in ("check", "values")

    @property
    def keeps_bytes(self) -> bool:
        """Whether all bytes of the sources go to its result."""
        return not self.checks and self.equals.keeps_all

    @property
    def is_for_cpu(self) -> bool:
        """Whether workers of a cluster do it on the CPU, whatever they have."""
        return self.equals.is_for_cpu or self.margin is not None or (self.action == "merge" and self.equals.groups)

    @property
    def sums_groups(self) -> bool:
        """Whether columns are summed over equal items."""
        return self.margin is not None and self.margin.rules is not None

    @property
    def looks_behind(self) -> bool:
        """Whether the item behind a range of a source matters to the result of the range."""
        return self.equals.minds_next or (self.join is not None and self.join.asof is not None)

    @property
    def sorts(self) -> bool:
        """Whether the items of a task come in any order."""
        return self.action in ("sort", "select", "whole")

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the sources that go in."""
        return sum(part.nbytes for part in self.parts) if self.parts else sum(one.size for one in self.sources)

    @cached_property
    def planner(self) -> Planner:
        """Cuts the sources."""
        is_ranged = any(isinstance(source, RangedSource) for source in self.sources)  # whose items begin with the keys
        if self.join is None or is_ranged:
            groups = self.whole_groups or self.job.operation.by_groups
            return Planner(self.sources, self.order, self.grid, groups=groups)
        return Planner(self.sources, self.join.compared, groups=True, keys=self.join.tables)

    def detached(self, job: Job) -> Pass:
        """The pass as it goes to other processes, which open its sources, and have writers of their own.

        job: as they see it.
        """
        return replace(
            self, job=job, sources=(), writer=NullWriter(), parts=(), pieces=None, advance=None, on_stage=None
        )

    def order_of(self, source: int) -> Order:
        """The order that a source is in."""
        return self.order if self.join is None else self.join.orders[source]
