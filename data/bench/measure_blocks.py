"""Time merges that write and read BGZF, and read Zstandard, against bgzip, gzip and zstd.

python data/bench/measure_blocks.py OUT.md [--megabytes 1000] [--turns 3] [--folder DIR]

It needs bgzip, gzip and zstd, and about 5 x MEGABYTES of the folder. Seconds of processors are those of all cores: on a
machine where others work, they say more than those by the clock.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
from itertools import accumulate
from pathlib import Path

from whole_commands import PROGRAM, Series, in_turns, parser_of, write_table

TEXTS = 50_000


def write_variants(path: Path, nbytes: int, seed: int) -> None:
    """Lines as those of a VCF file, in the order of their bytes. No window of a compression holds a text twice."""
    chance, position = random.Random(seed), 0
    texts = [
        f"rs{chance.randrange(10**8)}\t{chance.choice('ACGT')}\t{chance.choice('ACGT')}\t{chance.randrange(100)}\tPASS\t"
        f"AC={chance.randrange(5008)};AF={chance.random():.4f};AN=5008;NS=2504;DP={chance.randrange(30000)}\tGT\t"
        + "\t".join(chance.choices(("0|0", "0|1", "1|1"), (8, 2, 1), k=10))
        for _ in range(TEXTS)
    ]
    with open(path, "w") as file:
        while file.tell() < nbytes:
            steps = chance.choices(range(1, 60), k=TEXTS)
            file.writelines(
                f"chr1\t{position + at:09}\t{text}\n" for at, text in zip(accumulate(steps), texts, strict=True)
            )
            position += sum(steps)


def rows_of(title: str, took: dict[str, Series], sizes: dict[str, int]) -> list[str]:
    """A row for each command: its seconds, and by how much they are those of the first."""
    first = next(iter(took.values()))
    return [
        f"| {title} | {name} | {' | '.join(its.beside(first))} | "
        f"{f'{sizes[name] / 1e6:.0f} MB' if name in sizes else ''} |"
        for name, its in took.items()
    ]


def main() -> None:
    """Write the table."""
    parser = parser_of(__doc__, megabytes=1000, turns=3)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        for number, letter in enumerate("ab"):
            write_variants(folder / f"{letter}.txt", options.megabytes * 500_000, number)
        to = f"cd {folder} &&"
        ours = f"{to} {PROGRAM} merge -q"
        subprocess.run(f"{ours} a.txt b.txt -o ab.txt", shell=True, check=True)
        written = {
            "gpumerge -o ab.bgz": f"{ours} a.txt b.txt -o 0.bgz",
            "gpumerge to a pipe of bgzip -@2 -l 1": f"{ours} a.txt b.txt | bgzip -@2 -l 1 -c > 1.bgz",
            "gpumerge to a pipe of bgzip -@2": f"{ours} a.txt b.txt | bgzip -@2 -c > 2.bgz",
            "bgzip -@2 -l 1 of the merged file": f"{to} bgzip -@2 -l 1 -c ab.txt > 3.bgz",
            "bgzip -@2 of the merged file": f"{to} bgzip -@2 -c ab.txt > 4.bgz",
        }
        took = in_turns(written, options.turns)
        sizes = {name: (folder / f"{number}.bgz").stat().st_size for number, name in enumerate(written)}
        rows = rows_of(f"merge of 2 x {options.megabytes // 2} MB to BGZF", took, sizes)
        subprocess.run(f"{to} bgzip -t 0.bgz && bgzip -dc 0.bgz | cmp - ab.txt", shell=True, check=True)
        for path in folder.glob("?.bgz"):
            path.unlink()
        for letter in "ab":
            packed = f"bgzip -@2 {letter}.txt -c > {letter}.bgz && bgzip -dc {letter}.bgz | gzip -6 > {letter}.gz"
            zstd = f"{PROGRAM} merge -q {letter}.txt -o {letter}.zst"
            subprocess.run(f"{to} {packed} && {zstd}", shell=True, check=True)
        read = {
            "gpumerge of BGZF": f"{ours} a.bgz b.bgz -o out",
            "gpumerge of plain gzip, which is copied first": f"{ours} a.gz b.gz -o out",
            "gpumerge of the files as they are": f"{ours} a.txt b.txt -o out",
            "gzip -dc of the BGZF, no merge": f"{to} gzip -dc < a.bgz > out && gzip -dc < b.bgz >> out",
            "bgzip -@2 -dc of the BGZF, no merge": f"{to} bgzip -@2 -dc a.bgz > out && bgzip -@2 -dc b.bgz >> out",
        }
        rows += rows_of(f"reading 2 x {options.megabytes // 2} MB", in_turns(read, options.turns), {})
        subprocess.run(f"{ours} a.bgz b.bgz | cmp - ab.txt", shell=True, check=True)
        framed = {
            "gpumerge of frames of 1 MiB": f"{ours} a.zst b.zst -o out",
            "zstd -dc, no merge": f"{to} zstd -dc a.zst b.zst > out",
        }
        rows += rows_of(f"reading 2 x {options.megabytes // 2} MB", in_turns(framed, options.turns), {})
        subprocess.run(f"{ours} a.zst b.zst | cmp - ab.txt", shell=True, check=True)
    about = (
        f"Merges of lines as of VCF files that write and read blocks, start-up included, from page cache; medians of "
        f"{options.turns} turns, two threads each. In brackets: over the first row of its kind."
    )
    write_table(options.out, about, "| case | command | by the clock | of processors | size |", rows)


if __name__ == "__main__":
    main()
