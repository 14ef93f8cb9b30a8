"""Merges of k sorted runs by passes over neighbouring runs. This keeps ties in the order of the runs.

This file decides the launches, from addresses and counts alone. The caller launches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod

from gpumerge_cli.dataclass import dataclass

Run = tuple[int, int]
"""A sorted run: its address, and its number of items."""
Context = tuple[int, int]
"""The addresses of a text and of its line starts, 0 for records: see lines.cuh."""
NO_TEXT: Context = (0, 0)
"""The context of items that move whole."""


@dataclass(frozen=True)
class Level:
    """Items in sorted runs of equal length."""

    items: int
    """The address of the first item."""
    length: int
    """The items of each run; the last run may be shorter."""
    total: int
    """The number of all items."""


def passes(runs: int, fan_in: int) -> int:
    """The number of passes from `runs` runs to one. A pass merges up to `fan_in` runs into one."""
    count = 0
    while runs > 1:
        runs = -(-runs // fan_in)
        count += 1
    return count


def fan_ins(runs: int, most: int) -> list[int]:
    """The fan-in of each pass over `runs` equally long runs.

    These are powers of two up to `most`: as few passes as possible, and then as small a fan-in as possible.
    """
    found = [most] * passes(runs, most)
    at = len(found)
    while any(fan_in > 2 for fan_in in found):
        at = (at or len(found)) - 1
        if found[at] == 2:
            continue
        lower = [*found[:at], found[at] // 2, *found[at + 1 :]]
        if prod(lower) < runs:
            break
        found = lower
    return found


def merge_runs(
    runs: Sequence[Run], item_bytes: int, out: int, scratch: int, *, fan_in: int
) -> Iterator[tuple[Sequence[Run], int]]:
    """The merges, and copies of single runs, that merge `runs` into `out`: runs and the address of their output.

    Each comes after those that it depends on. fan_in: the most runs of a merge. See merge_passes for the rest.
    """
    current = [run for run in runs if run[1] > 0]
    for merges in merge_passes(current, item_bytes, out, scratch, [fan_in] * passes(len(current), fan_in)):
        yield from merges


def merge_passes(
    runs: Sequence[Run], item_bytes: int, out: int, scratch: int, most: Sequence[int]
) -> Iterator[list[tuple[Sequence[Run], int]]]:
    """The passes that merge `runs`, none of them empty, into `out`: runs and the address of their output.

    A pass has merges, and copies of single runs, which do not depend on each other, in the order of their outputs. The
    runs stay as they are. most: the most runs of a merge, for each pass; their product is at least the number of runs.
    scratch: as large as `out`; it is used only for more passes. Passes write to `out` and `scratch` in turn, and the
    last one to `out`.
    """
    current = list(runs)
    if len(current) == 1:
        yield [(current, out)]
        return
    inputs = {address for address, _ in current}
    for left, fan_in in zip(reversed(range(len(most))), most, strict=True):
        at = out if left % 2 == 0 else scratch
        merged: list[Run] = []
        merges: list[tuple[Sequence[Run], int]] = []
        for group in _groups(current, fan_in):
            target = (at, sum(items for _, items in group))
            at += target[1] * item_bytes
            if len(group) == 1 and group[0][0] in inputs:
                merged.append(group[0])  # the next pass reads it where it is
                continue
            merges.append((group, target[0]))  # the next pass would write over a single one
            merged.append(target)
        yield merges
        current = merged


def _groups(runs: Sequence[Run], fan_in: int) -> list[Sequence[Run]]:
    """Groups of neighbouring runs: as few groups as possible, with about the same number of runs each."""
    count = -(-len(runs) // fan_in)
    edges = [len(runs) * group // count for group in range(count + 1)]
    return [runs[start:stop] for start, stop in pairwise(edges)]
