"""The ranks of items among sorted runs on the device: see ranks.cu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpumerge_cli.backends.gpu.launching import Step
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size

_FILE = "ranks.cu"
_THREADS = kernel_size("RANKING_THREADS")
_BLOCKS = 8  # for each multiprocessor


class DeviceRanks:
    """Searches in runs of keys of one order on the current device."""

    def __init__(self, kernels: Kernels) -> None:
        self._most_blocks = _BLOCKS * kernels.limits.multiprocessors
        self._rank = kernels.ready("rank_items", _THREADS, file=_FILE)

    def steps(self, runs: Sequence[Run], items: Run, through: bool, ranks: int) -> Iterable[Step]:
        """The launches that write the int64 ranks of items to an address. through: equals count, too."""
        address, count = items
        blocks = min(-(-count // _THREADS), self._most_blocks)
        for number, (run, length) in enumerate(runs):
            yield self._rank, blocks, [run, length, address, count, int(through), int(number == 0), ranks], False
