"""The shipped answers solve the puzzles, and each printed bug is caught with its own message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pytest

from gpumerge_cli.learn import cases
from gpumerge_cli.learn.checking import check_puzzle
from gpumerge_cli.learn.faults import KernelRun
from gpumerge_cli.learn.on_cpu import Emulator
from gpumerge_cli.learn.puzzles import TASKS, KernelTask, known_name, puzzles
from gpumerge_cli.results.puzzles import Verdict
from tests.seeds import given_or_random_seed

KERNELS = ("sequential", "co_rank", "basic", "tiled", "circular", "k_way", "intersect")
BUGS = {
    "rest": ("C[1] is 3, and should be 2", "That belongs after the loop"),
    "ties": ("C[0] is -0, and should be 0", "-0 and 0 compare as equal"),
    "search_ties": ("co_rank(1) is 0, and should be 1", "So B[j - 1] == A[i] says that i is too small"),
    "search_end": ("co_rank(3) is 2, and should be 3", "return after the loop"),
    "tail": ("C[4] is not written, and should be 5", "7 / 4 is 1, so four threads write four of seven items"),
    "rounds": ("C[4] is not written, and should be 5", "there are (length + tile - 1) / tile rounds"),
    "share": ("C[6] is not written, and should be 7", "a tile of 8 on 3 threads"),
    "counts": ("C[8] is 6, and should be 9", "B has given C_completed - A_consumed"),
    "stale": ("thread 0 of block 0 reads A_s[4] (bug_stale.cu:LINE), which nobody has written", "near the end of an"),
    "bytes": ("thread 2 of block 1 reads B[282] (bug_bytes.cu:LINE), but B has 279 items", "items of one byte"),
    "cuts": (
        "a race: thread 1 writes A_s[1] (bug_cuts.cu:LINE), thread 0 reads it (bug_cuts.cu:LINE), and no barrier is "
        "between the two",
        "keep the co-ranks in an array of their own",
    ),
    "round_end": (
        "a race: thread 0 writes A_s[0] (bug_round_end.cu:LINE), thread 1 reads it (bug_round_end.cu:LINE), and no "
        "barrier is between the two",
        "at the end of each round",
    ),
    "refill": ("C[7] is 4, and should be 5", "the ring still holds what was loaded and not merged"),
    "length": (
        "thread 1 of block 0 reads A_s[2] (bug_length.cu:LINE), which nobody has written",
        "the length of A says nothing about B",
    ),
    "first_fill": ("reads A_s[4] (bug_first_fill.cu:LINE), which nobody has written", "the whole ring is empty"),
    "ring_stale": ("reads A_s[4] (bug_ring_stale.cu:LINE), which nobody has written", "near the end of an"),
}
"""The problem and a part of the lesson of each bug."""


def check(emulator: Emulator, name: str, text: str) -> Verdict:
    seed = given_or_random_seed()
    print(f"seed {seed}")
    return check_puzzle(puzzles()[name], text, name, [emulator], seed=seed)


def test_each_puzzle_is_tested() -> None:
    assert [*puzzles()] == [*KERNELS, *(f"bug_{name}" for name in BUGS)]
    lessons = {lesson for _, lesson in BUGS.values()}
    assert len(lessons) == len(BUGS) - 1, "those of tiles and rings alone are the same"


DIFFERENT = ("bug_search_ties", "bug_bytes")
"""Bugs whose kernel differs from that of the puzzle, when it is corrected."""


@pytest.mark.parametrize(
    "name",
    [one if one in (*KERNELS, *DIFFERENT) else pytest.param(one, marks=pytest.mark.thorough) for one in puzzles()],
)
def test_the_answer_solves_the_puzzle(emulator: Emulator, name: str) -> None:
    puzzle = puzzles()[name]
    found = check(emulator, name, puzzle.solution)
    assert (found.state, found.problem, found.compiler) == ("solved", "", "")
    assert found.cases > 60
    assert puzzle.given != puzzle.solution
    assert "GAP" not in puzzle.given + puzzle.solution


def test_a_corrected_bug_is_the_kernel_of_the_puzzle() -> None:
    def code(text: str) -> str:
        return text[re.search(r"^(?!//)", text, re.MULTILINE).start() :]  # type: ignore[union-attr]

    answers = {code(puzzles()[name].solution) for name in KERNELS}
    for name, puzzle in puzzles().items():
        assert (code(puzzle.solution) in answers) == (name not in DIFFERENT)


@pytest.mark.parametrize("name", KERNELS)
def test_a_gap_is_no_answer(emulator: Emulator, name: str) -> None:
    given = puzzles()[name].given
    assert given.count("// Write here: ") == 1
    assert puzzles()[name].state_of(given, named=True) == "not begun"
    assert check(emulator, name, given).state in ("not compiled", "wrong")


@pytest.mark.parametrize("bug", BUGS)
def test_each_bug_is_caught_with_its_own_message(emulator: Emulator, bug: str) -> None:
    name = f"bug_{bug}"
    text = puzzles()[name].given
    assert puzzles()[name].state_of(text, named=False) == "not begun"
    assert puzzles()[name].state_of(text, named=True) is None
    found = check(emulator, name, text)
    problem, lesson = BUGS[bug]
    shown = "".join(part if not part.isdigit() else "LINE" for part in _parts(found.problem))
    assert problem in shown
    assert lesson in found.lesson
    assert found.state == "wrong"
    assert found.picture
    assert any(row.marked >= 0 or row.cut >= 0 for row in found.picture)
    for line in _lines(found.problem):
        assert text.splitlines()[line - 1].strip().startswith(("for", "const", "A_s", "B_s", "merge_", "A_", "Ring"))


class Lucky:
    """A processor on which every kernel gives correct outputs."""

    processor = "gpu"

    def run(self, text: str, file: str, task: KernelTask, given: Sequence[cases.LaunchCase]) -> KernelRun:
        return KernelRun(tuple(task.expected(case.a, case.b).tobytes() for case in given))


def test_a_mistake_that_does_no_harm_is_still_one() -> None:
    puzzle = puzzles()["bug_cuts"]
    found = check_puzzle(puzzle, puzzle.given, "f", [Lucky()], seed=1)
    assert found.state == "wrong"
    assert found.problem == "the mistake makes no item wrong here, as races need not: --backend cpu shows it"
    assert found.lesson == puzzle.lesson
    assert check_puzzle(puzzle, puzzle.solution, "f", [Lucky()], seed=1).state == "solved"


def test_a_random_case_tells_its_seed() -> None:
    class Unlucky(Lucky):
        def run(self, text: str, file: str, task: KernelTask, given: Sequence[cases.LaunchCase]) -> KernelRun:
            outputs = [*super().run(text, file, task, given).outputs]
            last = max(number for number, output in enumerate(outputs) if output)
            outputs[last] = bytes(len(outputs[last]))[:-1] + b"\1"
            return KernelRun(tuple(outputs))

    puzzle = puzzles()["tiled"]
    found = check_puzzle(puzzle, puzzle.solution, "f", [Unlucky()], seed=77)
    assert found.case.endswith(", random by --seed 77")
    assert found.lesson == ""


def _parts(sentence: str) -> list[str]:
    """The sentence, with the numbers of lines apart."""
    parts = sentence.split(".cu:")
    out = [parts[0]]
    for part in parts[1:]:
        number, _, rest = part.partition(")")
        out += [".cu:", number, ")" + rest]
    return out


def _lines(sentence: str) -> list[int]:
    return [int(part) for part in _parts(sentence) if part.isdigit()]


@pytest.mark.parametrize(
    "bug",
    [
        bug if bug in ("search_ties", "stale", "refill") else pytest.param(bug, marks=pytest.mark.thorough)
        for bug in BUGS
        if bug not in ("bytes", "cuts", "round_end", "first_fill")
    ],
)
def test_the_bug_in_a_readers_own_kernel_gets_the_same_message(emulator: Emulator, bug: str) -> None:
    text = puzzles()[f"bug_{bug}"].given
    name = next(name for name in KERNELS if f" {TASKS[name].kernel}(" in text)
    assert BUGS[bug][1] in check(emulator, name, text).lesson


def test_plain_implementations() -> None:
    a, b = cases.FIVE, cases.FOUR
    assert cases.merged(a, b).tolist() == [1, 7, 7, 8, 9, 10, 10, 10, 12]
    assert cases.all_coranks(a, b).tolist() == [*accumulate([0, 1, 1, 0, 1, 1, 1, 0, 0, 0])]
    assert cases.common_items(a, b)[:3].tolist() == [2, 7, 10]
    assert cases.numbers_in_order(cases.ints(2, 2, 1, 2), cases.ints(0, 2, 4)).tolist() == [2, 0, 1, 3]
    unwritten = np.frombuffer(bytes([cases.UNWRITTEN]) * 4, np.int32)[0]
    chance = np.random.default_rng(given_or_random_seed())
    for task in TASKS.values():
        for case in [*task.cases(), *task.random(chance, task.dtype)]:
            assert (case.a != unwritten).all()
            assert case.threads <= 1024
            assert case.a.dtype == task.dtype
            assert case.b.dtype == task.other_dtype


def test_names() -> None:
    assert known_name("co-rank") == known_name("folder/co_rank.cu") == "co_rank"
    assert known_name("exercises.toml") == "exercises"
