"""Time sorts and merges of files by more and more host threads, with the seconds of each stage.

usage: python data/bench/scale_cpu.py FOLDER [--only REGEX] [--threads 1,4,16] [--set backend:_FEW_THREADS=99 ...]

FOLDER is on the disk to measure, and needs 20 GB. Jobs run from page cache: by fewer threads once, by the most --repeat
times, of which the fastest is shown. --set changes constants of modules of gpumerge_cli (in backends/cpu or engine) and
measures again; it may be given several times. Seconds of stages are summed over threads. For example:

    sorts by pieces of the input:  --only 'sort|large' --set backend:_WHOLE=9999,backend:_WHOLE_ROW_BYTES=999999
    chunks of lines:               --only merge --set backend:_ROW_CHUNK=2097152 --set backend:_ROW_CHUNK=4194304
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from multiprocessing import Pool
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
MERGES = {"log": [], "num": ["-n"], "csv": ["-k2,2n", "-t,"], "key": ["-k1,1", "-k3,3nr"]}
SORTS = {"u32": [], "f64": [], "log": [], "num": ["-n"]}
STAGES = ("read", "index", "check", "sort", "kernel", "spill", "write")
_PARTS = 4  # of a text file, made side by side
_BLOCK = 16_000_000
_NAMES = ("alice", "bob", "carol", "dave", "eve", "mallory", "trent", "peggy")


def text(case: str, seed: int, nbytes: int) -> bytes:
    """About so many bytes of random lines."""
    rng = np.random.default_rng(seed)
    made: list[str] = []
    size = 0
    while size < nbytes:
        a, b, c = (rng.integers(0, 1 << 31, 50_000).tolist() for _ in range(3))
        if case == "log":
            block = [
                f"{x >> 23}.{x >> 15 & 255}.{x >> 7 & 255}.{y & 255} - - [{1700000000 + z % 30000000}] "
                f'"GET /page/{y % 5000} HTTP/1.1" {200 + z % 5 * 75} {x % 100000}\n'
                for x, y, z in zip(a, b, c, strict=True)
            ]
        elif case == "num":
            block = [f"{x - (1 << 30)}\n" for x in a]
        elif case == "csv":
            block = [
                f"{_NAMES[x % 8]},{y % 10_000_000},{z % 100_000}.{x % 100:02},row-{z},{_NAMES[y % 8]}\n"
                for x, y, z in zip(a, b, c, strict=True)
            ]
        else:
            block = [
                f"user{x % 5000:04} item{y % 1_000_000} {z % 1_000_000} ok\n" for x, y, z in zip(a, b, c, strict=True)
            ]
        made.append("".join(block))
        size += len(made[-1])
    return "".join(made).encode()


def make(kind: str, path: str, seed: int, nbytes: int) -> None:
    """A file of random keys (its suffix is their kind) or lines."""
    with open(path, "wb") as file:
        if kind in MERGES:
            file.write(text(kind, seed, nbytes))
            return
        rng = np.random.default_rng(seed)
        for at in range(0, nbytes, _BLOCK):
            size = min(_BLOCK, nbytes - at)
            keys = rng.bytes(size) if kind == "u32" else rng.standard_normal(size // 8).tobytes()
            file.write(keys)


def made(folder: Path, wish: argparse.Namespace, names: list[str]) -> dict[str, list[str]]:
    """Files by job: parts of what is sorted, and two sorted files of each kind of lines that is merged."""
    jobs: list[tuple[str, str, int, int]] = []
    files: dict[str, list[str]] = {}
    for name in names:
        action, kind = name.split()
        size = wish.gigabytes if kind in MERGES else wish.large if action == "large" else wish.keys
        suffix = ".txt" if kind in MERGES else f".{kind}"
        sides = 2 if action == "merge" else 1
        files[name] = [f"{folder}/{action}-{kind}-{part}{suffix}" for part in range(sides * _PARTS)]
        jobs += [(kind, path, seed, int(size * 1e9 / _PARTS)) for seed, path in enumerate(files[name])]
    with Pool(min(wish.makers or os.cpu_count() or 1, 32)) as pool:
        pool.starmap(make, jobs, chunksize=1)
    for name in names:
        action, kind = name.split()
        if action == "merge":
            halves = [files[name][:_PARTS], files[name][_PARTS:]]
            files[name] = [f"{folder}/{kind}-{half}.txt" for half in range(2)]
            for paths, out in zip(halves, files[name], strict=True):
                run([*MERGES[kind], *paths, "-o", out], [], folder)
                for path in paths:
                    os.remove(path)
    return files


def run(arguments: list[str], changes: list[str], folder: Path) -> dict[str, float]:
    """Sort or merge by gpumerge, in a process of its own; its seconds in all and by stage."""
    report = folder / "report.json"
    me = [sys.executable, str(Path(__file__).resolve()), "--as", *changes, "--"]
    command = [*me, "sort", "--backend=cpu", f"--report={report}", *arguments]
    start = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)})
    took = time.perf_counter() - start
    measured = json.loads(report.read_text())
    report.unlink()
    found = {stage["name"]: stage["seconds"] for stage in measured["stages"]}
    inside = {key: measured[key] for key in ("start_up", "plan", "busy")}
    return {"all": took, **inside, **found, "chunks": measured["chunks"], "GB": measured["peak_memory"] / 1e9}


def work_as(arguments: list[str]) -> None:
    """Be gpumerge with some constants changed: MODULE:NAME=VALUE ... -- its own arguments."""
    end = arguments.index("--")
    for change in arguments[:end]:
        where, value = change.split("=")
        module, name = where.split(":")
        folder = "backends.cpu" if module in ("backend", "chunks", "workspace") else "engine"
        vars(importlib.import_module(f"gpumerge_cli.{folder}.{module}"))[name] = int(value)
    from gpumerge_cli import __main__

    sys.argv[1:] = arguments[end + 1 :]
    __main__.main()


def main() -> None:
    if sys.argv[1:2] == ["--as"]:
        return work_as(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", default="1,4,16")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--gigabytes", type=float, default=0.5, help="of each file of lines")
    parser.add_argument("--keys", type=float, default=0.5, help="gigabytes of keys sorted by every number of threads")
    parser.add_argument("--large", type=float, default=8.6, help="gigabytes of keys sorted once, by the most threads")
    parser.add_argument("--makers", type=int, help="processes that make the files")
    parser.add_argument("--set", action="append", default=[], metavar="MODULE:NAME=VALUE[,...]")
    wish = parser.parse_args()
    names = [f"sort {kind}" for kind in SORTS] + [f"merge {kind}" for kind in MERGES] + ["large u32"]
    names = [name for name in names if re.search(wish.only, name)]
    threads = [int(number) for number in wish.threads.split(",")]
    wish.folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    files = made(wish.folder, wish, names)
    print(f"made in {time.perf_counter() - start:.1f} s; {len(os.sched_getaffinity(0))} cores", flush=True)
    out = wish.folder / "out"
    for name in names:
        action, kind = name.split()
        options = [*MERGES.get(kind, []), *(["-m"] if action == "merge" else [])]
        columns = ("all", "start_up", "busy", "plan", *STAGES, "chunks", "GB")
        print(f"\n{name}: {sum(map(os.path.getsize, files[name])) / 1e9:.2f} GB")
        print(f"{'threads':>8} " + " ".join(f"{column:>8}" for column in columns))
        for changes in [[], *(some.split(",") for some in wish.set)]:
            for number in threads if action != "large" else threads[-1:]:
                given = [*options, f"--threads={number}", *files[name], "-o", str(out) + Path(files[name][0]).suffix]
                times = wish.repeat if action != "large" and number == threads[-1] else 1
                turns = [run(given, changes, wish.folder) for _ in range(times)]
                best = min(turns, key=lambda turn: turn["all"])
                shown = " ".join(f"{best.get(column, 0):8.2f}" for column in columns)
                print(f"{number:>8} {shown}  {' '.join(changes)}", flush=True)
        for path in files[name]:
            os.remove(path)
    print(f"\n{time.perf_counter() - start:.0f} s in all")


if __name__ == "__main__":
    main()
