"""Time gpumerge dedupe, in turns with awk '!seen[$0]++', and compare their outputs.

python data/bench/measure_dedupe.py FOLDER OUT.md [--lines 20000000] [--repeat 3]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from whole_commands import in_turns, write_table

OURS = [sys.executable, "-m", "gpumerge_cli", "dedupe", "-q"]
PEERS = [name for name in ("mawk", "gawk") if shutil.which(name)]
CASES = {"half": "half of the lines are duplicates", "distinct": "all lines differ", "few": "1,000 lines differ"}
_WORDS = [
    "alpha",
    "request",
    "user",
    "GET",
    "POST",
    "index.html",
    "login",
    "session",
    "cache",
    "miss",
    "hit",
    "error",
    "warn",
]
_BLOCK = 500_000


def make(case: str, path: Path, lines: int) -> None:
    """A file of lines like those of a log, of about 32 bytes each."""
    rng = np.random.default_rng(1)
    most = {"half": round(0.6275 * lines), "few": 1000}.get(case, lines)
    with open(path, "w", encoding="ascii") as file:
        for at in range(0, lines, _BLOCK):
            count = min(_BLOCK, lines - at)
            numbers = range(at, at + count) if case == "distinct" else rng.integers(0, most, count).tolist()
            for number in numbers:
                mixed = number * 2654435761 & 0xFFFFFFFF
                file.write(f"{_WORDS[mixed % 13]} {_WORDS[mixed // 13 % 13]} id={mixed:08x} {number}\n")


def measured(case: str, folder: Path, wish: argparse.Namespace) -> list[str]:
    """The rows of a case."""
    path, ours = folder / "lines.txt", folder / "ours"
    make(case, path, wish.lines)
    outs = {name: folder / name for name in PEERS}
    commands = {name: [name, "!seen[$0]++", str(path)] for name in PEERS}
    commands["gpumerge"] = [*OURS, str(path), "-o", str(ours)]
    commands["gpumerge -S 40M"] = [*OURS, "-S", "40M", str(path), "-o", str(ours)]
    found = in_turns(commands, wish.repeat, outs)
    for out in outs.values():
        subprocess.run(["cmp", ours, out], check=True)
    rows = []
    for name, times in found.items():
        shown = f"{times.median:.2f} | {times.processors:.2f} | {times.memory:.0f}"
        rows.append(f"| {wish.lines:,} lines, {path.stat().st_size / 1e9:.2f} GB: {CASES[case]} | {name} | {shown} |")
        print(rows[-1], flush=True)
    for file in (path, ours, *outs.values()):
        file.unlink()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--lines", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    wish = parser.parse_args()
    folder = Path(wish.folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for case in CASES for row in measured(case, folder, wish)]
    about = (
        f"Each line once, in first-seen order, start-up, reading and writing included, from page cache; {wish.repeat} "
        f"turns, {len(os.sched_getaffinity(0))} cores. The outputs are the same."
    )
    write_table(Path(wish.out), about, "| case | command | median, s | processors, s | memory, MB |", rows)


if __name__ == "__main__":
    main()
