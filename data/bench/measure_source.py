"""Time merges and sorts with a column of sources against those without it.

python data/bench/measure_source.py [--megabytes 500] [--turns 5] [--folder DIR]

It needs about 5 x MEGABYTES of the folder.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from whole_commands import PROGRAM, in_turns, parser_of

LINE = 64


def write_lines(folder: Path, nbytes: int) -> None:
    """Two sorted files of lines of LINE bytes, each a number, a comma and letters; and one of them shuffled."""
    rng = np.random.default_rng(1)
    count = nbytes // LINE
    powers = 10 ** np.arange(11, -1, -1, dtype=np.int64)
    for name in "ab":
        lines = rng.integers(97, 123, (count, LINE), np.uint8)
        lines[:, :12] = np.sort(rng.integers(0, 10**12, count))[:, None] // powers % 10 + 48
        lines[:, 12], lines[:, -1] = ord(","), ord("\n")
        lines.tofile(folder / f"{name}.txt")
    lines[rng.permutation(count)].tofile(folder / "shuffled.txt")


def main() -> None:
    """Print the rows."""
    options = parser_of(__doc__, megabytes=500, turns=5).parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_lines(folder, options.megabytes * 10**6)
        ours = f"cd {folder} && {PROGRAM}"
        cases = {
            "merge of 2 files of lines": ("merge -q -t, -k1,1", "a.txt b.txt"),
            "merge of 2 files of CSV": ("merge -q --csv -k1,1", "a.txt b.txt"),
            "sort of 1 file of lines": ("sort", "shuffled.txt"),
        }
        for title, (command, files) in cases.items():
            calls = {
                which: f"{ours} {command} {option} {files} -o {which}"
                for which, option in (("plain", ""), ("source", "--source"))
            }
            took = in_turns(calls, options.turns)
            without = "cut -d, -f2-" if "csv" in command else "cut -f2-"
            subprocess.run(f"cd {folder} && {without} source | cmp - plain", shell=True, check=True)
            plain, source = (took[which].median for which in ("plain", "source"))
            row = (title, f"{options.megabytes} MB each", f"{plain:.2f} s", f"{source:.2f} s", f"{source / plain:.2f}")
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
