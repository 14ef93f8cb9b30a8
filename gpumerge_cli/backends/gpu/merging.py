"""Merges of sorted runs in one pass."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.grouped import Groups, first_blocks, group_words
from gpumerge_cli.backends.gpu.launching import Allocate, Launch, Step, queue
from gpumerge_cli.backends.gpu.module import Kernels
from gpumerge_cli.backends.gpu.policy import (
    columns_shared_bytes,
    grid_size,
    item_bytes,
    least_by_values,
    own_cuts_of_dependents,
    partition_size,
    partition_stretch,
    shared_bytes,
    values_stretch,
)
from gpumerge_cli.backends.gpu.source import RunsForm, policy_macros, run_macros
from gpumerge_cli.backends.gpu.streams import current_stream, scratch_array
from gpumerge_cli.backends.gpu.tree import NO_TEXT, Context, Level, MergePass, Run
from gpumerge_cli.backends.kernel_sizes import kernel_size
from gpumerge_cli.backends.limits import MAX_GRID
from gpumerge_cli.backends.variants.lookup import variant_named
from gpumerge_cli.launch import FAN_INS, LaunchPolicy
from gpumerge_cli.order.base import Macros

OWN_CUTS = 12
"""With at most so many tiles for each multiprocessor, it is faster if blocks find their own cuts."""
_CUT_BYTES = 8


class Merge:
    """Merges of up to fan_in runs into one, by one policy.

    form: how kernels are given the runs; there is a method for each form. columns: where runs come from and go to. The
    order of `kernels` is that of its records, or that of its keys if keys and values stay apart.
    """

    def __init__(
        self, kernels: Kernels, policy: LaunchPolicy, columns: Columns | None = None, *, form: RunsForm = "table"
    ) -> None:
        limits, gpu = kernels.limits, variant_named(policy.kernel).gpu
        self.fan_in, self.tile = policy.fan_in, policy.tile_size
        self._kernels, self._policy, self._columns, self._form = kernels, policy, columns, form
        self._merge: Launch | None = None
        self._sizes = None if gpu.cut_ahead else gpu.sizes(policy)
        self._most = MAX_GRID * self.tile
        self._least_by_values = (
            least_by_values(kernels.order, policy) if form == "table" and columns is None else sys.maxsize
        )
        self._most_own_cuts = OWN_CUTS * limits.multiprocessors
        self._dependent, self._own_cuts = limits.has_dependent_launches, own_cuts_of_dependents(limits)

    def table(self, runs: Sequence[Run], out: int, allocate: Allocate, text: Context = NO_TEXT) -> Iterable[Step]:
        """Merge a table of runs, with an item at least, into `out`."""
        counts = [run[1] for run in runs]
        return self.array_steps([run[0] for run in runs], counts, sum(counts), out, [], 0, allocate, text)

    def array_steps(
        self,
        addresses: list[int],
        counts: list[int],
        total: int,
        out: int,
        values: list[int],
        moved: int,
        allocate: Allocate,
        text: Context = NO_TEXT,
    ) -> Iterable[Step]:
        """Merge the arrays of a call, which may have columns: see launching.ArraySteps."""
        missing, columns = self.fan_in - len(counts), self._columns
        if missing:
            source = [*addresses, *addresses[:1] * missing, *counts, *[0] * missing]
        else:
            source = [*addresses, *counts]
        column_words = () if columns is None else columns.arguments(values, counts, out, moved)
        return self._steps(source, total, total, out, allocate, text, column_words)

    def level(self, level: Level, out: int, allocate: Allocate, text: Context = NO_TEXT) -> Iterable[Step]:
        """Merge every fan_in neighbouring runs of a level into one."""
        length, total = min(level.length, level.total), level.total
        return self._steps(
            [level.items, length, total], total, min(self.fan_in * length, total), out, allocate, text, ()
        )

    def lay_out(self, each: MergePass, table: list[int]) -> Groups:
        """Add the words of the groups of a pass to those of a table."""
        first = len(table)
        words, tiles = group_words(each, item_bytes(self._kernels.order), self.fan_in, self.tile)
        blocks, stretch, stretches = sum(tiles), 0, 0
        if blocks > MAX_GRID:
            grid_size(self._policy, blocks * self.tile)  # which raises UsageError
        table += words
        table += first_blocks(tiles)
        if blocks > self._most_own_cuts:
            stretch = partition_stretch(blocks + len(tiles), self.fan_in, self._kernels.limits, groups=True)
            cutting = [-(-(count + 1) // stretch) for count in tiles]
            table += first_blocks(cutting)
            stretches = sum(cutting)
        return Groups(len(tiles), each.groups[0][2], first, len(words), blocks, stretch, stretches)

    def groups(self, groups: Groups, table: int, allocate: Allocate, text: Context = NO_TEXT) -> Iterator[Step]:
        """Merge groups. table: the address of their words, which are written ahead."""
        merge = self._merge = self._merge or self._merging()
        source, blocks = groups.source(table), groups.tiles
        if not groups.stretch:
            yield merge, blocks, [*source, groups.out, 0, blocks, *text], False
            return
        partition = self._partition
        cuts = allocate(groups.edges * self.fan_in * _CUT_BYTES)
        yield partition.of_groups(groups, table, self.tile, cuts.ptr, text)
        yield merge, blocks, [*source, groups.out, cuts.ptr, self._own_cuts, *text], self._dependent

    def _steps(
        self,
        source: list[int],
        total: int,
        group: int,
        out: int,
        allocate: Allocate,
        text: Context,
        column_words: Sequence[int],
    ) -> Iterable[Step]:
        """group: the number of items that are merged into one run."""
        if total >= self._least_by_values:
            stretch = values_stretch(total, self._kernels.limits)
            return ((self._values, -(-total // stretch), [*source, out, stretch, *text], False),)
        merge = self._merge
        if merge is None:  # it is not compiled if all merges go by values
            merge = self._merge = self._merging()
        if self._sizes is not None:
            return ((merge, grid_size(self._policy, total), [*source, out, *self._sizes, *text], False),)
        tile = self.tile
        tiles = -(-group // tile) if group <= self._most else grid_size(self._policy, group)  # which raises UsageError
        blocks = tiles if group == total else total // group * tiles - (-(total % group) // tile)
        if blocks <= self._most_own_cuts:
            return ((merge, blocks, [*source, out, 0, blocks, *text, *column_words], False),)
        words = [*source, out, 0, self._own_cuts, *text, *column_words]
        groups, edges = -(-total // group), -(-group // tile) + 1
        return self._cut_ahead(source, groups, edges, text, allocate, (merge, blocks, words))

    def _cut_ahead(
        self,
        source: list[int],
        groups: int,
        edges: int,
        text: Context,
        allocate: Allocate,
        merge: tuple[Launch, int, list[int]],
    ) -> Iterator[Step]:
        """A merge, behind the cuts at the edges of its tiles, whose address is put into its words."""
        partition = self._partition  # which is compiled meanwhile
        cuts = allocate(groups * edges * self.fan_in * _CUT_BYTES)
        launch, blocks, words = merge
        words[len(source) + 1] = cuts.ptr
        yield partition.step(source, edges, self.tile, cuts.ptr, text, groups)
        yield launch, blocks, words, self._dependent

    def _merging(self) -> Launch:
        """The kernel that merges tiles."""
        kernels, policy, columns = self._kernels, self._policy, self._columns
        if columns is not None and columns.stay_apart(policy):
            macros: Macros = (*policy_macros(policy), ("VALUE_SIZE", columns.narrow))
            shared = columns_shared_bytes(policy, kernels.order.width, columns.narrow)
            return kernels.ready("merge_columns", policy.block_size, macros, shared)
        macros = (*policy_macros(policy, self._form), *self._column_macros)
        name, file = f"merge_{policy.rung.replace(' ', '_')}", f"merge_{policy.kernel}.cu"
        return kernels.ready(name, policy.block_size, macros, shared_bytes(policy, kernels.order), file=file)

    @cached_property
    def _partition(self) -> Partition:
        return Partition(self._kernels, self.fan_in, self._column_macros, self._form)

    @cached_property
    def _values(self) -> Launch:
        return self._kernels.ready("merge_values", kernel_size("VALUES_THREADS"), run_macros(self.fan_in))

    @property
    def _column_macros(self) -> Macros:
        """The macros of columns, for kernels that read records out of them."""
        columns = self._columns
        return () if columns is None or columns.stay_apart(self._policy) else columns.macros(reads=True, writes=True)


merge_of = lru_cache(maxsize=256)(Merge)
"""The same merges for the same kernels and policy."""


class Partition:
    """Cuts of tables of fan_in runs, or of all such groups. macros: added to those of partition.cu."""

    def __init__(self, kernels: Kernels, fan_in: int, macros: Macros = (), form: RunsForm = "table") -> None:
        macros = (*run_macros(fan_in, form), *macros)
        self._launch = kernels.ready("partition", partition_size(fan_in), macros)
        self._fan_in, self._limits = fan_in, kernels.limits

    def step(self, source: Sequence[int], edges: int, tile: int, cuts: int, text: Context, groups: int = 1) -> Step:
        """Cut at `edges` edges of each group, `tile` items apart. cuts: the address of fan_in int64 for each edge."""
        stretch = partition_stretch(edges, self._fan_in, self._limits)
        return self._launch, groups * -(-edges // stretch), [*source, cuts, edges, stretch, tile, *text], False

    def of_groups(self, groups: Groups, table: int, tile: int, cuts: int, text: Context) -> Step:
        """Cut groups, whose words are in a table, at the edges of their tiles."""
        words = [*groups.source(table, cutting=True), cuts, groups.edges, groups.stretch, tile, *text]
        return self._launch, groups.stretches, words, False


def cuts_at(kernels: Kernels, runs: Sequence[Run], rank: int) -> Any:
    """The number of items of each sorted run that are among the first `rank` of all, stably: int64, then zeros.

    Runs, at most FAN_INS[-1] of them, may lie on any device that this one can read. The result is a CuPy array.
    """
    fan_in = next(most for most in FAN_INS if most >= len(runs))
    found = scratch_array(2 * fan_in, cupy.int64)
    padded = [*runs, *[(runs[0][0], 0)] * (fan_in - len(runs))]
    source = [*(address for address, _ in padded), *(count for _, count in padded)]
    queue([Partition(kernels, fan_in).step(source, 2, rank, found.data.ptr, NO_TEXT)], current_stream())
    return found[fan_in:]
