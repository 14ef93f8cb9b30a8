"""Batches of many jobs: what they have in common is read once, and told once."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke


def test_of_a_thousand_mistakes_the_first_are_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    job = '[[job]]\noperation = "merge"\nuniqe = true\noutput = "{job}"\ninputs = "a.txt"\n'
    (tmp_path / "a.txt").write_text("1\n")
    path = tmp_path / "jobs.toml"
    path.write_text(job * 1000)
    assert invoke(["batch", str(path)]) == 2
    *told, last = capfd.readouterr().err.splitlines()
    assert told == [f"gpumerge: {path}:{3 + 5 * at}: there is no key uniqe; did you mean unique?" for at in range(20)]
    assert last == f"gpumerge: {path}: 1000 mistakes, 980 of them not shown; correct them; no job was run"


def test_a_batch_reads_the_folder_of_its_outputs_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = '[[job]]\noperation = "merge"\nnumeric-sort = true\noutput = "out/{job}.txt"\ninputs = "a.txt"\n'
    (tmp_path / "jobs.toml").write_text(jobs * 50)
    (tmp_path / "a.txt").write_text("1\n")
    (tmp_path / "out").mkdir()
    left = tmp_path / "out" / f".7.txt.gpumerge-{'0' * 12}"  # of a run that was killed
    left.touch()
    read: list[str] = []
    really = os.scandir

    def scandir(place: Any = ".") -> Any:
        read.append(os.fspath(place))
        return really(place)

    monkeypatch.setattr(os, "scandir", scandir)
    assert invoke(["batch", "-q", str(tmp_path / "jobs.toml")]) == 0
    assert read.count(str(tmp_path / "out")) == 1
    assert sorted(os.listdir(tmp_path / "out")) == sorted(f"{number}.txt" for number in range(1, 51))


def test_jobs_with_the_same_options_read_their_own_files(
    tmp_path: Path, seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Options are read once for all jobs that have the same ones."""
    rng = random.Random(seed)
    text, expected = "", {}
    for number in range(1, 41):
        numeric, reverse, once = (rng.random() < 0.5 for _ in range(3))
        operation = rng.choice(("merge", "union", "intersect"))
        lines = [str(rng.randrange(50)) for _ in range(rng.randrange(1, 9))]
        lines.sort(key=int if numeric else str, reverse=reverse)
        (tmp_path / f"in{number}").write_text("".join(f"{line}\n" for line in lines))
        expected[f"{number}.out"] = "".join(f"{line}\n" for line in (dict.fromkeys(lines) if once else lines))
        text += f'[[job]]\noperation = "{operation}"\ninputs = "in{number}"\noutput = "{number}.out"\n'
        text += "numeric-sort = true\n" * numeric + "reverse = true\n" * reverse
        text += ("unique = true\n" if operation == "merge" else "distinct = true\n") * once
    (tmp_path / "jobs.toml").write_text(text)
    assert invoke(["batch", "-q", str(tmp_path / "jobs.toml")]) == 0, capfd.readouterr().err
    assert {name: (tmp_path / name).read_text() for name in expected} == expected
