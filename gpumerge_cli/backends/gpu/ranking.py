"""The ranks of items among sorted runs on the device: see ranks.cu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpumerge_cli.backends.gpu.launching import Step
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size

_FILE = "ranks.cu"
_THREADS = kernel_size("RANKING_THREADS")
_MANY_ITEMS, _BEYOND_CACHE = 1 << 22, 1 << 26
"""From so many items on, and in runs of so many bytes, a search of items in order pays for their sort: on an H100, 2^24
random ones in 2^27 int32 took 6.0 ms as they were, and 3.0 with their sort."""
_BLOCKS, _BLOCKS_BEYOND_CACHE = 8, 32
"""For each multiprocessor, in runs of fewer bytes than _BEYOND_CACHE and in others: on an H100, 2^20 items in 2^27
int32 took 0.42 ms (in order 0.23) by 8, and 0.31 (0.14) by 32. In 2^20 int32, those in order took twice the time by
32."""


def worth_sorting(nbytes: int, items: int) -> bool:
    """Whether items should be searched for in order, in runs of so many bytes. Neighbours read the same memory then."""
    return _MANY_ITEMS <= items < 1 << 31 and nbytes >= _BEYOND_CACHE


class DeviceRanks:
    """Searches in runs of keys of one order on the current device."""

    def __init__(self, kernels: Kernels) -> None:
        self._multiprocessors, self._width = kernels.limits.multiprocessors, kernels.order.item_bytes
        self._rank = kernels.ready("rank_items", _THREADS, file=_FILE)

    def steps(self, runs: Sequence[Run], items: Run, through: bool, ranks: int) -> Iterable[Step]:
        """The launches that write the int64 ranks of items to an address. through: equals count, too."""
        address, count = items
        for number, (run, length) in enumerate(runs):
            beyond = length * self._width >= _BEYOND_CACHE
            most = self._multiprocessors * (_BLOCKS_BEYOND_CACHE if beyond else _BLOCKS)
            blocks = min(-(-count // _THREADS), most)
            yield self._rank, blocks, [run, length, address, count, int(through), int(number == 0), ranks], False
