"""The machines of a cluster, as the engine asks for them."""

from __future__ import annotations

from contextlib import ExitStack

from gpumerge_cli.cluster.checking import Check
from gpumerge_cli.cluster.copies import Copies
from gpumerge_cli.cluster.crew import Crew
from gpumerge_cli.cluster.sorting import sort
from gpumerge_cli.engine.inputs import Copier, Inputs
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.engine.machines import Sorting
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.stream import Advance, Outcome


class Machines(Crew):
    """A crew that can do all kinds of work. See engine.machines.Machines."""

    def copier(self, output: str, resources: Resources) -> Copier:
        """See engine.machines.Machines."""
        return Copies(self, output, resources)

    def check(self, inputs: Inputs, job: Job, advance: Advance) -> list[int]:
        """See engine.machines.Machines."""
        return [Check(self, inputs, source, job, advance).items() for source in inputs.sources]

    def sort(self, job: Sorting, output: Output, stack: ExitStack, advance: Advance | None) -> Outcome:
        """See engine.machines.Machines."""
        return sort(self, job, output, stack, advance)
