"""Merges of runs in memory by a team of host threads: pair by pair, and level by level."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import LaunchPolicy
from gpumerge_cli.backends.cpu.library import LIBRARY
from gpumerge_cli.backends.cpu.team import Team

Context = tuple[int, int, int, int]


def merge_pair(
    kind: str, a: NDArray[Any], b: NDArray[Any], out: NDArray[Any], context: Context, policy: LaunchPolicy, team: Team
) -> None:
    kernel = LIBRARY.function(f"merge_{policy.kernel}-{kind}")
    runs = (a.ctypes.data, len(a), b.ctypes.data, len(b), out.ctypes.data)
    shape = (policy.block_size, policy.items_per_thread, policy.tile_size, policy.tile_load == "exact")
    pieces = team.pieces(len(out))
    scratch = np.empty((len(pieces), 2 * policy.tile_size if policy.kernel in ("tiled", "circular") else 0), out.dtype)
    calls = [
        (*runs, first, last, *context, *shape, scratch[number].ctypes.data)
        for number, (first, last) in enumerate(pieces)
    ]
    team.run(kernel, calls)


def merge_tree(
    kind: str, runs: list[NDArray[Any]], out: Any, spare: list[Any], context: Context, policy: LaunchPolicy, team: Team
) -> NDArray[Any]:
    """Merge neighbouring runs pair by pair, level by level; returns the array that holds the result.

    Levels alternate between `out` and the two `spare` arrays, which are made when first needed and kept in the list;
    the runs given stay as they are. Stable, since only neighbours meet and the left one is A.
    """
    runs = [run for run in runs if len(run)]
    if len(runs) <= 1:
        if runs:
            out[:] = runs[0]
        return out
    levels = (len(runs) - 1).bit_length()
    for level in range(levels):
        if level == levels - 1:
            target = out
        else:
            if spare[level % 2] is None or len(spare[level % 2]) < len(out):
                spare[level % 2] = np.empty(len(out), out.dtype)
            target = spare[level % 2]
        merged = []
        start = 0
        for pair in range(0, len(runs), 2):
            a = runs[pair]
            b = runs[pair + 1] if pair + 1 < len(runs) else a[:0]
            part = target[start : start + len(a) + len(b)]
            if len(b):
                merge_pair(kind, a, b, part, context, policy, team)
            else:
                part[:] = a
            merged.append(part)
            start += len(part)
        runs = merged
    return out
