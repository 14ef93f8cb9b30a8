"""Time merges, sorts and checks of Parquet beside polars, DuckDB, DataFusion and pyarrow, those that are installed.

python data/bench/measure_tables.py OUT.md [--rows 20000000] [--turns 3] [--folder DIR] [--memory 512M]
    [--case CASE] [--without COMMAND]

Two files of ROWS rows each (int64, float64, string; Zstandard), by rising times; the same rows in two files that follow
each other; and all rows in no order. Only those that the cases need are written, in groups of a million: all of them
take about 150 bytes of the folder for each row.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from whole_commands import PROGRAM, in_turns, write_table

if TYPE_CHECKING:
    import numpy as np

GROUP = 1_000_000
POLARS = "import polars as pl\n"
DUCKDB = "import duckdb\nc = duckdb.connect()\n"
DUCKDB_LIMITED = DUCKDB + "c.execute(\"set memory_limit='1GB'; set temp_directory='duck'\")\n"
DATAFUSION = "import datafusion as df\nc = df.SessionContext()\n"
PYARROW = "import pyarrow as pa, pyarrow.parquet as pq\n"


def _duckdb(files: str) -> str:
    query = f"select * from read_parquet({files}) order by ts"
    return f"c.execute(\"copy ({query}) to 'out' (format parquet, compression zstd)\")\n"


def _polars(first: str, second: str) -> str:
    merged = f"pl.scan_parquet('{first}').merge_sorted(pl.scan_parquet('{second}'), key='ts')"
    return f"{merged}.sink_parquet('out', compression='zstd')\n"


def _datafusion(folder: str) -> str:
    return (
        f"c.sql(\"create external table t stored as parquet with order (ts asc) location '{folder}/'\").collect()\n"
        "c.sql(\"copy (select * from t order by ts) to 'out.parquet' stored as parquet "
        "options ('format.compression' 'zstd(3)')\").collect()\n"
    )


CASES: dict[str, dict[str, str]] = {
    "merge of two files": {
        "gpumerge": "merge -q --field ts a.parquet b.parquet -o out.parquet",
        "polars merge_sorted": POLARS + _polars("a.parquet", "b.parquet"),
        "DuckDB ORDER BY": DUCKDB + _duckdb("['a.parquet', 'b.parquet']"),
        "DataFusion WITH ORDER": DATAFUSION + _datafusion("both"),
        "pyarrow, decode and encode alone": PYARROW
        + "w = pq.ParquetWriter('out', pq.read_schema('a.parquet'), compression='zstd')\n"
        "for name in ('a.parquet', 'b.parquet'):\n"
        "    for batch in pq.ParquetFile(name).iter_batches(1 << 18, use_threads=False):\n"
        "        w.write_batch(batch)\n"
        "w.close()\n",
    },
    "merge of two files that follow each other": {
        "gpumerge": "merge -q --field ts low.parquet high.parquet -o out.parquet",
        "polars merge_sorted": POLARS + _polars("low.parquet", "high.parquet"),
        "DuckDB ORDER BY": DUCKDB + _duckdb("['low.parquet', 'high.parquet']"),
        "cat": "cat",
    },
    "sort of all rows beyond memory": {
        "gpumerge": "sort -S MEMORY --field ts shuffled.parquet -o out.parquet",
        "DuckDB, limit 1 GB": DUCKDB_LIMITED + _duckdb("'shuffled.parquet'"),
    },
    "check of a sorted file": {
        "gpumerge": "check -q --field ts a.parquet",
        "pyarrow, decode the column alone": PYARROW
        + "for batch in pq.ParquetFile('a.parquet').iter_batches(1 << 18, columns=['ts']):\n    pass\n",
    },
}
"""By the name of a case its commands: the arguments of gpumerge, programs of Python, or cat."""
FILES = {
    "merge of two files": ("a", "b"),
    "merge of two files that follow each other": ("low", "high"),
    "sort of all rows beyond memory": ("shuffled",),
    "check of a sorted file": ("a",),
}
"""By the name of a case the files of `write_files` that its commands read."""
NEEDS = {"polars": "polars", "DuckDB": "duckdb", "DataFusion": "datafusion"}
"""By the first word of a command the package that it needs."""


def write_files(folder: Path, rows: int, names: set[str]) -> None:
    """See the top. It runs in a process of its own: commands seem to hold the memory of the one that starts them."""
    import numpy as np

    both = np.sort(np.random.default_rng(1).integers(0, 10**12, 2 * rows))
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(_write_file, folder, name, both) for name in sorted(names)]:
            done.result()
    (folder / "both").mkdir()
    for name in names & {"a", "b"}:
        (folder / "both" / f"{name}.parquet").hardlink_to(folder / f"{name}.parquet")


def _write_file(folder: Path, name: str, both: np.ndarray) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    half = len(both) // 2
    if name in ("a", "b"):
        picked = np.random.default_rng(2).random(len(both)) < 0.5
        times = both[picked if name == "a" else ~picked]
    elif name == "shuffled":
        times = np.random.default_rng(3).permutation(both)
    else:
        times = both[:half] if name == "low" else both[half:]
    rng = np.random.default_rng(len(name) + ord(name[0]))
    texts = pa.array([f"service-{number:04d}" for number in range(1000)])
    ordered = None if name == "shuffled" else [pq.SortingColumn(0)]
    schema = pa.schema({"ts": pa.int64(), "v": pa.float64(), "svc": pa.string()})
    with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd", sorting_columns=ordered) as writer:
        for start in range(0, len(times), GROUP):
            part = times[start : start + GROUP]
            which = pa.array(rng.integers(0, len(texts), len(part), dtype=np.int32))
            services = pa.DictionaryArray.from_arrays(which, texts).cast(pa.string())
            writer.write_table(pa.table({"ts": pa.array(part), "v": rng.random(len(part)), "svc": services}))


def commands_of(case: str, folder: Path, memory: str) -> dict[str, str]:
    """The lines for the shell of a case, by name."""
    found = {}
    for name, text in CASES[case].items():
        if name == "gpumerge":
            found[name] = f"cd {folder} && exec {PROGRAM} {text.replace('MEMORY', memory)}"
        elif name == "cat":
            found[name] = f"cd {folder} && exec cat low.parquet high.parquet > out"
        elif all(importlib.util.find_spec(package) for word, package in NEEDS.items() if name.startswith(word)):
            script = folder / f"{len(text)}-{len(found)}.py"
            script.write_text(text)
            found[name] = f"cd {folder} && exec {sys.executable} {script}"
    return found


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--memory", default="512M")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this one")
    parser.add_argument("--without", action="append", default=[], metavar="COMMAND", help="leave out this one")
    options = parser.parse_args()
    rows = []
    cases = options.case or list(CASES)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        process = multiprocessing.get_context("spawn").Process(
            target=write_files, args=(folder, options.rows, {file for case in cases for file in FILES[case]})
        )
        process.start()
        process.join()
        for case in cases:
            commands = commands_of(case, folder, options.memory)
            took = in_turns({name: one for name, one in commands.items() if name not in options.without}, options.turns)
            first = took["gpumerge"]
            for which, its in took.items():
                clock, processors = its.beside(first)
                rows.append(f"| {case} | {which} | {clock} | {processors} | {its.memory:.0f} MB |")
                print(rows[-1], flush=True)
    about = f"""Parquet, two files of {options.rows:,} rows (int64, float64, string; Zstandard), from page cache.
Medians of {options.turns} turns, start-up included. In brackets: over the first row of its kind. The sort has
-S {options.memory}."""
    write_table(options.out, about, "| work | command | by the clock | of all cores | most memory |", rows)


if __name__ == "__main__":
    main()
