"""gpumerge learn, from the command line to the reader's folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.learn import on_cpu, on_gpu
from gpumerge_cli.learn.exercises import exercise_answers
from gpumerge_cli.learn.on_cpu import Emulator
from gpumerge_cli.learn.puzzles import puzzle_names, puzzles


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = invoke(["learn", *words])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def compiler_or_skip() -> None:
    try:
        Emulator()
    except DeviceError as error:
        pytest.skip(f"needs a compiler of C++; {error.way_out}")


def test_it_writes_what_is_missing_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "new" / "puzzles"
    status, out, err = run(capsys, str(folder))
    assert (status, err) == (0, "")
    assert {file.stem for file in folder.iterdir()} == {*puzzle_names()}
    assert out.count("wrote") == len(puzzle_names())
    (folder / "tiled.cu").write_text("mine")
    (folder / "basic.cu").unlink()
    (folder / "k_way.cu").unlink()
    (folder / "k_way.cu").symlink_to(tmp_path / "elsewhere")
    status, out, err = run(capsys, str(folder))
    assert (status, err, out.count("wrote")) == (0, "", 1)
    assert (folder / "tiled.cu").read_text() == "mine"
    assert (folder / "basic.cu").read_text() == puzzles()["basic"].given
    assert not (tmp_path / "elsewhere").exists()


def test_names_choose_puzzles(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, str(tmp_path), "co-rank", "bug_stale.cu", "co_rank", "-q") == (0, "", "")
    assert sorted(os.listdir(tmp_path)) == ["bug_stale.cu", "co_rank.cu"]


def test_solutions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--solution", "tiled") == (0, puzzles()["tiled"].solution, "")
    assert run(capsys, "--solution", "exercises") == (0, exercise_answers(), "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "no folder was named; name one for your answers: gpumerge learn FOLDER"),
        (("tiled", "--check"), "tiled is a puzzle, and no folder was named; gpumerge learn FOLDER tiled"),
        (("{}", "co_rnk"), "there is no puzzle 'co_rnk'; did you mean co_rank?"),
        (("--solution", "xyz"), "there is no puzzle 'xyz'; use exercises, sequential, "),
        (("--solution", "tiled", "--check"), "--solution prints a solution, so it cannot be combined with --check"),
        (("{}/none", "--check"), "/none: there is no such folder; write it first, without --check"),
        (("{}/file",), "/file: "),
        (("{}", "intersect", "--check"), "intersect.cu:1: is not UTF-8; save it as UTF-8"),
        (("{}", "k_way", "--check"), "k_way.cu: is not a file; remove it"),
        (("{}", "exercises", "--check"), "exercises.toml: not TOML: "),
    ],
)
def test_mistakes_get_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "intersect.cu").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "k_way.cu")
    (tmp_path / "exercises.toml").write_text("ties = \n")
    status, out, err = run(capsys, *(word.format(tmp_path) for word in words))
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("gpumerge: ")
    assert message in err


def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    compiler_or_skip()
    folder = str(tmp_path)
    assert run(capsys, folder, "basic", "co_rank", "bug_ties", "bug_tail", "exercises", "-q")[0] == 0
    status, out, _ = run(capsys, folder, "--check", "--backend", "cpu")
    assert status == 1
    assert out.splitlines()[1] == "sequential       missing"
    assert out.count("not begun") == 5
    (tmp_path / "basic.cu").write_text(puzzles()["basic"].solution, "utf-8-sig")
    assert run(capsys, folder, "basic", "--check", "--seed", "7", "--backend", "cpu") == (
        0, "basic  solved: 68 cases on cpu\n", "",
    )  # fmt: skip
    (tmp_path / "exercises.toml").write_text(exercise_answers())
    assert run(capsys, folder, "exercises", "--check") == (0, "exercises  solved: 13 answers\n", "")
    status, out, err = run(capsys, folder, "bug_tail", "--check", "--backend", "cpu")
    assert (status, err) == (1, "")
    shown = f"""bug_tail  wrong

{folder}/bug_tail.cu:
4 + 3 items, 2 blocks of 2 threads:
C[4] is not written, and should be 5

        A   1 3|5 7
        B   2 4|6
   your C   1 2 3 4 ? ? ?
                    ^
  correct   1 2 3 4 5 6 7

The quotient of integers is rounded down, and ceil of it comes too late: 7 / 4
is 1, so four threads write four of seven items. (7 + 3) / 4 is 2.
"""
    assert [line.rstrip() for line in out.splitlines()] == shown.splitlines()
    (tmp_path / "co_rank.cu").write_text("int wrong(;\n")
    status, out, _ = run(capsys, folder, "--check", "--backend", "cpu")
    assert status == 1
    assert "co_rank.cu:1:" in out


def test_nothing_runs_without_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_cpu.subprocess, "run", None)
    monkeypatch.setattr(on_cpu, "run_cases", None)
    (tmp_path / "basic.cu").write_text("x")
    assert run(capsys, str(tmp_path), "-q")[0] == 0
    monkeypatch.setenv("GPUMERGE_LEARN_CHECK", "1")
    status, _, err = run(capsys, str(tmp_path), "-q")
    assert status == 2
    assert "GPUMERGE_LEARN_CHECK" in err


def test_processors_of_auto(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "basic.cu").write_text("x")

    def no_compiler() -> None:
        raise DeviceError("no compiler", way_out="install one")

    def no_gpu(device: int) -> None:
        raise DeviceError("no GPU", way_out=f"not {device}")

    monkeypatch.setattr(on_cpu, "host_compiler", no_compiler)
    monkeypatch.setattr(on_gpu.access, "create", no_gpu)
    for present in (False, True):
        monkeypatch.setattr(on_gpu, "may_have_gpu", lambda present=present: present)
        for words in ((), ("--backend", "cpu")):
            status, _, err = run(capsys, str(tmp_path), "basic", "--check", *words)
            assert (status, err) == (2, "gpumerge: no compiler; install one\n")
    status, _, err = run(capsys, str(tmp_path), "basic", "--check", "--backend", "gpu", "--device", "3")
    assert (status, err) == (2, "gpumerge: no GPU; not 3\n")
