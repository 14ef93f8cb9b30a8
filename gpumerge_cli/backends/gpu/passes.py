"""Passes of merges and sorts that are ready to launch: nothing about them is decided anew, but their grids.

A call from Python takes the host longer than the device if it decides everything anew: which policy, which kernel, how
much shared memory. None of that depends on addresses, and only grids depend on lengths.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import NamedTuple

from gpumerge_cli.backends.base import LaunchPolicy, SortPolicy
from gpumerge_cli.backends.gpu.columns import Columns
from gpumerge_cli.backends.gpu.launching import Launch, scratch
from gpumerge_cli.backends.gpu.module import OWN_CUTS, Kernels
from gpumerge_cli.backends.gpu.policy import (
    begins_beside,
    by_values,
    own_cuts_beside,
    partition_stretch,
    values_stretch,
)
from gpumerge_cli.backends.gpu.sort_policy import TileShape, of_fan_in
from gpumerge_cli.backends.gpu.tree import fan_ins
from gpumerge_cli.backends.limits import DeviceLimits
from gpumerge_cli.order.base import Macros

_CUT_BYTES = 8
_MOST_PLANS = 1024
_NOTHING: Macros = ()


class MergePass:
    """Merges by one policy, whose tiles are cut beforehand: of a table of runs or, batched, of the groups of a level.

    columns: where runs come from or go to; words of it end the arguments. The order of `kernels` is that of its
    records, or that of its keys if keys and values stay apart. Launches go to the stream that is given, on the current
    device, and nothing waits for them.
    """

    def __init__(
        self,
        kernels: Kernels,
        policy: LaunchPolicy,
        limits: DeviceLimits,
        *,
        batched: bool = False,
        columns: Columns | None = None,
    ) -> None:
        self.fan_in = policy.fan_in
        self.tile = policy.tile_size
        self._kernels, self._policy, self._limits, self._batched = kernels, policy, limits, batched
        self._macros = _NOTHING  # of the kernel that cuts
        if columns is None:
            merging = partial(kernels.merging, policy, batched=batched)
        elif not batched and columns.stay_apart(policy):
            merging = partial(kernels.merging_columns, policy, columns.narrow, columns.words)
        else:
            macros = columns.macros(reads=not batched, writes=True)
            self._macros = _NOTHING if batched else macros  # a level is no column
            merging = partial(kernels.merging, policy, batched=batched, macros=macros, words=columns.words)
        self._most_own_cuts = OWN_CUTS * limits.multiprocessors
        self.beside, self._own_beside = begins_beside(limits), own_cuts_beside(policy.fan_in, limits)
        self._partition: Launch | None = None
        self._may_go_by_values = not batched and columns is None and by_values(kernels.order, policy, sys.maxsize)
        self._values: Launch | None = None
        self._merging = merging
        self._merge = None if self._may_go_by_values else merging()

    @property
    def merge(self) -> Launch:
        """The kernel that merges tiles, which is compiled in the background."""
        if self._merge is None:
            self._merge = self._merging()
        return self._merge

    def __call__(self, source: list[int], total: int, group: int, out: int, stream: int, told: list[int]) -> None:
        """Merge `total` items into `out` or into columns. source: the words of a Source (see runs.cuh).

        group: the items of a group, of which the last may be shorter; a table of runs is one group. told: the words of
        columns.
        """
        if self._may_go_by_values and by_values(self._kernels.order, self._policy, total):
            if self._values is None:
                self._values = self._kernels.merging_values(self._policy)
            stretch = values_stretch(total, self._limits)
            self._values(-(-total // stretch), stream, [*source, out, stretch, 0, 0])
            return
        blocks, merge = self.blocks(total, group), self.merge
        if blocks <= self._most_own_cuts:
            merge(blocks, stream, [*source, out, 0, blocks, 0, 0, *told])
            return
        if self._partition is None:
            self._partition = self._kernels.partitioning(self._policy, batched=self._batched, macros=self._macros)
        groups, edges = -(-total // group), -(-group // self.tile) + 1
        cuts = scratch(groups * edges * self.fan_in * _CUT_BYTES, stream)
        stretch = partition_stretch(edges, self.fan_in, self._limits)
        self._partition(groups * -(-edges // stretch), stream, [*source, cuts.ptr, edges, stretch, self.tile, 0, 0])
        merge(blocks, stream, [*source, out, cuts.ptr, self._own_beside, 0, 0, *told], beside=self.beside)

    def blocks(self, total: int, group: int) -> int:
        """The blocks that merge groups of `total` items."""
        if group == total:
            return -(-total // self.tile)
        whole, rest = divmod(total, group)
        return whole * -(-group // self.tile) - (-rest // self.tile)

    def cuts_itself(self, blocks: int) -> bool:
        """Whether so many blocks find their own cuts, so that `merge` is the only launch."""
        return blocks <= self._most_own_cuts


class Step(NamedTuple):
    """A pass of a sort: it merges runs of `length` items into groups."""

    merge: MergePass
    blocks: int
    length: int
    group: int
    alone: bool


class SortPasses:
    """Sorts by tiles, and by passes that merge them.

    shape: of the blocks that sort tiles; None for the usual one. columns: where items come from and go to. A sort of
    one tile makes its records and takes them apart in one launch. Else the tiles make them, and the last pass takes
    them apart.
    """

    def __init__(
        self,
        kernels: Kernels,
        policy: SortPolicy,
        limits: DeviceLimits,
        columns: Columns | None = None,
        shape: TileShape | None = None,
    ) -> None:
        self._kernels, self._policy, self._limits, self._columns = kernels, policy, limits, columns
        self._shape = shape
        self._tile = policy.tile
        self._tiles: dict[bool, Launch] = {}
        self._passes: dict[tuple[int, bool], MergePass] = {}
        self._plans: dict[int, list[Step]] = {}

    def plan(self, count: int) -> list[Step]:
        """The passes of a sort of `count` items."""
        found = self._plans.get(count)
        if found is None:
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            found = self._plans[count] = self._planned(count)
        return found

    def __call__(
        self, items: int, count: int, plan: list[Step], rooms: tuple[int, int], stream: int, told: list[int]
    ) -> None:
        """Sort `count` items. The passes go from one room to the other, and the tiles are written to the first one.

        rooms: as large as all items, where they are used; the items may lie in the first one. told: the words of
        columns. If items come from columns, the last launch writes to columns, not to a room.
        """
        here, there = rooms
        self._tiles[not plan](-(-count // self._tile), stream, [items, count, self._tile, here, 0, 0, *told])
        last = len(plan) - 1
        for number, (merge, blocks, length, group, alone) in enumerate(plan):
            of_last = told if number == last else []
            if alone:
                words = [here, length, count, there, 0, blocks, 0, 0, *of_last]
                merge.merge(blocks, stream, words, beside=merge.beside)
            else:
                merge([here, length, count], count, group, there, stream, of_last)
            here, there = there, here

    def _planned(self, count: int) -> list[Step]:
        found = fan_ins(-(-count // self._tile), self._policy.launch.fan_in)
        alone = not found
        if alone not in self._tiles:
            columns = self._columns
            macros = _NOTHING if columns is None else columns.macros(reads=True, writes=alone)
            words = 0 if columns is None else columns.words
            self._tiles[alone] = self._kernels.tiling(self._policy, shape=self._shape, macros=macros, words=words)
        plan, length = [], self._tile
        for number, fan_in in enumerate(found):
            merge = self._pass(fan_in, number == len(found) - 1)
            group = min(fan_in * length, count)
            blocks = merge.blocks(count, group)
            plan.append(Step(merge, blocks, length, group, merge.cuts_itself(blocks)))
            length *= fan_in
        return plan

    def _pass(self, fan_in: int, last: bool) -> MergePass:
        kind = (fan_in, last and self._columns is not None)
        if kind not in self._passes:
            policy = of_fan_in(self._policy.launch, fan_in)
            columns = self._columns if last else None
            self._passes[kind] = MergePass(self._kernels, policy, self._limits, batched=True, columns=columns)
        return self._passes[kind]
