"""Time joins of two sorted files of lines, in turns with coreutils' join, and compare their outputs.

python data/bench/measure_join.py FOLDER OUT.md [--gigabytes 1] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

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


def seconds(command: list[str], out: Path) -> tuple[float, float]:
    """The seconds that a command takes by the clock, and those of the processors."""
    environment = os.environ | {"LC_ALL": "C", "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(out, "wb") as file:
        subprocess.run(command, env=environment, check=True, stdout=file)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(case: str, folder: Path, wish: argparse.Namespace) -> list[str]:
    """The rows of a case."""
    options, title = CASES[case]
    a, b, ours, theirs = (folder / name for name in ("a.txt", "b.txt", "ours", "theirs"))
    for seed, path in enumerate((a, b)):
        make(case, path, int(wish.gigabytes * 5e8), seed)
    tail = [*options, str(a), str(b)]
    commands = {"join": ["join", *tail], "gpumerge": [*OURS, *tail, "--output", str(ours)]}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for turn in range(wish.repeat + 1):  # the first is for the page cache
        for name, command in commands.items():
            took = seconds(command, theirs if name == "join" else folder / "nothing")
            if turn:
                found[name].append(took)
    subprocess.run(["cmp", ours, theirs], check=True)
    size = a.stat().st_size + b.stat().st_size
    out = ours.stat().st_size
    for path in (a, b, ours, theirs):
        path.unlink()
    slow = median(took for took, _ in found["join"])
    rows = []
    for name, turns in found.items():
        middle, least = median(took for took, _ in turns), min(took for took, _ in turns)
        busy = median(used for _, used in turns)
        said = f"{size / 1e9:.2f} GB, {out / 1e9:.2f} GB out: {title}"
        rows.append(f"| {said} | {name} | {middle:.2f} | {least:.2f} | {busy:.2f} | {slow / middle:.1f} |")
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
    version = subprocess.run(["join", "--version"], capture_output=True, text=True, check=True).stdout.partition("\n")[
        0
    ]
    head = f"Joins of two sorted files, start-up, reading and writing included, from page cache; {wish.repeat} turns, "
    head += f"{len(os.sched_getaffinity(0))} cores, against {version}. The outputs are the same."
    table = [
        "| case | command | median, s | fastest, s | processors, s | join over it |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    Path(wish.out).write_text(f"{head}\n\n" + "\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
