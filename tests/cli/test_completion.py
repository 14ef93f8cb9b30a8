"""Completions, by the shells themselves where they are installed."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.completion import SHELLS
from gpumerge_cli.cli.options.commands import COMMANDS
from tests import needs

COMPLETIONS = Path(__file__).parents[2] / "data" / "completions"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("a.i32", "a b.txt", "other"):
        (tmp_path / name).write_text("")
    (tmp_path / "afolder").mkdir()
    return tmp_path


def shell(name: str, script: str, folder: Path) -> list[str]:
    program = needs.program(name)
    flags = {"bash": ["--norc", "--noprofile"], "fish": ["--no-config"]}[name]
    done = subprocess.run(
        [program, *flags, "-c", script], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def in_bash(line: str, folder: Path) -> list[str]:
    """The words that bash offers for the line. The line is split at blanks and equals signs, as readline does it."""
    words = line.replace("=", " = ").split(" ") if line else []
    words = [word for word in words[:-1] if word] + words[-1:]
    script = (
        f"source {shlex.quote(str(COMPLETIONS / 'gpumerge'))}; COMP_WORDS=({shlex.join(words)}); "
        f"COMP_CWORD={len(words) - 1}; _gpumerge; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    return shell("bash", script, folder)


CASES = [
    ("gpumerge me", ["merge"]),
    ("gpumerge --show-completion ", ["bash", "zsh", "fish"]),
    ("gpumerge merge --back", ["--backend"]),
    ("gpumerge merge --no-", ["--no-check", "--no-progress"]),
    ("gpumerge merge --backend ", ["auto", "gpu", "cpu"]),
    ("gpumerge merge --kernel=t", ["tiled"]),
    ("gpumerge merge a.i32 -o a", ["a b.txt", "a.i32", "afolder"]),
    ("gpumerge merge --threads ", [""]),
    ("gpumerge sort --merg", ["--merge"]),
    ("gpumerge sort --sort=m", ["month"]),
    ("gpumerge sort --check=q", ["quiet"]),
    ("gpumerge sort --check a", ["a b.txt", "a.i32", "afolder"]),
    ("gpumerge sort -n a.", ["a.i32"]),
    ("gpumerge sort -nk ", [""]),
    ("gpumerge sort -T a", ["afolder"]),
    ("gpumerge sort -uo oth", ["other"]),
    ("gpumerge sort -- --b", [""]),
    ("gpumerge bench --figures a", ["afolder"]),
    ("gpumerge generate --shape one", ["one-sided"]),
    ("gpumerge info a", ["a b.txt", "a.i32", "afolder"]),
    ("gpumerge marge --b", [""]),
]


@pytest.mark.parametrize(("line", "offered"), CASES)
def test_bash(line: str, offered: list[str], files: Path) -> None:
    assert sorted(in_bash(line, files)) == sorted(offered)


def test_bash_offers_every_command_and_long_option(files: Path) -> None:
    _own, *commands = COMMANDS
    assert set(in_bash("gpumerge ", files)) == {command.name for command in commands}
    for command in commands:
        names = {name for option in command.options for name in (*option.names, *option.off_names)}
        names = {name for name in names if name.startswith("--")}
        assert set(in_bash(f"gpumerge {command.name} --", files)) == names


def test_fish(files: Path) -> None:
    """One fish for all lines: it takes a while to start."""
    script = f"source {shlex.quote(str(COMPLETIONS / 'gpumerge.fish'))}\n"
    asked = ["gpumerge me", "gpumerge merge --backend ", "gpumerge sort --algorithm=b", "gpumerge sort -T a"]
    asked += ["gpumerge merge --no-", "gpumerge sort --check=q", "gpumerge merge a.", "gpumerge marge a"]
    script += "\n".join(f"complete -C '{line}'; echo ----" for line in asked)
    told = "\n".join(shell("fish", script, files)).split("----")
    offered = [{line.split("\t")[0] for line in one.split("\n") if line} for one in told]
    assert offered[:8] == [
        {"merge"},
        {"auto", "gpu", "cpu"},
        {"--algorithm=bottom-up"},
        {"afolder/"},
        {"--no-check", "--no-progress"},
        {"--check=quiet"},
        {"a.i32"},
        set(),
    ]


def in_zsh(lines: list[str], folder: Path) -> list[list[str]]:
    """The words of each line once a TAB at its end has completed it, in an interactive zsh."""
    program = needs.program("zsh")
    shutil.copy(COMPLETIONS / "_gpumerge", folder)
    ours, theirs = os.openpty()
    process = subprocess.Popen(
        [program, "-f", "-i"], stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder, start_new_session=True
    )
    os.close(theirs)
    told = folder / "told"
    told.touch()
    try:
        setup = "autoload -Uz compinit; compinit -u -D; source ./_gpumerge; gpumerge() { print -rl -- $@ '' >> told }"
        os.write(ours, f"{setup}; gpumerge ready\n".encode())
        for count, line in enumerate(["", *lines]):
            if line:
                os.write(ours, f"{line}\t\n".encode())
            end = time.monotonic() + 20
            while told.read_text().count("\n\n") <= count and time.monotonic() < end:
                if select.select([ours], [], [], 0.02)[0]:
                    os.read(ours, 1 << 16)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return [told_of.split("\n") for told_of in told.read_text().removesuffix("\n\n").split("\n\n")[1:]]


def test_zsh(files: Path) -> None:
    completed = [
        ("me", "merge"),
        ("merge --back", "merge --backend"),
        ("merge --backend g", "merge --backend gpu"),
        ("merge --kernel=t", "merge --kernel=tiled"),
        ("merge -o oth", "merge -o other"),
        ("merge a.", "merge a.i32"),
        ("merge --no-c", "merge --no-check"),
        ("sort --sort=mo", "sort --sort=month"),
        ("sort --check=q", "sort --check=quiet"),
        ("sort -nk 1 oth", "sort -nk 1 other"),
        ("sort -T af", "sort -T afolder"),
        ("generate --shape one", "generate --shape one-sided"),
        ("--show-completion f", "--show-completion fish"),
    ]
    told = in_zsh([f"gpumerge {line}" for line, _ in completed], files)
    assert [" ".join(words) for words in told] == [whole for _, whole in completed]


def test_the_program_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    for name, made in SHELLS.items():
        assert invoke(["--show-completion", name]) == 0
        assert capsys.readouterr().out == made()
    assert invoke(["--show-completion", "tcsh"]) == 2
