#!/usr/bin/env python3
"""Measures the start-up of commands on small files: seconds of the clock and of the processor, and modules loaded.

usage: python3 data/bench/start_up.py [--turns 20]. It needs a few kB in the folder for temporary files. The commands
take turns, so that what else the machine does meets all of them. Writes markdown.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from array import array
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
COUNT = "import sys, {}; print(len(sys.modules))"
CALL = """
import sys
from gpumerge_cli.cli.app import invoke
code = invoke(sys.argv[1:])
print(len(sys.modules), file=sys.stderr)
"""
PROGRAM = "from gpumerge_cli.__main__ import main; main()"
COMMANDS = {
    "merge of 2 x 1 KB, int32": "merge a.i32 b.i32 -o c.i32 -q",
    "merge of 2 x 1 KB, lines": "merge a.txt b.txt -o c.txt -q",
    "sort of 1 KB, lines": "sort a.txt -o c.txt",
    "sort of 1 KB, int32": "sort a.i32 -o c.i32",
    "union of 2 x 1 KB, int32": "union a.i32 b.i32 -o c.i32 -q",
    "check of 1 KB, int32": "check a.i32",
    "rank of 2 x 1 KB, int32": "rank a.i32 b.i32 --at 9",
    "--help": "merge --help",
}


def run(words: list[str], folder: Path) -> tuple[float, float, bytes]:
    """The seconds of the clock, those of the processor, and what was printed at last."""
    start, before = time.perf_counter(), os.times()
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, check=True, capture_output=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        | {"PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    seconds, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return seconds, used, (done.stderr or done.stdout or b"0").splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=20)
    turns = parser.parse_args().turns
    programs = {"Python alone": ["-c", "pass"], "import numpy": ["-c", "import numpy"]}
    programs |= {name: ["-c", PROGRAM, *words.split()] for name, words in COMMANDS.items()}
    counts = {"Python alone": ["-c", COUNT.format("os")], "import numpy": ["-c", COUNT.format("numpy")]}
    counts |= {name: ["-c", CALL, *words.split()] for name, words in COMMANDS.items()}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for number, name in enumerate("ab"):
            keys = range(number, 512, 2)
            (folder / f"{name}.i32").write_bytes(array("i", keys).tobytes())
            (folder / f"{name}.txt").write_text("".join(f"{key:03}\n" for key in keys))
        modules = {name: int(run(words, folder)[2]) for name, words in counts.items()}
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
        for _ in range(turns):
            for name, words in programs.items():
                found[name].append(run(words, folder)[:2])
    print("| what | ms | ms of the processor | modules |\n|---|---|---|---|")
    for name, times in found.items():
        wall, used = (1e3 * median(column) for column in zip(*times, strict=True))
        print(f"| {name} | {wall:.0f} | {used:.0f} | {modules[name]} |")


if __name__ == "__main__":
    main()
