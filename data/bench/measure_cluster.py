"""Time sorts and merges by worker processes of this machine: four beside one, all beside plain threads; tiny tasks.

python data/bench/measure_cluster.py FOLDER OUT.md [--bytes 8e9] [--threads 4] [--processes 4] [--tasks 10000]
    [--repeat 3] [--seconds 270] [--only REGEX]

FOLDER needs room for three times --bytes. Items are records of 100 bytes with a key of 10 for sorts, and int64 for
merges. Cases take turns, the first turn warms up and does not count, and each output is held against the first one.
No turn begins once the work's share of --seconds is over; where it is over after the first turn, that one counts. The
connection to the cluster is made before the clock starts; its time stands in a column of its own. Significant
differences are those where all times of one case lie below all of the other. It needs nothing but the package, with
its extra `cluster`, and the cores: run it with nothing else at work.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
from measured_on import commit

from gpumerge_cli import __version__
from gpumerge_cli.cluster import workers
from gpumerge_cli.cluster.connect import connected
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.engine.executor import Executor
from gpumerge_cli.engine.job import Destination, Job, Operation, Resources
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.results.run import MergeReport

RECORD, KEY = 100, 10
BLOCK = 64 << 20
_PARTS = 16
_CPU = Resources("cpu")
"""For plain threads, which would take a GPU where there is one."""
_SHARES = {"sort": 0.5, "merge": 0.2}
"""Shares of --seconds for the turns of the work of each name."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--bytes", type=lambda text: int(float(text)), default=8_000_000_000)
    parser.add_argument("--threads", type=int, default=4, help="of a process")
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=270.0, help="for all turns together, about")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    work: Path = options.folder / "measure-cluster"
    work.mkdir(parents=True, exist_ok=True)
    rows: list[str] = []
    for name, measure in (("sort", measured_sorts), ("merge", measured_merges), ("tasks", measured_tasks)):
        if re.search(options.only, name):
            rows += measure(work, options)
            write(options, rows)
    for path in work.iterdir():
        path.unlink()
    work.rmdir()


def measured_sorts(work: Path, options: argparse.Namespace) -> list[str]:
    """Rows of the sort of records."""
    name = work / "records.bin"
    rng = np.random.default_rng(1)
    with open(name, "wb") as file:
        for at in range(0, options.bytes // RECORD * RECORD, BLOCK // RECORD * RECORD):
            file.write(rng.bytes(min(BLOCK // RECORD * RECORD, options.bytes // RECORD * RECORD - at)))
    items = Items("raw", records=RecordRequest(RECORD, 0, KEY))
    operation, output = Operation("sort", launch=SortRequest()), Destination(str(work / "out.bin"))
    rows = compared("sort of records", work, options, Job((str(name),), items, operation, output, _CPU))
    name.unlink()
    return rows


def measured_merges(work: Path, options: argparse.Namespace) -> list[str]:
    """Rows of the merge to parts, and to one file."""
    names = []
    rng = np.random.default_rng(2)
    for number in range(4):
        names.append(str(work / f"{number}.i64"))
        left, top = options.bytes // 32, 0
        with open(names[-1], "wb") as file:
            while left:
                keys = np.cumsum(rng.integers(0, 1000, min(left, BLOCK // 8)), dtype=np.int64) + top
                keys.tofile(file)
                left, top = left - len(keys), int(keys[-1])
    parts, whole = Destination(str(work / "out{part}.i64"), _PARTS), Destination(str(work / "out.i64"))
    job = Job(tuple(names), output=parts, resources=_CPU)
    rows = compared(f"merge to {_PARTS} parts", work, options, job)
    rows += compared("merge to one file", work, options, replace(job, output=whole))
    for name in names:
        os.unlink(name)
    return rows


def compared(what: str, work: Path, options: argparse.Namespace, job: Job) -> list[str]:
    """Rows: one process of --threads threads, --processes of them, and as many threads of one plain process."""
    cores = sorted(os.sched_getaffinity(0))
    few, many = cores[: options.threads], cores[: options.threads * options.processes]
    cases = {
        f"1 process of {options.threads} threads": ("local:1", few),
        f"{options.processes} processes of {options.threads} threads": (f"local:{options.processes}", many),
        f"{options.threads * options.processes} plain threads": (None, many),
    }
    times: dict[str, list[float]] = {case: [] for case in cases}
    starts: dict[str, float] = {}
    expected: list[int] = []
    until = time.monotonic() + options.seconds * _SHARES[what.split()[0]]
    for turn in range(options.repeat + 1):
        if turn and time.monotonic() > until:
            break
        for case, (address, allowed) in cases.items():
            os.sched_setaffinity(0, allowed)
            with ExitStack() as stack:
                begun = time.perf_counter()
                executor: Executor = LOCAL
                if address is not None:
                    executor = Cluster(stack.enter_context(connected(address)).client, here=True)
                starts[case] = time.perf_counter() - begun
                begun = time.perf_counter()
                run(job, executor=executor)
                seconds = time.perf_counter() - begun
            os.sched_setaffinity(0, cores)
            found = sums_of(work)
            expected = expected or found
            assert found == expected, f"{what}, {case}: another output"
            for path in work.glob("out*"):
                path.unlink()
            times[case].append(seconds)
            print(f"{what}, {case}: {seconds:.2f} s", flush=True)
    for taken in times.values():
        del taken[: len(taken) > 1]
    one, all_, plain = times.values()
    first, second, third = cases
    ratios = {
        first: "",
        second: f"{statistics.median(one) / statistics.median(all_):.2f} x one process",
        third: f"the cluster takes {statistics.median(all_) / statistics.median(plain) - 1:+.0%}",
    }
    return [
        f"| {what} | {case} | {statistics.median(found):.2f} | {min(found):.2f} to {max(found):.2f} | "
        f"{starts[case]:.2f} | {ratios[case]} |"
        for case, found in times.items()
    ]


def sums_of(work: Path) -> list[int]:
    """Checksums of the blocks of all outputs."""
    outputs = sorted(work.glob("out*"))
    blocks = [(path, at) for path in outputs for at in range(0, path.stat().st_size, BLOCK)]

    def sum_of(block: tuple[Path, int]) -> int:
        with open(block[0], "rb") as file:
            file.seek(block[1])
            return crc32(file.read(BLOCK))

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(sum_of, blocks))


def processor() -> str:
    """The name of the processor."""
    with suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def measured_tasks(work: Path, options: argparse.Namespace) -> list[str]:
    """A row of a merge in so many tiny tasks."""
    keys = np.arange(options.tasks * 1024, dtype=np.int64)
    for name in ("a.i64", "b.i64"):
        keys.tofile(work / name)
    job = Job((str(work / "a.i64"), str(work / "b.i64")), output=Destination(str(work / "out.i64")))
    size = 2 * keys.nbytes // options.tasks
    kept = workers._LEAST_TASK, workers._MOST_TASK
    workers._LEAST_TASK = workers._MOST_TASK = size
    rows, tasks = [], 0
    try:
        with connected(f"local:{options.processes}") as cluster:
            machines = Cluster(cluster.client)
            for turn in range(options.repeat + 1):
                begun = time.perf_counter()
                report = run(job, executor=machines)
                assert isinstance(report, MergeReport)
                seconds, tasks = time.perf_counter() - begun, report.chunks
                print(f"{tasks} tasks: {seconds:.2f} s", flush=True)
                if turn:
                    rows.append(seconds)
    finally:
        workers._LEAST_TASK, workers._MOST_TASK = kept
    median = statistics.median(rows)
    for path in work.iterdir():
        path.unlink()
    return [
        f"| {tasks} tasks of {size} bytes | {options.processes} processes | {median:.2f} | "
        f"{min(rows):.2f} to {max(rows):.2f} | | {1e3 * median / tasks:.2f} ms a task |"
    ]


def write(options: argparse.Namespace, rows: list[str]) -> None:
    """Write the table."""
    import dask

    cores = len(os.sched_getaffinity(0))
    lines = [
        f"Worker processes of one machine, {options.bytes / 1e9:g} GB, medians of up to {options.repeat} runs; "
        f"{cores} cores ({processor()}), Linux {platform.release()}, Python {platform.python_version()}, "
        f"Dask {dask.__version__}, gpumerge {__version__} ({commit()}).",
        "`data/bench/measure_cluster.py` makes this table.",
        "",
        "| work | workers | seconds | from, to | seconds to start the workers | |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
