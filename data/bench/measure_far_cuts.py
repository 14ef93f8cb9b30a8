"""Count what the cuts of a merge ask of a store, by one search for all cuts, and by one for each.

python data/bench/measure_far_cuts.py OUT.md [--inputs 100] [--bytes 1e9] [--pieces 25 100] [--milliseconds 20]

Objects are computed, not stored: an answer holds the sorted int64 of its range, by the formula of its input. Nothing
waits: --milliseconds are those that an answer would take. All else is the program's own: blocks, their memory, and the
search for cuts.
"""

from __future__ import annotations

import argparse
import statistics
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from gpumerge_cli.engine.inputs import open_inputs
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.stores import lookup as stores
from gpumerge_cli.formats.stores.base import Found
from gpumerge_cli.formats.stores.blocks import BLOCK_BYTES
from gpumerge_cli.plan import Planner


class Computed:
    """An object whose items a formula gives. See StoredObject; it is only read."""

    size, requests = 0, 0
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
        first = start // 8
        at = np.arange(first, -(-stop // 8), dtype=np.float64)
        share = at / (self.size // 8)
        waver = 0.1 * np.sin((1 + self._number % 7) * share * np.pi) ** 2
        keys = ((share + waver * share * (1 - share)) * 2**60).astype(np.int64)
        return keys.tobytes()[start - first * 8 : stop - first * 8]


def asked_alone(names: list[str], share: float) -> int:
    """The requests for one cut, with that share of all bytes ahead of it, by a process that knows nothing yet."""
    with open_inputs(names, Items()) as inputs:
        Computed.requests = 0
        Planner(inputs.sources, inputs.order).near([int(inputs.nbytes * share)])
        return Computed.requests


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--bytes", type=lambda text: int(float(text)) // 8 * 8, default=1_000_000_000)
    parser.add_argument("--pieces", type=int, nargs="+", default=[25, 100])
    parser.add_argument("--milliseconds", type=float, default=20.0)
    options = parser.parse_args()
    Computed.size = options.bytes
    stores.SCHEMES = {"s3": Computed}  # type: ignore[dict-item]
    names = [f"s3://bucket/{number}.i64" for number in range(options.inputs)]
    by_itself = statistics.mean(asked_alone(names, share) for share in (0.1, 0.5, 0.9))
    rows = []
    for pieces in options.pieces:
        with ExitStack() as stack:
            inputs = stack.enter_context(open_inputs(names, Items()))
            Computed.requests = 0
            planner = Planner(inputs.sources, inputs.order)
            chunks = planner.split(planner.whole(), -(-inputs.nbytes // pieces))
            requests = Computed.requests
        each = requests / options.inputs / max(1, len(chunks) - 1)
        rows.append(f"| {len(chunks)} | {requests:,} | {each:.1f} | {requests * options.milliseconds / 6e4:.1f} |")
        print(rows[-1], flush=True)
    lines = [
        f"The cuts of {options.inputs} objects of {options.bytes / 1e9:g} GB of int64, "
        f"in blocks of {BLOCK_BYTES >> 10} KiB.",
        f"A cut that is searched by itself, as workers of a cluster do, takes {by_itself:,.0f} requests.",
        "`data/bench/measure_far_cuts.py` makes this table.",
        "",
        f"| pieces | requests | by cut and object | minutes, one after the other, {options.milliseconds:g} ms each |",
        "|---|---|---|---|",
        *rows,
    ]
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
