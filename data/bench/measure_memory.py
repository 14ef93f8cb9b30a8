#!/usr/bin/env python3
"""Measures the host memory that merges and sorts take, beside what CuPy and a context take alone. Writes markdown.

usage: python data/bench/measure_memory.py FOLDER OUT.md [--gigabytes 8] [--memory 256M] [--backend gpu]

FOLDER needs room for twice the gigabytes. A thread samples the status of the program's process each 5 ms. Its own
memory is anonymous and shared memory. Pages of files that it maps are page cache, which the system takes back when it
needs to. Processes that only bring an output's pages into memory hold nothing else, and are left out. "system" is the
growth of the memory that is neither free nor page cache: it holds pinned memory, which the process may not count.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GPUMERGE = [sys.executable, "-m", "gpumerge_cli"]
CUPY = "import cupy; cupy.zeros(1).get(); cupy.RawKernel('extern \"C\" __global__ void k() {}', 'k')((1,), (1,), ())"


def status(pid: int) -> dict[str, int]:
    """The fields of a process's status that are sizes, in bytes; empty once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {
        name: int(value.split()[0]) << 10 for name, _, value in (line.partition(":") for line in lines) if "kB" in value
    }


def unavailable() -> int:
    """Bytes of the system's memory that are neither free nor page cache of files."""
    fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    size = {name: int(value.split()[0]) << 10 for name, value in fields.items()}
    return size["MemTotal"] - size["MemFree"] - size["Buffers"] - size["Cached"] - size["SReclaimable"] + size["Shmem"]


def peak(command: list[str]) -> tuple[float, int, int, int]:
    """Seconds; peak bytes of the process's own memory, with the files that it maps, and of the system's growth."""
    before, own, mapped, system = unavailable(), 0, 0, 0
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)})
    while process.poll() is None:
        found = status(process.pid)
        own = max(own, found.get("RssAnon", 0) + found.get("RssShmem", 0))
        mapped = max(mapped, found.get("VmRSS", 0))
        system = max(system, unavailable() - before)
        time.sleep(0.005)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: status {process.returncode}")
    return time.perf_counter() - start, own, mapped, system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--memory", default="256M")
    parser.add_argument("--backend", default="gpu", choices=["cpu", "gpu"])
    wish = parser.parse_args()
    wish.folder.mkdir(parents=True, exist_ok=True)
    inputs = [str(wish.folder / name) for name in ("a.i64", "b.i64")]
    out = str(wish.folder / "c.i64")
    count = str(int(wish.gigabytes * 1e9 / 16))
    subprocess.run([*GPUMERGE, "generate", *inputs, "--count", count, "--seed", "1"], check=True, cwd=ROOT)
    limit = ["--backend", wish.backend, "-S", wish.memory]
    merge = [*GPUMERGE, "merge", "-q", *inputs, "-o", out]
    commands = {
        f"merge -S {wish.memory}": [*merge, *limit],
        "merge": [*merge, "--backend", wish.backend],
        f"sort -S {wish.memory}": [*GPUMERGE, "sort", *inputs, "-o", out, *limit],
    }
    if wish.backend == "gpu":
        commands = {"CuPy, a context and a kernel": [sys.executable, "-c", CUPY]} | commands
    rows = [
        f"{len(os.sched_getaffinity(0))} cores, Linux {platform.release()}; 2 x {wish.gigabytes / 2:g} GB int64, "
        f"--backend {wish.backend}. By measure_memory.py.",
        "",
        "| | s | own, MiB | with mapped files, MiB | system, MiB |",
        "|---|---|---|---|---|",
    ]
    for name, command in commands.items():
        peak(command)  # the first run may compile
        seconds, *bytes_each = peak(command)
        rows.append(f"| {name} | {seconds:.2f} | " + " | ".join(str(nbytes >> 20) for nbytes in bytes_each) + " |")
        print(rows[-1], flush=True)
    for name in (*inputs, out):
        Path(name).unlink(missing_ok=True)
    wish.out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()
