"""Keys of CSV without an end, as -k 2r: GNU's key goes on to the end of the record, and a warning says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("3,y,0\n2,x,2\n1,x,1\n")
    Path("b.csv").write_text("3,y\n2,x\n1,x\n")


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("2r", "-k 2r is all fields from 2 on; for field 2 alone, write -k 2,2r or --field 2:r"),
        ("1r", "-k 1r is all fields from 1 on; for field 1 alone, write -k 1,1r or --field 1:r"),
        ("2fr", "-k 2fr is all fields from 2 on; for field 2 alone, write -k 2,2fr or --field 2:fr"),
        ("2.1r", "-k 2r is all fields from 2 on; for field 2 alone, write -k 2,2r or --field 2:r"),
    ],
)
def test_a_key_without_an_end(key: str, told: str, caplog: pytest.LogCaptureFixture) -> None:
    assert invoke(["check", "--csv", "-k", key, "a.csv"]) == 0
    assert caplog.messages == [f"gpumerge: a.csv: warning: {told}"]


@pytest.mark.parametrize(
    "words",
    ["-k 2,2r a.csv", "-k 2:r a.csv", "--field 2:r a.csv", "-k 2r b.csv", "-k 1nr a.csv", "-f -r a.csv", "-V -r a.csv"],
)
def test_others_mean_what_they_seem_to(words: str, caplog: pytest.LogCaptureFixture) -> None:
    assert invoke(["check", "--csv", *words.split()]) == 0
    assert caplog.messages == []


def test_the_fields_that_it_names(capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["-k", "2,2r"], ["--field", "2:r"]):
        assert invoke(["sort", "--csv", "-s", *words, "a.csv"]) == 0
        assert capfd.readouterr().out == "3,y,0\n2,x,2\n1,x,1\n"


def test_sort_says_it_on_a_terminal() -> None:
    shown, screen = os.openpty()
    for place in (screen, subprocess.PIPE):
        words = [sys.executable, "-m", "gpumerge_cli", "sort", "--csv", "-k", "2r", "a.csv"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=place, check=True)
        assert done.stdout == Path("a.csv").read_bytes()
        assert not done.stderr
    os.close(screen)
    assert b"write -k 2,2r or --field 2:r" in os.read(shown, 4096)
    os.close(shown)
