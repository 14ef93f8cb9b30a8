"""Measure what the cuts of a merge ask of a store: requests, and their share in what one client can do at a time.

python data/bench/measure_far_cuts.py OUT.md [--inputs 100] [--bytes 1e9] [--pieces 25 100 400] [--milliseconds 1]

Objects are computed, not stored: each answer takes --milliseconds, and holds the sorted int64 of its range, by the
formula of its input. All else is the program's own: blocks, their memory, and the search for cuts.
"""

from __future__ import annotations

import argparse
import os
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from gpumerge_cli.engine.inputs import opened
from gpumerge_cli.engine.request import ItemRequest
from gpumerge_cli.formats import stores
from gpumerge_cli.formats.stores.base import Found
from gpumerge_cli.plan import Planner


class Computed:
    """An object whose items a formula gives. See StoredObject; it is only read."""

    size, seconds, requests = 0, 0.0, 0
    lock = threading.Lock()

    def __init__(self, url: str) -> None:
        self._number = int(url.rpartition("/")[2].partition(".")[0])

    def look(self) -> Found:
        """Its size."""
        return Found(self.size, "tag")

    def read(self, start: int, stop: int, found: Found) -> bytes:
        """A range of it."""
        with Computed.lock:
            Computed.requests += 1
        time.sleep(self.seconds)
        first = start // 8
        at = np.arange(first, -(-stop // 8), dtype=np.float64)
        share = at / (self.size // 8)
        waver = 0.1 * np.sin((1 + self._number % 7) * share * np.pi) ** 2
        keys = ((share + waver * share * (1 - share)) * 2**60).astype(np.int64)
        return keys.tobytes()[start - first * 8 : stop - first * 8]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--bytes", type=lambda text: int(float(text)) // 8 * 8, default=1_000_000_000)
    parser.add_argument("--pieces", type=int, nargs="+", default=[25, 100, 400])
    parser.add_argument("--milliseconds", type=float, default=1.0)
    options = parser.parse_args()
    Computed.size, Computed.seconds = options.bytes, options.milliseconds / 1e3
    stores.SCHEMES = {"s3": Computed}  # type: ignore[dict-item]
    rows = []
    for pieces in options.pieces:
        with ExitStack() as stack:
            names = [f"s3://bucket/{number}.i64" for number in range(options.inputs)]
            inputs = stack.enter_context(opened(names, ItemRequest()))
            opening, start = Computed.requests, time.perf_counter()
            planner = Planner(inputs.sources, inputs.order)
            plan = planner.plan(planner.whole(), -(-inputs.nbytes // pieces))
            seconds = time.perf_counter() - start
            asked = Computed.requests - opening
            Computed.requests = 0
        each = asked / options.inputs / max(1, len(plan) - 1)
        at_once = asked * Computed.seconds / seconds
        rows.append(f"| {len(plan)} | {opening} | {asked} | {each:.1f} | {seconds:.1f} | {at_once:.1f} |")
        print(rows[-1], flush=True)
    lines = [
        f"The cuts of {options.inputs} objects of {options.bytes / 1e9:g} GB of int64 by one client; an answer takes "
        f"{options.milliseconds:g} ms; {len(os.sched_getaffinity(0))} cores.",
        "`data/bench/measure_far_cuts.py` makes this table.",
        "",
        "| pieces | requests to open | requests of cuts | by cut and input | seconds | requests at once |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
