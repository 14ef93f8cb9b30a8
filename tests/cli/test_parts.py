"""--parts on the command line: what it writes and tells, what it refuses in one line, and kills at any moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(f"{number:04}\n" for number in range(0, 900, 2)))
    Path("b.txt").write_text("".join(f"{number:04}\n" for number in range(1, 900, 2)))
    Path("out.txt").write_text("before\n")
    os.mkfifo("pipe1")
    return tmp_path


@pytest.mark.parametrize("words", [["merge", "a.txt", "b.txt"], ["sort", "b.txt", "a.txt"], ["sort", "-m", "a.txt"]])
def test_parts_are_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*words, "--parts", "3", "-o", "p{part}.txt", "-v", "--report", "r.json"]) == 0
    told = capsys.readouterr()
    items = 150 if "-m" in words else 300
    assert told.out == ""
    assert "into p{part}.txt in 3 parts: " in told.err
    assert f"3 files of {items} items" in told.err
    assert json.loads(Path("r.json").read_text())["parts"] == [
        {"name": f"p{number}.txt", "items": items, "nbytes": 5 * items} for number in range(3)
    ]
    assert "".join(Path(f"p{number}.txt").read_text() for number in range(3)).split() == [
        f"{number:04}" for number in range(0, 900, 2 if "-m" in words else 1)
    ]


MERGE, SORT, RUNS = ["merge", "a.txt"], ["sort", "a.txt"], ["sort", "-m", "a.txt"]


@pytest.mark.parametrize("words", [MERGE, SORT, RUNS])
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--parts", "0", "-o", "p{part}"], "--parts: invalid number '0'; write 1 or more"),
        (["--parts", "x", "-o", "p{part}"], "--parts: invalid number 'x'"),
        (["--parts", "2", "-o", "out.txt"], "--parts 2: out.txt is one file; name the parts"),
        (["--parts", "2"], "--parts 2: the output is standard output; name the parts, for example -o 'out.{part}.txt'"),
        (
            ["-o", "p{part}"],
            "p{part}: {part} stands for the number of a part, but the output has no parts; add --parts",
        ),
        (["--parts", "2", "-o", "pipe{part}"], "pipe1: a part cannot be a pipe or a device; name files"),
        (["--parts", "2", "-o", "/dev/fd/{part}"], "/dev/fd/0: a part cannot be a pipe or a device"),
        (["--parts", "2", "-o", "no/{part}"], "no/0: no such file or directory"),
        (["--parts", "2", "-o", "p{part}.i32"], "p0.i32: lines of text cannot be written as .i32"),
        (["--parts", "2", "-o", "r{part}.json", "--report", "r1.json"], "--report r1.json would replace r1.json"),
    ],
)
def test_what_is_refused(words: list[str], options: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    refused([*words, *options], told, capsys)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([*MERGE, "--parts", "2", "--plan"], "--plan writes no parts; leave --parts out"),
        ([*MERGE, "--parts", "2", "--compare"], "--compare writes no parts; leave --parts out"),
        ([*SORT, "--parts", "2", "--compare"], "--compare sorts and writes no output; leave --parts out"),
        ([*SORT, "--parts", "2", "-c"], "--parts: a check writes nothing; leave --parts, or -c and -C, out"),
        (["check", "a.txt", "--parts", "2"], "--parts"),
        (["merge", "a.txt", "bad.txt", "--parts", "2", "-o", "p{part}"], "bad.txt:2: disorder"),
        (["sort", "-m", "a.txt", "bad.txt", "--parts", "2", "-o", "p{part}"], "bad.txt:2: disorder"),
    ],
)
def test_what_does_not_go_with_parts(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.txt").write_text("9\n1\n")
    refused(words, told, capsys)


def refused(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(os.listdir())
    assert invoke(words) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("gpumerge: ")
    assert told in said.err
    assert said.err.count("\n") == 1
    assert sorted(os.listdir()) == before
    assert Path("out.txt").read_text() == "before\n"


def test_too_many_open_files_leave_nothing(folder: Path) -> None:
    command = f"ulimit -n 40; exec {sys.executable} -m gpumerge_cli merge a.txt --parts 100 -o 'p{{part}}'"
    done = subprocess.run(
        ["sh", "-c", command], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "too many open files; raise the limit on open files (ulimit -n)" in done.stderr
    assert sorted(os.listdir()) == ["a.txt", "b.txt", "out.txt", "pipe1"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("moments", [5, pytest.param(100, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("mapped", ["0", "1"])
def test_sigkill_at_random_moments(folder: Path, rng: np.random.Generator, moments: int, mapped: str) -> None:
    """Each part is the old one or the new one, whole; new ones only once all are written. The next run cleans up."""
    names = []
    for number in range(2):
        np.sort(rng.integers(0, 2**31, 1_000_000).astype(np.int32)).tofile(f"{number}.i32")
        names.append(f"{number}.i32")
    command = [sys.executable, "-m", "gpumerge_cli", "merge", *names, "--parts", "3", "-o", "out.{part}.i32", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GPUMERGE_TEST_MAPPED": mapped}
    start = time.monotonic()
    subprocess.run(command, env=environment, check=True)
    longest = time.monotonic() - start
    parts = [Path(f"out.{number}.i32") for number in range(3)]
    whole = [part.read_bytes() for part in parts]
    assert sorted(map(len, whole)) == [2_666_664, 2_666_668, 2_666_668]
    before = {name for name in os.listdir() if not name.startswith(".")}
    for _ in range(moments):
        for part in parts:
            part.write_bytes(b"earlier")
        with subprocess.Popen(command, env=environment) as merge:
            # Most of a run is start-up; what comes after it is where harm could be done.
            time.sleep(longest * rng.uniform(0.4, 1.1))
            merge.kill()
        found = [part.read_bytes() for part in parts]
        assert all(one in (b"earlier", new) for one, new in zip(found, whole, strict=True))
        new = [one != b"earlier" for one in found]
        assert new == sorted(new, reverse=True)  # they are renamed in order
        assert {name for name in os.listdir() if not name.startswith(".")} == before
    subprocess.run(command, env=environment, check=True)
    assert set(os.listdir()) == before
    assert [part.read_bytes() for part in parts] == whole
