"""Time 1,000 small merges: gpumerge batch beside a shell loop over GNU sort -m, in turns; medians to a Markdown table.

python data/bench/measure_batch.py FOLDER OUT.md [--jobs 1000] [--bytes 100000] [--repeat 7] [--only REGEX]

Every job merges two files of `--bytes` each to one of its own. FOLDER needs room for four times their size. The first
turn warms up and does not count; its outputs are held against each other. Two rows differ significantly where an exact
rank-sum test of their times gives p < 0.05. Without it a difference may be chance.
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
from itertools import combinations
from pathlib import Path

import numpy as np

GPUMERGE = [sys.executable, "-m", "gpumerge_cli"]
CASES = {
    "numbers, -n": (".txt", ["-n"], "numeric-sort = true\n"),
    "lines, bytewise": (".txt", [], ""),
    "int32": (".i32", None, ""),
}
"""Suffix, options of sort (None: it cannot), and those of jobs."""
SIGNIFICANT = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--bytes", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    rows: list[str] = []
    for name, (suffix, options, defaults) in CASES.items():
        if not re.search(arguments.only, name):
            continue
        work = arguments.folder / "measure-batch"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        make(work, name, suffix, arguments.jobs, arguments.bytes, defaults)
        commands = {
            "gpumerge batch": [*GPUMERGE, "batch", "jobs.toml", "-q", "--joblog", "log"],
            "gpumerge batch --jobs 2": [*GPUMERGE, "batch", "jobs.toml", "-q", "--joblog", "log", "--jobs", "2"],
        }
        if options is not None:
            one = " ".join(["sort", "-m", *options, '"in/$n-a.txt"', '"in/$n-b.txt"', "-o", '"out/$n.txt"'])
            numbers = f"seq 0 {arguments.jobs - 1}"
            commands["shell loop over sort -m"] = ["sh", "-c", f"for n in $({numbers}); do {one}; done"]
            of_xargs = one.replace("$n", "{}")
            commands["xargs -P 2 over sort -m"] = ["sh", "-c", f"{numbers} | xargs -P 2 -I {{}} {of_xargs}"]
        rows += measured(name, work, commands, arguments.repeat)
        shutil.rmtree(work)
        arguments.out.write_text(table(rows, arguments))
    print(arguments.out.read_text())


def make(work: Path, name: str, suffix: str, jobs: int, nbytes: int, defaults: str) -> None:
    """The inputs, sorted, and the job file."""
    rng = np.random.default_rng(1)
    (work / "in").mkdir()
    (work / "out").mkdir()
    text = [f'[defaults]\noperation = "merge"\noutput = "out/{{job}}{suffix}"\n{defaults}']
    for number in range(jobs):
        for part in "ab":
            path = work / "in" / f"{number}-{part}{suffix}"
            keys = np.sort(rng.integers(0, 1 << 31, nbytes // (4 if suffix == ".i32" else 10), np.int32))
            if suffix == ".i32":
                keys.tofile(path)
            else:
                lines = [b"%d\n" % key for key in keys.tolist()]
                path.write_bytes(b"".join(lines if "-n" in name else sorted(lines)))
        inputs = f'["in/{number}-a{suffix}", "in/{number}-b{suffix}"]'
        text.append(f'[[job]]\nname = "{number}"\ninputs = {inputs}\n')
    (work / "jobs.toml").write_text("\n".join(text))


def measured(name: str, work: Path, commands: dict[str, list[str]], repeat: int) -> list[str]:
    """One row a command."""
    root = Path(__file__).resolve().parents[2]
    environment = {**os.environ, "LC_ALL": "C", "PYTHONPATH": str(root)}
    times: dict[str, list[float]] = {command: [] for command in commands}
    first: dict[str, bytes] = {}
    for turn in range(repeat + 1):
        for command, words in random.Random(turn).sample(list(commands.items()), len(commands)):
            for path in (work / "out").iterdir():
                path.unlink()
            start = time.perf_counter()
            subprocess.run(words, cwd=work, env=environment, check=True)
            seconds = time.perf_counter() - start
            if turn:
                times[command].append(seconds)
                continue
            outputs = {path.name: path.read_bytes() for path in (work / "out").iterdir()}
            first = first or outputs
            assert outputs == first, command
    base = next((command for command in commands if command.startswith("shell")), "gpumerge batch")
    rows = []
    for command, series in times.items():
        middle = statistics.median(series)
        ratio = f"{statistics.median(times[base]) / middle:.2f}"
        if command != base and p_value(series, times[base]) >= SIGNIFICANT:
            ratio += ", not significant"
        spread = f"{min(series):.2f} to {max(series):.2f}"
        rows.append(f"| {name} | {command} | {middle:.2f} | {spread} | {1000 * middle / len(first):.1f} | {ratio} |")
        print(rows[-1], flush=True)
    return rows


def p_value(a: list[float], b: list[float]) -> float:
    """The probability that chance sets two series of times so far apart: the exact rank-sum test."""
    both = sorted([*a, *b])
    expected = len(a) * (len(both) + 1) / 2
    found = abs(sum(both.index(value) + 1 for value in a) - expected)
    sums = [abs(sum(ranks) - expected) for ranks in combinations(range(1, len(both) + 1), len(a))]
    return sum(each >= found for each in sums) / len(sums)


def table(rows: list[str], arguments: argparse.Namespace) -> str:
    """The rows, below a description of the machine."""
    root = Path(__file__).resolve().parents[2]

    def first_line(*command: str) -> str:
        done = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
        return done.stdout.split("\n")[0]

    lines = Path("/proc/cpuinfo").read_text().splitlines()
    processor = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), platform.machine())
    head = (
        f"{arguments.jobs} merges of two files of {arguments.bytes} bytes, start-up, reading and writing included,\n"
        f"from page cache; medians of {arguments.repeat} turns.\n\n"
        f"{first_line(*GPUMERGE, '--version')}, commit {first_line('git', 'rev-parse', '--short', 'HEAD')}, "
        f"Python {platform.python_version()}, {first_line('sort', '--version')}; {platform.system()} "
        f"{platform.release()}, {processor}, {len(os.sched_getaffinity(0))} cores, "
        f"load average {os.getloadavg()[1]:.1f} at the end.\n\n"
    )
    columns = "| items | command | s | from, to | ms a job | loop over it |\n|---|---|---|---|---|---|\n"
    return head + columns + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
