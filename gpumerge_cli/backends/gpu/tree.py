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


@dataclass(frozen=True)
class MergePass:
    """Merges, and copies of single runs, which do not depend on each other."""

    addresses: Sequence[int]
    """Those of all runs."""
    counts: Sequence[int]
    """Their numbers of items, none of them 0."""
    groups: Sequence[tuple[int, int, int, int]]
    """For each group of neighbouring runs, in the order of the outputs: its first run, the first run behind it, the
    address of its output, and its number of items."""


def merge_passes(
    addresses: Sequence[int], counts: Sequence[int], item_bytes: int, out: int, scratch: int, most: Sequence[int]
) -> Iterator[MergePass]:
    """The passes that merge runs, none of them empty, into `out`.

    The runs stay as they are. most: the most runs of a group, for each pass; their product is at least the number of
    runs. scratch: as large as `out`; it is used only for more passes. Passes write to `out` and `scratch` in turn, and
    the last one to `out`.
    """
    inputs = addresses
    if len(inputs) == 1:
        yield MergePass(addresses, counts, [(0, 1, out, counts[0])])
        return
    for left, fan_in in zip(reversed(range(len(most))), most, strict=True):
        at = out if left % 2 == 0 else scratch
        places, totals, groups = list[int](), list[int](), list[tuple[int, int, int, int]]()
        for first, end in pairwise(_edges(len(addresses), fan_in)):
            total = sum(counts[first:end])
            totals.append(total)
            if end - first == 1 and addresses[first] in inputs:
                places.append(addresses[first])  # the next pass reads it where it is
            else:
                groups.append((first, end, at, total))  # the next pass would write over a single one
                places.append(at)
            at += total * item_bytes
        yield MergePass(addresses, counts, groups)
        addresses, counts = places, totals


def merge_runs(
    runs: Sequence[Run], item_bytes: int, out: int, scratch: int, *, fan_in: int
) -> Iterator[tuple[Sequence[Run], int]]:
    """The merges, and copies of single runs, that merge `runs` into `out`: runs and the address of their output.

    Each comes after those that it depends on. fan_in: the most runs of a merge. See merge_passes for the rest.
    """
    filled = [run for run in runs if run[1] > 0]
    columns = [run[0] for run in filled], [run[1] for run in filled]
    for each in merge_passes(*columns, item_bytes, out, scratch, [fan_in] * passes(len(filled), fan_in)):
        for first, end, to, _ in each.groups:
            yield list(zip(each.addresses[first:end], each.counts[first:end], strict=True)), to


def _edges(runs: int, fan_in: int) -> list[int]:
    """The edges of groups of neighbouring runs: as few groups as possible, of about the same number of runs each."""
    count = -(-runs // fan_in)
    return [runs * group // count for group in range(count + 1)]
