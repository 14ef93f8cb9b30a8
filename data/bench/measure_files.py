"""Time whole merges of files against cat and GNU sort -m, in turns, from page cache; medians to a Markdown table.

usage: python data/bench/measure_files.py FOLDER OUT.md [--repeat N] [--scale F] [--only REGEX] [--backend auto|cpu|gpu]

FOLDER is on the disk to measure and needs room for the largest case twice (16 GB; 5 GB without the large ones). Inputs
are made by `gpumerge generate`. Every round runs each command once, onto a fresh output; the first round warms up and
does not count.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from measured_on import commit

GPUMERGE = [sys.executable, "-m", "gpumerge_cli"]
CASES = [
    # name, suffix, files, items a file, options of generate, options of merge and sort
    ("2 x 1 GB int32", ".i32", 2, 250_000_000, [], []),
    ("2 x 1 GB int64", ".i64", 2, 125_000_000, [], []),
    ("16 x 125 MB int32", ".i32", 16, 31_250_000, [], []),
    ("2 x 0.5 GB of numbers, -n", ".txt", 2, 46_000_000, ["-n"], ["-n"]),
    ("2 x 0.5 GB of lines, bytewise", ".txt", 2, 46_000_000, [], []),
    ("2 x 50 MB int64", ".i64", 2, 6_250_000, [], []),
    ("2 x 500 MB int64", ".i64", 2, 62_500_000, [], []),
    ("2 x 4 GB int64", ".i64", 2, 500_000_000, [], []),
    ("2 x 8 GB int64", ".i64", 2, 1_000_000_000, [], []),
]
BOUND = "-S 256M"
"""If the input is larger than 4 GB, runs with this option are measured too."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--backend", default="auto")
    arguments = parser.parse_args()
    rows = []
    for name, suffix, files, items, made, options in CASES:
        if re.search(arguments.only, name):
            work = arguments.folder / "measure"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            inputs = [str(work / f"{number}{suffix}") for number in range(files)]
            count = str(int(items * arguments.scale))
            subprocess.run([*GPUMERGE, "generate", *inputs, "--count", count, "--seed", "1", *made], check=True)
            rows += measured(name, work, inputs, options, arguments.repeat, arguments.backend)
            shutil.rmtree(work)
            arguments.out.write_text(table(rows, arguments.repeat))
    print(arguments.out.read_text())


def measured(name: str, work: Path, inputs: list[str], options: list[str], repeat: int, backend: str) -> list[str]:
    """One row a command: median, fastest and slowest of `repeat` runs, GB/s, its median over cat's, peak memory."""
    output = str(work / f"merged{Path(inputs[0]).suffix}")
    merge = [*GPUMERGE, "merge", *inputs, "-o", output, "-q", "--backend", backend, *options]
    nbytes = sum(os.path.getsize(path) for path in inputs)
    commands = {"cat": ["sh", "-c", 'cat "$@" > ' + output, "cat", *inputs], "gpumerge": merge}
    if nbytes > 4e9:
        commands[f"gpumerge {BOUND}"] = [*merge, *BOUND.split()]
    if inputs[0].endswith(".txt"):
        commands["GNU sort -m"] = ["sort", "-m", *options, *inputs, "-o", output]
    times: dict[str, list[float]] = {command: [] for command in commands}
    peaks: dict[str, int] = {}
    for round_ in range(repeat + 1):
        # In another order every time: a command may gain or lose by what the one before has left behind.
        for command, words in random.Random(round_).sample(list(commands.items()), len(commands)):
            Path(output).unlink(missing_ok=True)
            seconds, peaks[command] = run(words)
            if round_:
                times[command].append(seconds)
    base = statistics.median(times["cat"])
    return [
        f"| {name} | {command} | {statistics.median(series):.2f} | {min(series):.2f} to {max(series):.2f} "
        f"| {nbytes / statistics.median(series) / 1e9:.2f} | {statistics.median(series) / base:.2f} "
        f"| {peaks[command] >> 20} |"
        for command, series in times.items()
    ]


def run(words: list[str]) -> tuple[float, int]:
    """(seconds, most bytes of memory) of a command, which must succeed."""
    start = time.perf_counter()
    process = subprocess.Popen(words, env={**os.environ, "LC_ALL": "C"})
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return seconds, usage.ru_maxrss * 1024


def table(rows: list[str], repeat: int) -> str:
    """The rows, below a description of the machine."""
    version = subprocess.run([*GPUMERGE, "--version"], check=True, capture_output=True, text=True).stdout.strip()
    sort = subprocess.run(["sort", "--version"], check=False, capture_output=True, text=True).stdout.split("\n")[0]
    where = f"{platform.system()} {platform.release()}, {cpu()}, {len(os.sched_getaffinity(0))} cores"
    head = f"{version}, Python {platform.python_version()}, {sort}; {where}; median of {repeat} runs in turns; "
    head += f"commit {commit()}.\n\n"
    columns = "| merge | command | s | from, to | GB/s | x cat | peak MiB |\n|---|---|---|---|---|---|---|\n"
    return head + columns + "\n".join(rows) + "\n"


def cpu() -> str:
    """The processor's name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


if __name__ == "__main__":
    main()
