"""Names that people try for commands."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.options.commands import COMMAND_NAMES, command
from gpumerge_cli.cli.options.other_names import OTHER_NAMES, SHORT_NAMES
from gpumerge_cli.cli.short_names import spelled_out


def test_no_name_has_two_meanings() -> None:
    assert not {*OTHER_NAMES} & {*COMMAND_NAMES}
    assert not {*SHORT_NAMES} & {*COMMAND_NAMES, *OTHER_NAMES}


@pytest.mark.parametrize("name", OTHER_NAMES)
@pytest.mark.parametrize("words", ["{}", "{} a.txt", "-- {} -x"])
def test_other_names_lead_to_commands(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(words.format(name).split()) == 2
    assert capsys.readouterr() == ("", f"gpumerge: there is no command {name!r}; {OTHER_NAMES[name]}\n")


@pytest.mark.parametrize("way_out", sorted({*OTHER_NAMES.values()}))
def test_ways_out_name_commands_that_exist(way_out: str) -> None:
    named = [part.split(";")[0].split(",")[0] for part in way_out.split("gpumerge ")[1:]]
    assert named
    for line in named:
        name, *words = shlex.split(line)
        options = [word for word in words if word.startswith("--")]
        if name in SHORT_NAMES or name == "--version":
            continue
        known = command(name).by_written_name
        assert all(word in known for word in options), line


@pytest.mark.parametrize(
    ("words", "means"),
    [
        ("dedupe a b", "sort --compressed --keep-order --unique a b"),
        ("dedupe -S 1G a", "sort --compressed --keep-order --unique -S 1G a"),
        ("dedupe --unique=last a", "sort --compressed --keep-order --unique=last a"),
        ("dedupe --only singles a", "sort --compressed --keep-order --only singles a"),
        ("dedupe -u a", "sort --compressed --keep-order -u a"),
        ("dedupe -- --only", "sort --compressed --keep-order --unique -- --only"),
        ("-- dedupe a", "sort --compressed --keep-order --unique a"),
        ("dedupe --help", "sort --help"),
        ("comm -12 a b", "compare -12 a b"),
        ("help", "--help"),
        ("help merge", "merge --help=all"),
        ("help xyz", "help xyz"),
        ("help dedupe", "help dedupe"),
        ("merge help", "merge help"),
        ("sort dedupe", "sort dedupe"),
    ],
)
def test_short_names_are_spelled_out(words: str, means: str) -> None:
    assert spelled_out(words.split()) == means.split()


@pytest.mark.parametrize("help", ["--help", "--help=all"])
def test_the_help_of_a_short_name_begins_with_its_job(help: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(["dedupe", help]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("gpumerge dedupe writes each line once")
    assert "Usage: gpumerge sort" in shown


@pytest.mark.parametrize("name", ["merge", "sort", "dedupe"])
def test_help_takes_no_other_value(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke([name, "--help=nope"]) == 2
    assert capsys.readouterr().err == "gpumerge: --help: invalid value 'nope'; write --help=all\n"


def test_help_shows_the_short_names(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert door.invoke(["help"]) == 0
    assert capsys.readouterr().out == help_text("", 80)
    assert all(f"\n  {name} " in help_text("", 80) for name in SHORT_NAMES)


def test_comm_writes_what_compare_writes(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a").write_text("1\n2\n")
    (tmp_path / "b").write_text("2\n3\n")
    assert door.invoke(["comm", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert capfdbinary.readouterr().out == b"1\n\t\t2\n\t3\n"
