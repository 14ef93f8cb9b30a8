"""Time sort --head beside reading the same bytes, whole sorts and the top k of libraries. Writes markdown.

python data/bench/measure_top.py FOLDER OUT.md [--gigabytes 1] [--repeat 5] [--count 100] [--only log]

Files of lines like those of a log, of 80 bytes; of lines of numbers; of int64 as .npy; and a Parquet file of three
columns. Programs take turns. Results of lines are compared once. Times are wall clock, and the CPU time of the process,
which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from whole_commands import in_turns, write_table

_ROWS = 500_000
_TABLE_ROW = 24  # bytes, about, as they are stored


def log(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Lines of 80 bytes that begin with a time in one month."""
    with open(path, "wb") as file:
        while file.tell() < nbytes:
            seconds, rest = rng.integers(0, 30 * 86_400, _ROWS), rng.integers(0, 1 << 32, _ROWS)
            times = np.datetime_as_string(np.datetime64("2026-11-01") + seconds.astype("m8[s]"))
            pairs = zip(times.tolist(), rest.tolist(), strict=True)
            file.write(
                "".join(f"{time} 10.0.{one % 256:3} GET /{one:x}".ljust(79, ".") + "\n" for time, one in pairs).encode()
            )


def numbers(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Lines of integers of at most twelve digits."""
    with open(path, "wb") as file:
        while file.tell() < nbytes:
            file.write("".join(f"{number}\n" for number in rng.integers(0, 10**12, _ROWS).tolist()).encode())


def array(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Random int64."""
    np.save(path, rng.integers(-(2**62), 2**62, nbytes // 8))


def table(path: Path, nbytes: int, rng: np.random.Generator) -> None:
    """Rows of an integer, a number and a text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.int64()), ("value", pa.float64()), ("name", pa.string())])
    with pq.ParquetWriter(path, schema) as writer:
        for _ in range(max(1, nbytes // (_TABLE_ROW * _ROWS))):
            ids = rng.integers(0, 2**62, _ROWS)
            names = pa.array([f"name {one % 100_000}" for one in ids.tolist()])
            writer.write_table(pa.table([ids, rng.random(_ROWS), names], schema=schema))


MAKERS: dict[str, tuple[str, Callable[[Path, int, np.random.Generator], None], Sequence[str]]] = {
    "log": ("log.txt", log, []),
    "numbers -n": ("numbers.txt", numbers, ["-n"]),
    "int64": ("array.npy", array, []),
    "table": ("table.parquet", table, ["--field", "id"]),
}
_DUCKDB = """
import duckdb, sys
duckdb.sql("set enable_progress_bar = false")
duckdb.sql(f"copy (select * from '{sys.argv[1]}' order by id limit {sys.argv[2]}) to '{sys.argv[3]}' (format parquet)")
"""
_POLARS = """
import polars, sys
found = polars.scan_parquet(sys.argv[1]).sort("id").head(int(sys.argv[2]))
found.collect(engine="streaming").write_parquet(sys.argv[3])
"""


def programs(name: str, path: Path, options: Sequence[str], count: int, out: Path) -> dict[str, list[str]]:
    """The command of each program."""
    ours = [sys.executable, "-m", "gpumerge_cli", "sort", "-q", *options, "--head", str(count), str(path)]
    found = {"gpumerge": [*ours, "-o", str(out.with_suffix(path.suffix))], "wc -l": ["wc", "-l", str(path)]}
    if path.suffix == ".txt":
        found["sort \\| head"] = ["sh", "-c", f"LC_ALL=C sort {' '.join(options)} {path} | head -n {count} > {out}"]
    if name == "table":
        for library, code in (("DuckDB", _DUCKDB), ("polars", _POLARS)):
            found[library] = [sys.executable, "-c", code, str(path), str(count), f"{out}.{library}"]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", help="cases whose names begin so")
    wish = parser.parse_args()
    wish.folder.mkdir(parents=True, exist_ok=True)
    rows, out = [], wish.folder / "found"
    for name, (file, make, options) in MAKERS.items():
        if wish.only and not name.startswith(wish.only):
            continue
        path = wish.folder / file
        make(path, int(wish.gigabytes * 1e9), np.random.default_rng(1))
        commands = programs(name, path, options, wish.count, out)
        for program, took in in_turns(commands, wish.repeat).items():
            spread = f"{took.fastest:.2f} to {took.slowest:.2f}"
            rows.append(f"| {name} | {program} | {took.median:.2f} | {spread} | {took.processors:.2f} |")
            print(rows[-1], flush=True)
        if path.suffix == ".txt":
            subprocess.run(["cmp", str(out), str(out.with_suffix(".txt"))], check=True)
        path.unlink()
    about = (
        f"The first {wish.count} items of {wish.gigabytes:g} GB; medians of {wish.repeat} runs, in turns, after one. "
        f"{len(os.sched_getaffinity(0))} cores, load average {os.getloadavg()[0]:.1f} at the end."
    )
    write_table(wish.out, about, "| items | program | s | from, to | CPU s |", rows)


if __name__ == "__main__":
    main()
