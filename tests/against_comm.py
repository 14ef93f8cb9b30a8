"""Random command lines of compare, --count and sets, held against the system's comm, uniq -c and sort.

python -m tests.against_comm --cases 10000 [--seed N] [--first N]. It prints the seed and the number of a failure.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from gpumerge_cli.cli.app import invoke

_C = {**os.environ, "LC_ALL": "C"}
_MEMORIES = ([], [], ["-S", "4096b"], ["-S", "20000b"])


@dataclass(frozen=True)
class Case:
    """One case. ours, theirs: the words behind gpumerge, and the system's shell line, with one result."""

    ours: tuple[str, ...]
    theirs: str


def case_of(seed: int, number: int, folder: Path) -> Case:
    """Case `number`, with its files in the folder."""
    chance = random.Random(f"{seed} {number}")
    zero = chance.random() < 0.1
    end = b"\0" if zero else b"\n"
    names = [_file(chance, folder / name, end) for name in ("a.txt", "b.txt")]
    words = ["-z"] * zero + chance.choice(_MEMORIES) + ["--threads", str(chance.randint(1, 3))]
    kind = chance.choice(["compare", "compare", "compare", "count", "after", "set", "sort", "sort"])
    if kind == "compare":
        options = [f"-{column}" for column in "123" if chance.random() < 0.3] + ["--total"] * (chance.random() < 0.3)
        if chance.random() < 0.3:
            options.append(f"--output-delimiter={chance.choice(['', ',', '<->', 16 * 'x', 33 * 'x'])}")
        return Case(("compare", *options, *words, *names), shlex.join(["comm", *["-z"] * zero, *options, *names]))
    z = " -z" * zero
    merged = f"sort -m{z} {' '.join(names)} | uniq -c{z}"
    if kind == "sort":
        names = [_shuffled(chance, Path(name), end) for name in names]
        order = chance.choice([[], ["-r"], ["-f"], ["-k2,2"], ["-n"], ["-k1,1r"], ["-V"]])
        theirs = f"sort{z} {shlex.join([*order, *names])} | uniq -c{z}"
        return Case(("sort", "--count", *order, *words, *names), theirs)
    if kind == "count":
        return Case(("merge", "--count", "-q", *words, *names), merged)
    if kind == "after" and not zero:
        awk = """awk '{ count = $1; sub(/^ *[0-9]+ /, ""); printf "%s\\t%d\\n", $0, count }'"""
        return Case(("merge", "--count=after", "-q", *words, *names), f"{merged} | {awk}")
    name, columns, merge = chance.choice(
        [("intersect", "-12", False), ("difference", "-23", False), ("symmetric", "-3", True), ("union", "", True)]
    )
    theirs = f"comm{z} {columns} --output-delimiter=@ {' '.join(names)}"
    if merge:
        theirs += f" | sed{z} 's/^@*//'"  # no line of the files begins so
    return Case((name, "-q", *words, *names), theirs)


def _file(chance: random.Random, path: Path, end: bytes) -> str:
    letters = chance.choice([b"ab", b"abcdefghij\t \xe9", bytes(range(1, 64)) + b"zz\xff"])
    letters = bytes(set(letters) - {10, 64})
    longest = chance.choice([1, 3, 12, 90])
    several = chance.choice([1, 1, 4, 60])
    lines: list[bytes] = []
    for _ in range(chance.choice([0, 1, 5, 40, 400])):
        line = bytes(chance.choices(letters, k=chance.randint(0, longest)))
        lines += [line] * chance.randint(1, several)
    data = b"".join(line + end for line in sorted(lines))
    if data and chance.random() < 0.2 and data[-2:] != end * 2 and len(data) > 1:
        data = data[:-1]  # the last line without its end
    path.write_bytes(data)
    return str(path)


def _shuffled(chance: random.Random, path: Path, end: bytes) -> str:
    lines = path.read_bytes().removesuffix(end).split(end) if path.stat().st_size else []
    path.write_bytes(end.join(chance.sample(lines, len(lines))) + chance.choice([b"", end]) * bool(lines))
    return str(path)


def difference(case: Case, folder: Path) -> str:
    """The way in which the two differ, or "" if they do not."""
    theirs = subprocess.run(["bash", "-o", "pipefail", "-c", case.theirs], env=_C, capture_output=True)
    if theirs.returncode or theirs.stderr:
        return f"the system fails: {theirs.stderr.decode()}"
    output = folder / "out"
    code = invoke([*case.ours, "-o", str(output)])
    if code:
        return f"exit code {code}"
    found = output.read_bytes()
    output.unlink()
    return "" if found == theirs.stdout else f"{found[:300]!r} instead of {theirs.stdout[:300]!r}"


def failures(seed: int, numbers: Sequence[int]) -> int:
    """Run these cases, and print those that differ; how many do."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder, _quiet():
        for number in numbers:
            case = case_of(seed, number, Path(folder))
            told = difference(case, Path(folder))
            if told:
                wrong += 1
                print(f"--seed {seed} --first {number}: {' '.join(case.ours)}: {told}", file=sys.stderr)
    return wrong


@contextmanager
def _quiet():  # type: ignore[no-untyped-def]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    asked = parser.parse_args()
    print("seed", asked.seed)
    wrong = failures(asked.seed, range(asked.first, asked.first + asked.cases))
    print(f"{asked.cases} cases, {wrong} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
