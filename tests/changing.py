"""Calls every public function on arrays that a thread writes to meanwhile: `python -m tests.changing SEED SECONDS`.

The results may be anything, and a call may raise. The process must survive, and no byte beside an output may change.
With GPUMERGE_TEST_LIBRARY, the library in that place is used, for example one that the address sanitizer watches.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import gpumerge_cli as g
from gpumerge_cli.backends.ladder import KERNELS
from gpumerge_cli.native import library as loader

VARIABLE = "GPUMERGE_TEST_LIBRARY"
GUARD = 256
"""Items on each side of an output."""
SIZES = (50, 3_000, 40_000, 400_000)
DTYPES = ("int8", "int16", "int32", "uint64", "float32", "float64", ">f8", "M8[s]", "S5", "record")
SPECIAL = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf])


def made(random: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """A sorted array of random items, some of them equal."""
    if dtype == "record":
        found = np.zeros(count, dtype=[("k", "i4"), ("v", "S7")])
        found["k"] = np.sort(random.integers(0, count, count))
        return found
    if dtype.startswith("float"):
        values = random.normal(size=count).astype(dtype)
        values[: count // 8] = random.choice(SPECIAL, count // 8)
        return np.sort(values)
    if dtype == ">f8":
        return np.sort(random.normal(size=count)).astype(dtype)
    if dtype == "M8[s]":
        dates = random.integers(0, count, count).astype(dtype)
        dates[: count // 8] = np.datetime64("NaT")
        return np.sort(dates)
    if dtype.startswith("S"):
        return np.sort(random.integers(0, 10**5, count).astype(dtype))
    limit = np.iinfo(dtype)
    return np.sort(random.integers(max(limit.min, -(10**6)), min(limit.max, 10**6), count).astype(dtype))


def outputs(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Room for a sort of `a` and for a merge of both, with guards. Outputs are in native byte order."""
    dtype = a.dtype if a.dtype.kind in "SV" else a.dtype.newbyteorder("=")
    return np.zeros(len(a) + 2 * GUARD, dtype), np.zeros(len(a) + len(b) + 2 * GUARD, dtype)


def calls(
    a: np.ndarray, b: np.ndarray, key: str | None, room: np.ndarray, large: np.ndarray
) -> dict[str, Callable[[], Any]]:
    """Every function with each of its options that leads to other code."""
    n = len(a)

    def guarded(call: Callable[[Any], Any], out: np.ndarray) -> None:
        out.view("u1")[:] = 0xA5
        call(out[GUARD:-GUARD])
        for edge in (out[:GUARD], out[-GUARD:]):
            if (edge.view("u1") != 0xA5).any():
                sys.exit("an item was written beside an output")

    numbers = np.arange(n, dtype="i8")
    found: dict[str, Callable[[], Any]] = {
        "sort": lambda: g.sort(a, key=key),
        "sort out": lambda: guarded(lambda out: g.sort(a, key=key, out=out), room),
        "sort descending": lambda: g.sort(a, key=key, descending=True),
        "sort values": lambda: g.sort(a, key=key, values=numbers),
        "sort counts": lambda: g.sort(a, key=key, counts=True),
        "argsort": lambda: g.argsort(a, key=key),
        "topk": lambda: g.topk(a, n // 10, key=key, values=numbers),
        "topk equal": lambda: g.topk(a // 1000 if a.dtype.kind in "iu" else a, n // 10, key=key),
        "argtopk": lambda: g.argtopk(a, n // 20, key=key, descending=True),
        "unique": lambda: g.unique(a, key=key, counts=True),
        "unique last": lambda: g.unique(a, key=key, values=numbers, keep="last"),
        "is_sorted": lambda: g.is_sorted(a, key=key),
        "merge": lambda: g.merge(a, b, key=key),
        "merge out": lambda: guarded(lambda out: g.merge(a, b, key=key, out=out), large),
        "merge five": lambda: g.merge(a, b, a, b, a, key=key),
        "merge values": lambda: g.merge(a, b, key=key, values=[numbers, np.arange(len(b))]),
        "merge check": lambda: g.merge(a, b, key=key, check=True),
        "merge counts": lambda: g.merge(a, b, key=key, counts=True),
        "rank": lambda: g.rank([a, b], [0, n // 2, n], key=key),
        "rank_of": lambda: g.rank_of([a, b], a[:100], key=key),
    }
    for kernel in KERNELS:
        found[f"merge {kernel}"] = lambda kernel=kernel: g.merge(a, b, key=key, kernel=kernel)
        found[f"sort {kernel}"] = lambda kernel=kernel: g.sort(a, key=key, kernel=kernel)
    for name in ("union", "intersect", "difference", "symmetric"):
        whole = getattr(g, name)
        found[name] = lambda whole=whole: whole(a, b, key=key)
        found[f"{name} distinct"] = lambda whole=whole: whole(a, b, key=key, distinct=True)
    if key is None and n <= 3_000:  # each pair of equals is an item of a join
        found["join"] = lambda: g.join(a, b)
        found["join outer"] = lambda: g.join(a, b, how="outer")
    if key is None:
        for way in ("backward", "forward"):
            found[f"asof_join {way}"] = lambda way=way: g.asof_join(a, b, direction=way)
        found["asof_join by"] = lambda: g.asof_join(a, b, by=(a, b))
        found["diff"] = lambda: g.diff(a, b)
        found["diff multi"] = lambda: g.diff(a, b, multi=True, values=[a, b])
    return found


def writes(arrays: list[np.ndarray], sources: list[np.ndarray], seed: int, stop: threading.Event) -> None:
    """Write items of `sources` to random places of `arrays` until `stop`."""
    random = np.random.default_rng(seed)
    while not stop.is_set():
        for array, source in zip(arrays, sources, strict=True):
            count = min(1000, len(array))
            array[random.integers(0, len(array), count)] = source[random.integers(0, len(source), count)]


def unaligned(array: np.ndarray) -> np.ndarray:
    """The same items at an address that is not a multiple of their size."""
    moved = np.zeros(array.nbytes + 1, "u1")[1:].view(array.dtype)
    moved[:] = array
    return moved


def main(seed: int, seconds: float) -> None:
    if os.environ.get(VARIABLE):
        file = Path(os.environ[VARIABLE])
        watched = loader.load_library(file.parent, file.stem.removeprefix("gpumerge-"))
        loader._loaded = lambda: watched  # type: ignore[assignment]
    until = time.monotonic() + seconds
    turn = 0
    while time.monotonic() < until:
        turn += 1
        random = np.random.default_rng([seed, turn])
        dtype, count = str(random.choice(DTYPES)), int(random.choice(SIZES))
        key = "k" if dtype == "record" else None
        a, b = made(random, dtype, count), made(random, dtype, max(1, count // int(random.integers(1, 4))))
        if turn % 4 == 0:
            a, b = unaligned(a), unaligned(b)
        other = made(random, dtype, count)
        room, large = outputs(a, b)
        changing = [a, b, room[GUARD:-GUARD], large[GUARD:-GUARD]]
        stop = threading.Event()
        writer = threading.Thread(target=writes, args=(changing, [other] * 4, seed + turn, stop), daemon=True)
        writer.start()
        names = calls(a, b, key, room, large)
        for name in random.permutation(list(names))[:12]:
            print(f"seed {seed} turn {turn}: {name} of {count} {dtype}", file=sys.stderr, flush=True)
            try:
                names[str(name)]()
            except Exception as error:  # lengths that were read twice may differ: any error is a result, too
                print(f"  {error}", file=sys.stderr, flush=True)
        stop.set()
        writer.join()
    print(f"{turn} turns")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
