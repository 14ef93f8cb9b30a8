"""Calls from Python on an array of a GPU, of all ways that such calls take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpumerge_cli

ON_A_STREAM: dict[str, Callable[[Any], Any]] = {
    "merge": lambda keys: gpumerge_cli.merge(keys, keys),
    "merge(kernel=)": lambda keys: gpumerge_cli.merge(keys, keys, kernel="tiled"),
    "merge of many runs and their values": lambda keys: gpumerge_cli.merge(*[keys] * 20, values=[keys] * 20),
    "sort": lambda keys: gpumerge_cli.sort(keys),
    "sort(values=)": lambda keys: gpumerge_cli.sort(keys, values=keys),
    "sort(algorithm=)": lambda keys: gpumerge_cli.sort(keys, algorithm="merge"),
    "sort(counts=)": lambda keys: gpumerge_cli.sort(keys, counts=True),
    "argsort": lambda keys: gpumerge_cli.argsort(keys),
    "argsort(algorithm=)": lambda keys: gpumerge_cli.argsort(keys, algorithm="bottom-up"),
    "is_sorted": lambda keys: gpumerge_cli.is_sorted(keys),
    "union": lambda keys: gpumerge_cli.union(keys, keys),
    "intersect(values=)": lambda keys: gpumerge_cli.intersect(keys, keys, values=[keys, keys]),
    "difference(counts=)": lambda keys: gpumerge_cli.difference(keys, keys, counts=True),
    "rank": lambda keys: gpumerge_cli.rank([keys, keys], 3),
    "rank_of": lambda keys: gpumerge_cli.rank_of([keys, keys], [3]),
    "join": lambda keys: gpumerge_cli.join(keys, keys),
}
