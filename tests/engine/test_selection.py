"""Sorts that write their first or last items, against the whole sort."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.dataclass import replace
from gpumerge_cli.engine.job import Destination, Job, Operation, RankRange, Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.run_files import Spill
from gpumerge_cli.engine.selection import Selection, SelectionBound
from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.order.equals import Equals, Margin
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineOrder
from gpumerge_cli.results.run import MergeReport
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
    check(25, tmp_path, monkeypatch)


@pytest.mark.thorough
def test_many_heads_and_tails_are_those_of_the_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(1_500, tmp_path, monkeypatch)


def job(names: tuple[str, ...], output: str, **options: Any) -> Job:
    return Job(names, Items(lines=LineOrder()), Operation("sort", **options), Destination(output))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ranks": RankRange(3, 9)}, "a sort can write only its first or last items"),
        ({"ranks": RankRange(-5, -1)}, "a sort can write only its first or last items"),
        ({"ranks": RankRange(0, 2), "equals": Equals.SINGLES}, "no rule but --unique"),
        ({"ranks": RankRange(0, 2), "margin": Margin("ahead"), "equals": Equals.FIRST}, "no counts"),
    ],
)
def test_jobs_that_cannot_be(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    (tmp_path / "a.txt").write_text("b\na\n")
    with pytest.raises(UsageError, match=said):
        run(job((str(tmp_path / "a.txt"),), str(tmp_path / "out"), **options))
    assert not (tmp_path / "out").exists()


def test_a_line_that_is_longer_than_the_room(tmp_path: Path) -> None:
    rng = random.Random(5)
    lines = [f"{rng.randrange(10**6):06} {'y' * rng.choice([3, 3, 3, 700_000])}\n" for _ in range(60)]
    (tmp_path / "a.txt").write_text("".join(lines))
    for count in (1, 8, 59, 200):
        for option, expected in (("--head", sorted(lines)[:count]), ("--tail", sorted(lines)[-count:])):
            words = [option, str(count), "-S", "1M", str(tmp_path / "a.txt"), "-o", str(tmp_path / "out")]
            assert invoke(["sort", *words]) == 0
            assert (tmp_path / "out").read_text() == "".join(expected)


def test_a_file_that_loses_the_end_of_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written if the last line of a piece has no end any more."""
    (tmp_path / "a.txt").write_text("b\na\nc\n")
    read_into = LineSource.read_into

    def lose(source: LineSource, start: int, out: Any) -> None:
        read_into(source, start, out)
        out[len(out) - 1] = ord("x")

    monkeypatch.setattr(LineSource, "read_into", lose)
    with pytest.raises(InputError, match="the file changed while it was read"):
        run(job((str(tmp_path / "a.txt"),), str(tmp_path / "out"), ranks=RankRange(0, 2)))
    assert not (tmp_path / "out").exists()


def test_runs_beyond_the_memory_are_spilled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = 0
    keep = Spill.keep

    def counted(spill: Spill, parts: Any) -> Any:
        nonlocal kept
        kept += 1
        return keep(spill, parts)

    monkeypatch.setattr(Spill, "keep", counted)
    lines = [f"{number * 7919 % 100_003:06} some more text\n" for number in range(100_003)]
    (tmp_path / "a.txt").write_text("".join(lines))
    for unique in (Equals.ALL, Equals.LAST):
        kept = 0
        sort = job((str(tmp_path / "a.txt"),), str(tmp_path / "out"), ranks=RankRange(-40_000), equals=unique)
        run(replace(sort, resources=Resources(memory=1 << 20, threads=2)))
        assert (tmp_path / "out").read_text() == "".join(sorted(lines)[-40_000:])
        assert kept > 3


def test_marks_of_runs_bound_a_selection() -> None:
    """As many items as are wanted are at or ahead of the bound that marks give."""
    rng = random.Random(given_or_random_seed())
    for last in (False, True):
        for _ in range(100):
            count = rng.choice([1, 5, 40, 200])
            bound = SelectionBound(Order.of("<u4"), Selection(count, last, Equals.ALL))
            items: list[int] = []
            for _ in range(rng.randrange(1, 12)):
                run_of = sorted((rng.randrange(1000) for _ in range(rng.randrange(1, 60))), reverse=last)
                items += run_of
                edges = sorted({0, len(run_of), *(rng.randrange(len(run_of)) for _ in range(5))})
                bound.offer_marks([(run_of[b - 1].to_bytes(4, "little"), b - a) for a, b in pairwise(edges)])
            if bound.best is not None:
                item, place = int.from_bytes(bound.best[0], "little"), bound.best[1]
                assert place is None
                assert sum(one >= item if last else one <= item for one in items) >= count
            else:
                assert len(items) < count


def test_reports_tell_what_was_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("b\na\nb\nc\n")
    for unique in (Equals.ALL, Equals.FIRST):
        report = run(job((str(tmp_path / "a.txt"),), str(tmp_path / "out"), ranks=RankRange(-2), equals=unique))
        assert isinstance(report, MergeReport)
        assert (report.items, report.dropped, report.written, report.unique) == (4, 2, 4, False)
        assert (tmp_path / "out").read_text() == "b\nc\n"
