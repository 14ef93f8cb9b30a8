"""Time joins of two sorted files of lines, in turns with coreutils' join, and compare their outputs.

python data/bench/measure_join.py FOLDER OUT.md [--gigabytes 1] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from whole_commands import in_turns, write_table

OURS = [sys.executable, "-m", "gpumerge_cli", "join", "-q"]
CASES = {
    "words": ([], "keys of 10 digits, fields between blanks, a fifth of the lines has partners"),
    "left": (["-a", "1", "-o", "auto", "-e", "none"], "the same, -a 1 -o auto -e none"),
    "second": (["-t", ",", "-1", "2", "-2", "2"], "CSV without quotes, -t , -1 2 -2 2"),
    "many": ([], "each key 4 times in both files"),
}
_LINE = {"second": "user{y:05},{x:010},item{y},{y}\n", "": "{x:010} user{y:05} item{y} {y}\n"}
_BLOCK = 500_000


def make(case: str, path: Path, nbytes: int, seed: int) -> None:
    """A file of about `nbytes`, sorted by its keys."""
    rng = np.random.default_rng(seed)
    line = _LINE.get(case, _LINE[""])
    count = nbytes // len(line.format(x=0, y=5_000_000))
    if case == "many":
        keys = np.repeat(np.sort(rng.choice(count, count // 4, replace=False)), 4)
    else:
        keys = np.sort(rng.integers(0, 5 * count, count))
    with open(path, "w", encoding="ascii") as file:
        for at in range(0, len(keys), _BLOCK):
            some = keys[at : at + _BLOCK].tolist()
            others = rng.integers(0, 10_000_000, len(some)).tolist()
            file.write("".join(line.format(x=x, y=y) for x, y in zip(some, others, strict=True)))


def measured(case: str, folder: Path, wish: argparse.Namespace) -> list[str]:
    """The rows of a case."""
    options, title = CASES[case]
    a, b, ours, theirs = (folder / name for name in ("a.txt", "b.txt", "ours", "theirs"))
    for seed, path in enumerate((a, b)):
        make(case, path, int(wish.gigabytes * 5e8), seed)
    tail = [*options, str(a), str(b)]
    commands = {"join": ["join", *tail], "gpumerge": [*OURS, *tail, "--output", str(ours)]}
    found = in_turns(commands, wish.repeat, {"join": theirs})
    subprocess.run(["cmp", ours, theirs], check=True)
    size = a.stat().st_size + b.stat().st_size
    out = ours.stat().st_size
    for path in (a, b, ours, theirs):
        path.unlink()
    rows = []
    work = f"{size / 1e9:.2f} GB, {out / 1e9:.2f} GB out: {title}"
    for name, times in found.items():
        shown = f"{times.median:.2f} | {times.fastest:.2f} | {times.processors:.2f}"
        rows.append(f"| {work} | {name} | {shown} | {found['join'].median / times.median:.1f} |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only")
    wish = parser.parse_args()
    folder = Path(wish.folder)
    folder.mkdir(parents=True, exist_ok=True)
    cases = [case for case in CASES if not wish.only or case in wish.only.split(",")]
    rows = [row for case in cases for row in measured(case, folder, wish)]
    version = subprocess.run(["join", "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]
    about = (
        f"Joins of two sorted files, start-up, reading and writing included, from page cache; {wish.repeat} turns, "
        f"{len(os.sched_getaffinity(0))} cores, against {version}. The outputs are the same."
    )
    columns = "| case | command | median, s | fastest, s | processors, s | join over it |"
    write_table(Path(wish.out), about, columns, rows)


if __name__ == "__main__":
    main()
