"""Checks what a reader wrote: runs the textbook's cases and random ones, and finds the first thing that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from gpumerge_cli.dataclass import replace
from gpumerge_cli.learn.cases import HELD, LaunchCase
from gpumerge_cli.learn.faults import KernelFault, KernelRun
from gpumerge_cli.learn.pictures import Problem, fault_problem, with_inputs, wrong_output
from gpumerge_cli.learn.puzzles import KernelTask, Puzzle
from gpumerge_cli.results.puzzles import Verdict


class KernelRunner(Protocol):
    """One processor that runs a reader's kernel in a process of its own."""

    @property
    def processor(self) -> str:
        """Its name: "cpu" or "gpu"."""

    def run(self, text: str, file: str, task: KernelTask, cases: Sequence[LaunchCase]) -> KernelRun:
        """Run the kernel on the cases, up to the first fault. Raises DeviceError."""


def check_puzzle(puzzle: Puzzle, text: str, shown: str, runners: Sequence[KernelRunner], *, seed: int) -> Verdict:
    """Check a reader's text for a puzzle by all of `runners`, up to the first problem.

    shown: the name of the file for messages. seed: of the random cases. Raises DeviceError if a processor fails.
    """
    task = puzzle.task
    cases = [*task.cases(), *task.random(np.random.default_rng(seed), task.dtype)]
    unchanged = text == puzzle.given
    used: list[str] = []
    for runner in runners:
        used.append(runner.processor)
        done = runner.run(text, puzzle.file, task, cases)
        if done.compiler:
            return Verdict(puzzle.name, shown, "not compiled", tuple(used), compiler=done.compiler)
        found = _first_problem(puzzle, text, done, cases)
        if found is not None:
            number, problem, lesson = found
            lesson = (unchanged and puzzle.lesson) or lesson
            case = cases[number].describe()
            case += f", random by --seed {seed}" if number >= len(task.cases()) else ""
            return Verdict(
                puzzle.name, shown, "wrong", tuple(used), len(cases), problem.sentence, case, problem.picture,
                problem.lines, lesson,
            )  # fmt: skip
    if unchanged:
        problem_of_chance = "the mistake makes no item wrong here, as races need not: --backend cpu shows it"
        return Verdict(puzzle.name, shown, "wrong", tuple(used), len(cases), problem_of_chance, lesson=puzzle.lesson)
    return Verdict(puzzle.name, shown, "solved", tuple(used), len(cases))


def _first_problem(
    puzzle: Puzzle, text: str, done: KernelRun, cases: Sequence[LaunchCase]
) -> tuple[int, Problem, str] | None:
    """The number of the first case that fails, the problem, and the lesson."""
    for number, (case, output) in enumerate(zip(cases, done.outputs, strict=False)):
        expected = puzzle.task.expected(case.a, case.b)
        problem = wrong_output(puzzle.task, case, np.frombuffer(output, expected.dtype), expected)
        if problem is not None:
            return number, problem, case.lesson or puzzle.lesson
    fault = done.fault
    if fault is None:
        return None
    number = min(fault.case, len(cases) - 1)
    case = cases[number]
    problem = with_inputs(fault_problem(_in_tiles(fault, puzzle.task, case), puzzle.file), puzzle.task, case)
    problem = replace(problem, lines=_lines(fault, text))
    own = puzzle.lesson if fault.kind == puzzle.lesson_for else ""
    by_case = "" if fault.kind in ("race", "barrier", "endless", "crash") else case.lesson
    return number, problem, own or by_case or _held(puzzle.task, fault.kind) or problem.reason


def _lines(fault: KernelFault, text: str) -> tuple[tuple[int, str], ...]:
    """The lines of a reader's text where the accesses of a fault stand, by their numbers from 1."""
    lines = text.splitlines()
    accesses = [one for one in (fault.other, fault.access) if one is not None]
    numbers = sorted({one.line for one in accesses if 0 < one.line <= len(lines)})
    return tuple((number, lines[number - 1].strip()) for number in numbers)


def _in_tiles(fault: KernelFault, task: KernelTask, case: LaunchCase) -> KernelFault:
    """A fault in the shared memory of a staged kernel by the names of its halves: A_s[:tile], and B_s behind it."""
    if not task.staged or fault.array != "shared_AB" or not 0 <= fault.index < 2 * case.tile:
        return fault
    half, index = divmod(fault.index, case.tile)
    return replace(fault, array=("A_s", "B_s")[half], index=index, size=case.tile)


def _held(task: KernelTask, kind: str) -> str:
    return HELD if task.staged and kind == "unwritten" else ""
