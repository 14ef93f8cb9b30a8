#!/usr/bin/env python3
"""Times merges of arrays by one core, at each level of the CPU's library, beside std::merge. Writes Markdown.

usage: python data/bench/measure_vectors.py OUT.md [--bits 22] [--turns 7]

Two runs of 2^BITS random keys each, merged by `merge(out=)` into an array that is used again, alone and with values,
for which each call makes a new array. A figure is GB/s of output by the time of the processor, the best of all turns.
std::merge is compiled by the compiler that builds the library, with -O3; its column is empty without one. Every output
is compared.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measured_on import ROOT, commit

sys.path.insert(0, str(ROOT))
import gpumerge_cli

_LEVELS = ("v2", "v3", "v4")
_CASES = [(dtype, 0) for dtype in ("uint8", "int16", "int32", "float32", "int64", "float64")]
_CASES += [(dtype, width) for dtype in ("int32", "float32", "int64", "float64") for width in (4, 8)]
_CTYPES = {"uint8": "unsigned char", "int16": "short", "int32": "int", "float32": "float", "int64": "long long",
           "float64": "double"}  # fmt: skip


def runs(dtype: str, bits: int) -> list[Any]:
    """Two sorted runs of random keys."""
    rng = np.random.default_rng(1)
    if dtype.startswith("f"):
        return [np.sort(rng.standard_normal(1 << bits).astype(dtype)) for _ in range(2)]
    info = np.iinfo(dtype)
    return [np.sort(rng.integers(info.min, info.max, 1 << bits, dtype, endpoint=True)) for _ in range(2)]


def best(work: Any, nbytes: int, turns: int) -> float:
    """GB/s by the least time of the processor."""
    least = float("inf")
    for _ in range(turns + 1):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return nbytes / least / 1e9


def of_this_level(bits: int, turns: int) -> list[float]:
    """The figures of the library's level in this process."""
    found = []
    for dtype, width in _CASES:
        given = runs(dtype, bits)
        out = np.empty(2 << bits, dtype)
        if not width:
            found.append(best(partial(gpumerge_cli.merge, *given, out=out, threads=1), out.nbytes, turns))
            assert np.array_equal(out, np.sort(np.concatenate(given), kind="stable"))
            continue
        values = [np.arange(1 << bits, dtype=f"u{width}") + np.uint64(at << bits).astype(f"u{width}") for at in (0, 1)]
        merged = partial(gpumerge_cli.merge, *given, values=values, out=out, threads=1)
        moved = merged()[1]
        found.append(best(merged, out.nbytes + moved.nbytes, turns))
        places = np.argsort(np.concatenate(given), kind="stable")
        assert np.array_equal(out, np.concatenate(given)[places])
        assert np.array_equal(moved, np.concatenate(values)[places])
    return found


def by_standard(bits: int, turns: int) -> Iterator[str]:
    """The figures of std::merge for keys alone; empty texts without a compiler."""
    compiler = shlex.split(os.environ.get("CXX", f"{sys.executable} -m ziglang c++"))
    source = "".join(
        f'extern "C" void merge_{name}({native}* a, {native}* b, long n, {native}* out)'
        "{ std::merge(a, a + n, b, b + n, out); }\n"
        for name, native in _CTYPES.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        text, made = Path(folder, "merge.cpp"), Path(folder, "merge.so")
        text.write_text(f"#include <algorithm>\n{source}")
        try:
            subprocess.run([*compiler, "-O3", "-march=native", "-shared", "-fPIC", "-o", made, text], check=True)
        except (OSError, subprocess.CalledProcessError):
            yield from ("" for _ in _CASES)
            return
        library = ctypes.CDLL(str(made))
    for dtype, width in _CASES:
        if width:
            yield ""
            continue
        a, b = runs(dtype, bits)
        out, call = np.empty(2 << bits, dtype), getattr(library, f"merge_{dtype}")
        addresses = [ctypes.c_void_p(each.ctypes.data) for each in (a, b, out)]
        work = lambda call=call, given=addresses: call(*given[:2], ctypes.c_long(1 << bits), given[2])  # noqa: E731
        yield f"{best(work, out.nbytes, turns):.1f}"
        assert np.array_equal(out, np.sort(np.concatenate([a, b]), kind="stable"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--bits", type=int, default=22)
    parser.add_argument("--turns", type=int, default=7)
    wish = parser.parse_args()
    if str(wish.out) == "-":  # one level, called by the lines below
        print(json.dumps(of_this_level(wish.bits, wish.turns)))
        return
    columns: dict[str, list[str]] = {}
    for _ in range(2):
        for level in _LEVELS:
            done = subprocess.run(
                [sys.executable, __file__, "-", "--bits", str(wish.bits), "--turns", str(wish.turns)],
                env=os.environ | {"GPUMERGE_CPU_LEVEL": level}, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                print(done.stderr[-300:], file=sys.stderr)  # as of a level that the processor lacks
                columns[level] = ["" for _ in _CASES]
                continue
            figures = [f"{figure:.1f}" for figure in json.loads(done.stdout)]
            columns[level] = [max(pair, key=float) for pair in zip(figures, columns.get(level, figures), strict=True)]
    copies = []
    for dtype, width in _CASES:
        source = np.ones((2 << wish.bits) * (np.dtype(dtype).itemsize + width), np.uint8)
        out = np.empty_like(source)
        copies.append(f"{best(lambda out=out, source=source: np.copyto(out, source), out.nbytes, wish.turns):.1f}")
    standard = list(by_standard(wish.bits, wish.turns))
    with open(wish.out, "w", encoding="utf-8") as file:
        print(f"Two runs of 2^{wish.bits} random keys each, in memory, by one core: GB/s of output, the best of "
              f"{2 * wish.turns} calls by the processor's time; commit {commit()}.\n", file=file)  # fmt: skip
        print(
            "| keys | values | x86-64-v2 | x86-64-v3 | x86-64-v4 | std::merge | copy |\n|---|---|---|---|---|---|---|",
            file=file,
        )
        for at, (dtype, width) in enumerate(_CASES):
            cells = [columns[level][at] for level in _LEVELS] + [standard[at], copies[at]]
            print(f"| {dtype} | {f'{width} bytes' if width else ''} | {' | '.join(cells)} |", file=file)


if __name__ == "__main__":
    main()
