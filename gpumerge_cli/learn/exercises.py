"""Exercises whose answers are numbers: a file of questions with blanks, and its check."""

from __future__ import annotations

import textwrap
import tomllib
from contextlib import suppress
from functools import cache

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import InputError
from gpumerge_cli.learn.puzzles import EXERCISES, FILES
from gpumerge_cli.results.puzzles import Verdict

EXERCISE_FILE = f"{EXERCISES}.toml"
_HEADING = """\
# Exercises. Write each answer in place of "", as 5 or [5, 3]. Then: gpumerge learn FOLDER exercises --check
"""

ExerciseAnswer = int | list[int]


@dataclass(frozen=True, eq=False)
class Exercise:
    """A question. hint: shown beside a wrong answer."""

    name: str
    question: str
    answer: ExerciseAnswer
    hint: str


@cache
def all_exercises() -> tuple[Exercise, ...]:
    """The exercises in order."""
    rows = tomllib.loads((FILES / EXERCISE_FILE).read_text("utf-8"))["exercise"]
    return tuple(Exercise(**row) for row in rows)


def exercise_text() -> str:
    """The text of the reader's file as it is first written."""
    parts = [_HEADING]
    for number, one in enumerate(all_exercises(), start=1):
        question = textwrap.fill(f"{number}. {one.question}", 100, initial_indent="# ", subsequent_indent="# ")
        parts.append(f'\n{question}\n{one.name} = ""\n')
    return "".join(parts)


def exercise_answers() -> str:
    """All answers, each with its reason."""
    lines = (f"{one.name} = {one.answer}  # {one.hint}\n" for one in all_exercises())
    return "".join(lines)


def _without_quotes(answer: object) -> object:
    """The number or list that a text in quotes is, or the answer itself."""
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(f"answer = {answer}")["answer"] if isinstance(answer, str) and answer else answer
    return answer


def check_exercises(text: str | None, shown: str) -> Verdict:
    """Check a reader's answers; None if there is no file. Raises InputError if the file is no TOML."""
    if text is None:
        return Verdict(EXERCISES, shown, "missing")
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", where=shown, way_out='write an answer as 5, [5, 3] or ""') from None
    answered = {one.name: _without_quotes(given.pop(one.name, "")) for one in all_exercises()}
    if given:
        what = f"no exercise has the name {next(iter(given))!r}"
        raise InputError(what, where=shown, way_out="leave the names as they are, and write answers after them")
    left = [name for name, answer in answered.items() if answer == ""]
    if len(left) == len(answered):
        return Verdict(EXERCISES, shown, "not begun")
    for one in all_exercises():
        answer = answered[one.name]
        if answer != "" and answer != one.answer:
            problem = f"{one.name} = {answer!r} is not correct"
            return Verdict(EXERCISES, shown, "wrong", (), len(answered), problem, one.question, lesson=one.hint)
    if left:
        problem = f"{len(left)} of {len(answered)} answers are left, and the others are correct: {', '.join(left)}"
        return Verdict(EXERCISES, shown, "wrong", (), len(answered), problem)
    return Verdict(EXERCISES, shown, "solved", (), len(answered))
