"""gpumerge learn: exercises and kernels to write, in a folder of the reader's, and their check."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from gpumerge_cli.cli.options.typed import LearnOptions
from gpumerge_cli.errors import DeviceError, InputError, UsageError, output_error

if TYPE_CHECKING:
    from gpumerge_cli.learn.checking import KernelRunner
    from gpumerge_cli.results.puzzles import Verdict


def run_learn(options: LearnOptions) -> int:
    """Carry out the command line. Returns 1 if a checked puzzle is not solved, else 0. Raises GpumergeError."""
    from gpumerge_cli.learn.puzzles import known_name, puzzle_names

    if options.solution is not None:
        print(_solution(known_name(options.solution)), end="")
        return 0
    if not options.files:
        raise UsageError("no folder was named", way_out="name one for your answers: gpumerge learn FOLDER")
    folder, *words = options.files
    if not words and folder in puzzle_names() and not os.path.isdir(folder):
        raise UsageError(f"{folder} is a puzzle, and no folder was named", way_out=f"gpumerge learn FOLDER {folder}")
    names = list(dict.fromkeys(map(known_name, words)))
    if options.check:
        return _check(folder, names or list(puzzle_names()), options, named=bool(names))
    _write(folder, names or list(puzzle_names()), quiet=options.quiet)
    return 0


def _solution(name: str) -> str:
    from gpumerge_cli.learn.exercises import exercise_answers
    from gpumerge_cli.learn.puzzles import EXERCISES, puzzles

    return exercise_answers() if name == EXERCISES else puzzles()[name].solution


def _write(folder: str, names: Sequence[str], *, quiet: bool) -> None:
    from gpumerge_cli.learn.exercises import EXERCISE_FILE, exercise_text
    from gpumerge_cli.learn.folder import write_missing
    from gpumerge_cli.learn.puzzles import EXERCISES, puzzles
    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.report.terminal_learn import show_written

    rows = []
    for name in names:
        if name == EXERCISES:
            file, text, about = EXERCISE_FILE, exercise_text(), "questions whose answers are numbers"
        else:
            one = puzzles()[name]
            file, text, about = one.file, one.given, one.about
        rows.append((file, write_missing(folder, file, text), about))
    if not quiet:
        _letters_of_any_terminal()
        show_written(folder, rows, PlainConsole())


def _letters_of_any_terminal() -> None:
    """Let standard output replace letters that it has not, as in names."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")


def _check(folder: str, names: Sequence[str], options: LearnOptions, *, named: bool) -> int:
    from gpumerge_cli.report.terminal import PlainConsole
    from gpumerge_cli.report.terminal_learn import show_problem, show_verdicts

    if not os.path.isdir(folder):
        raise InputError("there is no such folder", where=folder, way_out="write it first, without --check")
    try:
        with ExitStack() as stack:
            verdicts = _verdicts(folder, names, options, stack, named=named)
    except OSError as error:
        raise output_error(error, tempfile.gettempdir()) from error
    if not options.quiet:
        _letters_of_any_terminal()
        console = PlainConsole()
        show_verdicts(verdicts, console)
        wrong = [one for one in verdicts if one.state in ("wrong", "not compiled")]
        for one in wrong if named else wrong[:1]:
            show_problem(one, console)
    return int(any(one.state != "solved" for one in verdicts))


def _verdicts(
    folder: str, names: Sequence[str], options: LearnOptions, stack: ExitStack, *, named: bool
) -> list[Verdict]:
    from gpumerge_cli.learn.checking import check_puzzle
    from gpumerge_cli.learn.exercises import EXERCISE_FILE, check_exercises
    from gpumerge_cli.learn.folder import read_answer
    from gpumerge_cli.learn.puzzles import EXERCISES, puzzles

    seed = secrets.randbits(32) if options.seed is None else options.seed
    runners: list[KernelRunner] = []
    verdicts = []
    for name in names:
        if name == EXERCISES:
            shown = os.path.join(folder, EXERCISE_FILE)
            verdicts.append(check_exercises(read_answer(folder, EXERCISE_FILE), shown))
            continue
        puzzle = puzzles()[name]
        text, shown = read_answer(folder, puzzle.file), os.path.join(folder, puzzle.file)
        state = puzzle.state_of(text, named=named)
        if state is None:
            runners = runners or _runners(options, stack)
            verdicts.append(check_puzzle(puzzle, text or "", shown, runners, seed=seed))
        else:
            verdicts.append(puzzle.verdict(shown, state))
    return verdicts


def _runners(options: LearnOptions, stack: ExitStack) -> list[KernelRunner]:
    """The processors that check. auto: the CPU if there is a compiler, and the GPU if one can be used."""
    from gpumerge_cli.learn.on_cpu import Emulator
    from gpumerge_cli.learn.on_gpu import GpuRunner, may_have_gpu

    if options.backend == "gpu":
        return [GpuRunner(options.device)]
    found: list[KernelRunner] = []
    problem: DeviceError | None = None
    try:
        found.append(stack.enter_context(Emulator()))
    except DeviceError as error:
        problem = error
    if options.backend == "auto" and may_have_gpu():
        with suppress(DeviceError):
            found.append(GpuRunner(options.device))
    if problem is not None and not found:
        raise problem
    return found
