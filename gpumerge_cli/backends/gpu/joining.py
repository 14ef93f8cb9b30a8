"""The launches of join_runs.cu, which lays runs one behind the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from gpumerge_cli.backends.gpu.launching import Launch, Step
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size

MAX_RUNS = kernel_size("JOINED_RUNS")
"""The runs that a launch takes."""
THREADS = kernel_size("JOINING_THREADS")


def steps(launch: Launch, runs: Sequence[Run], size: int, to: int) -> Iterator[Step]:
    """Copy runs, none of them empty, to an address. size: bytes of an item. launch: of join_runs.cu.

    Unlike the driver's copies, a kernel reads across neighbouring allocations, so a run may lie in several.
    """
    for first in range(0, len(runs), MAX_RUNS):
        part = runs[first : first + MAX_RUNS]
        ends = list(accumulate(count * size for _, count in part))
        nbytes, missing = ends[-1], MAX_RUNS - len(part)
        words = [*(address for address, _ in part), *[0] * missing, *ends, *[nbytes] * missing, to]
        skipped = to % kernel_size("VECTOR")
        yield launch, -(-(skipped + nbytes) // kernel_size("JOINED_STRETCH")), words, False
        to += nbytes
