#!/usr/bin/env python3
"""Times calls on columns of texts and of nulls in device memory, beside pyarrow on a core. Writes a Markdown table.

usage: python3 data/bench/measure_columns.py OUT.md [--count 4194304] [--turns 5]

A time is the median of whole calls, which wait, so the host's time counts in them. Orders are compared with those of
pyarrow's sort_indices, which is stable, and merges with a sort.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cupy
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from measured_on import measured_on

import gpumerge_cli
from gpumerge_cli import ColumnArray

_PREFIX = b"https://example.org/"
_NESTED = 4000


def texts(count: int, least: int, most: int, letters: int, ahead: bytes = b"") -> Any:
    """Random texts of `least` to `most` letters of so many, all behind the bytes `ahead`, as an array of pyarrow."""
    random = np.random.default_rng(count)
    lengths = random.integers(least, most + 1, count) + len(ahead)
    offsets = np.zeros(count + 1, np.int64)
    offsets[1:] = np.cumsum(lengths)
    data = random.integers(97, 97 + letters, int(offsets[-1]), np.uint8)
    if ahead:
        data[offsets[:-1, None] + np.arange(len(ahead))] = np.frombuffer(ahead, np.uint8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), count, buffers)


def columns(count: int) -> Iterator[tuple[str, Any]]:
    """Names, and arrays of pyarrow."""
    random = np.random.default_rng(1)
    yield "texts of 5 to 29 letters", texts(count, 5, 29, 26)
    yield "texts of 1 to 5 of 3 letters behind 20 bytes", texts(count, 1, 5, 3, _PREFIX)
    yield "equal texts of 100 bytes", pa.array(["x" * 100], pa.large_string()).take(pa.array(np.zeros(count, int)))
    yield f"texts of 1 to {_NESTED:,} times a letter", pa.array(["a" * (1 + at) for at in range(_NESTED)][::-1])
    numbers = random.integers(-(2**62), 2**62, count)
    yield "int64, a tenth of them null", pa.array(numbers, mask=random.random(count) < 0.1)


def milliseconds(work: Callable[[], Any], turns: int) -> float:
    """The median time of whole calls, after two that may compile."""
    found = []
    for turn in range(turns + 2):
        cupy.cuda.Device().synchronize()
        begun = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        if turn >= 2:
            found.append(1e3 * (time.perf_counter() - begun))
    return statistics.median(found)


def rows(count: int, turns: int) -> Iterator[str]:
    """The rows of the table."""
    pc.sort_indices(pa.array(["b", "a"]))  # the first call takes longer
    for name, array in columns(count):
        column = ColumnArray.of(array, "last").on_gpu()
        begun = time.perf_counter()
        order = pc.sort_indices(array).to_numpy()
        theirs = 1e3 * (time.perf_counter() - begun)
        ours = milliseconds(lambda column=column: gpumerge_cli.argsort(column), turns)  # type: ignore[misc]
        same = cupy.asnumpy(gpumerge_cli.argsort(column)).tolist() == order.tolist()
        yield f"| argsort | {name} | {len(array)} | {ours:.1f} | {theirs:.0f} | {theirs / ours:.0f} | {_word(same)} |"
        found = gpumerge_cli.sort(column)
        ours = milliseconds(lambda column=column: gpumerge_cli.sort(column), turns)  # type: ignore[misc]
        begun = time.perf_counter()
        wanted = array.take(pc.sort_indices(array))
        theirs = 1e3 * (time.perf_counter() - begun)
        same = pa.array(found.to_arrow()).cast(array.type).equals(wanted)
        yield f"| sort | {name} | {len(array)} | {ours:.1f} | {theirs:.0f} | {theirs / ours:.0f} | {_word(same)} |"
        half = len(array) // 2
        halves = [gpumerge_cli.sort(ColumnArray.of(part, "last").on_gpu()) for part in (array[:half], array[half:])]
        merged = gpumerge_cli.merge(*halves)
        ours = milliseconds(lambda halves=halves: gpumerge_cli.merge(*halves), turns)  # type: ignore[misc]
        same = merged.to_arrow().cast(array.type).equals(wanted)
        yield f"| merge of two halves | {name} | {len(array)} | {ours:.1f} | | | {_word(same)} |"


def _word(same: bool) -> str:
    return "yes" if same else "NO"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=1 << 22)
    parser.add_argument("--turns", type=int, default=5)
    wish = parser.parse_args()
    head = f"{measured_on()}, pyarrow {pa.__version__}. Times in ms. Shares: theirs / ours\n\n"
    head += "| call | column | items | ms | pyarrow on a core | share | same |\n|---|---|---|---|---|---|---|\n"
    with wish.out.open("w") as file:
        file.write(head)
        for row in rows(wish.count, wish.turns):
            print(row, flush=True)
            file.write(f"{row}\n")


if __name__ == "__main__":
    main()
