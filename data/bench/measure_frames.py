#!/usr/bin/env python3
"""Times merges and sorts of tables in memory against the functions of their libraries.

usage: python data/bench/measure_frames.py [--rows 1000000] [--turns 7]

Two tables have ROWS rows each: an int64, a float64 and a string of 5 to 13 bytes. It prints a Markdown table with the
medians of times by the clock and of processor time, in turns. Results are compared.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import gpumerge_cli


def frame_of(seed: int, rows: int) -> pl.DataFrame:
    """Rows in random order."""
    rng = np.random.default_rng(seed)
    names = [f"name{number}" for number in rng.integers(0, 10**9, rows)]
    return pl.DataFrame({"id": rng.integers(0, 2**40, rows), "price": rng.normal(size=rows), "name": names})


def in_turns(calls: dict[str, Callable[[], Any]], turns: int) -> dict[str, tuple[float, float]]:
    """(milliseconds by the clock, of processor time) of each call, medians."""
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            start, processor = time.perf_counter(), time.process_time()
            call()
            took[name].append((time.perf_counter() - start, time.process_time() - processor))
    return {name: (1000 * median(a for a, _ in each), 1000 * median(b for _, b in each)) for name, each in took.items()}


def show(title: str, theirs: str, call: Callable[[], Any], ours: Callable[[], Any], turns: int) -> None:
    """Print a row. theirs: names the other library's call."""
    took = in_turns({"theirs": call, "ours": ours}, turns)
    (clock, processor), (our_clock, our_processor) = took["theirs"], took["ours"]
    ratios = f"{our_clock / clock:.2f} | {our_processor / processor:.2f}"
    times = f"{clock:.0f} ms | {our_clock:.0f} ms | {processor:.0f} ms | {our_processor:.0f} ms"
    print(f"| {title} | {theirs} | {times} | {ratios} |", flush=True)


def main() -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=7)
    options = parser.parse_args()
    print("| work | against | its time | ours | its processor time | ours | ratio by the clock | of processor time |")
    print("|---|---|---|---|---|---|---|---|")
    turns = options.turns
    frames = [frame_of(seed, options.rows) for seed in (1, 2)]
    for name in frames[0].columns:
        first, second = (frame.sort(name) for frame in frames)
        merged = gpumerge_cli.merge_tables([first, second], name)
        assert merged[name].equals(first.merge_sorted(second, key=name)[name])
        work = f"merge by {frames[0].schema[name]}"
        call = partial(first.merge_sorted, second, key=name)
        show(work, "polars, merge_sorted", call, ours([first, second], name), turns)
    tables = [plain_table(frame.sort("id")) for frame in frames]
    show("merge by Int64", "pyarrow, sort_by", partial(sorted_by_arrow, tables), ours(tables, "id"), turns)
    of_pandas = [frame.sort("id").to_pandas() for frame in frames]
    call = partial(sorted_by_pandas, of_pandas)
    show("merge by Int64", "pandas, sort_values", call, ours(of_pandas, "id"), turns)
    whole = pl.concat(frames, rechunk=True)
    for by in (["id"], ["price"], ["name"], ["price", "id"]):
        title = f"sort by {', '.join(str(whole.schema[name]) for name in by)}"
        call = partial(whole.sort, by, maintain_order=True)
        assert gpumerge_cli.sort_table(whole, by).equals(call())
        show(title, "polars, sort", call, partial(gpumerge_cli.sort_table, whole, by), turns)


def ours(tables: Sequence[Any], by: str) -> Callable[[], Any]:
    return partial(gpumerge_cli.merge_tables, tables, by)


def sorted_by_arrow(tables: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables).sort_by("id")


def sorted_by_pandas(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(frames).sort_values("id", kind="stable")


def plain_table(frame: pl.DataFrame) -> pa.Table:
    """A frame as a table, its strings of the type of which pyarrow takes rows."""
    table = pa.table(frame)
    types = {"id": pa.int64(), "price": pa.float64(), "name": pa.large_string()}
    return table.cast(pa.schema(list(types.items())))


if __name__ == "__main__":
    main()
