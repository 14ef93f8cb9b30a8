"""Sorts of items on the device: tiles, levels and passes between two buffers.

This file decides the launches, from addresses and counts alone.
"""

from __future__ import annotations

from typing import Protocol

from gpumerge_cli.backends.base import LaunchPolicy, SortPolicy
from gpumerge_cli.backends.gpu.sort_policy import judge_count, of_fan_in
from gpumerge_cli.backends.gpu.tree import Level, fan_ins
from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class Buffers:
    """Two buffers on the device for items of `item_bytes` bytes each, by their addresses.

    out: where a sort ends. scratch: as large as `out`; it is used only if `needs_scratch`.
    """

    out: int
    scratch: int
    item_bytes: int


class Launcher(Protocol):
    """The launches and copies of sorts: see module.Kernels. text and starts: see lines.cuh."""

    def copy(self, source: int, to: int, nbytes: int) -> None: ...

    def sort_tiles(self, policy: SortPolicy, items: tuple[int, int], out: int, text: int, starts: int) -> None: ...

    def merge_level(self, policy: LaunchPolicy, level: Level, out: int, text: int, starts: int) -> None: ...

    def merge_alone(self, level: Level, out: int, text: int, starts: int) -> None: ...

    def sort_digits(self, items: tuple[int, int], out: int, scratch: int) -> None: ...


def needs_scratch(policy: SortPolicy, count: int) -> bool:
    """True if `sort_items` writes to its scratch."""
    return policy.algorithm == "radix" or count > policy.tile


def sort_items(
    kernels: Launcher, policy: SortPolicy, items: tuple[int, int], buffers: Buffers, context: tuple[int, int] = (0, 0)
) -> None:
    """Sort items, an address and a count, into `buffers.out`, stably.

    The address of the items may be that of a buffer; if it is not, the items stay as they are. context: the text and
    the starts of lines. All steps are queued in the order in which they depend on each other. Raises UsageError for
    more items than the algorithm takes.
    """
    (address, count), out, scratch = items, buffers.out, buffers.scratch
    judge_count(policy.algorithm, count)
    if count == 0:
        return
    if policy.algorithm == "radix":
        # Only the device knows which passes are needed. An even number leads from `out` back to it, an odd one from
        # `scratch`. To make up the number, it adds a pass that is not needed. If all are needed, theirs must be right.
        begin = scratch if policy.passes % 2 else out
        if address in (out, scratch) and address != begin:
            kernels.copy(address, begin, count * buffers.item_bytes)
            address = begin
        kernels.sort_digits((address, count), out, scratch)
        return
    if policy.algorithm == "recursive":
        _sort_recursively(kernels, items, buffers, context)
        return
    alone = policy.algorithm == "iterative"
    tile = 1 if alone else policy.tile
    merges = fan_ins(-(-count // tile), 2 if alone else policy.launch.fan_in)
    # The passes write to both buffers in turn, and the last one to `out`.
    targets = [out if left % 2 == 0 else scratch for left in reversed(range(len(merges) + 1))]
    if tile > 1:
        kernels.sort_tiles(policy, items, targets[0], *context)
    elif address != targets[0]:
        # Without tiles the first pass reads the items in place, unless it writes there.
        if not merges or address == targets[1]:
            kernels.copy(address, targets[0], count * buffers.item_bytes)
        else:
            targets[0] = address
    length = tile
    for fan_in, source, target in zip(merges, targets, targets[1:], strict=False):
        level = Level(source, length, count)
        if alone:
            kernels.merge_alone(level, target, *context)
        else:
            kernels.merge_level(of_fan_in(policy.launch, fan_in), level, target, *context)
        length *= fan_in


def _sort_recursively(kernels: Launcher, items: tuple[int, int], buffers: Buffers, context: tuple[int, int]) -> None:
    """Sort top-down: sort both halves into the other buffer, and merge them from there."""
    address, count = items
    for buffer in (buffers.out, buffers.scratch) if count > 1 else (buffers.out,):
        if buffer != address:
            kernels.copy(address, buffer, count * buffers.item_bytes)

    def sort(source: int, to: int, first: int, last: int) -> None:
        if last - first < 2:
            return
        middle = (first + last + 1) // 2  # only the last run of a level may be shorter
        sort(to, source, first, middle)
        sort(to, source, middle, last)
        at = first * buffers.item_bytes
        kernels.merge_alone(Level(source + at, middle - first, last - first), to + at, *context)

    sort(buffers.scratch, buffers.out, 0, count)
