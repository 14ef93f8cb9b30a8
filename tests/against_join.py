"""gpumerge join against coreutils' join: the same command lines on the same sorted files, the same bytes.

python -m tests.against_join --cases 10000 --seed 1 [--workers N] [-o FILE]
python -m tests.against_join --seed 1 --only 1234

The seed and the number decide a case. Keys are few, so that groups are large, and groups lie across chunks where -S is
small. Some cases have thousands of lines. Cases run in processes of their own, so a crash is reported as a difference.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpumerge_cli.cli import app as door
from tests.apart import conclude, each

_BLANKS = re.compile(rb"[ \t\n]+")
_SIZES = {"few": 0.9, "many": 0.09, "huge": 0.01}
_WORDS = (b"", b"a", b"b", b"B", b"ab", b"a" * 40, b"\xff", b"\x00x", b"10", b"9", b"c" * 70, b"\r")


@dataclass(frozen=True)
class Trial:
    """The arguments of a command line for both programs, those for gpumerge alone, and the files A and B."""

    size: str
    arguments: tuple[bytes, ...]
    own: tuple[str, ...]
    a: bytes
    b: bytes

    def describe(self) -> str:
        """All of it where that is little."""
        files = [data if len(data) < 2000 else f"{len(data)} bytes" for data in (self.a, self.b)]
        return f"{self.arguments} {self.own} {files}"


def fields_of(line: bytes, separator: bytes | None) -> list[bytes]:
    """The fields that coreutils' join finds in a line. separator: None for blanks, b"" if all of a line is one."""
    if not line:
        return []
    if separator == b"":
        return [line]
    if separator is not None:
        return line.split(separator)
    bare = line.lstrip(b" \t\n")
    return _BLANKS.split(bare) if bare else []


@dataclass
class _Maker:
    """Makes the parts of one case. separator: see fields_of."""

    random: random.Random
    size: str
    separator: bytes | None
    end: bytes
    folded: bool

    def key(self, line: bytes, field: int) -> bytes:
        fields = fields_of(line, self.separator)
        key = fields[field] if field < len(fields) else b""
        return key.upper() if self.folded else key

    def word(self) -> bytes:
        own = self.random
        word = own.choice(_WORDS) if own.random() < 0.5 else b"%d" % own.randrange(30)
        if self.separator is not None and own.random() < 0.2:
            word = own.choice([b" ", b" x", b"y\t", b"\t"]) + word
        return word.replace(self.end, b"")

    def line(self) -> bytes:
        own = self.random
        if own.random() < 0.03:
            return own.choice([b"", b" ", b"  ", b"\t", self.separator or b" "]).replace(self.end, b"")
        words = [self.word() for _ in range(own.randint(1, 5))]
        if self.separator is not None:
            return (self.separator or own.choice([b" ", b","])).join(words)
        gaps = own.choice([[b" "], [b" ", b"  ", b"\t", b" \t "]])
        line = own.choice(gaps).join(words) if len(gaps) == 1 else b"".join(own.choice(gaps) + word for word in words)
        return line.lstrip(b" ") if own.random() < 0.7 else line + own.choice([b"", b" "])

    def file(self, field: int, header: bool) -> bytes:
        own = self.random
        count = {"few": own.randint(0, 8), "many": own.randint(100, 1500), "huge": own.randint(5000, 30000)}[self.size]
        if self.size == "huge":  # or the products are large
            lines = [(b"%06d" % own.randrange(20000)) + (self.separator or b" ") + self.line() for _ in range(count)]
        else:
            lines = [self.line() for _ in range(count)]
        lines.sort(key=lambda line: self.key(line, field))
        if header and own.random() < 0.9:
            lines.insert(0, self.line())
        data = b"".join(line + self.end for line in lines)
        return data[: -len(self.end)] if data and own.random() < 0.3 else data


def trial(seed: int, number: int, size: str = "") -> Trial:
    """Case `number`."""
    own = random.Random(f"{seed} {number}")
    size = size or own.choices(list(_SIZES), list(_SIZES.values()))[0]
    separator = own.choice([None, None, b",", b"\t", b"\0", b":", b""])
    zero = own.random() < 0.1 and separator != b"\0"
    folded = own.random() < 0.2
    header = own.random() < 0.2
    end = b"\0" if zero else b"\n"
    maker = _Maker(own, size, separator, end, folded)
    arguments, joined = _join_fields(own) if size != "huge" else ([], (0, 0))
    if separator is not None:
        arguments.append({b"\0": b"-t\\0", b"": b"-t"}.get(separator, b"-t" + separator))
        arguments += [b""] * (separator == b"")
    arguments += [b"-i"] * folded + [b"-z"] * zero + [b"--header"] * header
    for option in (b"-a", b"-v"):
        for file in (b"1", b"2"):
            arguments += [option + file] * (own.random() < 0.2)
    arguments += own.choice([[], [], [b"-e", own.choice([b"", b"X", b"none given"])]])
    arguments += _columns(own)
    memory = own.choice(["64K", "200K", "1M", "64M"])
    ours = (f"--threads={own.randint(1, 4)}", f"--memory={memory}") if own.random() < 0.8 else ()
    return Trial(size, tuple(arguments), ours, maker.file(joined[0], header), maker.file(joined[1], header))


def _join_fields(own: random.Random) -> tuple[list[bytes], tuple[int, int]]:
    a, b = (own.choice([1, 1, 2, 3, 7]) for _ in range(2))
    way = own.randrange(4)
    if way == 0:
        return [b"-j%d" % a], (a - 1, a - 1)
    if way == 1:
        return [b"-1", b"%d" % a, b"-2%d" % b], (a - 1, b - 1)
    if way == 2:
        return [b"-2", b"%d" % b], (0, b - 1)
    return [], (0, 0)


def _columns(own: random.Random) -> list[bytes]:
    way = own.randrange(6)
    if way < 3:
        return []
    auto = [b"-o", b"auto"]
    if way == 3:
        return auto
    lists = []
    for _ in range(own.randint(1, 2)):
        words = [own.choice([b"0", b"1.1", b"1.2", b"2.1", b"2.2", b"1.4", b"2.9"]) for _ in range(own.randint(1, 4))]
        lists += [b"-o", *words] if way == 5 else [b"-o", own.choice([b",", b" "]).join(words)]
    return own.choice([lists, lists, auto + lists, lists + auto])


def disagreement(case: Trial, folder: Path) -> str:
    """The difference, or "" if there is none."""
    a, b, out = folder / "a", folder / "b", folder / "out"
    a.write_bytes(case.a)
    b.write_bytes(case.b)
    names = [os.fsencode(a), os.fsencode(b)]
    environment = os.environ | {"LC_ALL": "C"}
    theirs = subprocess.run([b"join", *case.arguments, *names], capture_output=True, env=environment, check=False)
    said = io.TextIOWrapper(io.BytesIO(), errors="surrogateescape")
    words = [os.fsdecode(word) for word in case.arguments]
    with contextlib.redirect_stderr(said):
        code = door.invoke(["join", *words, *case.own, "--output", str(out), str(a), str(b)])
    said.flush()
    if code != theirs.returncode:
        return f"exit {code}, not {theirs.returncode}: {said.buffer.getvalue()[-300:]!r} {theirs.stderr[-300:]!r}"
    found, expected = out.read_bytes(), theirs.stdout
    if found == expected:
        return ""
    at = next((at for at, (x, y) in enumerate(zip(found, expected, strict=False)) if x != y), len(found))
    low = max(0, at - 30)
    return (
        f"from byte {at} on {found[low : at + 60]!r}, not {expected[low : at + 60]!r}; "
        f"{len(found)} bytes, {len(expected)} expected"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 if a case differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--size", choices=tuple(_SIZES), default="", help="of all cases; by default of most few")
    parser.add_argument("--only", type=int, metavar="N", help="case N alone")
    parser.add_argument("-o", metavar="FILE")
    wish = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    begun = time.monotonic()

    def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
        made = trial(wish.seed, number, wish.size)
        tell(made.describe())
        kinds = [made.size, *(word.decode("latin-1")[:2] for word in made.arguments if word.startswith(b"-"))]
        with tempfile.TemporaryDirectory() as folder:
            return kinds, disagreement(made, Path(folder))

    numbers = range(wish.cases) if wish.only is None else [wish.only]
    for ended in each(case, numbers, workers=wish.workers):
        counts.update(ended.kinds)
        if ended.wrong:
            wrong.append(
                f"{ended.wrong}\n  again: python -m tests.against_join --seed {wish.seed} --only {ended.number}"
            )
            print(wrong[-1], file=sys.stderr, flush=True)
    version = subprocess.run(["join", "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[
        0
    ]
    report = [f"seed {wish.seed}, {len(numbers)} cases, against {version}"]
    verdict = f"{len(numbers) - len(wrong)} of {len(numbers)} agree, in {time.monotonic() - begun:.0f} s"
    return conclude(report, counts, wrong, verdict, wish.o)


if __name__ == "__main__":
    raise SystemExit(main())
