"""Jobs of a batch in processes of their own: the same as in one, whatever ends them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ALONE = [sys.executable, "-m", "gpumerge_cli", "batch", "jobs.toml", "--joblog", "log"]
COMMAND = [*ALONE, "--jobs", "3"]
IN_PROCESSES = """
import os, signal, sys
from types import SimpleNamespace
from gpumerge_cli.batch.runner import Caller, JobError
from gpumerge_cli.cli.batch_processes import Processes
from gpumerge_cli.replacement import Replacement
here = os.getpid()
def carry_out(job, memory, caller):
    if os.getpid() != here and job.number == 2:
        made = [Replacement(name) for name in (*job.outputs, "report.json")]
        os.kill(os.getpid(), signal.SIGKILL)
    if job.number == 3:
        raise JobError("broken", 1)
    caller.check()
    caller.advance(1, 2)
    caller.say(f"job {job.number}")
    return os.getpid() == here, memory
options = {"report": ["report.json"]}
jobs = [SimpleNamespace(number=number, outputs=(f"{number}.txt",), options=options) for number in range(1, 5)]
processes = Processes(jobs, 1, carry_out)
other = Replacement("2.txt")  # of a program that lives
caller = Caller(lambda: None, print, print)
for number in (1, 3, 2, 4):
    try:
        print(processes.do(jobs[number - 1], 10 * number, caller))
    except JobError as error:
        print(error, error.exit_code, error.signal)
print(os.listdir() == [os.path.basename(other.temporary)])
other.abort()
processes.close()
"""


def test_a_job_whose_process_is_killed_fails_and_its_place_goes_on_in_the_first_process(tmp_path: Path) -> None:
    """Temporary files of the killed process are removed, and no others."""
    done = subprocess.run(
        [sys.executable, "-c", IN_PROCESSES],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        *("1 2", "job 1", "(False, 10)"),
        "broken 1 0",
        "signal 9 ended its process; if memory was short, run fewer --jobs 2 9",
        *("1 2", "job 4", "(True, 40)"),
        "True",
    ]


def write_jobs(folder: Path, seed: int, count: int = 24) -> None:
    """Merges of random lines; each tenth job merges the outputs of two before it, and the fourth one is not sorted."""
    rng = random.Random(seed)
    text = '[defaults]\noperation = "merge"\nnumeric-sort = true\noutput = "out/{job}.txt"\n'
    (folder / "out").mkdir()
    for number in range(1, count + 1):
        inputs = [f"{number}a", f"{number}b"]
        for name in inputs:
            lines = sorted(rng.randrange(10**6) for _ in range(rng.randrange(2, 2000)))
            (folder / name).write_text("".join(f"{line}\n" for line in lines))
        if number == 4:
            (folder / "4a").write_text("2\n1\n")
        if number % 10 == 0:
            inputs = [f"out/{number - 1}.txt", f"out/{number - 2}.txt"]
        text += f'[[job]]\nname = "{number}"\ninputs = {json.dumps(inputs)}\n'
    (folder / "jobs.toml").write_text(text)


def outcome(folder: Path, command: list[str]) -> tuple[int, list[str], dict[str, bytes], list[tuple[str, str, object]]]:
    """Exit code, messages, outputs and what the report says of each job."""
    done = subprocess.run(
        [*command, "--keep-going", "--report", "report.jsonl"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    outputs = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    about = sorted((one["job"], one["state"], one.get("items", one["error"])) for one in lines)
    return done.returncode, sorted(done.stderr.splitlines()), outputs, about


def test_jobs_in_processes_do_what_they_do_in_one(tmp_path: Path, seed: int) -> None:
    found = []
    for name, command in (("alone", ALONE), ("together", COMMAND)):
        folder = tmp_path / name
        folder.mkdir()
        write_jobs(folder, seed)
        code, messages, outputs, about = outcome(folder, command)
        found.append((code, [one for one in messages if one.startswith("gpumerge")], outputs, about))
    assert found[0] == found[1]
    code, messages, outputs, about = found[0]
    assert code == 2
    assert len(messages) == 2
    assert "4a" in messages[1]
    assert len(outputs) == 23
    assert len(about) == 24


@pytest.mark.parametrize("everyone", [pytest.param(True, marks=pytest.mark.thorough), False])
def test_a_signal_ends_all_processes_without_an_output(tmp_path: Path, everyone: bool) -> None:
    """Ctrl-C in a terminal reaches all processes; `kill` reaches the first one alone."""
    text = '[defaults]\noperation = "merge"\noutput = "out/{job}.txt"\n'
    (tmp_path / "out").mkdir()
    for number in (1, 2):
        (tmp_path / f"a{number}").write_bytes(b"".join(b"%08d\n" % line for line in range(300_000)))
        os.mkfifo(tmp_path / f"b{number}")
        text += f'[[job]]\ninputs = ["a{number}", "b{number}"]\n'
    (tmp_path / "jobs.toml").write_text(text)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        COMMAND, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as batch:
        writers = [os.open(tmp_path / f"b{number}", os.O_WRONLY) for number in (1, 2)]  # each waits for a reader
        for writer in writers:
            os.write(writer, b"00000001\n")
        (os.killpg if everyone else os.kill)(batch.pid, signal.SIGINT)
        time.sleep(0.1)
        for writer in writers:  # what a job reads from a pipe stops only as bytes come, or as the pipe ends
            os.close(writer)
        _, stderr = batch.communicate(timeout=120)
    assert batch.returncode == 130
    assert stderr == "gpumerge: interrupted; 0 of 2 jobs are done; --resume goes on\n"
    assert os.listdir(tmp_path / "out") == []
    with pytest.raises(ProcessLookupError):
        os.killpg(batch.pid, 0)


def test_the_log_names_the_signal_that_killed_a_job(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    for number in (1, 2):
        os.mkfifo(tmp_path / f"b{number}")
    jobs = '[[job]]\noperation = "merge"\ninputs = ["a", "b{job}"]\noutput = "o{job}"\n'
    (tmp_path / "jobs.toml").write_text(jobs * 2)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*COMMAND, "--keep-going"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as batch:
        writers = [os.open(tmp_path / f"b{number}", os.O_WRONLY) for number in (1, 2)]  # each waits for a reader
        children = Path(f"/proc/{batch.pid}/task/{batch.pid}/children").read_text().split()
        assert len(children) == 2
        for child in children:
            os.kill(int(child), signal.SIGTERM if child == children[0] else signal.SIGKILL)
        for writer in writers:
            os.close(writer)
        batch.communicate(timeout=120)
    assert batch.returncode == 2
    assert sorted(os.listdir(tmp_path)) == ["a", "b1", "b2", "jobs.toml", "log"]
    rows = [line.split("\t") for line in (tmp_path / "log").read_text().splitlines()[1:]]
    assert sorted((row[6], row[7]) for row in rows) == [("2", "15"), ("2", "9")]


@pytest.mark.thorough
def test_processes_end_with_the_first_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n")
    for number in (1, 2):
        os.mkfifo(tmp_path / f"b{number}")
    jobs = '[[job]]\noperation = "merge"\ninputs = ["a", "b{job}"]\noutput = "o{job}"\n'
    (tmp_path / "jobs.toml").write_text(jobs * 2)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(COMMAND, cwd=tmp_path, env=environment, start_new_session=True) as batch:
        writers = [os.open(tmp_path / f"b{number}", os.O_WRONLY) for number in (1, 2)]
        batch.kill()
    for writer in writers:
        os.close(writer)
    for _ in range(1000):
        try:
            os.killpg(batch.pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("processes are left")
    assert not {"o1", "o2"} & set(os.listdir(tmp_path))
