"""Sorts of few items by rank: sort_by_rank.cu or sort_tile.cu sorts tiles, and merge_by_rank.cu merges them.

Each launch occupies the whole device for a short time. The sizes below are the fastest of a sweep on an H200.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.launching import Allocate, Launch, Step
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import resolve
from gpumerge_cli.backends.gpu.sort_policy import (
    RANK_MERGING_THREADS,
    RANKING_THREADS,
    TileShape,
    tile_shared_bytes,
)
from gpumerge_cli.backends.gpu.sorting import tiling
from gpumerge_cli.backends.kernel_sizes import kernel_size, whole_vectors
from gpumerge_cli.launch import LaunchRequest
from gpumerge_cli.order.kinds import Order

_SLICE = kernel_size("WARP")  # items of a block of sort_by_rank.cu
_MOST_MERGED = 8
"""The most runs of a group. A thread searches all of them, and a further pass takes about as long as six of them."""
_WIDE_RECORD = 12


class Tiles(NamedTuple):
    """The tiles that sorts of up to `most` items are cut into."""

    most: int
    """In items."""
    size: int
    """The items of a tile."""
    shape: TileShape | None = None
    """The block that sorts a tile by itself; None if tiles are sorted by rank."""


_ALONE = Tiles(6144, 6144)
_BY_BLOCKS = (Tiles(73_728, 2304, TileShape(256, 9)), Tiles(1 << 18, 4608, TileShape(512, 9)))
_TILES = (_ALONE, Tiles(1 << 14, 2048), *_BY_BLOCKS)
_WIDE_TILES = (_ALONE, Tiles(1 << 15, 2048), *_BY_BLOCKS)
"""For records of 12 and 16 bytes, which take a block long to sort."""


def most_by_rank(order: Order, columns: Columns | None) -> int:
    """The most keys of an order for which sorts by rank are faster than sorts by digits, on an H200."""
    if order.width == 8:
        return 1 << 18 if columns is None else 1 << 17
    if order.width == 4:
        return 3 << 15 if order.kind == "float" else 1 << 17
    return 1 << 14 if order.width == 2 else 1 << 13


def group_size(runs: int) -> int:
    """The runs of a group, so that all passes merge about equally many, and none more than _MOST_MERGED."""
    found, passes = runs, 1
    while found > _MOST_MERGED:
        passes += 1
        found = ceil(runs ** (1 / passes))
    return found


class RankSort:
    """Sorts of up to `most` keys, and of their values or indices if there are columns.

    Precondition: images decide the order of `kernels`.
    """

    def __init__(self, kernels: Kernels, columns: Columns | None, most: int) -> None:
        limits = kernels.limits
        self._kernels, self._columns = kernels, columns
        self._size = kernels.order.item_bytes
        self._dependent = limits.has_dependent_launches
        self._transfer = resolve(LaunchRequest(), kernels.order, limits).transfer
        self._tiles = [
            tiles
            for tiles in (_TILES if self._size < _WIDE_RECORD else _WIDE_TILES)
            if tiles.shape is None or tile_shared_bytes(tiles.shape, kernels.order) <= limits.dynamic_shared
        ]
        self._mosts = [tiles.most for tiles in self._tiles]
        self.most = min(most, self._mosts[-1])
        self._sorting: dict[tuple[Tiles, bool], Launch] = {}
        self._merging: dict[bool, Launch] = {}

    def array_steps(
        self,
        addresses: list[int],
        counts: list[int],
        count: int,
        out: int,
        values: list[int],
        moved: int,
        allocate: Allocate,
    ) -> Iterable[Step]:
        """Sort an array, which must not overlap the output: see launching.ArraySteps.

        Only the last launch writes to columns.
        """
        items, columns = addresses[0], self._columns
        column_words: Sequence[int] = ()
        if columns is not None:
            column_words = (
                columns.arguments(values, counts, out, moved) if moved else columns.arguments(values, counts, 0, out)
            )
        tiles = self._tiles[bisect_left(self._mosts, count)]
        if count > tiles.size:
            return self._merged(tiles, items, count, out, allocate, column_words)
        words = [items, count, count, out, 0, 0, *column_words]
        return ((self._sort(tiles, alone=True), self._blocks(tiles, count), words, False),)

    def _merged(
        self, tiles: Tiles, items: int, count: int, out: int, allocate: Allocate, column_words: Sequence[int]
    ) -> Iterator[Step]:
        """Sort several tiles, and merge them."""
        size, runs = tiles.size, -(-count // tiles.size)
        sort = self._sort(tiles, alone=False)
        fan_in = group_size(runs)
        groups = [fan_in]
        while -(-runs // fan_in) > 1:
            runs = -(-runs // fan_in)
            groups.append(min(fan_in, runs))
        last = self._merge(last=True)
        # Only the last launch writes to columns. Without columns, `out` is one of the two buffers.
        nbytes = whole_vectors(count * self._size)
        rooms = min(len(groups), 2) if self._columns is not None else 1
        room = allocate(rooms * nbytes)
        here, there = room.ptr, room.ptr + nbytes if rooms == 2 else out
        if self._columns is None and len(groups) % 2 == 0:
            here, there = there, here
        yield sort, self._blocks(tiles, count), [items, count, size, here, 0, 0, *column_words], False
        blocks = -(-count // RANK_MERGING_THREADS)
        for group in groups[:-1]:
            yield self._merge(last=False), blocks, [here, size, count, there, group], self._dependent
            here, there, size = there, here, size * group
        yield last, blocks, [here, size, count, there, groups[-1], *column_words], self._dependent

    @staticmethod
    def _blocks(tiles: Tiles, count: int) -> int:
        if tiles.shape is not None:
            return -(-count // tiles.size)
        if count <= tiles.size:
            return -(-count // _SLICE)
        return -(-count // tiles.size) * (tiles.size // _SLICE)

    def _sort(self, tiles: Tiles, *, alone: bool) -> Launch:
        found = self._sorting.get((tiles, alone))
        if found is None:
            columns = self._columns
            macros = () if columns is None else columns.macros(reads=True, writes=alone)
            if tiles.shape is None:
                macros = (("BLOCK_SIZE", RANKING_THREADS), *macros)
                found = self._kernels.ready("sort_by_rank", RANKING_THREADS, macros)
            else:
                found = tiling(self._kernels, tiles.shape, self._transfer, macros)
            self._sorting[tiles, alone] = found
        return found

    def _merge(self, *, last: bool) -> Launch:
        columns = self._columns if last else None
        to_columns = columns is not None
        found = self._merging.get(to_columns)
        if found is None:
            macros = () if columns is None else columns.macros(reads=False, writes=True)
            macros, threads = (("BLOCK_SIZE", RANK_MERGING_THREADS), *macros), RANK_MERGING_THREADS
            found = self._kernels.ready("merge_by_rank", threads, macros)
            self._merging[to_columns] = found
        return found
