"""Merging k sorted runs by a tree of pairwise merges of neighbours, which keeps ties in the order of the runs.

What to launch is decided here, on addresses alone; who launches is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

Run = tuple[int, int]
"""A sorted run: its address in bytes, and its items."""

Merge = Callable[[Run, Run, int], None]
Copy = Callable[[Run, int], None]


def levels(runs: int) -> int:
    """How many levels of pairwise merges bring `runs` runs down to one."""
    return max(runs - 1, 0).bit_length()


def merge_runs(runs: Sequence[Run], item_bytes: int, out: int, scratch: int, *, merge: Merge, copy: Copy) -> None:
    """Merge `runs` into `out`; the runs stay as they are.

    scratch: as large as `out`, and used only for more than two runs. merge(a, b, to) and copy(run, to) are called in an
    order in which each may start when the one before is done. Levels write to `out` and `scratch` in turn, so that the
    last writes to `out`.
    """
    current = [run for run in runs if run[1] > 0]
    if len(current) == 1:
        copy(current[0], out)
        return
    inputs = {address for address, _ in current}
    for level in reversed(range(levels(len(current)))):
        at = out if level % 2 == 0 else scratch
        merged: list[Run] = []
        for pair in zip(current[::2], current[1::2], strict=False):
            merge(*pair, at)
            merged.append((at, pair[0][1] + pair[1][1]))
            at += merged[-1][1] * item_bytes
        if len(current) % 2:
            odd = current[-1]
            if odd[0] not in inputs:  # else the next level would write over what it reads
                copy(odd, at)
                odd = (at, odd[1])
            merged.append(odd)
        current = merged
