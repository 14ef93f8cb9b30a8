"""Cases in processes of their own: crashes, hangs and errors are reported with their case, and no case is left out."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence

import pytest

from tests import apart


def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
    tell(f"the case {number}")
    if number == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 5:
        raise ValueError("no")
    if number == 7:
        time.sleep(60)
    if number == 8:
        os._exit(4)
    return ("odd" if number % 2 else "even",), "is wrong" if number == 6 else ""


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("workers", "batch"), [(1, 100), (3, 4)])
def test_every_case_is_told_once(monkeypatch: pytest.MonkeyPatch, workers: int, batch: int) -> None:
    monkeypatch.setattr(apart, "_PATIENCE", 2.0)
    ended = {one.number: one for one in apart.each(case, range(12), workers=workers, batch=batch)}
    assert sorted(ended) == list(range(12))
    assert {number for number, one in ended.items() if one.wrong} == {3, 5, 6, 7, 8}
    assert ended[3].wrong == "the case 3: the process ended by SIGSEGV, and alone: the process ended by SIGSEGV"
    assert ended[5].wrong.startswith("the case 5: Traceback")
    assert "ValueError: no" in ended[5].wrong
    assert ended[6].wrong == "the case 6: is wrong"
    assert ended[7].wrong == "the case 7: it hangs"
    assert ended[8].wrong == "the case 8: the process ended with 4, and alone: the process ended with 4"
    assert ended[2].kinds == ("even",)


def test_memory_that_an_earlier_case_harmed_is_told_as_that() -> None:
    harmed = False

    def case(number: int, tell: Callable[[str], None]) -> tuple[Sequence[str], str]:
        nonlocal harmed
        if number == 9 and harmed:
            os.abort()
        harmed = True
        return (), ""

    (wrong,) = [one.wrong for one in apart.each(case, [4, 5, 9, 10]) if one.wrong]
    assert wrong == "case 9: the process ended by SIGABRT, and alone: is right alone, behind cases 4 to 9"
