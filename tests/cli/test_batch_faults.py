"""500 jobs, of which 20 cannot succeed in 10 ways that only running them shows; and a batch that is killed."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.batch.joblog import read_log
from gpumerge_cli.cli.app import invoke
from tests.oracles import merged_keys, sorted_lines

ROOT = Path(__file__).parents[2]
FAULTS = 20
Job = dict[str, Any]


class Batch:
    """Jobs and their files. expected: bytes of each output. wrong: by the names of jobs that cannot succeed, what they
    say.
    """

    def __init__(self, folder: Path, rng: np.random.Generator) -> None:
        self.folder = folder
        self.rng = rng
        self.jobs: list[Job] = []
        self.expected: dict[str, bytes] = {}
        self.wrong: dict[str, str] = {}

    def file(self, name: str, content: Any) -> str:
        if isinstance(content, bytes):
            (self.folder / name).write_bytes(content)
        elif name.endswith(".npy"):
            np.save(self.folder / name, content)
        else:
            content.tofile(self.folder / name)
        return name

    def keys(self, dtype: str = "int32") -> np.ndarray[Any, Any]:
        return np.sort(self.rng.integers(0, 1000, self.rng.integers(1, 300)).astype(dtype))

    def lines(self) -> list[bytes]:
        return [b"%d" % n for n in self.rng.integers(0, 10**6, self.rng.integers(1, 200))]

    def add(self, job: Job, expected: bytes | None = None) -> None:
        self.jobs.append(job)
        if expected is not None:
            self.expected[job["output"]] = expected

    def good(self, name: str) -> None:
        """A job that succeeds, of one kind of four."""
        kind = int(self.rng.integers(4))
        if kind == 0:
            a, b = self.keys(), self.keys()
            inputs = [self.file(f"{name}a.i32", a), self.file(f"{name}b.i32", b)]
            job = {"operation": "merge", "inputs": inputs, "output": f"{name}.i32"}
            self.add({"name": name, **job}, merged_keys([a, b]).tobytes())
        elif kind == 1:
            lines = self.lines()
            job = {
                "operation": "sort",
                "inputs": [self.file(f"{name}.txt", b"\n".join(lines))],
                "output": f"{name}.out",
            }
            self.add({"name": name, **job}, b"".join(line + b"\n" for line in sorted_lines(lines)))
        elif kind == 2:
            a, b = sorted_lines(self.lines(), numeric=True), sorted_lines(self.lines(), numeric=True)
            inputs = [self.file(f"{name}{each}.txt", b"\n".join(lines)) for each, lines in (("a", a), ("b", b))]
            job = {"operation": "merge", "numeric-sort": True, "inputs": inputs, "output": f"{name}.out"}
            self.add({"name": name, **job}, b"".join(line + b"\n" for line in sorted_lines(a + b, numeric=True)))
        else:
            self.add({"name": name, "operation": "check", "inputs": [self.file(f"{name}.npy", self.keys("float64"))]})

    def bad(self, name: str, kind: int) -> None:
        self.wrong[name] = FAULTS_OF_FILES[kind](self, name)

    def merge(self, name: str, *inputs: str, output: str = "") -> None:
        suffix = os.path.splitext(inputs[0])[1]
        output = output or f"{name}.x{suffix if suffix in ('.i32', '.npy') else ''}"
        self.add({"name": name, "operation": "merge", "inputs": list(inputs), "output": output})


def disorder_of_numbers(batch: Batch, name: str) -> str:
    batch.merge(
        name, batch.file(f"{name}a.i32", np.array([1, 3, 2], np.int32)), batch.file(f"{name}b.i32", batch.keys())
    )
    return f"{name}a.i32@2: disorder"


def disorder_of_lines(batch: Batch, name: str) -> str:
    batch.merge(name, batch.file(f"{name}.txt", b"b\nc\na\n"))
    return f"{name}.txt:3: disorder"


def failed_check(batch: Batch, name: str) -> str:
    inputs = [batch.file(f"{name}.npy", np.array([2.0, 1.0]))]
    batch.add({"name": name, "operation": "check", "inputs": inputs})
    return f"{name}.npy@1: disorder"


def truncated_npy(batch: Batch, name: str) -> str:
    path = batch.folder / batch.file(f"{name}.npy", np.arange(1000))
    path.write_bytes(path.read_bytes()[:-100])
    batch.merge(name, path.name)
    return f"{name}.npy: "


def half_an_item(batch: Batch, name: str) -> str:
    batch.merge(name, batch.file(f"{name}.i32", b"12345"))
    return f"{name}.i32"


def damaged_gzip(batch: Batch, name: str) -> str:
    batch.merge(name, batch.file(f"{name}.txt.gz", gzip.compress(b"a\nb\n" * 1000)[:-9]), output=f"{name}.txt")
    return f"{name}.txt.gz"


def two_dimensions(batch: Batch, name: str) -> str:
    batch.merge(name, batch.file(f"{name}.npy", np.zeros((2, 2))))
    return f"{name}.npy"


def two_types(batch: Batch, name: str) -> str:
    names = batch.file(f"{name}a.npy", np.arange(3)), batch.file(f"{name}b.npy", np.arange(3.0))
    batch.merge(name, *names)
    return f"{name}b.npy: holds float64"


def full_device(batch: Batch, name: str) -> str:
    batch.merge(name, batch.file(f"{name}.i32", batch.keys()), output="/dev/full")
    return "/dev/full: no space left on device"


def missing_input(batch: Batch, name: str) -> str:
    """Reads what a job that fails does not make; that job counts as another fault."""
    first = next(iter(batch.wrong))
    (output,) = [job["output"] for job in batch.jobs if job["name"] == first]
    batch.merge(name, output, output=f"{name}.x")
    batch.jobs[-1]["dtype"] = "int32"
    return f"job {first}, which makes its input, failed"


FAULTS_OF_FILES: list[Callable[[Batch, str], str]] = [
    disorder_of_numbers, disorder_of_lines, failed_check, truncated_npy, half_an_item, damaged_gzip, two_dimensions,
    two_types, full_device, missing_input,
]  # fmt: skip


@pytest.mark.parametrize("jobs", [120, pytest.param(500, marks=pytest.mark.thorough)])
def test_every_good_output_is_right_and_every_bad_job_is_named(
    jobs: int, tmp_path: Path, rng: np.random.Generator, capfd: pytest.CaptureFixture[str]
) -> None:
    batch = Batch(tmp_path, rng)
    kinds = [number % len(FAULTS_OF_FILES) for number in range(FAULTS)]
    places = dict(zip(sorted(rng.choice(np.arange(5, jobs), FAULTS, replace=False)), kinds, strict=True))
    for number in range(jobs):
        if number in places:
            batch.bad(f"number {number}", places[number])
        else:
            batch.good(f"number {number}")
    (tmp_path / "jobs.jsonl").write_text("\n".join(map(json.dumps, batch.jobs)))
    inputs = {path.name for path in tmp_path.iterdir()}
    log = tmp_path / "log"
    command = ["batch", str(tmp_path / "jobs.jsonl"), "--joblog", str(log), "--keep-going", "--jobs", "2"]
    capfd.readouterr()
    assert invoke([*command, "-q"]) == 2
    *lines, last = capfd.readouterr().err.splitlines()
    assert last == f"gpumerge: {FAULTS} of {jobs} jobs failed; see the errors above"
    said = dict(line.removeprefix("gpumerge: job ").split(": ", 1) for line in lines)
    assert said.keys() == batch.wrong.keys()
    assert len(lines) == FAULTS
    for name, words in batch.wrong.items():
        assert words in said[name]
    for name, content in batch.expected.items():
        assert (tmp_path / name).read_bytes() == content, name
    assert {path.name for path in tmp_path.iterdir()} == inputs | batch.expected.keys() | {"log"}
    codes = {entry.number: entry.exit_code for entry in read_log(str(log)).values()}
    for number, job in enumerate(batch.jobs, 1):
        if job["name"] not in batch.wrong:
            assert codes[number] == 0
        elif "which makes its input" in batch.wrong[job["name"]]:
            assert number not in codes
        else:
            assert codes[number] == (1 if job["operation"] == "check" else 2)


def killed_batch(folder: Path, seed: int) -> None:
    """Kill a batch at a random moment, resume it, and hold its files against what they must be."""
    print(f"seed {seed}")
    folder.mkdir()
    batch = Batch(folder, np.random.default_rng(seed))
    for number in range(150):
        batch.good(f"{number}")
    for number in range(0, 150, 10):
        lines = batch.lines()
        name = batch.file(f"{number} in place", b"\n".join(lines))
        batch.add({"operation": "sort", "inputs": [name], "output": name, "name": f"{number} in place"})
        batch.expected[name] = b"".join(line + b"\n" for line in sorted_lines(lines))
        second = {"name": f"{number} again", "operation": "merge", "inputs": [name, name], "output": f"{number} twice"}
        batch.add(second, b"".join(line + b"\n" for line in sorted_lines(lines + lines)))
    random.Random(seed).shuffle(batch.jobs)
    (folder / "jobs").write_text("\n".join(map(json.dumps, batch.jobs)))
    command = [sys.executable, "-m", "gpumerge_cli", "batch", "jobs", "--joblog", "log", "-q", "--jobs", "2"]
    command += ["--report", "lines.jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    inputs = {path.name for path in folder.iterdir()}
    process = subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True)
    moments = random.Random(seed)
    # Somewhere in a job: start-up, where nothing can be harmed, takes about as long as all of them.
    ahead = moments.randrange(len(batch.jobs))
    while process.poll() is None and logged(folder) < ahead:
        time.sleep(0.001)
    time.sleep(moments.uniform(0, 0.01))
    with suppress(ProcessLookupError):  # it may have ended by now
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = logged(folder)
    print(f"killed with {done} jobs logged")
    subprocess.run([*command, "--resume"], cwd=folder, env=environment, check=True, timeout=120)
    for name, content in batch.expected.items():
        assert (folder / name).read_bytes() == content, name
    assert {path.name for path in folder.iterdir()} == inputs | batch.expected.keys() | {"log", "lines.jsonl"}
    told = [json.loads(line) for line in (folder / "lines.jsonl").read_text().splitlines()]
    assert {line["job"] for line in told} == {job["name"] for job in batch.jobs}
    assert all(line["exit"] == 0 for line in told)
    numbers = [line.split("\t")[0] for line in (folder / "log").read_text().splitlines()[1:]]
    assert set(numbers) == {str(number) for number in range(1, len(batch.jobs) + 1)}
    # What was logged as done ran once, but for what reads a file that was sorted in place again.
    assert len(numbers) - len(set(numbers)) <= sum("again" in job["name"] for job in batch.jobs)


def logged(folder: Path) -> int:
    """Whole lines of the log, its head aside."""
    return (folder / "log").read_bytes().count(b"\n") - 1 if (folder / "log").exists() else -1


@pytest.mark.thorough
def test_a_killed_batch_goes_on(tmp_path: Path, seed: int) -> None:
    killed_batch(tmp_path / "0", seed)


@pytest.mark.thorough
def test_a_batch_killed_10_times_goes_on(tmp_path: Path, seed: int) -> None:
    for number in range(10):
        killed_batch(tmp_path / str(number), seed + number)


@pytest.mark.parametrize("key", ["output", "report", "inputs"])
@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "${ABOVE}/evil"])
def test_a_job_whose_name_leads_up_writes_nothing(
    key: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ABOVE", "..")
    folder = tmp_path / "one" / "two"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    job = {"name": name, "operation": "merge", "inputs": ["a.txt"], "output": "out.txt"}
    (folder / "jobs.jsonl").write_text(json.dumps(job | {key: ["{job}.json"] if key == "inputs" else "{job}.json"}))
    before = {*tmp_path.rglob("*")}
    assert invoke(["batch", str(folder / "jobs.jsonl")]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "jobs.jsonl:1: the job's name" in told
    assert {*tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "${SECRET}\n"},
        {"operation": "${SECRET}"},
        {"inputs": ["${SECRET}/a.txt"]},
        {"output": "${SECRET}/out.txt"},
        {"output": "{${SECRET}"},
        {"threads": "${SECRET}"},
        {"kernel": "${SECRET}"},
        {"memory": "${SECRET}"},
    ],
)
def test_mistakes_do_not_show_values_of_variables(
    wrong: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECRET", "hunter2")
    (tmp_path / "a.txt").write_text("a\n")
    job = {"name": "j", "operation": "merge", "inputs": ["a.txt"], "output": "out.txt"}
    (tmp_path / "jobs.jsonl").write_text(json.dumps(job | wrong))
    assert invoke(["batch", str(tmp_path / "jobs.jsonl")]) == 2
    told = capsys.readouterr().err
    assert "hunter2" not in told
    assert "${SECRET}" in told


def test_jobs_that_fail_do_not_show_values_of_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECRET", str(tmp_path / "hunter2"))
    (tmp_path / "hunter2").mkdir()
    (tmp_path / "hunter2" / "a.txt").write_text("b\na\n")
    job = {"name": "j", "operation": "merge", "inputs": ["${SECRET}/a.txt"], "output": "out.txt"}
    (tmp_path / "jobs.jsonl").write_text(json.dumps(job))
    assert invoke(["batch", str(tmp_path / "jobs.jsonl")]) == 2
    told = capsys.readouterr().err
    assert "hunter2" not in told
    assert "job j: ${SECRET}/a.txt:2" in told
