"""Time whole runs on text, in turns with GNU sort: merges (-m) and sorts of logs, numbers, CSV and keyed lines.

python data/bench/measure_text.py FOLDER OUT.md --gigabytes 1 --backends cpu,gpu [--cores 2,16] [--sorts] [--only log]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from multiprocessing import Pool
from pathlib import Path
from statistics import median

import numpy as np
from whole_commands import environment, write_table

CASES = {
    "log": ([], "access log lines, bytewise"),
    "num": (["-n"], "numbers, -n"),
    "csv": (["-k2,2n", "-t,"], "CSV, -k2,2n -t,"),
    "key": (["-k1,1", "-k3,3nr"], "words, -k1,1 -k3,3nr"),
}
OURS = [sys.executable, "-m", "gpumerge_cli", "sort"]
_BLOCK = 200_000
_NAMES = ("alice", "bob", "carol", "dave", "eve", "mallory", "trent", "peggy")


def lines(case: str, rng: np.random.Generator, count: int) -> str:
    """`count` random lines of a case."""
    a, b, c, d = (rng.integers(0, 1 << 31, count).tolist() for _ in range(4))
    if case == "log":
        return "".join(
            f"{x >> 23}.{x >> 15 & 255}.{x >> 7 & 255}.{y & 255} - - [{1700000000 + z % 30000000}] "
            f'"GET /page/{y % 5000} HTTP/1.1" {200 + w % 5 * 75} {w % 100000}\n'
            for x, y, z, w in zip(a, b, c, d, strict=True)
        )
    if case == "num":
        return "".join(f"{x - (1 << 30)}\n" for x in a)
    if case == "csv":
        return "".join(
            f"{_NAMES[x % 8]},{y % 10_000_000},{z % 100_000}.{w % 100:02},row-{w},{_NAMES[w % 8]}\n"
            for x, y, z, w in zip(a, b, c, d, strict=True)
        )
    return "".join(
        f"user{x % 5000:04} item{y % 1_000_000} {z % 1_000_000} ok\n" for x, y, z in zip(a, b, c, strict=True)
    )


def make(case: str, path: Path, nbytes: int, seed: int) -> None:
    """A file of about `nbytes` random lines."""
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="ascii") as file:
        while file.tell() < nbytes:
            file.write(lines(case, rng, _BLOCK))


def seconds(command: list[str], report: Path, cores: set[int]) -> tuple[float, int]:
    """The seconds that a command takes, and the peak memory in bytes that its report says, 0 without one.

    The report is removed.
    """
    start = time.perf_counter()
    subprocess.run(command, env=environment(), check=True, preexec_fn=lambda: os.sched_setaffinity(0, cores))
    took = time.perf_counter() - start
    peak = 0
    if report.exists():
        peak = json.loads(report.read_text())["peak_memory"]
        report.unlink()
    return took, peak


class Race:
    """Turns of GNU sort and gpumerge over the same files. rows: of the table, each printed as soon as it is there."""

    def __init__(self, wish: argparse.Namespace, folder: Path) -> None:
        self.rows: list[str] = []
        self._wish = wish
        self._folder = folder
        self._report = folder / "report.json"
        self._cores = sorted(os.sched_getaffinity(0))

    def case(self, options: list[str], title: str, names: list[str]) -> None:
        """Race over the files of a case, on each number of cores. Merges sort them first."""
        wish = self._wish
        for name in names if not wish.sorts else []:
            subprocess.run([*OURS, "--backend=cpu", *options, name, "-o", name], env=environment(), check=True)
            subprocess.run(["sort", "-c", *options, name], env=environment(), check=True)
        size = sum(os.path.getsize(name) for name in names)
        tail = [*options, *([] if wish.sorts else ["-m"]), *(["-S", wish.memory] if wish.memory else []), *names]
        large = ["-S", "60%"] if wish.sorts and not wish.memory else []
        for number in map(int, wish.cores.split(",")) if wish.cores else [len(self._cores)]:
            commands = {"GNU sort": ["sort", f"--parallel={number}", *large, *tail]}
            for backend in wish.backends.split(","):
                commands[f"gpumerge, {backend}"] = [*OURS, f"--backend={backend}", f"--report={self._report}", *tail]
            found = self._turns(commands, number)
            gnu = median(took for took, _ in found["GNU sort"])
            for name, turns in found.items():
                middle = median(took for took, _ in turns)
                least, most = min(took for took, _ in turns), max(used for _, used in turns)
                row = f"| {size / 1e9:.2f} GB of {title} | {number} | {name} | {middle:.2f} | {least:.2f} |"
                self.rows.append(f"{row} {gnu / middle:.1f} | {f'{most / 1e6:.0f}' if most else ''} |")
                print(self.rows[-1], flush=True)

    def _turns(self, commands: dict[str, list[str]], number: int) -> dict[str, list[tuple[float, int]]]:
        """Seconds and peak bytes of every turn of every command on so many cores; their outputs must be the same."""
        found: dict[str, list[tuple[float, int]]] = {name: [] for name in commands}
        outs = {name: str(self._folder / f"out{place}") for place, name in enumerate(commands)}
        for turn in range(self._wish.repeat + 1):  # the first is for the page cache and the GPU's code
            for name, command in commands.items():
                on = set(self._cores[:number])
                took = seconds([*command, "-o", outs[name]], self._report, on)
                if turn:
                    found[name].append(took)
        for out in list(outs.values())[1:]:
            subprocess.run(["cmp", outs["GNU sort"], out], check=True)
        for out in outs.values():
            os.remove(out)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--backends", default="cpu")
    parser.add_argument("--cores", help="numbers of cores to run on, for example 2,16; by default all")
    parser.add_argument("--sorts", action="store_true", help="sort shuffled lines instead of merging two files")
    parser.add_argument("--memory", help="-S of gpumerge and of sort")
    parser.add_argument("--only")
    wish = parser.parse_args()
    folder = Path(wish.folder)
    folder.mkdir(parents=True, exist_ok=True)
    cases = {case: title for case, title in CASES.items() if not wish.only or case in wish.only.split(",")}
    files = {case: [folder / f"{case}-{part}" for part in ("a", "b")] for case in cases}
    with Pool() as pool:
        each = [
            (case, path, int(wish.gigabytes * 5e8), seed) for case in cases for seed, path in enumerate(files[case])
        ]
        pool.starmap(make, each)
    race = Race(wish, folder)
    for case, (options, title) in cases.items():
        race.case(options, title, [str(path) for path in files[case]])
        for path in files[case]:
            path.unlink()
    what = "Sorts" if wish.sorts else "Merges of two sorted files"
    about = f"{what}, start-up, reading and writing included, from page cache; {wish.repeat} turns."
    columns = "| case | cores | command | median, s | fastest, s | GNU over it | peak, MB |"
    write_table(Path(wish.out), about, columns, race.rows)


if __name__ == "__main__":
    main()
