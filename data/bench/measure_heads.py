"""Time sort -m of lines that are out of order, in turns with GNU sort, as whole commands. Writes markdown.

python data/bench/measure_heads.py FOLDER OUT.md [--gigabytes 1] [--repeat 5] [--only text]

Files of random letters and of random integers, two or sixteen; and two files in order but for their first lines.
Outputs go nowhere and to a file, and are compared once. Times are wall clock, and the CPU time of the process, which a
busy machine changes less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from whole_commands import environment, in_turns, write_table

CASES = {
    "text": ("letters", 2, []),
    "text -S 20M": ("letters", 2, ["-S", "20M"]),
    "text, 16 files": ("letters", 16, []),
    "text, 16 files, -S 20M": ("letters", 16, ["-S", "20M"]),
    "text -u": ("letters", 2, ["-u"]),
    "text -k1,1": ("letters", 2, ["-k1,1"]),
    "numbers -n": ("numbers", 2, ["-n"]),
    "numbers -n -S 20M": ("numbers", 2, ["-n", "-S", "20M"]),
    "text, first lines": ("first", 2, []),
}
_BLOCK = 16 << 20


def letters(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Lines of small letters, of 40 bytes on average."""
    with open(path, "wb") as file:
        for at in range(0, nbytes, _BLOCK):
            block = rng.integers(97, 123, min(_BLOCK, nbytes - at), dtype=np.uint8)
            block[rng.integers(0, len(block), len(block) // 40)] = 10
            block[-1] = 10
            block.tofile(file)


def numbers(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Lines of integers of at most nine digits."""
    with open(path, "wb") as file:
        while file.tell() < nbytes:
            found = rng.integers(-(10**9), 10**9, 1_000_000).tolist()
            file.write("".join(f"{number}\n" for number in found).encode())


def first(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Sorted lines of letters behind one that goes after them."""
    letters(path, nbytes, rng)
    subprocess.run(["sort", str(path), "-o", str(path)], env=environment(), check=True)
    lines = path.read_bytes()
    path.write_bytes(b"~\n" + lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", help="cases whose names begin so")
    wish = parser.parse_args()
    wish.folder.mkdir(parents=True, exist_ok=True)
    programs = {"GNU sort": ["sort"], "gpumerge": [sys.executable, "-m", "gpumerge_cli", "sort"]}
    outs = {name: wish.folder / f"out{place}" for place, name in enumerate(programs)}
    rows, made = [], {}
    for case, (kind, count, options) in CASES.items():
        if wish.only and not case.startswith(wish.only):
            continue
        if (kind, count) not in made:
            made[kind, count] = [wish.folder / f"{kind}-{count}-{number}" for number in range(count)]
            for number, path in enumerate(made[kind, count]):
                globals()[kind](path, int(wish.gigabytes * 1e9) // count, np.random.default_rng(number))
        tail = ["-m", *options, *map(str, made[kind, count])]
        for to in ("nowhere", "file"):
            ends = {name: ["-o", str(out)] if to == "file" else [] for name, out in outs.items()}
            found = in_turns({name: [*words, *tail, *ends[name]] for name, words in programs.items()}, wish.repeat)
            for name, took in found.items():
                spread = f"{took.fastest:.2f} to {took.slowest:.2f}"
                rows.append(f"| {case} | {to} | {name} | {took.median:.2f} | {spread} | {took.processors:.2f} |")
                print(rows[-1], flush=True)
        subprocess.run(["cmp", *map(str, outs.values())], check=True)
        for out in outs.values():
            out.unlink()
    for path in (path for paths in made.values() for path in paths):
        path.unlink()
    about = (
        f"Lines out of order, {wish.gigabytes:g} GB in all; medians of {wish.repeat} runs, in turns, after one. "
        f"{len(os.sched_getaffinity(0))} cores, load average {os.getloadavg()[0]:.1f} at the end."
    )
    write_table(wish.out, about, "| lines | output | program | s | from, to | CPU s |", rows)


if __name__ == "__main__":
    main()
