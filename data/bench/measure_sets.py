"""Time sets of two sorted files: compare in turns with comm, counts with uniq -c, and sets of int32 beside their merge.

python data/bench/measure_sets.py FOLDER OUT.md --gigabytes 1 [--repeat 5] [--only lines|keys]
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

import numpy as np
from measure_text import lines
from whole_commands import PROGRAM, in_turns, run

_BLOCK = 200_000
_LINES = (
    ("three columns", "comm {a} {b}", "compare {a} {b}"),
    ("lines of both", "comm -12 {a} {b}", "compare -12 {a} {b}"),
    ("lines of the first alone", "comm -23 {a} {b}", "difference -q {a} {b}"),
    ("lines with their counts", "sort -m {a} {b} | uniq -c", "merge -q --count {a} {b}"),
)
_KEYS = ("merge", "union", "intersect", "difference", "symmetric")


def make_lines(folder: Path, nbytes: int) -> tuple[Path, Path]:
    """Two sorted files of log lines, half of which both hold."""
    rng, files = np.random.default_rng(3), (folder / "a.txt", folder / "b.txt")
    with open(files[0], "w", encoding="ascii") as a, open(files[1], "w", encoding="ascii") as b:
        while a.tell() < nbytes:
            both = lines("log", rng, _BLOCK)
            a.write(both + lines("log", rng, _BLOCK))
            b.write(both + lines("log", rng, _BLOCK))
    for file in files:
        run(f"{PROGRAM} sort {file} -o {file}")
    return files


def make_keys(folder: Path, nbytes: int) -> tuple[Path, Path]:
    """Two sorted files of int32 of the whole range, half of which both hold."""
    rng, count, files = np.random.default_rng(3), nbytes // 4, (folder / "a.i32", folder / "b.i32")
    both = rng.integers(-(1 << 31), 1 << 31, count // 2).astype(np.int32)
    for file in files:
        np.sort(np.concatenate([both, rng.integers(-(1 << 31), 1 << 31, count - len(both)).astype(np.int32)])).tofile(
            file
        )
    return files


def of_lines(folder: Path, nbytes: int, repeat: int) -> list[str]:
    """Rows of the table of lines. Both outputs of each case must be the same."""
    a, b = make_lines(folder, nbytes)
    theirs, ours = folder / "theirs", folder / "ours"
    rows = [
        f"| log lines, 2 x {a.stat().st_size / 1e9:.2f} GB | system, s | gpumerge, s | faster |",
        "|---|---|---|---|",
    ]
    for title, system, own in _LINES:
        command = {"system": f"{system} > {theirs}", "gpumerge": f"{PROGRAM} {own} -o {ours}"}
        times = in_turns({name: text.format(a=a, b=b) for name, text in command.items()}, repeat)
        subprocess.run(["cmp", theirs, ours], check=True)
        slow, fast = times["system"].median, times["gpumerge"].median
        rows.append(f"| {title}: `{system.format(a='A', b='B')}` | {slow:.2f} | {fast:.2f} | {slow / fast:.1f} |")
        print(rows[-1], flush=True)
    for file in (a, b, theirs, ours):
        file.unlink()
    return rows


def of_keys(folder: Path, nbytes: int, repeat: int) -> list[str]:
    """Rows of the table of int32, each beside the merge of the same files."""
    a, b = make_keys(folder, nbytes)
    out = folder / "out.i32"
    times = in_turns({name: f"{PROGRAM} {name} -q {a} {b} -o {out}" for name in _KEYS}, repeat)
    rows = [
        f"| int32, 2 x {a.stat().st_size / 1e9:.2f} GB | median, s | fastest, s | over the merge |",
        "|---|---|---|---|",
    ]
    merge = times["merge"].median
    for name, found in times.items():
        rows.append(f"| {name} | {found.median:.2f} | {found.fastest:.2f} | {found.median / merge:.2f} |")
        print(rows[-1], flush=True)
    for file in (a, b, out):
        file.unlink()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="of both files together")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=("lines", "keys"))
    wish = parser.parse_args()
    folder, nbytes = Path(wish.folder), int(wish.gigabytes * 5e8)
    folder.mkdir(parents=True, exist_ok=True)
    tables = [
        make(folder, nbytes, wish.repeat)
        for name, make in (("lines", of_lines), ("keys", of_keys))
        if wish.only in (None, name)
    ]
    head = (
        "Sets of two sorted files, half of whose items both hold: whole commands, start-up, reading and writing "
        f"included, from page cache, on {len(os.sched_getaffinity(0))} cores; medians of {wish.repeat} turns."
    )
    Path(wish.out).write_text("\n\n".join([head, *("\n".join(rows) for rows in tables)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
