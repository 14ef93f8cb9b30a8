"""The things in this process that a task names: opened sources, and the outlet that takes the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

from gpumerge_cli.backends.base import LaunchRequest, SortRequest
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.inputs import Inputs, opened
from gpumerge_cli.engine.job import Items
from gpumerge_cli.engine.outlet import Outlet
from gpumerge_cli.engine.task import Action, InputName, TaskWork
from gpumerge_cli.errors import InputError
from gpumerge_cli.extents import Copy
from gpumerge_cli.formats.base import Source
from gpumerge_cli.order import Order
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.plan import Chunk, Planner


@dataclass(frozen=True)
class Site:
    """The place where the tasks of one work are carried out.

    sources: the opened inputs of the work. outlet: takes the results. parts: of the sources, one for each part of the
    output; none if that is one file with all items. grid: see Planner. lenient: an item out of order is no error; the
    work ends ahead of it.
    """

    work: TaskWork
    sources: Sequence[Source]
    outlet: Outlet
    lenient: bool = False
    parts: Sequence[Chunk] = ()
    grid: tuple[int, int] = (1, 0)

    @property
    def nbytes(self) -> int:
        """Bytes of the sources that go in."""
        return sum(part.nbytes for part in self.parts) if self.parts else self.work.nbytes

    @property
    def copies(self) -> Sequence[Copy | None]:
        """The copy of each input that is read in its place, if there is one."""
        return self.work.items.copies or [None] * len(self.work.inputs)

    @cached_property
    def planner(self) -> Planner:
        """Cuts the sources."""
        work = self.work
        if work.join is None:
            return Planner(self.sources, work.order, self.grid, groups=work.by_groups)
        return Planner(self.sources, work.join.compared, groups=True, keys=work.join.tables)

    def order_of(self, source: int) -> Order:
        """The order that a source is in."""
        return self.work.order if self.work.join is None else self.work.join.orders[source]


def work_of(inputs: Inputs, items: Items, action: Action, launch: LaunchRequest | SortRequest) -> TaskWork:
    """The work on opened inputs that keeps all items and checks no order; `replace` gives other work.

    items: the way in which the inputs were read.
    """
    return TaskWork(
        action,
        tuple(
            InputName(name, inputs.format.name, source.size)
            for name, source in zip(inputs.names, inputs.sources, strict=True)
        ),
        replace(items, shown=None, copies=inputs.copies),
        inputs.order,
        Equals.ALL,
        False,
        launch,
        inputs.item_bytes,
    )


@contextmanager
def opened_site(work: TaskWork, outlet: Outlet) -> Iterator[Site]:
    """A site for tasks that come from elsewhere: inputs are opened by name, and results go to `outlet`.

    Raises InputError for an input that cannot be opened, or that has changed since the task was made.
    """
    with opened([one.name for one in work.inputs], work.items, alike=work.join is None) as inputs:
        for source, one in zip(inputs.sources, work.inputs, strict=True):
            if source.size != one.size:
                raise InputError(
                    f"it holds {source.size} bytes, the task says {one.size}",
                    where=one.name,
                    way_out="merge it when nothing writes to it",
                )
        yield Site(work, inputs.sources, outlet)
