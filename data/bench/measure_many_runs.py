#!/usr/bin/env python3
"""Times merges of many runs in device memory, by passes and by digits. Writes a Markdown table.

usage: python3 data/bench/measure_many_runs.py OUT.md [--turns 7] [--only REGEX]

A time is the median of event timings around a call of `merge` from Python, in ms. In brackets stands the time in which
the host queued its launches. Keys are uniform, and runs are equally long. Every output is compared with a sort of all
keys.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import cupy
from measured_on import measured_on

import gpumerge_cli
from gpumerge_cli.backends.gpu import many_runs

CASES = [
    ("float32", 28, (64, 256, 1000)),
    ("int16", 28, (64,)),
    ("int32", 28, (20, 64, 256, 1000)),
    ("int32", 26, (64,)),
    ("int32", 22, (64, 1000)),
    ("int64", 28, (64, 256, 1000)),
    ("int64", 22, (64,)),
    ("uint8", 29, (64,)),
]
"""The type of the keys, the power of two of their number, and the numbers of runs."""
_PAYS = many_runs.pays
_WAYS: dict[str, Callable[..., bool]] = {
    "passes": lambda *given: False,
    "digits": lambda *given: True,
    "taken": _PAYS,
}


def timed(work: Callable[[], Any], turns: int) -> str:
    """The median of event timings, and of the times in which the host queues the work."""
    device, host = [], []
    for turn in range(turns + 2):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        began = time.perf_counter()
        work()
        queued = time.perf_counter() - began
        end.record()
        end.synchronize()
        if turn > 1:
            device.append(cupy.cuda.get_elapsed_time(start, end))
            host.append(1e3 * queued)
    middle = turns // 2
    return f"{sorted(device)[middle]:.3g} ({sorted(host)[middle]:.2g})"


def random_keys(dtype: str, count: int) -> Any:
    """Uniform keys."""
    kind = cupy.dtype(dtype)
    if kind.kind == "f":
        return cupy.random.random(count, dtype=kind)
    bits = cupy.random.randint(0, 1 << 32, count * kind.itemsize // 4, dtype=cupy.uint32)
    return bits.view(kind)


def row_of(dtype: str, power: int, keys: Any, expected: Any, number: int, turns: int) -> str:
    """A row of the table. keys: sorted as the runs are."""
    out, cells = cupy.empty_like(keys), [f"2^{power} {dtype}", f"{number:,}"]
    edges = [keys.size * run // number for run in range(number + 1)]
    for gap in (0, 1):  # of a vector, between the runs
        step = 16 // keys.itemsize
        held = cupy.empty(keys.size + gap * step * number, keys.dtype)
        runs = []
        for place, (start, end) in enumerate(pairwise(edges)):
            at = start + gap * step * place
            held[at : at + end - start] = keys[start:end]
            runs.append(held[at : at + end - start])
        for name, pays in _WAYS.items():
            many_runs.pays = pays
            out.fill(0)
            cells.append(timed(partial(gpumerge_cli.merge, *runs, out=out), turns))
            if not bool((out == expected).all()):
                cells[-1] += " WRONG"
            print(*cells[:2], name, "apart" if gap else "", cells[-1], flush=True)
        del runs, held
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--only", default="", help="rows whose first two cells match")
    wish = parser.parse_args()
    lines = [
        "# Merges of many runs, by passes and by digits",
        "",
        measured_on(),
        "",
        "| items | runs | passes | digits | taken | apart: passes | digits | taken |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for dtype, power, numbers in CASES:
        wanted = [number for number in numbers if re.search(wish.only, f"2^{power} {dtype} {number}")]
        if not wanted:
            continue
        drawn = random_keys(dtype, 1 << power)
        for number in wanted:
            keys = drawn.copy()
            edges = [keys.size * run // number for run in range(number + 1)]
            for start, end in pairwise(edges):
                keys[start:end] = gpumerge_cli.sort(keys[start:end])
            lines.append(row_of(dtype, power, keys, gpumerge_cli.sort(drawn), number, wish.turns))
            wish.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
