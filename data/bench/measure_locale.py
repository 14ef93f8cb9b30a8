"""Time sorts, merges, sets and joins of words in the order of a locale against GNU sort, comm and join in that locale.

python data/bench/measure_locale.py [--locale en_US.UTF-8] [--megabytes 500] [--turns 3] [--folder DIR]

LOCPATH may name a folder of locales. It needs about 8 x MEGABYTES of the folder.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from whole_commands import PROGRAM, in_turns, parser_of

LETTERS, SHORTEST, LONGEST = b"eeeeaaaiiiooonnnrrrttssllcdmpughbyfvkwzxjq", 3, 15


def words(rng: np.random.Generator, nbytes: int) -> NDArray[np.uint8]:
    """Lines of one word each: one in ten begins with a capital, one in ten holds a hyphen, one in ten an accent."""
    lengths = rng.integers(SHORTEST, LONGEST, 2 * nbytes // (SHORTEST + LONGEST + 1))
    ends = np.cumsum(lengths + 1)
    text: NDArray[np.uint8] = np.frombuffer(LETTERS, np.uint8)[rng.integers(0, len(LETTERS), ends[-1])]
    starts = ends - lengths - 1
    text[ends - 1] = ord("\n")
    kind = rng.integers(0, 10, len(ends))
    text[starts[kind == 0]] -= 32
    text[starts[kind == 1] + 1] = ord("-")
    accented = starts[kind == 2]
    text[accented], text[accented + 1] = 0xC3, rng.integers(0xA0, 0xB7, len(accented))
    return text


def write_words(folder: Path, nbytes: int, sort: str) -> None:
    """Words in no order, and two sorted files, of which each holds half of the words of the other.

    Beside these, both files with each word once: a join of equal words writes the square of their number.
    """
    rng = np.random.default_rng(1)
    halves = [words(rng, nbytes // 2) for _ in range(3)]
    np.concatenate(halves[:2]).tofile(folder / "words")
    for name, parts in {"a": halves[:2], "b": halves[1:]}.items():
        np.concatenate(parts).tofile(folder / f"{name}-words")
        subprocess.run(f"cd {folder} && {sort} {name}-words -o {name}", shell=True, check=True)
        subprocess.run(f"cd {folder} && {sort} -u {name} -o {name}-once", shell=True, check=True)
        (folder / f"{name}-words").unlink()


def timed(title: str, calls: dict[str, str], turns: int, folder: Path) -> None:
    """Print a row: the medians of calls, and by how much each takes longer than the first. They must write the same."""
    took = in_turns(calls, turns)
    first = next(iter(took.values()))
    cells = (f"{which} {', CPU '.join(its.beside(first))}" for which, its in took.items())
    print(f"| {title} | {' | '.join(cells)} |", flush=True)
    subprocess.run(["cmp", folder / "out", folder / "gnu"], check=True)


def main() -> None:
    """Print the rows."""
    parser = parser_of(__doc__, megabytes=500, turns=3)
    parser.add_argument("--locale", default="en_US.UTF-8")
    options = parser.parse_args()
    size, locale = options.megabytes, options.locale
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        write_words(folder, size * 10**6, f"{PROGRAM} sort --locale {locale}")
        ours, theirs = f"cd {folder} && {PROGRAM}", f"cd {folder} && LC_ALL={locale}"
        by = f"--locale {locale}"
        turns = options.turns
        for title, own, other, often in (
            (f"merge of 2 x {size} MB", f"merge -q {by} a b -o out", "sort -m a b -o gnu", turns),
            (f"compare of 2 x {size} MB", f"compare -q {by} a b -o out", "comm a b > gnu", turns),
            (f"intersect of 2 x {size} MB", f"intersect -q {by} a b -o out", "comm -12 a b > gnu", turns),
            (
                "join of their words, each once",
                f"join -q {by} -t , a-once b-once --output out",
                "join -t , a-once b-once > gnu",
                turns,
            ),
            (
                f"sort of {size} MB of words",
                f"sort {by} words -o out",
                "sort --parallel=2 words -o gnu",
                max(1, turns // 2),
            ),
        ):
            timed(title, {"gpumerge": f"{ours} {own}", "GNU": f"{theirs} {other}"}, often, folder)


if __name__ == "__main__":
    main()
