"""The puzzles: kernels to write, each a file with a gap, and the textbook's kernels with one printed bug each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.learn import cases
from gpumerge_cli.learn.cases import DrawCases, LaunchCase, MakeCases, PuzzleItems
from gpumerge_cli.results.puzzles import Verdict, VerdictState
from gpumerge_cli.suggestions import did_you_mean
from gpumerge_cli.units import quoted_value

FILES = Path(__file__).parent / "files"
_GAP = re.compile(r"^( *)// GAP: (.*)\n(?s:.*?)^ *// END\n", re.MULTILINE)
_MARK = re.compile(r"^ *// (GAP: .*|END)\n", re.MULTILINE)
_HEADING = re.compile(r"\A(?://.*\n)+")


@dataclass(frozen=True, eq=False)
class KernelTask:
    """The result of a puzzle's kernel, and how it is launched."""

    kernel: str
    """The name of the kernel, which takes A, m, B, n and C, and the tile if `staged`."""
    expected: Callable[[PuzzleItems, PuzzleItems], PuzzleItems]
    cases: MakeCases
    random: DrawCases
    staged: bool = False
    """It works in rounds, by 2 * tile items of shared memory."""
    dtype: str = "int32"
    """The items of A, and of C if it holds items."""
    arrays: tuple[str, str, str] = ("A", "B", "C")
    """The names of its arrays."""
    shows: str = "merge"
    """The picture of a wrong output: "merge", "co-rank" or "output"."""

    @property
    def item(self) -> str:
        """The items of A and C as C++ names them."""
        return {"int32": "int", "float32": "float", "uint8": "unsigned char"}[self.dtype]

    @property
    def other_dtype(self) -> str:
        """The items of B."""
        return "int32" if self.arrays[1] == "starts" else self.dtype

    def shared(self, case: LaunchCase) -> int:
        """The bytes of shared memory that a launch asks for."""
        return 2 * case.tile * int(case.a.dtype.itemsize)


TASKS = {
    "sequential": KernelTask(
        "sequential", cases.merged, cases.sequential_cases, cases.random_merges, dtype="float32",
    ),
    "co_rank": KernelTask(
        "ranks", cases.all_coranks, cases.corank_cases, cases.random_ranks, shows="co-rank",
    ),
    "basic": KernelTask("basic", cases.merged, cases.basic_cases, cases.random_merges),
    "tiled": KernelTask("tiled", cases.merged, cases.tiled_cases, cases.random_staged, staged=True),
    "circular": KernelTask("circular", cases.merged, cases.circular_cases, cases.random_staged, staged=True),
    "k_way": KernelTask(
        "k_way", cases.numbers_in_order, cases.many_run_cases, cases.random_many_runs,
        arrays=("items", "starts", "C"), shows="output",
    ),
    "intersect": KernelTask("intersect", cases.common_items, cases.common_cases, cases.random_common, shows="output"),
    "bytes": KernelTask(
        "tiled", cases.merged, cases.byte_cases, cases.random_staged, staged=True, dtype="uint8",
    ),
}  # fmt: skip
"""The tasks of kernels, by the names of their puzzles; "bytes" is that of a bug."""


@dataclass(frozen=True, eq=False)
class Puzzle:
    """One file for the reader."""

    name: str
    task: KernelTask
    about: str
    """One sentence."""
    given: str
    """The text of the reader's file as it is first written."""
    solution: str
    lesson: str = ""
    """The reason why it fails; "" if its cases tell it. It is for the file as it was written, and for a fault of the
    kind `lesson_for`."""
    lesson_for: str = ""

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.name}.cu"

    def state_of(self, text: str | None, *, named: bool) -> VerdictState | None:
        """The state of a reader's text that needs no run; None for a text to run. named: the reader asked for it."""
        if text is None:
            return "missing"
        is_bug = self.given != self.solution and "// Write here: " not in self.given
        return "not begun" if text == self.given and not (is_bug and named) else None

    def verdict(self, shown: str, state: VerdictState) -> Verdict:
        """A verdict without a run. shown: the name of the reader's file."""
        return Verdict(self.name, shown, state)


def _gap(match: re.Match[str]) -> str:
    indent, what = match.groups()
    return f"{indent}// Write here: {what}.\n"


def _kernels() -> dict[str, Puzzle]:
    found = {}
    for name, task in TASKS.items():
        if name == "bytes":
            continue
        text = (FILES / f"{name}.cu").read_text("utf-8")
        about = " ".join(line.removeprefix("//").strip() for line in text.split("\n")[:3])
        sentence = about.partition(": ")[2].partition(". ")[0].partition("? ")[0]
        found[name] = Puzzle(name, task, sentence, _GAP.sub(_gap, text), _MARK.sub("", text))
    return found


def _bug(found: dict[str, Puzzle], row: dict[str, Any]) -> Puzzle:
    of = found[row["of"]]
    name = f"bug_{row['name']}"
    heading = "".join(
        f"// {line}\n"
        for line in (
            f"This kernel has one mistake, which the textbook or notes on it print: {row['about']}.",
            f"See it fail:  gpumerge learn FOLDER {name} --check",
            "Then correct it. Everything else in this file is right.",
        )
    )
    body = _HEADING.sub("", of.solution)
    right = body
    for old, new in row.get("both", []):
        assert old in right, (name, old)
        right = right.replace(old, new)
    wrong = right
    for old, new in row["change"]:
        assert old in wrong, (name, old)
        wrong = wrong.replace(old, new)
    task = TASKS[row.get("task", row["of"])]
    lesson = cases.HELD if row.get("lesson") == "HELD" else row.get("lesson", "")
    return Puzzle(name, task, row["about"], heading + wrong, heading + right, lesson, row.get("fault", ""))


@cache
def puzzles() -> dict[str, Puzzle]:
    """All puzzles by name, in the order in which a reader may take them: kernels, then bugs."""
    found = _kernels()
    rows = tomllib.loads((FILES / "bugs.toml").read_text("utf-8"))["bug"]
    return {**found, **{one.name: one for one in (_bug(found, row) for row in rows)}}


EXERCISES = "exercises"
"""The name of the questions whose answers are numbers."""


def puzzle_names() -> tuple[str, ...]:
    """The names that a command line may use, the exercises first."""
    return (EXERCISES, *puzzles())


def known_name(name: str) -> str:
    """The name, which may be written with dashes or as that of its file. Raises UsageError for an unknown one."""
    plain = Path(name).name.removesuffix(".cu").removesuffix(".toml").replace("-", "_")
    if plain in puzzle_names():
        return plain
    raise UsageError(
        f"there is no puzzle {quoted_value(name)}",
        way_out=did_you_mean(plain, puzzle_names()) or f"use {', '.join(puzzle_names())}",
    )
