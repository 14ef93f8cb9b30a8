"""Reports name their date, host, version and command line; those of batches and of Python, too."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from gpumerge_cli import Destination, Job, Operation, __version__, run
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.results.origin import command_line, origin_now

DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a b.txt").write_text("1\n3\n")
    Path("b.txt").write_text("2\n")


@pytest.mark.parametrize("command", ["merge", "sort", "union", "merge --compare", "join", "rank --range 0:1"])
def test_json_has_the_origin(command: str) -> None:
    words = [*command.split(), "a b.txt", "b.txt", "--report", "r.json", "--backend", "cpu", "-q"]
    words += [] if "--compare" in words else ["--output", "out.txt"]
    assert invoke(words) == 0
    report = json.loads(Path("r.json").read_text())
    origin = report["origin"]
    assert DATE.fullmatch(origin["date"])
    assert (origin["host"], report["version"]) == (os.uname().nodename, __version__)
    assert shlex.split(origin["command"]) == ["gpumerge", *words]


@pytest.mark.parametrize("suffix", ["md", "html"])
@pytest.mark.parametrize("command", ["merge -o out.txt", "merge --compare"])
def test_other_reports_have_it_too(command: str, suffix: str) -> None:
    assert invoke([*command.split(), "a b.txt", "b.txt", "--report", f"r.{suffix}", "--backend", "cpu", "-q"]) == 0
    text = re.sub(r"\\\\(.)", r"\\1", html.unescape(Path(f"r.{suffix}").read_text()))
    for part in (os.uname().nodename, f"{command} 'a b.txt' b.txt --report r.{suffix}", __version__):
        assert part in text
    assert DATE.search(text)


def test_a_row_of_csv_has_it() -> None:
    assert invoke(["merge", "--compare", "b.txt", "--report", "r.csv", "--backend", "cpu", "-q"]) == 0
    for row in csv.DictReader(Path("r.csv").read_text().splitlines()):
        assert DATE.fullmatch(row["date"])
        assert row["host"] == os.uname().nodename
        assert row["command_line"] == "gpumerge merge --compare b.txt --report r.csv --backend cpu -q"


def measure(name: str) -> None:
    case = ("--kernels", "basic", "--dtypes", "int32", "--sizes", "1000", "--shapes", "uniform", "--runs", "2")
    assert invoke(["bench", *case, "--repeat", "1", "--backend", "cpu", "-q", "-o", name]) == 0


def test_results_of_a_bench_keep_it_when_they_are_rendered() -> None:
    measure("first.json")
    assert invoke(["bench", "--render", "first.json", "-o", "second.json"]) == 0
    first, second = (json.loads(Path(name).read_text())["origin"] for name in ("first.json", "second.json"))
    assert first == second
    assert first["command"].startswith("gpumerge bench --kernels basic")


def test_results_of_a_bench_from_before_have_none() -> None:
    measure("new.json")
    report = json.loads(Path("new.json").read_text())
    del report["origin"]
    Path("old.json").write_text(json.dumps(report))
    assert invoke(["bench", "--render", "old.json", "-o", "old.md"]) == 0
    assert "command line" not in Path("old.md").read_text()


def test_jobs_of_a_batch_have_the_batchs() -> None:
    Path("jobs.toml").write_text(
        "[defaults]\ninputs = ['b.txt']\n[[job]]\noperation = 'sort'\noutput = 'o'\nreport = 'o.json'\n"
        "[[job]]\noperation = 'check'\n[[job]]\noperation = 'rank'\nat = 0\noutput = 'p'\n"
    )
    assert invoke(["batch", "jobs.toml", "-q", "--report", "r.jsonl"]) == 0
    lines = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
    for one in (*lines, json.loads(Path("o.json").read_text())):
        assert one["origin"]["command"] == "gpumerge batch jobs.toml -q --report r.jsonl"
    assert len(lines) == 3


def test_from_python_the_job_describes_itself() -> None:
    names = ("a b.txt", "b.txt")
    report = run(Job(names, output=Destination("out.txt")))
    assert report.origin.command == "merge of a b.txt, b.txt to out.txt"
    assert run(Job(names, operation=Operation("check"))).origin.command == "check of a b.txt, b.txt"
    many = Job(("b.txt",) * 5, operation=Operation("sort"), output=Destination("s3://u:secret@x/y"))
    assert many.description == "sort of b.txt, b.txt, b.txt, 5 files in all to s3://x/y"
    assert invoke(["merge", *names, "-o", "out.txt", "-q"]) == 0
    assert run(Job(names, output=Destination("out.txt"))).origin.command == "merge of a b.txt, b.txt to out.txt"


def test_urls_are_shown_without_their_secrets() -> None:
    words = ["merge", "s3://me:pass'w@bucket/a?key=secret", "--output=https://u:p w@host/x?sig=secret", "a&b", "x\ny"]
    with command_line(words):
        command = origin_now("").command
    assert command == r"gpumerge merge s3://bucket/a --output=https://host/x 'a&b' $'x\x0ay'"
