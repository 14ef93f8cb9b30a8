"""Measure what cutting a large merge costs: 1,000 inputs of 100 GB each, in up to 10,000 pieces.

python data/bench/measure_plan.py FOLDER data/results/epyc/plan.md

In sparse files, which the folder's file system must have, all keys are equal. So other inputs are computed: a function
of a small C library, which `cc` compiles, gives the item at each position. Their reads cost a calculation, no call to
the system.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.registry import layout_of, open_source
from gpumerge_cli.native.cuts import Cuts
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Planner

SHAPES = {
    "computed: alike, each with a waver of 0.8 MB": 0,
    "computed: keys as n, n^2 and n^3": 1,
    "computed: one behind the other": 2,
}
LIBRARY = r"""
#include <math.h>
#include <stdint.h>
int64_t shape, items, reads;
static double waver(double x) { const double t = x - floor(x); return 16e5 * t * t * (1 - t) * (1 - t); }
static int64_t key(int64_t input, int64_t number) {
    const double n = (double)number, share = n / (double)items;
    if (shape == 0)
        return (int64_t)((n + waver(share * (double)(1 + input % 7) + 0.37 * (double)(input % 101))) * 1048576.0);
    if (shape == 1)
        return (int64_t)((input % 3 == 0 ? share : input % 3 == 1 ? share * share : share * share * share) * 0x1p60);
    return input * items + number;
}
int64_t computed(int64_t input, int64_t position, unsigned char* out, int64_t nbytes) {
    __atomic_fetch_add(&reads, 1, __ATOMIC_RELAXED);
    for (int64_t n = 0; n < nbytes / 8; ++n) ((int64_t*)out)[n] = key(input, position / 8 + n);
    return nbytes;
}
"""
Row = tuple[str, int, list[float], str]


class Computed:
    """An input of `size` bytes, of which only the library's function knows the items."""

    dtype = np.dtype("int64")
    extent = None

    def __init__(self, number: int, size: int) -> None:
        self.name, self.size = f"input {number}", size


def compiled(folder: Path) -> ctypes.CDLL:
    """The library of computed inputs."""
    source, library = folder / "computed.c", folder / "computed.so"
    source.write_text(LIBRARY)
    subprocess.run(["cc", "-O3", "-march=native", "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def timed(planner: Planner, pieces: int, repeat: int) -> list[float]:
    """Seconds of each time that the whole merge is cut into so many pieces."""
    whole, found = planner.whole(), []
    for _ in range(repeat):
        start = time.perf_counter()
        chunks = planner.split(whole, -(-whole.nbytes // pieces))
        found.append(time.perf_counter() - start)
        assert len(chunks) == pieces
    return found


def of_files(names: Sequence[Path], label: str, numbers: Sequence[int], repeat: int) -> Iterator[Row]:
    """Rows of files, opened by every row."""
    for pieces in numbers:
        with ExitStack() as stack:
            sources = [open_source(str(name), layout_of(str(name), Items("raw", "int64"))) for name in names]
            for source in sources:
                stack.callback(source.close)
            yield label, pieces, timed(Planner(sources, Order.of("int64")), pieces, repeat), ""


def of_computed(library: ctypes.CDLL, inputs: int, size: int, numbers: Sequence[int], repeat: int) -> Iterator[Row]:
    """Rows of computed inputs, with the reads for each cut and input."""
    ctypes.c_int64.in_dll(library, "items").value = size // 8
    reads = ctypes.c_int64.in_dll(library, "reads")
    for label, shape in SHAPES.items():
        ctypes.c_int64.in_dll(library, "shape").value = shape
        for pieces in numbers:
            planner = Planner([Computed(number, size) for number in range(inputs)], Order.of("int64"))  # type: ignore[misc]
            assert isinstance(planner._cuts, Cuts)
            specs = planner._cuts._sources.specs
            for spec in specs:
                spec.read = ctypes.cast(library.computed, type(spec.read))
            reads.value = 0
            seconds = timed(planner, pieces, repeat)
            yield label, pieces, seconds, f"{reads.value / repeat / inputs / max(1, pieces - 1):.2f}"


def dask_task(tasks: int) -> str:
    """Seconds of a task that does nothing, through a cluster of two processes; "" without distributed."""
    try:
        dask: Any = importlib.import_module("distributed")
    except ImportError:
        return ""
    local = dask.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with local as cluster, dask.Client(cluster) as client:
        client.submit(int, 0).result()
        start = time.perf_counter()
        given = iter(range(1, tasks + 1))
        going = dask.as_completed([client.submit(int, next(given), pure=False) for _ in range(8)])
        for future in going:
            future.release()
            more = next(given, None)
            if more is not None:
                going.add(client.submit(int, more, pure=False))
        each = (time.perf_counter() - start) / tasks
    return (
        f"A task that does nothing takes {1e3 * each:.2f} ms through Dask ({tasks:,} tasks, 8 at a time, 2 processes)."
    )


def lines_of(rows: Sequence[Row]) -> list[str]:
    """The rows as Markdown."""
    head = "| inputs | pieces | median, s | fastest, s | reads a cut and input |"
    shown = [
        f"| {label} | {pieces:,} | {np.median(seconds):.2f} | {min(seconds):.2f} | {reads} |"
        for label, pieces, seconds, reads in rows
    ]
    return [head, "|---|---|---|---|---|", *shown]


def sparse(folder: Path, inputs: int, size: int, stack: ExitStack) -> list[Path]:
    """So many sparse files, removed at the end."""
    names = [folder / f"plan-{number:05d}.i64" for number in range(inputs)]
    for name in names:
        stack.callback(name.unlink, missing_ok=True)
        name.touch()
        os.truncate(name, size)
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where sparse files go")
    parser.add_argument("output", type=Path, help="the table, .md")
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--size", type=float, default=100e9, help="bytes of each")
    parser.add_argument("--pieces", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=3000, help="tasks for Dask")
    given = parser.parse_args()
    size, load = int(given.size) // 8 * 8, os.getloadavg()[0]
    rows: list[Row] = []
    dask = dask_task(given.tasks)

    def tell(measured: Iterator[Row]) -> None:
        for row in measured:
            rows.append(row)
            print(*lines_of([row])[2:], flush=True)

    with ExitStack() as stack:
        names = sparse(given.folder, given.inputs, size, stack)
        library = compiled(Path(stack.enter_context(tempfile.TemporaryDirectory())))
        tell(of_files(names, "sparse files: all keys equal", given.pieces, given.repeat))
        tell(of_computed(library, given.inputs, size, given.pieces, given.repeat))
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
        tell(of_files(names, "sparse files, ulimit -n 1024", given.pieces[-2:-1], given.repeat))
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    about = (
        f"{given.inputs:,} inputs of {size / 1e9:,.0f} GB of int64 cut into pieces by `Planner.split`, median of "
        f"{given.repeat}; commit {commit.stdout.strip()}; {len(os.sched_getaffinity(0))} cores, load before "
        f"{load:.1f}. Made by `python data/bench/measure_plan.py FOLDER OUT.md`."
    )
    given.output.write_text("\n".join([about, "", *lines_of(rows), "", dask]).rstrip() + "\n")


if __name__ == "__main__":
    main()
