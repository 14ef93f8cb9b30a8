#!/usr/bin/env python3
"""Measures gpumerge rank over 1,000 files of 1 GB, and merge --head and --tail, as whole commands. Writes markdown.

usage: python data/bench/measure_rank.py FOLDER OUT.md [--files 1000] [--gigabytes 1] [--repeat 5]

FOLDER needs room for ten files of the gigabytes. "sparse": each file is a hole, which reads as zeros, so all items are
equal. "arithmetic": ten different files of int32 in arithmetic progressions, each under a hundred names. "lines": two
files of half the gigabytes. Times are wall clock, and the CPU time of the process, which a busy machine changes less.
The bytes that the process reads are those of all its calls, Python's own start-up (row "--version") included.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
from whole_commands import environment, in_turns, write_table

GPUMERGE = [sys.executable, "-m", "gpumerge_cli"]
_DIFFERENT = 10
_BLOCK = 1 << 22
_TELL = (
    "import sys; from gpumerge_cli.cli.app import invoke; invoke(sys.argv[1:]); "
    "print(open('/proc/self/io').read(), file=sys.stderr)"
)


def sparse(folder: Path, files: int, nbytes: int) -> list[str]:
    """Names of files that are holes."""
    names = [str(folder / f"sparse{number:04}.i32") for number in range(files)]
    for name in names:
        with open(name, "wb") as file:
            file.truncate(nbytes)
    return names


def arithmetic(folder: Path, files: int, nbytes: int) -> list[str]:
    """Names of files, ten of them different: item i of file f is s i + f, less 2^30, with a step s of 5 to 8."""
    names = [str(folder / f"arithmetic{number:04}.i32") for number in range(files)]
    for number, name in enumerate(names):
        if number >= _DIFFERENT:
            os.link(names[number % _DIFFERENT], name)
            continue
        with open(name, "wb") as file:
            for at in range(0, nbytes // 4, _BLOCK):
                items = np.arange(at, min(at + _BLOCK, nbytes // 4), dtype=np.int64)
                (items * (number % 4 + 5) + number - (1 << 30)).astype(np.int32).tofile(file)
    return names


def lines(folder: Path, nbytes: int) -> list[str]:
    """Names of two sorted files of lines."""
    names = [str(folder / f"lines{number}.txt") for number in range(2)]
    for number, name in enumerate(names):
        with open(name, "w", encoding="ascii") as file:
            for at in range(0, nbytes // 40, 100_000):
                rows = range(at, min(at + 100_000, nbytes // 40))
                file.write("".join(f"{2 * row + number:012} and some more of a line\n" for row in rows))
    return names


def bytes_read(words: list[str]) -> int:
    """Bytes that the command's own process reads."""
    command = [sys.executable, "-c", _TELL, *words]
    done = subprocess.run(command, capture_output=True, env=environment(), check=True)
    count = done.stderr.decode().rpartition("rchar:")[2]
    return int(count.split()[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--repeat", type=int, default=5)
    wish = parser.parse_args()
    wish.folder.mkdir(parents=True, exist_ok=True)
    nbytes = int(wish.gigabytes * 1e9) // 4 * 4
    made = {
        "sparse": sparse(wish.folder, wish.files, nbytes),
        "arithmetic": arithmetic(wish.folder, wish.files, nbytes),
        "lines": lines(wish.folder, nbytes // 2),
    }
    questions = {"--quantile 0.5": ["--quantile", "0.5"], "--quantile 0.1,0.5,0.9": ["--quantile", "0.1,0.5,0.9"],
                 "--of 1000": ["--of", "1000"], "--split 8": ["--split", "8"]}  # fmt: skip
    commands = {("", "--version"): ["--version"]}
    for kind in ("sparse", "arithmetic"):
        for title, words in questions.items():
            commands[kind, f"rank {title}"] = ["rank", *words, "--json", *made[kind]]
        commands[kind, "merge --head 1000"] = ["merge", "-q", "--head", "1000", "--backend", "cpu", *made[kind]]
    for title in ("rank --split 8", "rank --at 1000000", "rank --quantile 0.5"):
        commands["lines", title] = [*title.split(), "--json", *made["lines"]]
    for title in ("merge --head 1000", "merge --tail 1000", "merge"):
        commands["lines", title] = [title.split()[0], "-q", *title.split()[1:], "--backend", "cpu", *made["lines"]]
    about = (
        f"{wish.files} files of {wish.gigabytes:g} GB of int32, and two of {wish.gigabytes / 2:g} GB of lines; medians "
        f"of {wish.repeat} runs, after one. {platform.processor() or platform.machine()}, "
        f"{len(os.sched_getaffinity(0))} cores, Linux {platform.release()}, Python {platform.python_version()}, load "
        f"average {os.getloadavg()[0]:.1f} at the start."
    )
    rows = []
    for (kind, title), words in commands.items():
        (took,) = in_turns({title: [*GPUMERGE, *words]}, wish.repeat).values()
        rows.append(
            f"| {kind} | `{title}` | {took.median:.2f} | {took.fastest:.2f} to {took.slowest:.2f} | "
            f"{took.processors:.2f} | {bytes_read(words) / 1e6:,.1f} MB |"
        )
        print(rows[-1], flush=True)
    for name in {name for names in made.values() for name in names}:
        Path(name).unlink(missing_ok=True)
    write_table(wish.out, about, "| files | command | s | from, to | CPU s | bytes read |", rows)


if __name__ == "__main__":
    main()
