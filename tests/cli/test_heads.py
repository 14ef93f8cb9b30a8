"""merge --head and --tail, by their command lines."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("backend", ["cpu", "auto"])
@pytest.mark.parametrize("count", [0, 1, 4, 9, 10, 1 << 40])
def test_heads_and_tails_of_numbers(two: np.ndarray[Any, Any], count: int, backend: str, capfdbinary: Any) -> None:
    for option, expected in (("--head", two[:count]), ("--tail", two[max(0, 9 - count) :])):
        assert invoke(["merge", "-q", "a.i32", "b.i32", option, str(count), "--backend", backend]) == 0
        assert capfdbinary.readouterr().out == expected.tobytes()
    assert invoke(["merge", "-q", "a.i32", "b.i32", "--head", "7", "--parts", "2", "-o", "p{part}.i32"]) == 0
    parts = [np.fromfile(f"p{number}.i32", np.int32) for number in range(2)]
    assert [len(part) for part in parts] == [3, 4]
    assert np.concatenate(parts).tolist() == two[:7].tolist()


OPTIONS = (
    [],
    ["-n"],
    ["-r"],
    ["-nr"],
    ["-k2,2"],
    ["-k2,2n", "-k1,1r"],
    ["-s", "-k1,1n"],
    ["-f"],
    ["-t,", "-k2n"],
    ["-V"],
)


def test_heads_and_tails_of_lines_are_those_of_sort(tmp_path: Path, rng: np.random.Generator, capfdbinary: Any) -> None:
    random_ = random.Random(int(rng.integers(1 << 32)))
    for _ in range(30):
        options = random_.choice(OPTIONS)
        names = [str(tmp_path / f"{number}.txt") for number in range(random_.randint(1, 5))]
        for name in names:
            drawn = [
                f"{random_.randint(0, 40)}{random_.choice(', ')}{random_.choice(['a', 'B', '7', 'long ' * 9])}"
                for _ in range(random_.choice([0, 1, 5, 300]))
            ]
            Path(name).write_text("".join(line + "\n" for line in drawn))
            gnu(["sort", *options, "-o", name, name])
        merged = gnu(["sort", "-m", *options, *names]).splitlines(keepends=True)
        count = random_.choice([0, 1, 2, 17, len(merged) // 2, max(0, len(merged) - 1), len(merged), 10_000])
        for option, expected in (("--head", merged[:count]), ("--tail", merged[max(0, len(merged) - count) :])):
            words = [
                "merge",
                "-q",
                *([] if "-s" in options else ["--last-resort"]),
                *options,
                *names,
                option,
                str(count),
            ]
            to_file = random_.random() < 0.5
            output = tmp_path / "out.txt"
            assert invoke([*words, *(["-o", str(output)] if to_file else [])]) == 0, words
            found = output.read_bytes() if to_file else capfdbinary.readouterr().out
            assert found == b"".join(expected), words


def gnu(words: list[str]) -> bytes:
    return subprocess.run(words, env={**os.environ, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--head", "1", "--tail", "1"], "--head and --tail are both given"),
        (["--head", "1", "--unique"], "-u needs the whole merge, so it cannot be combined with --head"),
        (["--tail", "1", "--plan"], "--plan needs the whole merge, so it cannot be combined with --tail"),
        (["--head", "1", "--compare"], "--compare needs the whole merge, so it cannot be combined with --head"),
        (["--head", "-1"], "--head: invalid count '-1'"),
    ],
)
def test_heads_that_cannot_be(two: np.ndarray[Any, Any], capfd: Captured, words: list[str], said: str) -> None:
    assert invoke(["merge", "a.i32", "b.i32", *words]) == 2
    error = capfd.readouterr().err
    assert error.startswith(f"gpumerge: {said}")
    assert error.count("\n") == 1


def test_disorder_where_items_are_read(tmp_path: Path, capfd: Captured) -> None:
    np.array([5, 4, 3, 9], np.int32).tofile(tmp_path / "a.i32")
    assert invoke(["merge", "-q", str(tmp_path / "a.i32"), "--head", "2", "-o", str(tmp_path / "out.i32")]) == 2
    assert "a.i32@1: disorder" in capfd.readouterr().err
    assert not (tmp_path / "out.i32").exists()


def test_heads_in_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two: np.ndarray[Any, Any]) -> None:
    Path("jobs.toml").write_text(
        '[[job]]\noperation = "merge"\ninputs = ["a.i32", "b.i32"]\noutput = "few.i32"\nhead = 3\n'
        '[[job]]\noperation = "merge"\ninputs = ["a.i32", "b.i32"]\noutput = "last.i32"\ntail = 2\n'
    )
    assert invoke(["batch", "-q", "jobs.toml"]) == 0
    assert np.fromfile("few.i32", np.int32).tolist() == [1, 2, 3]
    assert np.fromfile("last.i32", np.int32).tolist() == [7, 9]
