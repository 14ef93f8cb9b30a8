"""gpumerge batch: files in, files out, and its messages."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.batch.document import read_document
from gpumerge_cli.batch.joblog import read_log
from gpumerge_cli.cli import batch_run
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.engine.job import Job

ROOT = Path(__file__).parents[2]
JOBS = """
[defaults]
operation = "merge"
numeric-sort = true
output = "{job}.txt"

[[job]]
name = "all"
inputs = ["ab.txt", "c.txt"]
unique = true

[[job]]
name = "ab"
inputs = ["a.txt", "b.txt"]

[[job]]
name = "check"
operation = "check"
inputs = ["b.txt", "ab.txt"]

[[job]]
name = "sorted"
operation = "sort"
reverse = true
inputs = "odd.txt"
"""
FILES = {"a.txt": "1\n5\n9\n", "b.txt": "2\n5\n10\n", "c.txt": "0\n5\n", "odd.txt": "3\n12\n1\n"}
OUTPUTS = {"ab.txt": "1\n2\n5\n5\n9\n10\n", "all.txt": "0\n1\n2\n5\n9\n10\n", "sorted.txt": "12\n3\n1\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a job file and its inputs."""
    (tmp_path / "jobs.toml").write_text(JOBS)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def outputs(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in OUTPUTS if (folder / name).exists()}


@pytest.mark.parametrize("at_once", ["1", "3"])
def test_jobs_run_in_the_order_that_they_need(folder: Path, at_once: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["batch", str(folder / "jobs.toml"), "--jobs", at_once, "--stats"]) == 0
    assert outputs(folder) == OUTPUTS
    captured = capfd.readouterr()
    assert captured.out == ""
    for words in ("all", "check", "sorted", "4 jobs: 4 done"):
        assert words in captured.err
    assert sorted(os.listdir(folder)) == sorted({*FILES, *OUTPUTS, "jobs.toml"})


def test_a_batch_says_one_line(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["batch", str(folder / "jobs.toml")]) == 0
    told = capfd.readouterr()
    assert told.out == ""
    assert told.err.startswith("4 jobs: 4 done; ")
    assert told.err.count("\n") == 1


def test_a_check_of_several_files_counts_and_names_the_first(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "check.toml").write_text('[[job]]\noperation = "check"\ninputs = ["a.txt", "odd.txt", "x.txt"]\n')
    (folder / "x.txt").write_text("b\na\n")
    assert invoke(["batch", str(folder / "check.toml"), "-q"]) == 2
    first, _ = capfd.readouterr().err.splitlines()
    assert ": 2 of 3 files are out of order; " in first
    assert "odd.txt:2: disorder: '12' comes after '3' (line 1); " in first


def test_quiet_says_nothing(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["batch", str(folder / "jobs.toml"), "-q"]) == 0
    assert capfd.readouterr() == ("", "")


def test_the_plan_is_a_script_that_does_the_same(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["batch", str(folder / "jobs.toml"), "--dry-run", "--joblog", str(folder / "log")]) == 0
    script = capfd.readouterr().out
    assert outputs(folder) == {}
    assert not (folder / "log").exists()
    assert [line.split("# ")[1] for line in script.splitlines()] == ["ab", "all", "check", "sorted"]
    program = f'gpumerge() {{ "{sys.executable}" -m gpumerge_cli "$@"; }}\n'
    subprocess.run(["sh", "-ec", program + script], cwd="/", env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    assert outputs(folder) == OUTPUTS


@pytest.mark.one_of_each
@pytest.mark.parametrize("name", ["a.txt", "out.txt"])
@pytest.mark.parametrize("way", ["copied", "moved", "written"])
@pytest.mark.parametrize("option", ["--resume", "--resume-failed"])
def test_a_job_whose_file_was_replaced_by_an_older_one_runs_again(
    option: str, way: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("1\n5\n")
    Path("jobs.toml").write_text('[[job]]\noperation = "merge"\ninputs = ["a.txt"]\noutput = "out.txt"\n')
    command = ["batch", "jobs.toml", "-q", "--joblog", "log"]
    assert invoke(command) == 0
    Path("older").write_text("0\n7\n")
    os.utime("older", (1000, 1000))
    time.sleep(0.02)  # more than a tick of the file system's clock
    if way == "copied":
        shutil.copy2("older", name)
    elif way == "moved":
        os.replace("older", name)
    else:
        Path(name).write_text("0\n7\n")
        os.utime(name, (1000, 1000))
    assert invoke([*command, option]) == 0
    assert Path("out.txt").read_bytes() == Path("a.txt").read_bytes()
    modified = os.stat("out.txt").st_mtime_ns
    assert invoke([*command, option]) == 0
    assert os.stat("out.txt").st_mtime_ns == modified


def test_the_log_and_resume(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = str(folder / "log")
    command = ["batch", str(folder / "jobs.toml"), "--joblog", log]
    assert invoke(command) == 0
    entries = read_log(log)
    assert [entry.number for entry in entries.values()] == [2, 1, 3, 4]
    assert [entry.nbytes for entry in entries.values()] == [13, 17, 20, 7]
    assert {entry.exit_code for entry in entries.values()} == {0}
    assert invoke([*command, "--resume"]) == 0
    assert "4 skipped" in capfd.readouterr().err
    # What changed runs again, and with it what reads its output; the others do not.
    os.utime(folder / "c.txt")
    assert invoke([*command, "--resume", "--dry-run"]) == 0
    plan = capfd.readouterr().out.splitlines()
    assert [line.startswith("# done already: ") for line in plan] == [True, False, True, True]
    assert invoke([*command, "--resume"]) == 0
    (folder / "a.txt").write_text("5\n")
    (folder / "sorted.txt").unlink()
    assert invoke([*command, "--resume"]) == 0
    assert outputs(folder) == {"ab.txt": "2\n5\n5\n10\n", "all.txt": "0\n2\n5\n10\n", "sorted.txt": "12\n3\n1\n"}
    assert [line.split("\t")[0] for line in Path(log).read_text().splitlines()] == ["Seq", *"2134", *"1", *"2134"]


def test_an_edited_job_is_another_one(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = str(folder / "log")
    assert invoke(["batch", str(folder / "jobs.toml"), "--joblog", log, "-q"]) == 0
    (folder / "jobs.toml").write_text(JOBS.replace("reverse = true", "reverse = false"))
    assert invoke(["batch", str(folder / "jobs.toml"), "--joblog", log, "--resume"]) == 0
    assert "1 done, 3 skipped" in capfd.readouterr().err
    assert (folder / "sorted.txt").read_text() == "1\n3\n12\n"


def test_the_report_has_a_line_a_job(folder: Path) -> None:
    (folder / "c.txt").write_text("5\n0\n")
    report = folder / "r.jsonl"
    assert invoke(["batch", str(folder / "jobs.toml"), "-q", "--keep-going", "--report", str(report)]) == 2
    told = {line["job"]: line for line in map(json.loads, report.read_text().splitlines())}
    assert set(told) == {"ab", "all", "check", "sorted"}
    assert (told["ab"]["exit"], told["ab"]["error"], told["ab"]["kind"], told["ab"]["items"]) == (0, "", "merge", 6)
    assert told["all"]["exit"] == 2
    assert "c.txt:2: disorder" in told["all"]["error"]
    assert told["check"]["kind"] == "check"
    assert told["ab"]["seconds"] >= 0


def test_a_report_that_is_an_input_by_another_name_is_refused(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "r.jsonl").hardlink_to(folder / "a.txt")
    assert invoke(["batch", str(folder / "jobs.toml"), "-q", "--report", str(folder / "r.jsonl")]) == 2
    assert "r.jsonl:1: is not a report of a batch" in capfd.readouterr().err
    assert (folder / "a.txt").read_text() == FILES["a.txt"]


def test_the_report_has_the_jobs_that_others_keep_from_running(folder: Path) -> None:
    (folder / "a.txt").write_text("9\n1\n")
    report = folder / "r.jsonl"
    assert invoke(["batch", str(folder / "jobs.toml"), "-q", "--keep-going", "--report", str(report)]) == 2
    told = {line["job"]: line for line in map(json.loads, report.read_text().splitlines())}
    assert {name: line["state"] for name, line in told.items()} == {
        "ab": "failed", "all": "not run", "check": "not run", "sorted": "done",
    }  # fmt: skip
    assert "job ab" in told["all"]["error"]
    assert (told["all"]["exit"], told["all"]["started"]) == (2, None)


def test_failures_are_named_and_counted(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "a.txt").write_text("9\n1\n")
    log = str(folder / "log")
    command = ["batch", str(folder / "jobs.toml"), "--joblog", log, "-q"]
    assert invoke(command) == 2
    first, *others, last = capfd.readouterr().err.splitlines()
    assert first.startswith("gpumerge: job ab: ")
    assert "a.txt:2: disorder" in first
    assert others == [f"gpumerge: job {name}: job ab, which makes its input, failed" for name in ("all", "check")]
    assert last == "gpumerge: 3 of 4 jobs failed, 1 did not run; --keep-going runs those, too"
    assert invoke([*command, "--resume", "--keep-going"]) == 2
    told = capfd.readouterr().err.splitlines()
    assert told[0] == "gpumerge: job ab: it failed in an earlier run; --resume-failed runs it again"
    assert told[-1] == "gpumerge: 3 of 4 jobs failed; see the errors above"
    assert [(entry.number, entry.exit_code) for entry in read_log(log).values()] == [(2, 2), (4, 0)]
    (folder / "a.txt").write_text("1\n5\n9\n")
    assert invoke([*command, "--resume-failed"]) == 0
    assert outputs(folder) == OUTPUTS


def test_mistakes_are_told_before_anything_runs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "jobs.toml").write_text(JOBS.replace('"c.txt"', '"d.txt"').replace("unique = true", "uniqe = true"))
    log = folder / "log"
    log.write_text("precious")
    path = str(folder / "jobs.toml")
    assert invoke(["batch", path, "--joblog", str(log)]) == 2
    first, second, last = capfd.readouterr().err.splitlines()
    assert first.startswith(f"gpumerge: {path}:9: {folder}/d.txt: no such file or directory; ")
    assert second == f"gpumerge: {path}:10: there is no key uniqe; did you mean unique?"
    assert last == f"gpumerge: {path}: 2 mistakes; correct them; no job was run"
    assert outputs(folder) == {}
    assert log.read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["no/such.toml"], "no/such.toml: no such file"),
        (["."], "is a directory"),
        (["{jobs}", "--resume"], "--joblog"),
        (["{jobs}", "--resume-failed"], "--joblog"),
        (["{jobs}", "--report", "r.json"], "end the name in .jsonl"),
        (["{jobs}", "--jobs", "0"], "--jobs"),
        (["{jobs}", "--memory", "0"], "--memory"),
        (["{jobs}", "--joblog", "{dir}/no/log"], "no/log: no such file"),
        (["{jobs}", "--joblog", "{dir}/in.jsonl"], "in.jsonl:1: is not a log of jobs"),
        (["{jobs}", "--report", "{dir}/in.jsonl"], "in.jsonl:1: is not a report of a batch"),
        (["{jobs}", "--joblog", "{dir}/sorted.txt"], "sorted.txt is the log of jobs"),
        (["{jobs}", "--joblog", "{dir}"], "is a directory"),
        (["{jobs}", "--joblog", "{jobs}"], "jobs.toml is the job file"),
        (["{jobs}", "--joblog", "{dir}/l.jsonl", "--report", "{dir}/l.jsonl"], "name another file"),
        (["{lines}", "--report", "{lines}"], "jobs.jsonl is the job file"),
        (["{lines}", "--report", "{dir}/in.jsonl"], "in.jsonl would be replaced: it is the report"),
    ],
)
def test_wrong_usage_is_one_line(
    folder: Path, arguments: list[str], words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    names = {"jobs": str(folder / "jobs.toml"), "lines": str(folder / "jobs.jsonl"), "dir": str(folder)}
    (folder / "in.jsonl").write_text("precious\n")
    line = '{"operation": "sort", "inputs": "in.jsonl", "output": "o", "format": "text"}'
    (folder / "jobs.jsonl").write_text(line)
    assert invoke(["batch", *(argument.format(**names) for argument in arguments)]) == 2
    error = capfd.readouterr().err
    assert error.startswith("gpumerge: ")
    assert error.count("\n") == 1
    assert words in error
    assert outputs(folder) == {}
    assert (folder / "in.jsonl").read_text() == "precious\n"
    assert (folder / "jobs.jsonl").read_text() == line


def test_jobs_from_standard_input_are_relative_to_the_current_folder(folder: Path) -> None:
    lines = '\n {"operation": "sort", "inputs": ["odd.txt"], "output": "o.txt"}\n'
    for text in (JOBS, lines):
        command = [sys.executable, "-m", "gpumerge_cli", "batch", "-", "-q"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert outputs(folder) == OUTPUTS
    assert (folder / "o.txt").read_text() == "1\n12\n3\n"


def test_memory_and_threads_are_shared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, tuple[int | None, int | None, int]] = {}
    perform = batch_run.run_job

    def note(job: Job, **keywords: Any) -> Any:
        on = job.resources
        found[os.path.basename(job.inputs[0])] = (on.memory, on.threads, on.sharing)
        return perform(job, **keywords)

    monkeypatch.setattr(batch_run, "run_job", note)
    (folder / "jobs.toml").write_text(JOBS.replace("reverse = true", 'buffer-size = "1b"\nparallel = 3'))
    assert invoke(["batch", str(folder / "jobs.toml"), "-q", "--jobs", "2", "--memory", "64M", "--threads", "5"]) == 0
    share = (32 << 20, 2, 4)
    assert found == {"a.txt": share, "ab.txt": share, "b.txt": share, "odd.txt": (1, 3, 4)}


def test_globs_match_the_same_files_when_the_batch_goes_on(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("1\n")
    (tmp_path / "b").write_text("2\n")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs").write_text('[[job]]\noperation = "merge"\ninputs = "*"\noutput = "all"\nreport = "r.json"\n')
    command = ["batch", "jobs", "--joblog", "log", "--report", "lines.jsonl"]
    assert invoke(command) == 0
    assert invoke([*command, "--resume"]) == 0
    assert "1 skipped" in capfd.readouterr().err
    assert invoke(command) == 0
    assert (tmp_path / "all").read_text() == "1\n2\n"
    assert len((tmp_path / "lines.jsonl").read_text().splitlines()) == 1


def test_what_a_job_makes_is_looked_into_when_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,amount\nx,10\ny,9\n")
    (tmp_path / "jobs.toml").write_text(
        """
        [defaults]
        operation = "sort"
        csv = true
        header = 1
        [[job]]
        inputs = "a.csv"
        output = "b.csv"
        key = "1,1"
        [[job]]
        inputs = "b.csv"
        output = "c.csv"
        key = "amount:n"
        """
    )
    assert invoke(["batch", str(tmp_path / "jobs.toml"), "-q"]) == 0
    assert (tmp_path / "c.csv").read_text() == "name,amount\ny,9\nx,10\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_whole_files(number: signal.Signals, tmp_path: Path) -> None:
    line = b"%099d\n"
    (tmp_path / "big.txt").write_bytes(b"".join(line % n for n in range(100_000)))
    jobs = "".join(
        f'[[job]]\nname = "{n}"\noperation = "sort"\nkey = "1.90"\ninputs = "big.txt"\noutput = "{n}.out"\n'
        for n in range(40)
    )
    (tmp_path / "jobs.toml").write_text(jobs)
    command = [sys.executable, "-m", "gpumerge_cli", "batch", "jobs.toml", "--joblog", "log", "--jobs", "2", "-q"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "0.out").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + number, error
    assert error.startswith("gpumerge: interrupted; ")
    assert error.endswith("of 40 jobs are done; --resume goes on\n")
    made = [path for path in tmp_path.iterdir() if path.suffix == ".out"]
    assert all(path.stat().st_size == 10_000_000 for path in made)
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in made} | {"big.txt", "jobs.toml", "log"}
    assert len(read_log(str(tmp_path / "log"))) == len(made)


AS_A_JOB_IS_JUDGED = """
import os, sys
from gpumerge_cli.cli import batch_jobs
from gpumerge_cli.__main__ import main
really, left = batch_jobs._checked, 3
def judged(job):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), {number})
    return really(job)
batch_jobs._checked = judged
sys.argv[1:] = ["batch", "jobs.toml"]
main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_jobs_are_judged_ends_the_batch(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    jobs = "".join(f'[[job]]\noperation = "sort"\ninputs = "a.txt"\noutput = "{n}.out"\n' for n in range(5))
    (tmp_path / "jobs.toml").write_text(jobs)
    code = AS_A_JOB_IS_JUDGED.format(number=int(number))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + number, "gpumerge: interrupted; no output was written\n")
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "jobs.toml"]


def test_comparisons_and_ranks_are_jobs(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "jobs.toml").write_text(
        '[defaults]\ninputs = ["a.txt", "b.txt"]\nnumeric-sort = true\noutput = "{job}.out"\n'
        '[[job]]\nname = "columns"\noperation = "compare"\nwithout-second = true\noutput-delimiter = ";"\n'
        '[[job]]\nname = "both"\noperation = "compare"\nwithout-first = true\nwithout-second = true\n'
        '[[job]]\nname = "asked"\noperation = "rank"\nat = "0,1"\nquantile = 0.5\nof = ["5", "6"]\njson = true\n'
        '[[job]]\nname = "cuts"\noperation = "rank"\nsplit = 2\n'
        '[[job]]\nname = "tables"\noperation = "rank"\nat = 2\n'
        '[[job]]\nname = "some"\noperation = "rank"\nrange = "1:3"\n'
        '[[job]]\nname = "of outputs"\noperation = "rank"\ninputs = ["some.out"]\nat = 1\njson = true\n'
    )
    command = ["batch", str(folder / "jobs.toml"), "-q", "--joblog", str(folder / "log")]
    assert invoke([*command, "--report", str(folder / "r.jsonl")]) == 0
    made = {path.stem: path.read_text() for path in folder.glob("*.out")}
    assert (made["columns"], made["both"], made["some"]) == ("1\n;5\n9\n", "5\n", "2\n5\n")
    asked = json.loads(made["asked"])
    assert [one["item"] for one in asked["ranks"]] == ["1", "2", "5"]
    assert [(one["lower"], one["upper"]) for one in asked["of"]] == [(2, 4), (4, 4)]
    assert len(json.loads(made["cuts"])["parts"]) == 2
    assert made["tables"].splitlines()[1].split() == ["2", str(folder / "a.txt"), "1", "5"]
    assert json.loads(made["of outputs"])["ranks"][0]["item"] == "5"
    told = {one["job"]: one for one in map(json.loads, (folder / "r.jsonl").read_text().splitlines())}
    assert told["asked"]["answers"] == asked
    assert [told[name]["kind"] for name in ("columns", "asked", "some")] == ["compare", "rank", "merge"]
    assert invoke([*command[:2], "--joblog", str(folder / "log"), "--resume"]) == 0
    assert "7 skipped" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("job", "told"),
    [
        ('operation = "compare"\ninputs = ["a.txt"]\noutput = "x"', "compare needs two files, not 1 file"),
        ('operation = "rank"\ninputs = ["a.txt"]\noutput = "x"', "no rank was asked for"),
        ('operation = "rank"\ninputs = ["a.txt"]\nat = 1', "the job has no output"),
        ('operation = "rank"\ninputs = ["a.txt"]\nat = 1\noutput = "a.txt"', "would replace"),
        (
            'operation = "rank"\ninputs = ["a.txt"]\nat = 1\noutput = "s3://b/x"',
            "answers are written to local files only",
        ),
        ('operation = "rank"\ninputs = ["a.txt"]\nat = "x"\noutput = "x"', "--at: invalid count 'x'"),
    ],
)
def test_what_comparisons_and_ranks_refuse_is_told_ahead(
    job: str, told: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "jobs.toml").write_text(f"[[job]]\n{job}\n")
    assert invoke(["batch", str(folder / "jobs.toml")]) == 2
    error = capfd.readouterr().err
    assert told in error
    assert "jobs.toml:" in error
    assert not (folder / "x").exists()


def test_the_manuals_jobs_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (jobs,) = re.findall(r"```toml\n(.*?)```", (ROOT / "data" / "manual" / "batches.md").read_text(), re.DOTALL)
    (tmp_path / "jobs.toml").write_text(jobs)
    for name, text in {
        "monday/a.txt": "2\n",
        "monday/b.txt": "1\n10\n",
        "late.txt": "0\n",
        "old/tuesday.txt": "3\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "merged").mkdir()
    monkeypatch.setenv("ARCHIVE", "old")
    assert invoke(["batch", str(tmp_path / "jobs.toml"), "-q"]) == 0
    assert (tmp_path / "merged" / "week.txt").read_text() == "0\n1\n2\n3\n10\n"


def test_the_helps_jobs_are_jobs(tmp_path: Path) -> None:
    shown = command("batch").epilog.split("paths relative to it:\n")[1].split("\n\n")[0]
    document = read_document(shown.encode())
    assert [len(document.mistakes), len(document.jobs)] == [0, 2]


def test_files_of_odd_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("-x", "-", "a b.txt", "a\tb.txt", "it's", "{x}"):
        (tmp_path / name).write_text("1\n")
    lines = [
        {"operation": "merge", "inputs": [name, "a b.txt"], "output": f"{n} {name}.txt"}
        for n, name in enumerate(["-x", "a\tb.txt", "it's"])
    ]
    lines.append({"operation": "sort", "inputs": ["{{x}}"], "output": "-o"})
    lines.append({"operation": "sort", "inputs": ["[-]"], "output": "of stdin"})
    (tmp_path / "jobs").write_text("\n".join(map(json.dumps, lines)))
    command = ["batch", "jobs", "--joblog", str(tmp_path / "log"), "-q"]
    monkeypatch.chdir(tmp_path)
    assert invoke(command) == 0
    assert (tmp_path / "of stdin").read_text() == "1\n"
    assert (tmp_path / "1 a\tb.txt.txt").read_text() == "1\n1\n"
    assert (tmp_path / "-o").read_text() == "1\n"
    assert invoke([*command, "--resume"]) == 0
    assert len(read_log(str(tmp_path / "log"))) == 5
    assert len(Path(tmp_path / "log").read_text().splitlines()) == 6


def test_a_mistake_in_settings_is_told_once(place: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.txt").write_text("1\n")
    job = '[[job]]\noperation = "merge"\ninputs = "a.txt"\noutput = "{job}.out"\n'
    for project, told in (
        ("[merge]\nnumeric-sort = 2", ":2: numeric-sort must be true or false, not 2; write numeric-sort = true"),
        ("block-size = 0\nkernel = 'tiled'", ":1: "),
        ("kernel = 'fast'", ":1: --kernel: invalid value 'fast'; "),
        ("kernal = 'path'", ":1: no option is called 'kernal'; did you mean kernel?"),
        ("kernel = ", ":1: is not TOML: "),
    ):
        place(project)
        Path("jobs.toml").write_text(job * 3)
        assert invoke(["batch", "jobs.toml"]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert f"gpumerge.toml{told}" in line
        # Mistakes of other kinds are told for each job.
        Path("jobs.toml").write_text(job * 3 + "threads = 0\n")
        assert invoke(["batch", "jobs.toml"]) == 2
        assert capsys.readouterr().err.count("gpumerge.toml") == 1
