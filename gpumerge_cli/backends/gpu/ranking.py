"""The ranks of items among sorted runs on the device: see ranks.cu."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpumerge_cli.backends.gpu.launching import Step
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.backends.kernel_sizes import kernel_size

_FILE = "ranks.cu"
_THREADS, _AT_ONCE = kernel_size("RANKING_THREADS"), kernel_size("RANKED_AT_ONCE")
_MANY_ITEMS, _BEYOND_CACHE = 1 << 22, 1 << 26
"""From so many items on, and in runs of so many bytes, a search of items in order pays for their sort: on an H100, 2^24
random ones in 2^27 int32 took 6.0 ms as they were, and 3.0 with their sort."""
_BLOCKS, _BLOCKS_BEYOND_CACHE = 8, 32
"""For each multiprocessor, in runs of fewer bytes than _BEYOND_CACHE and in others: on an H100, 2^20 items in 2^27
int32 took 0.42 ms (in order 0.23) by 8, and 0.31 (0.14) by 32. In 2^20 int32, those in order took twice the time by
32."""
_LIKELY_PART = kernel_size("RANKING_WINDOW") * 2 // 3
"""The bytes of a run that a tile of items in order should enclose. The gaps between keys differ."""


def worth_sorting(nbytes: int, items: int) -> bool:
    """Whether items should be searched for in order, in runs of so many bytes. Neighbours read the same memory then."""
    return _MANY_ITEMS <= items < 1 << 31 and nbytes >= _BEYOND_CACHE


def most_edges(items: int) -> int:
    """The number of int64 that `ordered_steps` needs for its edges."""
    return -(-items // _THREADS)


class DeviceRanks:
    """Searches in runs of keys of one order on the current device."""

    def __init__(self, kernels: Kernels) -> None:
        self._multiprocessors, self._width = kernels.limits.multiprocessors, kernels.order.item_bytes
        self._rank = kernels.ready("rank_items", _THREADS, file=_FILE)
        self._rank_ordered = kernels.ready("rank_ordered_items", _THREADS, file=_FILE)

    def steps(self, runs: Sequence[Run], items: Run, through: bool, ranks: int) -> Iterable[Step]:
        """The launches that write the int64 ranks of items to an address. through: equals count, too."""
        address, count = items
        for number, run in enumerate(runs):
            blocks = self._blocks(run, count)
            yield self._rank, blocks, [*run, address, 1, count, int(through), int(number == 0), ranks], False

    def ordered_steps(
        self, runs: Sequence[Run], items: Run, through: bool, ranks: int, edges: int, disorder: int = 0
    ) -> Iterable[Step]:
        """The same for items in order.

        edges: the address of most_edges(count) int64. disorder: that of an int64, which becomes 1 if items are not in
        order, and then the ranks are left undone; 0 for none: then items out of order take longer.
        """
        address, count = items
        for number, run in enumerate(runs):
            turns = self._turns(run, count)
            tile = turns * _THREADS
            tiles = -(-count // tile)
            yield self._rank, self._blocks(run, tiles), [*run, address, tile, tiles, int(through), 1, edges], False
            words = [*run, address, count, int(through), int(number == 0), ranks, edges, turns, disorder]
            yield self._rank_ordered, tiles, words, False

    def _blocks(self, run: Run, count: int) -> int:
        beyond = run[1] * self._width >= _BEYOND_CACHE
        most = self._multiprocessors * (_BLOCKS_BEYOND_CACHE if beyond else _BLOCKS)
        return min(-(-count // _THREADS), most)

    def _turns(self, run: Run, count: int) -> int:
        """The items that each thread of a tile searches for, so that its part of the run is likely to be held."""
        part = -(-run[1] * self._width * _THREADS // count)
        return max(1, min(_AT_ONCE, _LIKELY_PART // max(1, part)))
