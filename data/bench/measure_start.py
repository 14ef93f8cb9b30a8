#!/usr/bin/env python3
"""Measures what a GPU costs before it works: seconds of imports and contexts, and memory of the host. Writes markdown.

usage: python3 data/bench/measure_start.py [--scratch FOLDER] [--turns 5]; needs 3 GB of room in FOLDER.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
PEAK = """
def peak():
    return int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))) >> 10
"""
STARTS = {
    "import numpy": "import numpy",
    "import cupy": "import numpy, cupy",
    "import cupy, then a context": "import numpy, cupy; cupy.cuda.runtime.free(0)",
    "a context beside import cupy": (
        "import numpy; from gpumerge_cli.backends.gpu.early import make_contexts; make_contexts([0]); import cupy; "
        "cupy.cuda.runtime.free(0)"
    ),
    "the backend": (
        "import numpy; from gpumerge_cli.backends.gpu import access; access.create(0); import cupy; "
        "cupy.cuda.runtime.free(0)"
    ),
    "import cupy, a context, a sort": "import numpy, cupy; a = cupy.arange(9); a.sort(); a.get()",
}


def ran(code: str, *arguments: str) -> tuple[float, int]:
    """Seconds since the interpreter was ready, and the peak in MiB."""
    whole = (
        f"import time; began = time.perf_counter()\n{PEAK}\n{code}\nprint(time.perf_counter() - began, peak(), "
        "file=__import__('sys').stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", whole, *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    seconds, mebibytes = done.stderr.split()[-2:]
    return float(seconds), int(mebibytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scratch", type=Path, default=Path("."))
    parser.add_argument("--turns", type=int, default=5)
    chosen = parser.parse_args()
    rows = []
    for name, code in STARTS.items():
        found = [ran(code) for _ in range(chosen.turns)]
        rows.append(f"| {name} | {median(one[0] for one in found):.3f} | {max(one[1] for one in found)} |")
    rng = np.random.default_rng(3)
    names = [chosen.scratch / f"start-{number}.i64" for number in range(2)]
    for name in names:
        np.sort(rng.integers(-(2**62), 2**62, 1 << 26)).tofile(name)
    out = chosen.scratch / "start.out"
    files = [str(name) for name in names]
    commands = {
        "merge -S 256M, 1 GB": ["merge", *files],
        "sort -S 256M, 1 GB": ["sort", "--dtype", "int64", *files],
    }
    for name, command in commands.items():
        code = (
            "import sys\nfrom gpumerge_cli.cli.app import invoke\ncode = invoke(sys.argv[1:])\nif code: sys.exit(code)"
        )
        limits = ["-q", "--backend", "gpu", "-S", "256M", "-o", str(out)]
        try:
            found = [ran(code, *command, *limits) for _ in range(2)]
            rows.append(f"| {name} | {found[-1][0]:.3f} | {max(one[1] for one in found)} |")
        except subprocess.CalledProcessError as error:
            rows.append(f"| {name} | {error.stderr.strip().splitlines()[-1]} | |")
    for path in (*names, out):
        path.unlink(missing_ok=True)
    print("\n".join(["| what | s | peak MiB of the host |", "|---|---|---|", *rows]))


if __name__ == "__main__":
    main()
