"""Counts of equal keys: the first of several equal keys stays, with their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.arrays.interchange import is_cupy
from gpumerge_cli.arrays.keys import keys_in


def counted(found: Any, path: Sequence[str], *, moved: bool) -> Any:
    """(keys, counts), or (keys, values, counts), of sorted keys, or of (keys, values) if `moved`.

    found: NumPy's or CuPy's arrays; waits for a GPU. path: see ArrayKeys. Counts are int64.
    """
    keys, *values = found if moved else (found,)
    if not is_cupy(keys):
        return _counted(np, keys, values, path)
    import cupy

    from gpumerge_cli.backends.gpu.streams import calls_on, check_waiting, current_stream

    with calls_on(keys.device):
        check_waiting(current_stream(), "a call with counts")
        return _counted(cupy, keys, values, path)


def _counted(xp: Any, keys: Any, values: list[Any], path: Sequence[str]) -> tuple[Any, ...]:
    compared = keys_in(keys, path)
    new = xp.ones(len(compared), bool)
    here, ahead = compared[1:], compared[:-1]
    new[1:] = here != ahead
    if compared.dtype.kind in "fmM":  # NaN and NaT do not equal themselves
        new[1:] &= (here == here) | (ahead == ahead)
    first = xp.flatnonzero(new)
    counts = xp.diff(xp.append(first, len(compared)))
    return (keys[first], *(rows[first] for rows in values), counts.astype(np.int64, copy=False))
