"""Values of environment variables: lines on standard error name the variable, whatever the error is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.secret_values import conceal, concealed, start_concealing

HIDDEN = "hunter2"


@pytest.fixture(autouse=True)
def _nothing_concealed() -> None:
    start_concealing(())


@pytest.mark.parametrize("debug", [[], ["--traceback"]], ids=["line", "traceback"])
@pytest.mark.parametrize(
    ("variable", "value", "words", "told"),
    [
        ("GPUMERGE_RANDOM_SOURCE", HIDDEN, ["merge", "-R", "a.txt"], "$GPUMERGE_RANDOM_SOURCE: no such file"),
        ("GPUMERGE_MERGE_OUTPUT", f"/{HIDDEN}/o", ["merge", "a.txt"], "$GPUMERGE_MERGE_OUTPUT: no such file"),
        ("GPUMERGE_MERGE_OUTPUT", f"{HIDDEN}/", ["merge", "a.txt"], "$GPUMERGE_MERGE_OUTPUT"),
        ("GPUMERGE_MERGE_OUTPUT", f"./{HIDDEN}/../{HIDDEN}/o", ["merge", "a.txt"], "$GPUMERGE_MERGE_OUTPUT"),
        ("GPUMERGE_MERGE_OUTPUT", HIDDEN + "/{part}.txt", ["merge", "a.txt", "--parts=2"], "$GPUMERGE_MERGE_OUTPUT"),
        ("GPUMERGE_MERGE_REPORT", f"no/{HIDDEN}.json", ["merge", "a.txt", "-o", "o"], "$GPUMERGE_MERGE_REPORT"),
        ("GPUMERGE_MERGE_REPORT", f"no\n/{HIDDEN}\x1b.json", ["merge", "a.txt", "-o", "o"], "$GPUMERGE_MERGE_REPORT"),
        (
            "GPUMERGE_SORT_TEMPORARY_DIRECTORY",
            f"/{HIDDEN}",
            ["sort", "-S1M", "big", "-o", "o"],
            "$GPUMERGE_SORT_TEMPORARY_DIRECTORY",
        ),
        ("GPUMERGE_FIELD", HIDDEN, ["merge", "a.csv"], "$GPUMERGE_FIELD"),
    ],
)
def test_errors_do_not_show_values_of_settings(
    variable: str, value: str, words: list[str], told: str, debug: list[str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a\n")
    Path("a.csv").write_text("x,y\n1,2\n")
    if "big" in words:
        Path("big").write_text("a line\n" * 500_000)
    monkeypatch.setenv(variable, value)
    assert invoke([*words, *debug]) == 2
    error = capsys.readouterr().err
    assert HIDDEN not in error
    assert told in error.splitlines()[-1]
    assert debug or error.count("\n") == 1


@pytest.mark.parametrize("debug", [[], ["--debug"]], ids=["line", "traceback"])
@pytest.mark.parametrize("value", [f"/{HIDDEN}/", f"./{HIDDEN}", f"../{HIDDEN}/", f"x//../{HIDDEN}"])
@pytest.mark.parametrize("wrong", ["output", "inputs", "files0-from", "report"])
def test_jobs_do_not_show_values_in_paths(
    wrong: str, value: str, debug: list[str],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("SECRET", value)
    folder = tmp_path / "jobs"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    (folder / "a.txt").write_text("a\n")
    job = {"name": "j", "operation": "merge", "inputs": ["a.txt"], "output": "out.txt"}
    if wrong == "files0-from":
        del job["inputs"]
    (folder / "jobs.jsonl").write_text(json.dumps(job | {wrong: "${SECRET}/o.json"}))
    assert invoke(["batch", "jobs/jobs.jsonl", *debug]) == 2
    error = capsys.readouterr().err
    assert HIDDEN not in error
    assert "${SECRET}" in error


def test_a_job_that_fails_as_it_runs_shows_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", HIDDEN)
    Path(f"pre{HIDDEN}post").write_text("b\na\n")
    job = {"name": "j", "operation": "merge", "inputs": ["./pre${SECRET}post"], "output": "out.txt"}
    Path("jobs.jsonl").write_text(json.dumps(job))
    assert invoke(["batch", "jobs.jsonl", "--debug", "--report", "r.jsonl"]) == 2
    error = capsys.readouterr().err
    assert "Traceback" in error
    assert "pre${SECRET}post:2: " in error
    assert HIDDEN not in error
    assert HIDDEN not in json.loads(Path("r.jsonl").read_text())["error"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("1", "a.txt:1: 1 line of 11 is out of order"),
        ("/", "/a/b: no such file"),
        ("...", "a...: no such file"),
        ("data", "the database of metadata is missing"),
        ("/tmp", "/tmpfs/a.txt: no such file"),
        ("out", "without output"),
    ],
)
def test_short_values_garble_no_message(value: str, message: str) -> None:
    conceal("$NAME", value)
    assert concealed(message) == message


@pytest.mark.parametrize(
    ("value", "message", "shown"),
    [
        ("/secret/o", "/secret: there is no such folder", "$NAME/..: there is no such folder"),
        ("/secret/o", "/secret/.o.gpumerge-12ab is not of this run", "$NAME.gpumerge-12ab is not of this run"),
        ("/secret/one", "/secret/other: no such file", "/secret/other: no such file"),
        ("s3://b/secret?key=1", "s3://b/secret: no such object", "$NAME: no such object"),
        ("it's", 'invalid value "it\'s"', "invalid value $NAME"),
        ("first second", "'second': no such field", "$NAME: no such field"),
        ("data", "/x/data/a_data: no such file", "/x/$NAME/a_$NAME: no such file"),
    ],
)
def test_texts_made_from_a_value_are_concealed(value: str, message: str, shown: str) -> None:
    conceal("$NAME", value)
    assert concealed(message) == shown


def test_one_name_is_not_taken_for_the_value_of_another() -> None:
    conceal("$FIRST_PART", "second")
    conceal("$SECOND", "FIRST_PART")
    assert concealed("second FIRST_PART") == "$FIRST_PART $SECOND"


def test_words_of_the_command_line_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GPUMERGE_TEMPORARY_DIRECTORY", str(tmp_path))
    missing = str(tmp_path / "missing.txt")
    assert invoke(["merge", missing]) == 2
    assert capsys.readouterr().err == f"gpumerge: {missing}: no such file or directory; check the name\n"
    monkeypatch.delenv("GPUMERGE_TEMPORARY_DIRECTORY")
    assert invoke(["merge", f"{tmp_path}/other.txt"]) == 2
    assert "TEMPORARY" not in capsys.readouterr().err
