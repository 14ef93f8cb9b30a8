"""Time as-of joins beside polars and DuckDB, and compare their outputs.

python data/bench/measure_asof.py OUT.md [--rows 20000000] [--turns 3] [--folder DIR] [--case CASE]

Two files of ROWS rows each (int64 times, float64), by rising times, which repeat: Parquet with Zstandard, .npy records
and CSV. In the case "symbols", rows are in the order of one of 1000 texts, and then of times.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from pathlib import Path

from whole_commands import PROGRAM, in_turns, write_table

SYMBOLS = 1000
_POLARS = "import polars as pl\n"
_DUCKDB = "import duckdb\nc = duckdb.connect()\n"
_SCANNED = "a, b = pl.scan_parquet('a.parquet'), pl.scan_parquet('b.parquet')\n"
_FROM_NPY = """
import numpy as np
a, b = (pl.DataFrame({name: rows[name] for name in rows.dtype.names}) for rows in map(np.load, ('a.npy', 'b.npy')))
found = a.set_sorted('t').join_asof(b.set_sorted('t'), on='t')
out = np.empty(len(found), [('t', '<i8'), ('a', '<f8'), ('b', '<f8')])
for name in out.dtype.names: out[name] = found[name].fill_null(0).to_numpy()
np.save('polars.npy', out)
"""
_QUERY = "select a.*, b.b from '{0}' a asof left join '{1}' b on {2}a.t >= b.t order by {3}a.t"


def _duckdb(suffix: str, form: str, symbols: bool = False) -> str:
    query = _QUERY.format(f"a.{suffix}", f"b.{suffix}", "a.sym = b.sym and " * symbols, "a.sym, " * symbols)
    return f"{_DUCKDB}c.execute(\"copy ({query}) to 'duckdb.{suffix}' ({form})\")\n"


CASES = {
    "parquet": {
        "gpumerge": "join -q --type asof --field t a.parquet b.parquet --output gpumerge.parquet",
        "polars": f"{_POLARS}{_SCANNED}a.join_asof(b, on='t').sink_parquet('polars.parquet')\n",
        "duckdb": _duckdb("parquet", "format parquet, compression zstd"),
    },
    "symbols": {
        "gpumerge": "join -q --type asof --field sym,t sa.parquet sb.parquet --output gpumerge.parquet",
        "polars": f"{_POLARS}{_SCANNED.replace('a.p', 'sa.p').replace('b.p', 'sb.p')}"
        "a.join_asof(b, on='t', by='sym', check_sortedness=False).sink_parquet('polars.parquet')\n",
        "duckdb": _duckdb("parquet", "format parquet, compression zstd", symbols=True)
        .replace("'a.p", "'sa.p")
        .replace("'b.p", "'sb.p"),
    },
    "npy": {
        "gpumerge": "join -q --type asof --field t a.npy b.npy --output gpumerge.npy",
        "polars": f"{_POLARS}{_FROM_NPY}",
    },
    "csv": {
        "gpumerge": "join -q --type asof --field t:n a.csv b.csv --output gpumerge.csv",
        "polars": f"{_POLARS}a, b = pl.scan_csv('a.csv'), pl.scan_csv('b.csv')\n"
        "a.join_asof(b, on='t').sink_csv('polars.csv')\n",
        "duckdb": _duckdb("csv", "format csv"),
    },
}


def write_files(folder: Path, rows: int, cases: set[str]) -> None:
    """Write the files that the cases read."""
    import numpy as np
    import polars as pl

    for seed, name in enumerate("ab"):
        rng = np.random.default_rng(seed)
        times, values = np.sort(rng.integers(0, 10 * rows, rows)), rng.random(rows).round(6)
        table = pl.DataFrame({"t": times, name: values})
        if "parquet" in cases:
            table.write_parquet(folder / f"{name}.parquet")
        if "csv" in cases:
            table.write_csv(folder / f"{name}.csv")
        if "npy" in cases:
            records = np.empty(rows, [("t", "<i8"), (name, "<f8")])
            records["t"], records[name] = times, values
            np.save(folder / f"{name}.npy", records)
        if "symbols" in cases:
            symbols = np.sort(rng.integers(0, SYMBOLS, rows))
            texts = pl.Series("sym", symbols).cast(pl.String).str.zfill(4)
            table.with_columns(texts).sort("sym", "t").write_parquet(folder / f"s{name}.parquet")


def values_of(path: Path) -> list[float]:
    """The number of rows, and the sums of both columns, which tell outputs apart."""
    import numpy as np
    import polars as pl

    if path.suffix == ".npy":
        found = np.load(path)
        return [len(found), float(found["a"].sum().round(3)), float(found["b"].sum().round(3))]
    table = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_csv(path)
    return [table.height, round(table["a"].sum(), 3), round(table["b"].sum(), 3)]


def commands_of(case: str, folder: Path) -> dict[str, str]:
    """The lines for the shell of a case, by name."""
    found = {}
    for name, text in CASES[case].items():
        if name == "gpumerge":
            found[name] = f"cd {folder} && exec {PROGRAM} {text}"
        else:
            script = folder / f"{case}-{name}.py"
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
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this one")
    options = parser.parse_args()
    lines = []
    cases = options.case or list(CASES)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        spawning = multiprocessing.get_context("spawn")
        process = spawning.Process(target=write_files, args=(folder, options.rows, set(cases)))
        process.start()
        process.join()
        for case in cases:
            took = in_turns(commands_of(case, folder), options.turns)
            suffix = "parquet" if case == "symbols" else case
            ours, theirs = (values_of(folder / f"{which}.{suffix}") for which in ("gpumerge", "polars"))
            assert ours == theirs, (ours, theirs)  # DuckDB takes any one of equal times
            for which, its in took.items():
                clock, processors = its.beside(took["gpumerge"])
                lines.append(f"| {case} | {which} | {clock} | {processors} | {its.memory:.0f} MB |")
                print(lines[-1], flush=True)
    about = f"""As-of joins of two files of {options.rows:,} rows, from page cache. Medians of {options.turns} turns,
start-up included. In brackets: over the first row of its kind."""
    write_table(options.out, about, "| files | command | by the clock | of all cores | most memory |", lines)


if __name__ == "__main__":
    main()
