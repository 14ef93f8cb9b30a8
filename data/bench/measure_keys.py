"""Time merges and sorts by typed keys: access logs by time against GNU sort, others against -n.

python data/bench/measure_keys.py [--megabytes 500] [--turns 5] [--folder DIR]

GNU sort compares the year, the month, the day and the clock as four keys. It needs about 4 x MEGABYTES of the folder.
"""

from __future__ import annotations

import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from whole_commands import PROGRAM, in_turns, parser_of

GNU_TIME = "sort -s -t ' ' -k 4.9,4.12n -k 4.5,4.7M -k 4.2,4.3n -k 4.14,4.21"
LINES = 4_000_000
"""Those of each file of values."""


def write_logs(folder: Path, nbytes: int) -> None:
    """Two access logs over two months in order of time, and one of the same lines in no order."""
    rng = np.random.default_rng(1)
    begin, seconds = datetime(2023, 12, 2, tzinfo=UTC), 60 * 86400
    count = nbytes // 95
    for name in "ab":
        times = np.sort(rng.integers(0, seconds, count)).tolist()
        addresses = rng.integers(0, 256, (count, 2)).tolist()
        paths = rng.integers(0, 10**6, count).tolist()
        rows = []
        for at, (x, y), path in zip(times, addresses, paths, strict=True):
            then = begin + timedelta(seconds=at)
            rows.append(
                f"10.0.{x}.{y} - - [{then:%d/%b/%Y:%H:%M:%S} +0000] "
                f'"GET /items/{path:06}?page=2 HTTP/1.1" 200 {path % 9973}\n'
            )
        (folder / f"{name}.log").write_text("".join(rows))
        if name == "b":
            (folder / "shuffled.log").write_text("".join(rows[at] for at in rng.permutation(count).tolist()))


def write_values(folder: Path) -> None:
    """A file for each kind, in no order, and two sorted ones."""
    rng = np.random.default_rng(2)
    numbers = rng.integers(0, 1 << 31, LINES).tolist()
    units = ["", "k", "M", " MB", "GiB"]
    drawn = rng.integers(0, 5, LINES).tolist()
    values = {
        "numeric": map(str, numbers),
        "hex": (f"{number:x}" for number in numbers),
        "address": (f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}" for number in numbers),
        "size": (f"{number % 100000 / 100:g}{units[unit]}" for number, unit in zip(numbers, drawn, strict=True)),
    }
    for kind, lines in values.items():
        (folder / f"{kind}.txt").write_text("\n".join(lines) + "\n")


def timed(title: str, calls: dict[str, str], turns: int) -> None:
    """Print a row: the medians of calls, and by how much each takes longer than the first."""
    took = in_turns(calls, turns)
    first = next(iter(took.values()))
    cells = (f"{which} {its.beside(first)[0]}" for which, its in took.items())
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the rows."""
    options = parser_of(__doc__, megabytes=500, turns=5).parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_logs(folder, options.megabytes * 10**6)
        write_values(folder)
        ours = f"cd {folder} && {PROGRAM}"
        theirs = f"cd {folder} && LC_ALL=C {GNU_TIME}"
        merged = {"gpumerge": f"{ours} merge -q --time a.log b.log -o out", "GNU": f"{theirs} -m a.log b.log -o gnu"}
        timed(f"merge of 2 x {options.megabytes} MB of access logs by time", merged, options.turns)
        subprocess.run(["cmp", folder / "out", folder / "gnu"], check=True)
        by_time = {
            "gpumerge": f"{ours} sort --time shuffled.log -o out",
            "GNU": f"{theirs} --parallel=2 shuffled.log -o gnu",
        }
        timed(f"sort of {options.megabytes} MB of an access log by time", by_time, max(1, options.turns // 2))
        subprocess.run(["cmp", folder / "out", folder / "gnu"], check=True)
        kinds = ("numeric", "hex", "address", "size")
        timed(
            f"sort of {LINES} values",
            {kind: f"{ours} sort -s --sort={kind} {kind}.txt -o sorted-{kind}" for kind in kinds},
            options.turns,
        )
        timed(
            f"merge of 2 x {LINES} values",
            {kind: f"{ours} merge -q --sort={kind} sorted-{kind} sorted-{kind} -o out" for kind in kinds},
            options.turns,
        )


if __name__ == "__main__":
    main()
