"""gpumerge as an application of Typer: its own options, its commands, and their words, which Typer leaves unread."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gpumerge_cli import __version__
from gpumerge_cli.cli import application as module
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.application import application
from gpumerge_cli.cli.completion import bash
from gpumerge_cli.cli.help import help_text
from gpumerge_cli.cli.options.commands import COMMAND_NAMES

WORDS = [
    "-k2n --count a -o b --unsure=x -",
    "--help",
    "-qxyz -1",
    "",
]


def called(words: Sequence[str]) -> tuple[list[str], int]:
    """The command line that the application runs for these words, and the exit code; it is one of a larger program."""
    found: list[str] = []

    def kept(arguments: Sequence[str]) -> int:
        found.extend(arguments)
        return 7

    program = typer.Typer()
    program.add_typer(application(kept), name="gpumerge")
    return found, CliRunner().invoke(program, ["gpumerge", *words]).exit_code


@pytest.mark.one_of_each
@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("name", COMMAND_NAMES)
def test_commands_get_their_words_as_they_are(name: str, words: str) -> None:
    assert called([name, *words.split()]) == ([name, *words.split()], 7)
    assert called([name, "--", *words.split()]) == ([name, *words.split()], 7)


def test_a_command_may_get_two_dashes() -> None:
    assert called(["merge", "--", "-q", "--", "-a"]) == (["merge", "-q", "--", "-a"], 7)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("--version", f"gpumerge {__version__}\n"),
        ("--vers", f"gpumerge {__version__}\n"),
        ("--version -- -x marge", f"gpumerge {__version__}\n"),
        ("--help --version", help_text("", 80)),
        ("--h", help_text("", 80)),
        ("--show-completion bash", bash()),
        ("--show-completion=bash merge a", bash()),
        ("-- --help", help_text("", 80)),
        ("--", help_text("", 80)),
    ],
)
def test_its_own_options(
    words: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert invoke(words.split()) == 0
    assert capsys.readouterr() == (shown, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--versoin", "there is no option --versoin; did you mean --version? see gpumerge --help"),
        ("-x merge", "there is no option -x; see gpumerge --help"),
        ("--version=1", "--version takes no value; see gpumerge --help"),
        ("--show-completion", "--show-completion needs a value; see gpumerge --help"),
        ("--show-completion tcsh", "--show-completion: invalid value 'tcsh'; use bash, zsh, fish"),
        ("marge", "no such command 'marge'; did you mean merge? see gpumerge --help"),
        ("- merge", "no such command '-'; see gpumerge --help"),
        ("-- xyz --help", "no such command 'xyz'; see gpumerge --help"),
    ],
)
def test_mistakes_in_them(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(words.split()) == 2
    assert capsys.readouterr() == ("", f"gpumerge: {said}\n")


def test_a_command_may_stand_behind_two_dashes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text("1\n")
    assert invoke(["--", "merge", "-q", str(tmp_path / "a")]) == 0
    assert capfd.readouterr() == ("1\n", "")


def test_typer_is_used_and_not_changed() -> None:
    """No class of Typer's has a subclass here, and only Typer's public module is imported."""
    tree = ast.parse(Path(module.__file__).read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    assert [name for name in imported if name.split(".")[0] in ("typer", "click")] == ["typer"]
