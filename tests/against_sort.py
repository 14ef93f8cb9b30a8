"""gpumerge sort against the system's sort: the same command lines on the same files, the same bytes and exit codes.

python -m tests.against_sort --cases 20000 --seed 1 --backend cpu [-o FILE]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from gpumerge_cli.cli import app as door
from tests.line_cases import cases, lines
from tests.test_line_keys import comparable, version

MODES = ("sort", "sort", "merge", "merge", "check", "check-quiet")


@dataclass(frozen=True)
class Trial:
    """A command line but for its program, and files by their names."""

    mode: str
    arguments: tuple[bytes, ...]
    files: dict[str, bytes]


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    """Command lines with the files they name, of which -m finds them in order."""
    case = draw(cases())
    mode = draw(st.sampled_from(MODES))
    unique = draw(st.booleans()) and draw(st.booleans())
    contents = [comparable(case.order, draw(lines(case.order))) for _ in range(draw(st.integers(1, 4)))]
    if sum(b"nan" in line.lower() for content in contents for line in content) > 1:
        contents = [[line for line in content if b"nan" not in line.lower()] for content in contents]
    if draw(st.integers(0, 7)) == 0:
        contents = [content * 40 for content in contents]
    if mode.startswith("check"):
        contents = contents[:1]
    arguments = list(case.arguments) + [b"-u"] * unique
    arguments += {"sort": [], "merge": [b"-m"], "check": [b"-c"], "check-quiet": [b"-C"]}[mode]
    files = {}
    for number, content in enumerate(contents):
        ordered = mode == "merge" or (mode.startswith("check") and draw(st.booleans()))
        data = _written(sorted(content, key=case.order.key) if ordered else content, case.order.terminator)
        if data and draw(st.booleans()):
            data = data[:-1]  # no last terminator
        files[f"f{number}"] = data
    files["salt"] = case.order.salt
    return Trial(mode, tuple(arguments), files)


def _written(content: list[bytes], terminator: int) -> bytes:
    return b"".join(line + bytes([terminator]) for line in content)


def disagreement(trial: Trial, backend: str, folder: Path) -> str:
    """What differs, "" if nothing does."""
    for name, data in trial.files.items():
        (folder / name).write_bytes(data)
    names = [str(folder / name).encode() for name in trial.files if name != "salt"]
    salt = b"--random-source=" + os.fsencode(folder / "salt")
    out, ours = str(folder / "out"), str(folder / "ours")
    written = not trial.mode.startswith("check")
    for path in (out, ours):
        Path(path).write_bytes(b"")
    command = [*trial.arguments, salt, *names]
    theirs = subprocess.run(
        [b"sort", *command, *([b"-o", out.encode()] if written else [])],
        capture_output=True,
        env=os.environ | {"LC_ALL": "C"},
        check=False,
    )
    arguments = [os.fsdecode(part) for part in command] + (["-o", ours] if written else [])
    said = io.TextIOWrapper(io.BytesIO(), errors="surrogateescape")
    with contextlib.redirect_stderr(said):
        code = door.run(["sort", f"--backend={backend}", "--parallel=2", *arguments])
    said.flush()
    message = said.buffer.getvalue()
    if code != theirs.returncode:
        return f"exit {code}, not {theirs.returncode}: {message[-300:]!r}"
    if Path(out).read_bytes() != Path(ours).read_bytes():
        return f"{Path(ours).read_bytes()!r}, not {Path(out).read_bytes()!r}"
    if trial.mode == "check" and message.removeprefix(b"gpumerge") != theirs.stderr.removeprefix(b"sort"):
        return f"{message!r}, not {theirs.stderr!r}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("-o", metavar="FILE")
    wish = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []

    with tempfile.TemporaryDirectory() as folder:

        @seed(wish.seed)
        @settings(
            max_examples=wish.cases, database=None, phases=[Phase.generate], deadline=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(trials())
        def run(trial: Trial) -> None:
            found = disagreement(trial, wish.backend, Path(folder))
            counts[trial.mode] += 1
            if found:
                wrong.append(f"{trial}: {found}")

        run()

    total = sum(counts.values())
    report = [f"seed {wish.seed}, {total} cases on {wish.backend}, against sort {version()}"]
    report += [f"{counts[mode]:8} {mode}" for mode in sorted(counts)]
    report += [*wrong[:20], f"{total - len(wrong)} of {total} agree"]
    print("\n".join(report))
    if wish.o:
        Path(wish.o).write_text("\n".join(report) + "\n")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
