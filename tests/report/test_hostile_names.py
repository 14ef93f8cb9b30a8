"""Names that would be markup, control bytes or no text at all, in everything that is written or printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.json_text import dumps, restored
from gpumerge_cli.report.markdown import _escape

UNDECODED = os.fsdecode(b"n\xff.txt")


@pytest.mark.parametrize(
    "name",
    [
        "![x](https:evil.example)",
        "[x][y]",
        "<img src=x>",
        "&lt;b&gt;",
        "https://evil.example/a",
        "HTTP://evil.example",
        "www.evil.example",
        "mailto:a@evil.example",
        "a@evil.example",
        "`code` *b* _i_ ~~s~~ $x$ | #1",
        "\x1b[31m",
    ],
)
def test_no_name_is_markup(name: str) -> None:
    text = _escape(name)
    for at, character in enumerate(text):
        if character in "[]!<>`*_|~$":
            before = text[:at]
            slashes = len(before) - len(before.rstrip("\\"))
            assert slashes % 2 == 1, text
    for link in ("https://", "http://", "www.", "mailto:", "a@e", "\x1b"):
        assert link not in text.lower()


def test_json_holds_no_lone_surrogates_and_gives_names_back() -> None:
    for name in (UNDECODED, "plain", "é", "\\xff", "\\udcff", "\U0001f600", UNDECODED * 3):
        text = dumps({name: [name, (name, 1, None)]})
        assert json.loads(text.encode()).popitem()[0].encode()
        assert restored(json.loads(text)) == {name: [name, [name, 1, None]]}
    assert dumps("\ud800") == '"\\ufffd"'


def test_answers_and_jobs_name_a_file_whose_name_is_no_utf8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(UNDECODED).write_text("1\n2\n")
    assert invoke(["rank", UNDECODED, "--at", "0", "--json"]) == 0
    told = capsys.readouterr().out
    assert "\\udc" not in told
    assert "n\\u0000ff.txt" in told
    job = dumps({"name": "a", "operation": "merge", "inputs": [UNDECODED], "output": f"{UNDECODED}.out.txt"})
    Path("jobs.jsonl").write_text(f"{job}\n", encoding="utf-8")
    assert invoke(["batch", "jobs.jsonl", "-q", "--report", "told.jsonl"]) == 0, capsys.readouterr().err
    assert Path(f"{UNDECODED}.out.txt").read_text() == "1\n2\n"
    assert "\\udc" not in Path("told.jsonl").read_text()


def test_jobs_of_toml_name_a_file_whose_name_is_no_utf8(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON's form of a string is one of TOML's, too."""
    monkeypatch.chdir(tmp_path)
    Path(UNDECODED).write_text("1\n2\n")
    name, out = dumps(UNDECODED), dumps(f"{UNDECODED}.out.txt")
    Path("jobs.toml").write_text(f'[[job]]\noperation = "merge"\ninputs = [{name}]\noutput = {out}\n')
    assert invoke(["batch", "jobs.toml", "-q"]) == 0, capsys.readouterr().err
    assert Path(f"{UNDECODED}.out.txt").read_text() == "1\n2\n"


@pytest.mark.parametrize("words", [["-c"], ["-cz"]])
def test_a_line_that_is_out_of_order_is_shown_without_control_bytes(tmp_path: Path, words: list[str]) -> None:
    place = tmp_path / "a\x1b[2J.txt"
    end = b"\0" if "z" in words[0] else b"\n"
    place.write_bytes(b"b" + end + b"a\x1b]0;title\x07\xff\r" + end)
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", "sort", *words, str(place)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    assert b"disorder: a\\x1b]0;title\\x07\\xff\\r\n" in done.stderr
    assert not set(done.stderr + done.stdout) & (set(range(32)) - {10} | {127})
