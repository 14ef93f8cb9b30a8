"""Time whole commands of two checkouts in turns, such as those before and after a change. Markdown goes to stdout.

python data/bench/measure_trees.py BEFORE AFTER [--turns 5]

Build the library of each checkout first: python kernels/build_library.py. It needs about 500 MB
of the folder for temporary files.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from whole_commands import in_turns

COMMANDS = {
    "merge of 2 x 1 KB, int32": "merge -q small0.i32 small1.i32 -o out.i32",
    "merge of 2 x 100 MB, int32": "merge -q large0.i32 large1.i32 -o out.i32",
    "merge of 2 x 34 MB, lines": "merge -q sorted0.txt sorted1.txt -o out.txt",
    "sort of 3 M lines": "sort shuffled.txt -o out.txt",
    "sort -n": "sort -n shuffled.txt -o out.txt",
    "sort -S 20M": "sort -S 20M shuffled.txt -o out.txt",
    "union of 2 x 100 MB, int32": "union -q large0.i32 large1.i32 -o out.i32",
    "check of 2 x 34 MB, lines": "check -q sorted0.txt sorted1.txt",
}


def write_inputs(folder: Path) -> None:
    """The files that COMMANDS name, of random items."""
    rng = np.random.default_rng(1)
    for number in range(2):
        for name, count in (("small", 250), ("large", 25_000_000)):
            np.sort(rng.integers(-(1 << 31), 1 << 31, count).astype(np.int32)).tofile(folder / f"{name}{number}.i32")
        lines = sorted(f"{item:016x}" for item in rng.integers(0, 1 << 63, 2_000_000).tolist())
        (folder / f"sorted{number}.txt").write_text("\n".join(lines) + "\n")
    shuffled = map(str, rng.integers(0, 10**12, 3_000_000).tolist())
    (folder / "shuffled.txt").write_text("\n".join(shuffled) + "\n")


def main() -> None:
    """Print a row for each command, with the medians of both checkouts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    trees = {"before": options.before.resolve(), "after": options.after.resolve()}
    print("| command | before | after |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for name, words in COMMANDS.items():
            calls = {
                which: f"cd {folder} && PYTHONPATH={tree} PYTHONSAFEPATH=1 {sys.executable} -m gpumerge_cli {words}"
                for which, tree in trees.items()
            }
            took = in_turns(calls, options.turns)
            print(f"| {name} | {took['before'].median:.3f} | {took['after'].median:.3f} |", flush=True)


if __name__ == "__main__":
    main()
