#!/usr/bin/env python3
"""Times whole merges and sorts by CPU threads, a GPU and both, against cat, in turns from page cache. Writes markdown.

usage: python data/bench/measure_workers.py FOLDER OUT.md [--turns 5] [--gigabytes 8] [--only REGEX]

FOLDER is on the disk to measure and needs room for three times the gigabytes. Every turn runs each command once, onto a
fresh output. The first turn warms up and does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from measured_on import commit

ROOT = Path(__file__).resolve().parents[2]
GPUMERGE = [sys.executable, "-m", "gpumerge_cli"]
_BLOCK = 1 << 24


def keys(path: Path, nbytes: int) -> None:
    """A file of random uint32."""
    rng = np.random.default_rng(1)
    with open(path, "wb") as file:
        for at in range(0, nbytes, _BLOCK):
            file.write(rng.bytes(min(_BLOCK, nbytes - at)))


def ran(command: list[str], out: Path) -> tuple[float, int]:
    """Seconds and peak MiB of a command that writes into the folder `out`, which is emptied first."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with open(out / "cat" if command[0] == "cat" else os.devnull, "wb") as target:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=target, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return seconds, usage.ru_maxrss >> 10


def measured(title: str, commands: dict[str, list[str]], out: Path, turns: int) -> list[str]:
    """The rows of a table: a command each, against the first one."""
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in commands}
    for turn in range(turns + 1):
        for name, command in commands.items():
            took = ran(command, out)
            if turn:
                found[name].append(took)
    base = statistics.median(seconds for seconds, _ in next(iter(found.values())))
    rows = [f"## {title}", "", "| | median s | s | times the first | peak MiB |", "|---|---|---|---|---|"]
    for name, taken in found.items():
        middle = statistics.median(seconds for seconds, _ in taken)
        shown = ", ".join(f"{seconds:.2f}" for seconds, _ in taken)
        rows.append(f"| {name} | {middle:.2f} | {shown} | {base / middle:.2f} | {max(peak for _, peak in taken)} |")
    print("\n".join(rows), flush=True)
    return [*rows, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--gigabytes", type=float, default=8)
    parser.add_argument("--only", default="")
    wish = parser.parse_args()
    wish.folder.mkdir(parents=True, exist_ok=True)
    out, nbytes = wish.folder / "out", int(wish.gigabytes * 1e9)
    version = subprocess.run([*GPUMERGE, "info", "--json"], capture_output=True, text=True, check=False, cwd=ROOT)
    report = json.loads(version.stdout) if version.returncode == 0 else {}
    devices = ", ".join(str(one.get("name", "")) for one in report.get("backends", []) if one)
    cores = len(os.sched_getaffinity(0))
    rows = [f"{cores} cores, Linux {platform.release()}, {devices}; {wish.turns} turns; commit {commit()}."]
    rows += ["By measure_workers.py.", ""]
    if re.search(wish.only, "merge"):
        inputs = [str(wish.folder / name) for name in ("a.i64", "b.i64")]
        subprocess.run(
            [*GPUMERGE, "generate", *inputs, "--count", str(nbytes // 16), "--seed", "1"], check=True, cwd=ROOT
        )
        merge = [*GPUMERGE, "merge", "-q", *inputs, "-o", str(out / "c.i64")]
        parts = [*GPUMERGE, "merge", "-q", *inputs, "--parts", "4", "-o", str(out / "c.{part}.i64")]
        rows += measured(
            f"merge 2 x {wish.gigabytes / 2:g} GB int64",
            {
                "cat": ["cat", *inputs],
                "--backend cpu": [*merge, "--backend", "cpu"],
                "--backend gpu": [*merge, "--backend", "gpu"],
                "auto": merge,
                "--parts 4": parts,
                "--backend gpu -S 256M": [*merge, "--backend", "gpu", "-S", "256M"],
            },
            out,
            wish.turns,
        )
        for name in inputs:
            os.remove(name)
    if re.search(wish.only, "sort"):
        path = wish.folder / "u.u32"
        keys(path, int(nbytes * 1.075))
        sort = [*GPUMERGE, "sort", str(path), "-o", str(out / "c.u32")]
        commands = {"cat": ["cat", str(path)], "auto": sort}
        commands |= {f"--backend {name}": [*sort, "--backend", name] for name in ("cpu", "gpu")}
        rows += measured(f"sort {path.stat().st_size / 1e9:.1f} GB uint32", commands, out, wish.turns)
        path.unlink()
    shutil.rmtree(out, ignore_errors=True)
    wish.out.write_text("\n".join(rows))


if __name__ == "__main__":
    main()
