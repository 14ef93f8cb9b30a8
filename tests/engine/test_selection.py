"""Sorts that write their first or last items, against the whole sort."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests import selections
from tests.seeds import given_or_random_seed


def check(cases: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """So many random cases, with rooms and pieces that are small for their files."""

    def shrink(room: int) -> None:
        patch.setattr("gpumerge_cli.engine.selection._BLOCK", room)
        patch.setattr("gpumerge_cli.engine.selection._LEAST_BLOCK", min(room, 64))
        patch.setattr("gpumerge_cli.engine.selecting.LEAST_ROOM", room)
        patch.setattr("gpumerge_cli.engine.selecting.LEAST_PIECE", 4 * room)
        patch.setattr("gpumerge_cli.engine.selecting._LEAST", 4 * room)

    seed = given_or_random_seed()
    for number in range(cases):
        case = f"GPUMERGE_TEST_SEED={seed}, case {number}"
        try:
            selections.check(random.Random(f"{seed} {number}"), folder, shrink)
        except BaseException as error:
            error.add_note(case)
            raise


def test_heads_and_tails_are_those_of_the_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(60, tmp_path, monkeypatch)


@pytest.mark.thorough
def test_many_heads_and_tails_are_those_of_the_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(10_000, tmp_path, monkeypatch)
