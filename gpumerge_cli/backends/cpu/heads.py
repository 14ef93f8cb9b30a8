"""A merge that only ever sees the runs' next rows, for runs that may be out of order.

A row that sorts before one ahead of it in its run follows it at once: when that one went out, nothing less was left. So
this is the merge by each row's running maximum, the greatest row of its run so far, which never falls.
"""

from __future__ import annotations

from typing import Any

from gpumerge_cli.backends.cpu.keys import before, key_of
from gpumerge_cli.jit import jit


@jit
def running_maxima(first: int, last: int, out: Any, context: Any) -> None:
    """out[i] becomes the number of the greatest of rows first to i, for i in first to last."""
    greatest = first
    for row in range(first, last):
        if not before(row, key_of(row, context), greatest, key_of(greatest, context), context):
            greatest = row
        out[row] = greatest


@jit
def take_in_turn(merged: Any, edges: Any, taken: Any, unique: bool, context: Any) -> int:
    """Each row in `merged` becomes the next one of its run; returns how many there are.

    edges: the number of the first row of each run, and behind the last. taken: for each run, room for a count. unique:
    of neighbours that compare equal only the first stays.
    """
    runs = len(taken)
    for run in range(runs):
        taken[run] = edges[run]
    kept = 0
    for greatest in merged:
        low, high = 0, runs
        while high - low > 1:
            middle = (low + high) // 2
            if edges[middle] <= greatest:
                low = middle
            else:
                high = middle
        row = taken[low]
        taken[low] += 1
        if unique and kept > 0:
            last = merged[kept - 1]
            key, last_key = key_of(row, context), key_of(last, context)
            if not before(row, key, last, last_key, context) and not before(last, last_key, row, key, context):
                continue
        merged[kept] = row
        kept += 1
    return kept
