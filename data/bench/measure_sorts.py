"""Time whole sorts of files, in turns with other programs: cat, GNU sort, DuckDB, polars.

python data/bench/measure_sorts.py FOLDER OUT.md [--only big,sizes,shapes,records,lines,outside] [--backends cpu,gpu]
[--scale 1.0] [--repeat 3]

big: 2^31 uint32 beside cat. sizes: 10 M to 1 G int32. shapes: 100 M int32 in other orders. records: 1 GB of 100-byte
ASCII records by their first 10. lines: 20 M lines bytewise and -n. outside: 1 G int32 in memory and with -S 256M.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from measured_on import commit
from numpy.typing import NDArray

_BLOCK = 1 << 24
DUCKDB = """
import sys, duckdb
kind, source, target = sys.argv[1:]
cast = "CAST(line AS BIGINT)" if kind == "n" else "line"
read = f"read_csv('{source}', columns={{'line': 'VARCHAR'}}, header=false, delim='\\x01', quote='', escape='')"
copy = "(HEADER false, DELIMITER '\\x01', QUOTE '')"
duckdb.sql(f"COPY (SELECT line FROM {read} ORDER BY {cast}, line) TO '{target}' {copy}")
"""
POLARS = """
import sys, polars as pl
kind, source, target = sys.argv[1:]
options = dict(has_header=False, separator="\\x01", quote_char=None, schema={"line": pl.String})
lines = pl.read_csv(source, **options)
key = pl.col("line").cast(pl.Int64) if kind == "n" else pl.col("line")
lines.sort([key, pl.col("line")]).write_csv(target, include_header=False, separator="\\x01", quote_style="never")
"""


def seconds(command: list[str], environment: dict[str, str], out: str | None = None) -> float:
    """The seconds that a command takes. out: the file for its standard output."""
    start = time.perf_counter()
    with open(out or os.devnull, "wb") as file:
        subprocess.run(command, env=environment, stdout=file, check=True)
    return time.perf_counter() - start


def keys(
    path: Path, count: int, dtype: str, make: Callable[[np.random.Generator, int, int], NDArray[np.integer]]
) -> None:
    """Write a file of keys. make(rng, first, last) gives the keys of the places [first, last)."""
    rng = np.random.default_rng(1)
    with open(path, "wb") as file:
        for first in range(0, count, _BLOCK):
            make(rng, first, min(count, first + _BLOCK)).astype(dtype).tofile(file)


def uniform(dtype: str) -> Callable[[np.random.Generator, int, int], NDArray[np.integer]]:
    limits = np.iinfo(dtype)
    return lambda rng, first, last: rng.integers(limits.min, limits.max, last - first, dtype, endpoint=True)


def records(path: Path, count: int) -> None:
    """Records of the sort benchmark's ASCII form: a key of 10 printable bytes, a number, filler, CR LF."""
    rng = np.random.default_rng(2)
    with open(path, "wb") as file:
        for first in range(0, count, 1 << 20):
            rows = np.full((min(count, first + (1 << 20)) - first, 100), ord("X"), np.uint8)
            rows[:, :10] = rng.integers(32, 127, (len(rows), 10), np.uint8)
            rows[:, 10:12] = ord(" ")
            numbers = np.arange(first, first + len(rows))
            rows[:, 12:44] = ord("0")
            for digit in range(10):
                rows[:, 43 - digit] += (numbers // 10**digit % 10).astype(np.uint8)
            rows[:, 98], rows[:, 99] = 13, 10
            rows.tofile(file)


class Table:
    """Rows of times. Each row is printed as soon as it is there."""

    def __init__(self, folder: Path, repeat: int) -> None:
        self.rows: list[str] = []
        self._folder = folder
        self._repeat = repeat
        root = str(Path(__file__).resolve().parents[2])
        self._environment = os.environ | {"LC_ALL": "C", "PYTHONPATH": root}
        self._environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled, too

    def race(self, title: str, commands: dict[str, list[str]], *, same: bool = True) -> None:
        """Run commands in turns. OUT stands for the output; a command without it writes to standard output.

        REPORT stands for the file of the report. The peak memory is read from it, because the number that the system
        gives for a child includes the memory of its parent.

        same: outputs must be the first one's.
        """
        found: dict[str, list[float]] = {name: [] for name in commands}
        peaks = dict.fromkeys(commands, 0)
        report = self._folder / "report.json"
        outs = {name: str(self._folder / f"out{number}") for number, name in enumerate(commands)}
        for turn in range(self._repeat + 1):  # the first is for the page cache and the GPU's code
            for name, command in commands.items():
                out = outs[name]
                given = [part.replace("OUT", out).replace("REPORT", str(report)) for part in command]
                took = seconds(given, self._environment, None if given != command else out)
                if report.exists():
                    peaks[name] = max(peaks[name], json.loads(report.read_text())["peak_memory"])
                    report.unlink()
                if turn:
                    found[name].append(took)
                if turn or not same:
                    os.remove(out)
            if not turn and same:
                for out in list(outs.values())[1:]:
                    subprocess.run(["cmp", outs[next(iter(outs))], out], check=True)
                for out in outs.values():
                    os.remove(out)
        for name, each in found.items():
            peak = f"{peaks[name] / 1e6:.0f}" if peaks[name] else ""
            self.rows.append(f"| {title} | {name} | {median(each):.2f} | {min(each):.2f} | {peak} |")
            print(self.rows[-1], flush=True)


class Cases:
    """The cases by name, each a method that makes its file and races the commands over it."""

    def __init__(self, wish: argparse.Namespace, table: Table, path: Path, threads: int) -> None:
        self._scale: float = wish.scale
        self._backends: list[str] = wish.backends.split(",")
        self._table = table
        self._path = path
        self._gnu = ["sort", f"--parallel={threads}", "-S", "60%"]

    def _ours(self, *options: str) -> dict[str, list[str]]:
        base = [sys.executable, "-m", "gpumerge_cli", "sort"]
        tail = [*options, str(self._path), "-o", "OUT", "--report=REPORT"]
        return {f"gpumerge, {backend}": [*base, f"--backend={backend}", *tail] for backend in self._backends}

    def _scaled(self, count: float) -> int:
        return int(count * self._scale)

    def big(self) -> None:
        count = self._scaled(1 << 31)
        keys(self._path, count, "uint32", uniform("uint32"))
        commands = self._ours("--format=raw", "--dtype=uint32") | {"cat": ["cat", str(self._path)]}
        self._table.race(f"{count * 4 / 1e9:.1f} GB of uint32", commands, same=False)

    def sizes(self) -> None:
        for count in map(self._scaled, (10**7, 10**8, 10**9)):
            keys(self._path, count, "int32", uniform("int32"))
            self._table.race(f"{count:,} int32, random", self._ours("--format=raw", "--dtype=int32"))

    def shapes(self) -> None:
        count = self._scaled(10**8)
        shapes: dict[str, Callable[[np.random.Generator, int, int], NDArray[np.integer]]] = {
            "random": lambda rng, first, last: rng.integers(0, count, last - first),  # of the others' range
            "sorted": lambda _, first, last: np.arange(first, last),
            "reversed": lambda _, first, last: count - np.arange(first, last),
            "all equal": lambda _, first, last: np.full(last - first, 7),
        }
        for name, make in shapes.items():
            keys(self._path, count, "int32", make)
            self._table.race(f"{count:,} int32, {name}", self._ours("--format=raw", "--dtype=int32"))

    def records(self) -> None:
        count = self._scaled(10**7)
        records(self._path, count)
        as_records = self._ours("--record-size=100", "--key-size=10")
        commands = {"GNU sort": [*self._gnu, str(self._path), "-o", "OUT"]} | self._ours()
        commands |= {f"{name}, as records": command for name, command in as_records.items()}
        # Records with equal keys would keep the order of the input, but no two keys are equal.
        self._table.race(f"{count / 1e7:.1f} GB of sort benchmark records, ASCII", commands)

    def lines(self) -> None:
        count = self._scaled(2e7)
        rng = np.random.default_rng(3)
        with open(self._path, "w", encoding="ascii") as file:
            for number in rng.integers(-(10**9), 10**9, count).tolist():
                file.write(f"{number}\n")
        size = f"{os.path.getsize(self._path) / 1e9:.2f} GB, {count:,} lines"
        for kind, options in (("bytewise", []), ("-n", ["-n"])):
            commands = {"GNU sort": [*self._gnu, *options, str(self._path), "-o", "OUT"]} | self._ours(*options)
            for name, script in (("duckdb", DUCKDB), ("polars", POLARS)):
                if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True).returncode == 0:
                    commands[name] = [sys.executable, "-c", script, kind[-1], str(self._path), "OUT"]
            self._table.race(f"{size}, {kind}", commands)

    def outside(self) -> None:
        count = self._scaled(10**9)
        keys(self._path, count, "int32", uniform("int32"))
        for memory, options in (("in memory", []), ("-S 256M", ["-S", "256M"])):
            commands = self._ours("--format=raw", "--dtype=int32", *options)
            self._table.race(f"{count * 4 / 1e9:.1f} GB of int32, {memory}", commands)


CASES = ("big", "sizes", "shapes", "records", "lines", "outside")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--backends", default="cpu")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=3)
    wish = parser.parse_args()
    folder = Path(wish.folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = Table(folder, wish.repeat)
    threads = len(os.sched_getaffinity(0))
    path = folder / "keys"
    cases = Cases(wish, table, path, threads)
    for name in CASES:
        if name in wish.only.split(","):
            getattr(cases, name)()
    os.remove(path)
    head = (
        f"Sorts of files, start-up, reading and writing included, from page cache; {threads} cores, {wish.repeat} turns"
    )
    lines = ["| case | command | median, s | fastest, s | peak, MB |", "|---|---|---|---|---|", *table.rows]
    Path(wish.out).write_text(f"{head}; commit {commit()}.\n\n" + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
