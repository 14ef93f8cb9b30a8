"""Rotated logs are text: a number or a date behind .log says nothing about a file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats.compressed import suffix_of

LINES = b"1 a\n2 b\n"
NAMES = [
    "app.log.1", "app.log.12", "APP.LOG.0", "app.log.2024-01-03", "app.log-20240103", "app.log.2024-01-03_12-30",
    "app.log-20240103-1704240000", "app.log.1.gz", "app.log.2024-01-03.gz", "app.log-20240103.gz",
]  # fmt: skip
COMMANDS = ["merge -q", "check", "union -q", "join -q", "rank --range 0:2 -q", "sort --compressed"]


@pytest.mark.parametrize("name", NAMES)
def test_their_suffix(name: str) -> None:
    assert suffix_of(name) == ".log"


@pytest.mark.parametrize("name", ["a.log.x", "a.log.1x", "a.log-x", "a.1", "a.tlog1.1", "a.csv.1", "a.log.1/b.1"])
def test_what_is_no_rotated_log(name: str) -> None:
    assert suffix_of(name) != ".log"


@pytest.mark.parametrize("name", ["app.log.1", "app.log-20240103.gz"])
@pytest.mark.parametrize("command", COMMANDS)
def test_they_are_text(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(gzip.compress(LINES) if name.endswith(".gz") else LINES)
    Path("app.log").write_bytes(b"")
    names = [name, "app.log"] if command == "join -q" else [name]
    assert invoke([*command.split(), *names]) == 0, capfd.readouterr().err
    assert capfd.readouterr().out.encode() == (b"" if command in ("check", "join -q") else LINES)


@pytest.mark.parametrize("name", ["out.log.1", "out.log-20240103.gz"])
def test_outputs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.log").write_bytes(LINES)
    assert invoke(["merge", "-q", "a.log", "-o", name]) == 0
    assert (gzip.decompress if name.endswith(".gz") else bytes)(Path(name).read_bytes()) == LINES
    assert invoke(["generate", "-q", "-n", "--count", "3", "n.log.2"]) == 0
    assert Path("n.log.2").read_bytes().count(b"\n") == 3
