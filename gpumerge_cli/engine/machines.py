"""Machines that do tasks elsewhere, as the engine sees them. The package `cluster` reaches them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Protocol

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.hiring import Hired
from gpumerge_cli.engine.inputs import Copier, Inputs
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.site import Site
from gpumerge_cli.engine.stream import Advance, Outcome
from gpumerge_cli.engine.task import TaskWork
from gpumerge_cli.measure import Stopwatch


@dataclass(frozen=True)
class Sorting:
    """A sort that machines are to do. work: the sort as a whole. The stopwatch takes their times."""

    inputs: Inputs
    work: TaskWork
    job: Job
    stopwatch: Stopwatch


class Machines(Protocol):
    """Machines that do the tasks of a run in place of this one. why: names them, in a sentence for reports."""

    why: str

    def copier(self, output: str, resources: Resources) -> Copier:
        """Copies compressed inputs of a run to the first folder of `resources`, or beside its output.

        output: "" if there is none.
        """

    def hire(self, site: Site, output: Output, job: Job) -> Hired:
        """The workers for the tasks of a site, which write to `output`.

        The memory that the job names is that of each worker. Raises InputError, OutputError or
        ClusterError if they cannot do them; nothing is written by then.
        """

    def check(self, inputs: Inputs, job: Job, advance: Advance) -> list[int]:
        """Check each input by itself; the items of each. Raises DisorderError, InputError or ClusterError.

        advance: called with (blocks done, blocks in all) of each input.
        """

    def sort(self, job: Sorting, output: Output, stack: ExitStack, advance: Advance | None) -> Outcome:
        """Sort everything to the output. stack: closes at the end all that must stay open until then.

        Raises InputError, OutputError or ClusterError; no temporary file is left.
        """
