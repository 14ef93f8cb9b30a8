"""gpumerge check: silence, or the first disorder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import run
from gpumerge_cli.engine.check import check_files
from gpumerge_cli.engine.request import BackendRequest, ItemRequest


def test_files_in_order_are_passed_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 2, 5], np.int16).tofile(tmp_path / "a.i16")
    np.save(tmp_path / "b.npy", np.array([0.0, -0.0, np.inf, np.nan]))
    assert run(["check", str(tmp_path / "a.i16")]) == 0
    assert run(["check", str(tmp_path / "b.npy")]) == 0
    (tmp_path / "c.txt").write_text("10\n9\n")
    assert run(["check", str(tmp_path / "c.txt"), "--threads", "1"]) == 0
    assert run(["check", "-rn", str(tmp_path / "c.txt")]) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "options", "place"),
    [
        ("a.i16", [], "a.i16@3: "),
        ("c.txt", [], "c.txt:3: "),
        ("d.txt", ["-n"], "d.txt:2: "),
        ("c.txt", ["-r"], "c.txt:2: "),
    ],
)
def test_disorder_exits_1_and_names_the_place(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, options: list[str], place: str
) -> None:
    np.array([1, 2, 5, 4, 3], np.int16).tofile(tmp_path / "a.i16")
    (tmp_path / "c.txt").write_text("a\nb\na\nb\n")
    (tmp_path / "d.txt").write_text("10\n9\n")
    assert run(["check", *options, str(tmp_path / name)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert place in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.i32", "odd.i32", "what.xyz"])
def test_what_cannot_be_checked_exits_2(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "odd.i32").write_bytes(b"12345")
    (tmp_path / "what.xyz").write_bytes(b"1234")
    assert run(["check", str(tmp_path / name)]) == 2
    error = capfd.readouterr().err
    assert name in error
    assert error.count("\n") == 1


def test_each_file_is_judged_by_itself(tmp_path: Path) -> None:
    np.arange(3, dtype=np.int32).tofile(tmp_path / "a.i32")
    (tmp_path / "b.txt").write_bytes(b"x\ny\n")
    assert run(["check", str(tmp_path / "a.i32"), str(tmp_path / "b.txt")]) == 0


@pytest.mark.parametrize("option", ["-u", "--unique"])
def test_equal_items_are_in_disorder_if_unique(option: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 2, 5], np.int16).tofile(tmp_path / "a.i16")
    (tmp_path / "b.txt").write_text("a 1\na 2\nb 2\n")
    (tmp_path / "c.txt").write_text("b\na\n")
    assert run(["check", option, str(tmp_path / "a.i16")]) == 1
    assert capfd.readouterr().err == (
        f"gpumerge: {tmp_path}/a.i16@2: disorder: 2 comes after 2, its equal; sort it with -u first\n"
    )
    assert run(["check", option, str(tmp_path / "b.txt")]) == 0
    assert run(["check", option, "-k1,1", str(tmp_path / "b.txt")]) == 1
    assert "b.txt:2: disorder: 'a 2' comes after 'a 1', its equal" in capfd.readouterr().err
    assert run(["check", option, str(tmp_path / "c.txt")]) == 1
    assert "add -r" in capfd.readouterr().err
    assert run(["check", "-ru", str(tmp_path / "c.txt")]) == 0


def test_a_check_tells_how_far_it_is_and_can_be_ended(tmp_path: Path) -> None:
    for name, count in (("a.i32", 500_000), ("none.i32", 0), ("b.i32", 1_000_000)):
        np.arange(count, dtype=np.int32).tofile(tmp_path / name)
    inputs = tuple(str(tmp_path / name) for name in ("a.i32", "none.i32", "b.i32"))
    told: list[tuple[int, int]] = []

    def check(inputs: tuple[str, ...]) -> None:
        on = BackendRequest("cpu", threads=2)
        check_files(inputs, ItemRequest(), on, memory=1 << 20, advance=lambda *far: told.append(far))

    check(inputs)
    assert {total for _, total in told} == {6_000_000}
    assert len({done for done, _ in told}) > 6
    assert told == sorted(told)
    assert (told[0], told[-1]) == ((0, 6_000_000), (6_000_000, 6_000_000))

    class EndedError(Exception):
        pass

    def end(done: int, total: int) -> None:
        if done > 2_000_000:
            raise EndedError

    with pytest.raises(EndedError):
        check_files(inputs, ItemRequest(), BackendRequest("cpu"), memory=1 << 20, advance=end)
