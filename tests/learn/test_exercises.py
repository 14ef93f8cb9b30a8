"""The answers to the exercises are what the program's own functions compute, and wrong ones are told."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from gpumerge_cli.errors import InputError
from gpumerge_cli.learn.cases import FIVE, FOUR, all_coranks, ints
from gpumerge_cli.learn.exercises import all_exercises, check_exercises, exercise_answers, exercise_text


def test_answers() -> None:
    ranks = all_coranks(FIVE, FOUR).tolist()
    threads = (1_030_400 + 608_000) // 8
    section = 64_000 // 16
    ring = list(range(4))
    head, held = 2, 2
    expected = {
        "co_rank": [ranks[8], 8 - ranks[8]],
        "thread_2": [ranks[6], 6 - ranks[6]],
        "search_range": [max(0, 6 - len(FOUR)), min(6, len(FIVE))],
        "ties": all_coranks(ints(5, 5), ints(5, 5, 5)).tolist()[2],
        "basic_searches": threads,
        "tiled_global": threads // 1024,
        "tiled_shared": threads,
        "section": [section, -(-section // 1024)],
        "load_turns": 1024 // 128,
        "shared_bytes": 2 * np.zeros(1024, np.int32).nbytes,
        "waste": 100 * 1024 // (2 * 1024),
        "ring": [ring[(head + held) % 4], len(ring)],
        "coarsening": [2 * 1_638_400, 2 * 1_638_400 // 8],
    }
    assert {one.name: one.answer for one in all_exercises()} == expected


def test_a_file_of_blanks_is_not_begun_and_one_of_answers_is_solved() -> None:
    text = exercise_text()
    assert list(tomllib.loads(text)) == [one.name for one in all_exercises()]
    assert set(tomllib.loads(text).values()) == {""}
    assert max(map(len, text.splitlines())) <= 110
    assert check_exercises(text, "f").state == "not begun"
    assert check_exercises(None, "f").state == "missing"
    assert check_exercises(exercise_answers(), "f").state == "solved"


def test_wrong_and_missing_answers() -> None:
    answers = tomllib.loads(exercise_answers())
    found = check_exercises("".join(f"{name} = {answers[name]}\n" for name in list(answers)[:-2]), "f")
    assert found.problem == "2 of 13 answers are left, and the others are correct: ring, coarsening"
    for one in all_exercises():
        found = check_exercises(f"{one.name} = 1234567\n", "f")
        assert (found.state, found.problem, found.lesson) == ("wrong", f"{one.name} = 1234567 is not correct", one.hint)
    assert check_exercises("ties = [2]", "f").state == "wrong"
    assert check_exercises('ties = "2"', "f").problem.startswith("12 of 13 answers are left")
    assert check_exercises('ties = "two"', "f").problem == "ties = 'two' is not correct"
    with pytest.raises(InputError, match="f: no exercise has the name 'nope'; leave the names as they are"):
        check_exercises("ties = 2\nnope = 3", "f")
    with pytest.raises(InputError, match=r"f: not TOML: .*line 2.*; write an answer as 5, \[5, 3\] or \"\""):
        check_exercises("a = 1\nties = \n", "f")
