"""The groups of runs that merges of a pass read, as words in device memory: see runs.cuh.

They are written by launches that take them as arguments. So a graph can capture the work, and no memory of the host
must last until it is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from gpumerge_cli.backends.gpu.launching import Step
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.tree import MergePass
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.dataclass import dataclass

MAX_WORDS = kernel_size("WRITTEN_WORDS")
"""The words that a launch writes."""
TABLE_WORD = 8  # bytes


@dataclass(frozen=True)
class Groups:
    """Groups whose words lie in a table, each with an item at least."""

    count: int
    out: int
    """The address of the first result."""
    first: int
    """The number of the table's word with which they begin. The numbers of their first blocks follow: in a launch that
    merges, then in one that cuts.
    """
    words: int
    """The number of their words, without those of blocks."""
    tiles: int
    """The number of all tiles, each of which a block merges."""
    stretch: int
    """The edges of tiles that a block cuts; 0 if each block that merges finds its own cuts."""
    stretches: int
    """The number of blocks that cut."""

    @property
    def edges(self) -> int:
        """The number of all edges of tiles. A group has one edge more than it has tiles."""
        return self.tiles + self.count

    def source(self, table: int, *, cutting: bool = False) -> list[int]:
        """The words of a launch that merges or cuts them: those of Source. table: the address of the table."""
        blocks = self.first + self.words + (self.count if cutting else 0)
        return [table + TABLE_WORD * self.first, table + TABLE_WORD * blocks, self.count]


def group_words(each: MergePass, size: int, fan_in: int, tile: int) -> tuple[list[int], list[int]]:
    """The words of the groups of a pass, and the number of tiles of each.

    size: bytes of an item. tile: items of a tile.
    """
    words, tiles = list[int](), list[int]()
    addresses, counts, (_, _, out, _), edges = each.addresses, each.counts, each.groups[0], 0
    for first, end, to, total in each.groups:
        missing = fan_in - (end - first)
        words += addresses[first:end]
        words += (addresses[first],) * missing
        words += counts[first:end]
        words += (0,) * missing
        words += (to - out) // size, edges
        tiles.append(-(-total // tile))
        edges += tiles[-1] + 1
    return words, tiles


def first_blocks(blocks: Sequence[int]) -> list[int]:
    """The number of the first block of each group. blocks: the number of blocks of each."""
    return list(accumulate(blocks[:-1], initial=0))


def writing(kernels: Kernels, words: list[int], to: int) -> Iterator[Step]:
    """Write words to device memory. All launches but the first may run beside the one ahead."""
    launch = kernels.ready("write_words", MAX_WORDS)
    for first in range(0, len(words), MAX_WORDS):
        arguments = words[first : first + MAX_WORDS]
        count = len(arguments)
        arguments += (0,) * (MAX_WORDS - count)
        arguments += count, to + TABLE_WORD * first
        yield launch, 1, arguments, first > 0 and kernels.limits.has_dependent_launches
