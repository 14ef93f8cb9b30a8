"""The launches of join_runs.cu, which lays runs one behind the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate

from gpumerge_cli.backends.gpu.tree import Run

MOST = 240
"""The runs that a launch takes."""
THREADS = 256
WORDS = 2 * MOST + 1
_STRETCH, _VECTOR = 32768, 16


def join_runs(
    launch: Callable[[int, int, list[int]], None], runs: Sequence[Run], size: int, to: int, stream: int
) -> None:
    """Queue copies of runs, none of them empty, to an address. size: bytes of an item. launch: Kernels.joining().

    Unlike the driver's copies, a kernel reads across neighbouring allocations, so a run may lie in several.
    """
    for first in range(0, len(runs), MOST):
        part = runs[first : first + MOST]
        ends = list(accumulate(count * size for _, count in part))
        nbytes, missing = ends[-1], MOST - len(part)
        words = [*(address for address, _ in part), *[0] * missing, *ends, *[nbytes] * missing, to]
        launch(-(-(to % _VECTOR + nbytes) // _STRETCH), stream, words)
        to += nbytes
