"""Time gpumerge diff of two CSV files, in turns with comm -3 of the same lines. Writes Markdown.

python data/bench/measure_diff.py FOLDER OUT.md [--lines 10000000] [--repeat 5]

Rows of about 48 bytes, of which one in a hundred has another value in the new file. --changes lists these, too. comm
gets the lines without their header.
"""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from whole_commands import PROGRAM, in_turns, write_table

_HEADER = "id,name,city,amount,status\n"
_CITIES = ["Bern", "Oslo", "Rome", "Paris", "Lima", "Quito", "Delhi", "Tokyo"]
_BLOCK = 200_000


def make(folder: Path, lines: int) -> None:
    """The files old.csv and new.csv, and old.txt and new.txt without the header."""
    rng = np.random.default_rng(1)
    with ExitStack() as stack:
        files = {}
        for name in ("old", "new"):
            paths = (folder / f"{name}.csv", folder / f"{name}.txt")
            files[name] = [stack.enter_context(open(path, "w", encoding="ascii")) for path in paths]
            files[name][0].write(_HEADER)
        for start in range(0, lines, _BLOCK):
            count = min(_BLOCK, lines - start)
            amounts = rng.integers(0, 10**7, count)
            places = rng.integers(0, len(_CITIES), count).tolist()
            changed = amounts + (rng.random(count) < 0.01)
            for name, values in (("old", amounts), ("new", changed)):
                rows = zip(range(start, start + count), places, values.tolist(), strict=True)
                text = "".join(
                    f"{at:010d},user{at * 2654435761 % 10**8:08d},{_CITIES[place]},{value / 100:.2f},active\n"
                    for at, place, value in rows
                )
                for file in files[name]:
                    file.write(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    wish = parser.parse_args()
    wish.folder.mkdir(parents=True, exist_ok=True)
    make(wish.folder, wish.lines)
    at = f"cd {wish.folder} && "
    diff = f"{at}{PROGRAM} diff --field id old.csv new.csv -o out.csv"
    commands = {
        "comm -3": f"{at}comm -3 old.txt new.txt",
        "gpumerge diff": f"{diff} || test $? = 1",
        "gpumerge diff --changes": f"{diff} --changes changes.csv || test $? = 1",
    }
    found = in_turns(commands, wish.repeat)
    first = next(iter(found.values()))
    rows = [f"| {name} | {' | '.join(took.beside(first))} |" for name, took in found.items()]
    size = (wish.folder / "old.csv").stat().st_size
    for name in ("old.csv", "new.csv", "old.txt", "new.txt", "out.csv", "changes.csv"):
        (wish.folder / name).unlink()
    about = (
        f"Two files of {wish.lines:,} lines, {size / 1e9:.2f} GB each, from page cache; medians of {wish.repeat} "
        f"turns. In brackets: over comm. {len(os.sched_getaffinity(0))} cores, load average "
        f"{os.getloadavg()[0]:.1f} at the end."
    )
    write_table(wish.out, about, "| command | by the clock | of all cores |", rows)


if __name__ == "__main__":
    main()
