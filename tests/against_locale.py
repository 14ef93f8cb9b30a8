"""gpumerge sort, compare and join --locale against the system's sort, comm and join in the same locale.

python -m tests.against_locale --cases 20000 [--seed N] [--first N] [--locales en_US.UTF-8,cs_CZ.UTF-8]

It prints the seed and the number of a failure. The locales must be there: LOCPATH may name a folder of them. Lines have
letters of every script, combining marks, emoji, bytes that are no UTF-8 and, under -z, NULs.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from gpumerge_cli.cli.app import invoke

LOCALES = ("C", "en_US.UTF-8", "de_DE.UTF-8", "sv_SE.UTF-8", "cs_CZ.UTF-8")
_MEMORIES = ([], [], [], ["-S", "1b"], ["-S", "20000b"])
_POOLS = (
    "ab", "aAbB", "chCHdh", "abc -_", "a,b'c·l-L", "aåäöAÅÄÖzZ", "eéèêëEÉo\u0301\u0302\u0323", "ssßSSẞæÆaeœ",
    "lłdžǆǅcs", "0123456789,.-", "1½²٣", "αβγάΑΩ", "абвгийё\u0306\u0308Я", "אבגشسص", "กขเแไ", "कखक्षष्",
    "漢字中日あいアイキーカ\u3099が", "각한\u1100\u1161\u11a8", "😀👩\u200d💻🇩🇪", "\u0001\u0007\u007f\u00ad\ufffd",
    "!?\"#$%&()*+/:;<=>@[]^`{|}~", " \t",
)  # fmt: skip
_BROKEN = (b"\xff", b"\xc3", b"\xe4\xb8", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xf8", b"\x80")
_MONTHS = (
    "Jan", "feb", "MAR", "apr", "Mai", "Juni", "Jul", "aug", "sep", "Okt", "Nov", "DEZ", "Mär", "maj", "lednů", "led",
    "úno", "bře", "dub", "kvě", "čen", "čec", "srp", "zář", "říj", "lis", "pro", "May", "Oct", "Dec",
)  # fmt: skip
_ORDERS = [
    one.split()
    for one in (
        "", "", "", "-r", "-s -k1,1", "-f", "-d", "-i", "-df", "-b", "-k2", "-k2,2 -k1,1r", "-k1.2,1.3", "-k2b,2f",
        "-k2,2d -k1,1", "-r -k2,2", "-n", "-k2,2n", "-h", "-g", "-M", "-V", "-V -r", "-n -s",
    )
]  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One case. ours, theirs: the words behind gpumerge, and those of the system's program, with one output."""

    locale: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


def case_of(seed: int, number: int, folder: Path, locales: Sequence[str] = LOCALES) -> Case:
    """Case `number`, with its files in the folder."""
    chance = random.Random(f"{seed} {number}")
    locale = chance.choice(locales)
    zero = chance.random() < 0.25
    kind = chance.choice(["sort", "sort", "sort", "merge", "check", "compare", "join"])
    order = list(chance.choice(_ORDERS)) if kind not in ("compare", "join") else []
    if kind != "join":
        order += ["-t", chance.choice([",", " ", "a", "."])] * (chance.random() < 0.3 and kind != "compare")
    order += ["-u"] * (kind in ("sort", "merge", "check") and chance.random() < 0.25)
    pools = _texts(chance, order)
    names = [folder / name for name in "ab"]
    count = chance.choice([3, 10, 60, 400])
    numbers = any(set("nh") & set(one) for one in order if one.startswith("-"))
    for name in names:
        lines = [_line(chance, pools, zero=zero) for _ in range(chance.randint(0, count))]
        if numbers:  # in a locale without a mark between thousands, GNU sort takes this byte for one
            lines = [line.replace(b"\x80", b"") for line in lines]
        _write(chance, name, lines, b"\0" if zero else b"\n")
    files, z = list(map(str, names)), ["-z"] * zero
    own = [*chance.choice(_MEMORIES), "--threads", str(chance.randint(1, 3)), "--locale", locale, "-q"]
    if kind == "sort":
        return Case(locale, ("sort", *own, *z, *order, *files), ("sort", *z, *order, *files))
    sorting = [*z, "-t", ",", "-k1,1"] if kind == "join" else [*z, *order]
    for name in files if kind in ("compare", "join") or chance.random() < 0.7 else ():
        subprocess.run(["sort", *sorting, "-o", name, name], env=_environment(locale), check=True)
    if kind == "check":
        return Case(locale, ("sort", "-c", *own, *z, *order, files[0]), ("sort", "-c", *z, *order, files[0]))
    if kind == "merge":
        return Case(locale, ("sort", "-m", *own, *z, *order, *files), ("sort", "-m", *z, *order, *files))
    if kind == "compare":
        return Case(locale, ("compare", *own, *z, *files), ("comm", *z, *files))
    options = [*z, "-t", ",", *chance.choice([[], ["-a1"], ["-a1", "-a2"], ["-v2"]])]
    return Case(locale, ("join", *own, *options, *files), ("join", *options, *files))


def _texts(chance: random.Random, order: Sequence[str]) -> list[list[bytes]]:
    """Lists of short texts. Each line is a row of texts drawn from them."""
    pools = [[text.encode() for text in chance.choice(_POOLS)] for _ in range(chance.choice([1, 1, 2, 3]))]
    if any(set("ngh") & set(one) for one in order if one.startswith("-")) or chance.random() < 0.1:
        pools.append([b"1", b"0", b"23", b"1,5", b"1.5", b"1.000", b"1,000", b"-", b"-1", b"K", b"7M", b" "])
    if "-M" in order:
        pools.append([f"{name} ".encode() for name in _MONTHS])
    if chance.random() < 0.15:
        pools.append(list(_BROKEN))
    if chance.random() < 0.15:
        pools.append([chr(_character(chance)).encode() for _ in range(8)])
    if chance.random() < 0.4:
        pools.append([chance.choice([b" ", b",", b"."])])
    return pools


def _character(chance: random.Random) -> int:
    found = chance.randrange(2, chance.choice([0x250, 0x3000, 0xFFFF, 0x30000]))
    return 0x61 if 0xD800 <= found < 0xE000 or found in (10, 0xFEFF) else found


def _line(chance: random.Random, pools: Sequence[Sequence[bytes]], *, zero: bool) -> bytes:
    longest = chance.choice([1, 2, 4, 9, 30] + [1500] * (chance.random() < 0.02))
    line = b"".join(chance.choice(chance.choice(pools)) for _ in range(chance.randint(0, longest)))
    if zero and chance.random() < 0.2:
        return line.replace(b"\0", b"\n")
    if not zero and chance.random() < 0.05:
        at = chance.randint(0, len(line))
        line = line[:at] + b"\0" + line[at:]
    return line


def _write(chance: random.Random, path: Path, lines: list[bytes], end: bytes) -> None:
    some = [line.replace(end, b"") for line in lines]
    if some and chance.random() < 0.3:
        some += chance.choices(some, k=len(some))
    data = b"".join(line + end for line in some)
    path.write_bytes(data[:-1] if data and chance.random() < 0.1 else data)


def _environment(locale: str) -> dict[str, str]:
    return {**os.environ, "LC_ALL": locale, "LANGUAGE": "C"}


def difference(case: Case, folder: Path) -> str:
    """The way in which the two differ, or "" if they do not."""
    theirs = subprocess.run(case.theirs, env=_environment(case.locale), capture_output=True, check=False)
    if theirs.returncode > 1:
        return f"the system fails: {theirs.stderr.decode(errors='replace')}"
    output = folder / "out"
    output.write_bytes(b"")
    written = case.theirs[:2] != ("sort", "-c")
    with open(folder / "err", "w+") as said, redirect_stderr(said):
        code = invoke([*case.ours, *["--output", str(output)] * written])
        said.seek(0)
        told = said.read()
    if code != (0 if written else theirs.returncode):
        return f"exit code {code}, not {theirs.returncode}: {told[:300]!r}"
    found = output.read_bytes()
    if found == theirs.stdout:
        return ""
    end = b"\0" if "-z" in case.theirs else b"\n"
    pairs = zip(found.split(end), theirs.stdout.split(end), strict=False)
    a, b = next(((a, b) for a, b in pairs if a != b), (b"", b""))
    return f"{a[:80]!r} instead of {b[:80]!r}; {len(found)} bytes instead of {len(theirs.stdout)}"


def failures(seed: int, numbers: Sequence[int], locales: Sequence[str] = LOCALES) -> int:
    """Run these cases, and print those that differ; how many do."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            case = case_of(seed, number, Path(folder), locales)
            told = difference(case, Path(folder))
            if told:
                wrong += 1
                print(f"--seed {seed} --first {number}: {case.locale} {' '.join(case.ours)}: {told}", flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--locales", default=",".join(LOCALES))
    asked = parser.parse_args()
    print("seed", asked.seed)
    wrong = failures(asked.seed, range(asked.first, asked.first + asked.cases), asked.locales.split(","))
    print(f"{asked.cases} cases, {wrong} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
