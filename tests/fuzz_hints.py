"""Follow every hint of `merge` blindly: the result must be sorted and complete, or be refused with exit code 2.

Run it as `python -m tests.fuzz_hints --cases 2000`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import tempfile
from collections import Counter
from pathlib import Path

from gpumerge_cli.cli import app

KINDS = ("text", "numbers", "table", "descending", "version", "months", "times", "wide", "mixed")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


def lines_of(kind: str, rng: random.Random) -> list[bytes]:
    """The lines of a file that are in an order of their kind."""
    count = rng.randrange(2, 12)
    numbers = sorted(rng.randrange(200) for _ in range(count))
    if kind == "table":
        return [b"id,name", *(f"{number},{chr(97 + rng.randrange(9))}".encode() for number in numbers)]
    if kind == "version":
        return [f"v{number // 20}.{number % 20}".encode() for number in numbers]
    if kind == "months":
        return [_MONTHS[number * 12 // 200].encode() for number in numbers]
    if kind == "times":
        return [f"2024-01-01T00:00:{n // 10:02d}{f'.{n % 10}' * (n % 10 > 0)}Z x".encode() for n in numbers]
    if kind == "text":
        return sorted(f"{chr(97 + rng.randrange(26))}{number}".encode() for number in numbers)
    found = [str(number).encode() for number in numbers]
    if kind == "mixed":
        rng.shuffle(found)
    return found[::-1] if kind == "descending" else found


def hint_of(message: str) -> list[str] | None:
    """The options that an error proposes, None if it proposes none."""
    field = re.search(r"use --field (\w+(?::\w)?)( -t ';')?$", message)
    if field and field[1] != "NAME":
        return ["--field", field[1]]
    found = re.search(r"order: ((?:add|leave) .*)$", message)
    return re.findall(r"add (-\w)", found[1]) if found else None


def merged(folder: Path, names: list[str], options: list[str]) -> tuple[int, bytes, str]:
    """The exit code, the output and the error lines of a merge."""
    out, told = folder / "out", io.StringIO()
    out.unlink(missing_ok=True)
    with contextlib.redirect_stderr(told):
        code = app.run(["merge", "-q", "--backend", "cpu", *options, *names, "-o", str(out)])
    return code, out.read_bytes() if out.exists() else b"", told.getvalue().strip()


def misled(seed: int) -> str:
    """What is wrong with the result of following a hint of the case `seed`, "" if nothing is."""
    rng = random.Random(seed)
    kind = rng.choice(KINDS)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files = [lines_of(kind, rng) for _ in range(rng.randrange(1, 4))]
        names = [str(folder / f"{number}.{'csv' if kind == 'table' else 'txt'}") for number in range(len(files))]
        for name, lines in zip(names, files, strict=True):
            data = b"".join(line + b"\n" for line in lines)
            Path(name).write_bytes(data.decode().encode("utf-16") if kind == "wide" else data)
        code, _, message = merged(folder, names, [])
        hint = hint_of(message) if code else None
        if hint is None:
            return ""
        code, data, _ = merged(folder, names, hint)
        if code == 2:
            return ""
        shown = f"seed {seed}, {kind}, {hint}: {data!r}"
        lines = data.splitlines()
        if kind == "table":
            lines, files = lines[1:], [rows[1:] for rows in files]
        if kind in ("times", "wide"):
            return f"a hint for {kind}: {shown}"
        if Counter(lines) != Counter(line for rows in files for line in rows):
            return f"incomplete: {shown}"
        numbers = [int(line.split(b",")[0]) for line in lines if kind in ("table", "numbers", "descending")]
        return "" if numbers in (sorted(numbers), sorted(numbers, reverse=True)) else f"not sorted: {shown}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    wrong = [told for told in map(misled, range(options.seed, options.seed + options.cases)) if told]
    print(*wrong, f"{options.cases} cases, {len(wrong)} wrong", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
