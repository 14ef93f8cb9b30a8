"""gpumerge sort against the system's sort: the same command lines on the same files, the same bytes and exit codes.

python -m tests.against_sort --cases 20000 --seed 1 --backend cpu [--workers N] [-o FILE]
python -m tests.against_sort --seed 1 --only 1234 [--keep FOLDER]

The seed and the number decide a case. Most cases have a few lines. Some have lines of up to 100 KB among short ones,
fewer have lines of megabytes, and about one in 700 is larger than 64 MiB, so larger than every size that changes how -m
works. Inputs of -m may be in order or not. -S is anything from 1b to 64M, and --parallel 1 to 5. The output goes to a
file or into a pipe. Cases run in processes of their own, so a crash is reported as a difference.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from gpumerge_cli.cli import app as door
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.units import visible
from tests.apart import conclude, each
from tests.line_cases import cases, lines
from tests.linekeys import key_of
from tests.test_line_keys import comparable, version

MODES = ("sort", "sort", "merge", "merge", "check", "check-quiet")
_MIB = 1 << 20
SIZES = {"few": (0, 0), "long": (20_000, 600_000), "megabytes": (_MIB, 8 * _MIB), "huge": (65 * _MIB, 80 * _MIB)}
"""Bytes of all inputs together, but for the few lines that Hypothesis draws."""
_SHARES = {"few": 0.9, "long": 0.08, "megabytes": 0.0186, "huge": 0.0014}
_LONGEST = 100_000
_LIMITED = 3, 4  # of so many command lines so many have -S


@dataclass(frozen=True)
class Trial:
    """The arguments of a command line, and its files by their names. piped: the output goes into a pipe."""

    mode: str
    arguments: tuple[bytes, ...]
    files: dict[str, bytes]
    piped: bool = False

    def describe(self) -> str:
        """All of it where that is little."""
        files = {name: data if len(data) < 2000 else f"{len(data)} bytes" for name, data in self.files.items()}
        return f"{b' '.join(self.arguments)!r}{', into a pipe' * self.piped}, {files}"


@st.composite
def trials(draw: st.DrawFn, size: str = "few") -> Trial:
    """Command lines with the files they name. size: one of SIZES."""
    case = draw(cases())
    order = case.order
    mode = draw(st.sampled_from(MODES)) if size != "huge" else "merge"
    unique = draw(st.booleans()) and draw(st.booleans())
    key: Callable[[bytes], Any] = key_of(order)
    own = random.Random(draw(st.integers(0, 2**32 - 1)))
    count = 1 if mode.startswith("check") else own.randint(1, 4)
    # Inputs of -m in no order are merged by another way, and what is known of them ahead depends on their size.
    ordered = own.random() < ({"sort": 0.1, "merge": 0.6}.get(mode, 0.5) if size != "huge" else 0.2)
    if size == "few":
        contents = [comparable(order, draw(lines(order))) for _ in range(count)]
        repeated = own.randrange(8) == 0
        if repeated or sum(b"nan" in line.lower() for content in contents for line in content) > 1:
            contents = [_without_nans(content) for content in contents]
        contents = [content * 40 for content in contents] if repeated else contents
    else:
        pool = _pool(order, draw(lines(order)), own)
        ranks = {line: rank for rank, line in enumerate(sorted(pool, key=key))} if ordered else {}
        contents, key = list(_large(pool, own, count, SIZES[size])), ranks.__getitem__
    files = {}
    for number, content in enumerate(contents):
        data = b"".join(line + bytes([order.terminator]) for line in (sorted(content, key=key) if ordered else content))
        files[f"f{number}"] = data[:-1] if data and own.random() < 0.5 else data  # no last terminator
    files["salt"] = case.salt
    arguments = list(case.arguments) + [b"-u"] * unique
    arguments += {"sort": [], "merge": [b"-m"], "check": [b"-c"], "check-quiet": [b"-C"]}[mode]
    arguments += [b"--parallel=%d" % own.randint(1, 5), *_limit(own)]
    return Trial(mode, tuple(arguments), files, piped=own.random() < (0.3 if size != "huge" else 0.6))


def _without_nans(content: list[bytes]) -> list[bytes]:
    """Lines without NaNs, because each version of sort orders several NaNs in its own way."""
    return [line for line in content if b"nan" not in line.lower()]


def _limit(own: random.Random) -> list[bytes]:
    if own.randrange(_LIMITED[1]) >= _LIMITED[0]:
        return []
    size = own.choice([1, int(2 ** own.uniform(0, 26)), int(2 ** own.uniform(14, 22)), 64 * _MIB])
    return [b"-S%dM" % (size >> 20) if size % _MIB == 0 else b"-S%db" % size]


def _pool(order: LineOrder, drawn: list[bytes], own: random.Random) -> list[bytes]:
    """Many lines made from a few: with numbers ahead or behind, and some lines of up to 100 KB."""
    few = [*drawn, b"", b"a"]
    made = set(few)
    for _ in range(150):
        line = own.choice(few)
        number = b"%d" % own.randrange(10 ** own.randint(1, 6))
        made.add(own.choice([line + b" " + number, number + line, number + b"," + line]))
    for _ in range(own.choice([3, 20])):
        line = own.choice(few)
        length = int(_LONGEST ** own.uniform(0.5, 1))
        filler = own.choice([b"y", b" ", b"0", b"ab", b"y ", line or b"y"])
        made.add((line + filler * (length // len(filler) + 1))[:length] + own.choice([b"", b"y", line]))
    kept = comparable(order, sorted(line.replace(bytes([order.terminator]), b"") for line in made))
    return _without_nans(kept) or [b"a"]


def _large(pool: list[bytes], own: random.Random, count: int, size: tuple[int, int]) -> Iterator[list[bytes]]:
    """`count` lists of lines from the pool. If there are many bytes, most of them are in long lines."""
    total = own.randint(*size)
    shares = [0, *sorted(int(total * own.random() ** 0.5) for _ in range(count - 1)), total]
    short = [line for line in pool if len(line) < 200] or pool
    seldom = 1.0 if len(short) == len(pool) else 0.02 if total > size[0] < _MIB else own.choice([0.02, 0.1])
    for start, stop in pairwise(shares):
        content: list[bytes] = []
        left = stop - start
        while left > 0:
            some = own.choices(short, k=200)
            some += [own.choice(pool) for _ in range(200) if own.random() < seldom]
            own.shuffle(some)
            content += some
            left -= sum(map(len, some)) + len(some)
        yield content


def _shown(message: bytes) -> bytes:
    """A message of GNU sort, which prints a line as it is, with the bytes visible that a terminal would obey."""
    return f"{visible(message[:-1].decode(errors='backslashreplace'))}\n".encode() if message else b""


def disagreement(trial: Trial, backend: str, folder: Path) -> str:
    """The difference, or "" if there is none."""
    for name, data in trial.files.items():
        (folder / name).write_bytes(data)
    names = [str(folder / name).encode() for name in trial.files if name != "salt"]
    salt = b"--random-source=" + os.fsencode(folder / "salt")
    out, ours = folder / "out", folder / "ours"
    written = not trial.mode.startswith("check")
    for path in (out, ours):
        path.write_bytes(b"")
    command = [*trial.arguments, salt, *names]
    theirs = subprocess.run(
        [b"sort", *command, *([b"-o", os.fsencode(out)] if written else [])],
        capture_output=True,
        env=os.environ | {"LC_ALL": "C"},
        check=False,
    )
    arguments = ["sort", f"--backend={backend}", *map(os.fsdecode, command)]
    said = io.TextIOWrapper(io.BytesIO(), errors="surrogateescape")
    with contextlib.redirect_stderr(said):
        if written and trial.piped:
            code, found = _piped(lambda: door.invoke(arguments))
        else:
            code = door.invoke([*arguments, *(["-o", str(ours)] if written else [])])
            found = ours.read_bytes()
    said.flush()
    message = said.buffer.getvalue()
    if code != theirs.returncode:
        return f"exit {code}, not {theirs.returncode}: {message[-300:]!r}"
    expected = out.read_bytes()
    if expected != found:
        return _difference(found, expected)
    if trial.mode == "check" and message.removeprefix(b"gpumerge") != _shown(theirs.stderr).removeprefix(b"sort"):
        return f"{message[:2000]!r}, not {theirs.stderr[:2000]!r}"
    return ""


def _difference(found: bytes, expected: bytes) -> str:
    if len(found) + len(expected) < 4000:
        return f"{found!r}, not {expected!r}"
    at = next((at for at, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), len(found))
    return (
        f"from byte {at} on {found[at : at + 60]!r}, not {expected[at : at + 60]!r}; "
        f"{len(found)} bytes, {len(expected)} expected"
    )


def _piped(work: Callable[[], int]) -> tuple[int, bytes]:
    """The result of `work`, and its output on a standard output that is a pipe."""
    reading, writing = os.pipe()
    parts: list[bytes] = []

    def read() -> None:
        while part := os.read(reading, _MIB):
            parts.append(part)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with open(writing, "w") as standard_output, contextlib.redirect_stdout(standard_output):
            code = work()
    finally:
        reader.join()
        os.close(reading)
    return code, b"".join(parts)


def drawn(seed_: int, number: int, size: str = "") -> tuple[str, Trial]:
    """The size of case `number`, and the case."""
    size = size or random.Random(f"{seed_} {number}").choices(list(_SHARES), list(_SHARES.values()))[0]
    found: list[Trial] = []

    # The first that Hypothesis draws is the least there is, whatever the seed.
    @seed(f"{seed_} {number}")
    @settings(
        max_examples=2, database=None, phases=[Phase.generate], deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(trials(size))
    def draw(trial: Trial) -> None:
        found.append(trial)

    draw()
    return size, found[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--size", choices=tuple(SIZES), default="", help="of all cases; by default of most few")
    parser.add_argument("--only", type=int, metavar="N", help="case N alone")
    parser.add_argument("--keep", metavar="FOLDER", help="where the files of --only stay")
    parser.add_argument("-o", metavar="FILE")
    wish = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    begun = time.monotonic()

    def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
        size, trial = drawn(wish.seed, number, wish.size)
        tell(trial.describe())
        kinds = [trial.mode, f"{size}: {trial.mode}", "into a pipe" if trial.piped else "to a file"]
        if wish.keep is not None and wish.only is not None:
            os.makedirs(wish.keep, exist_ok=True)
            return kinds, disagreement(trial, wish.backend, Path(wish.keep))
        with tempfile.TemporaryDirectory() as folder:
            return kinds, disagreement(trial, wish.backend, Path(folder))

    numbers = range(wish.cases) if wish.only is None else [wish.only]
    again = f"python -m tests.against_sort --seed {wish.seed} --backend {wish.backend}" + (
        f" --size {wish.size}" if wish.size else ""
    )
    for ended in each(case, numbers, workers=wish.workers):
        counts.update(ended.kinds)
        if ended.wrong:
            wrong.append(f"{ended.wrong}\n  again: {again} --only {ended.number}")
            print(wrong[-1], file=sys.stderr, flush=True)
    report = [f"seed {wish.seed}, {len(numbers)} cases on {wish.backend}, against sort {version()}"]
    verdict = f"{len(numbers) - len(wrong)} of {len(numbers)} agree, in {time.monotonic() - begun:.0f} s"
    return conclude(report, counts, wrong, verdict, wish.o)


if __name__ == "__main__":
    raise SystemExit(main())
