"""Time three ways in which threads write one new file: pwrite, pwrite after fallocate, and through a mapping.

python data/bench/bench_writing.py FOLDER [--size 4] [--threads 1,2,4,8,16] [--out data/results/epyc/writing.md]

FOLDER gets a file of --size GB at a time, which is removed again; it should fit into memory. Prints GB/s, the medians
of runs in turns. Nothing is forced to storage.
"""

from __future__ import annotations

import argparse
import os
import platform
from pathlib import Path
from statistics import median

from gpumerge_cli.compare.write_speed import CALLS, MAPPED, RESERVED, writing_seconds

WAYS = (CALLS, RESERVED, MAPPED)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=float, default=4, help="GB of the file (default 4)")
    parser.add_argument("--threads", default="1,2,4,8,16", help="numbers of threads (default 1,2,4,8,16)")
    parser.add_argument("--out")
    parser.add_argument("--repeat", type=int, default=5)
    wish = parser.parse_args()
    size = int(wish.size * 1e9)
    lines = [
        f"A new file of {size / 1e9:g} GB in page cache, GB/s, medians of {wish.repeat} runs in turns; "
        f"{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}. "
        "Made by `python data/bench/bench_writing.py FOLDER`.",
        "",
        f"| threads | {' | '.join(WAYS)} |",
        f"|---|{'---|' * len(WAYS)}",
    ]
    for threads in map(int, wish.threads.split(",")):
        seconds: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(wish.repeat):
            for way in WAYS:
                seconds[way].append(writing_seconds(wish.folder / "bench_writing.tmp", way, threads, size))
        lines.append(f"| {threads} | {' | '.join(f'{size / 1e9 / median(seconds[way]):.2f}' for way in WAYS)} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if wish.out:
        Path(wish.out).write_text(text)


if __name__ == "__main__":
    main()
