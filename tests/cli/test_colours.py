"""NO_COLOR, FORCE_COLOR, TERM=dumb: colours and progress bars only where they are wanted."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.terminals import standard_error

ROOT = Path(__file__).parents[2]
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])[0-9;]*m")
ESCAPE = b"\x1b"
HIDDEN_CURSOR = b"\x1b[?25l"
"""While there is a bar."""
PROGRAM = """
import sys, time
from gpumerge_cli.cli import progress
patient = progress.bar
progress.bar = lambda: patient(patience=0.0)
from rich.console import Console
from gpumerge_cli.report.terminal import PlainConsole
from rich.text import Text
PlainConsole(stderr=True).print(Text("wrong", style="bold red"))
from gpumerge_cli.cli.app import invoke
sys.exit(invoke(sys.argv[1:]))
"""


def told(folder: Path, *words: str, terminal: bool, **variables: str) -> bytes:
    """The standard error of a command, by default a merge, whose progress bar appears at once."""
    words = words or ("merge", "--stats")
    for name in ("a.i32", "b.i32"):
        np.arange(1000, dtype=np.int32).tofile(folder / name)
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLORTERM")},
        "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **variables,
    }  # fmt: skip
    command = [sys.executable, "-c", PROGRAM, *words, "a.i32", "b.i32", "-o", "out.i32", "--backend=cpu"]
    code, text = standard_error(command, folder, environment, terminal=terminal)
    assert code == 0
    assert b"merge kernel" in text or "--stats" not in words
    return text


def test_a_terminal_has_colours_and_a_bar(tmp_path: Path) -> None:
    text = told(tmp_path, terminal=True)
    assert COLOUR.search(text)
    assert HIDDEN_CURSOR in text


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["sort"], True),
        (["sort", "-m"], True),
        (["merge"], True),
        (["sort", "-q"], False),
        (["sort", "--no-progress"], False),
        (["merge", "--no-progress"], False),
    ],
)
def test_a_sort_shows_a_bar_as_a_merge_does(words: list[str], shown: bool, tmp_path: Path) -> None:
    assert (HIDDEN_CURSOR in told(tmp_path, *words, terminal=True)) == shown


def test_a_setting_turns_the_bar_of_a_sort_off(tmp_path: Path) -> None:
    assert HIDDEN_CURSOR not in told(tmp_path, "sort", terminal=True, GPUMERGE_PROGRESS="false")


def test_no_bar_is_beside_items_on_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("b\na\n")
    command = [sys.executable, "-c", PROGRAM, "sort", "a.txt", "-o", "/dev/stderr"]
    code, text = standard_error(command, tmp_path, {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"})
    assert (code, HIDDEN_CURSOR in text, text.endswith(b"a\r\nb\r\n")) == (0, False, True)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("sort a.txt | cat >/dev/null", False),
        ("sort a.txt -o /dev/stdout | cat >/dev/null", False),
        ("sort -m a.txt | cat >/dev/null", False),
        ("merge a.txt --backend cpu | cat >/dev/null", False),
        ("union a.txt a.txt | cat >/dev/null", False),
        ("join a.txt a.txt | cat >/dev/null", False),
        ("sort a.txt >b.txt", True),
        ("merge a.txt --backend cpu >b.txt", True),
        ("check --progress a.txt | cat", True),
    ],
)
def test_no_bar_is_beside_another_program(words: str, shown: bool, tmp_path: Path) -> None:
    """A program behind a pipe, as a pager, may show the items on the terminal."""
    (tmp_path / "a.txt").write_text("a\nb\n")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = ["sh", "-c", f"{shlex.quote(sys.executable)} program.py {words}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    code, text = standard_error(command, tmp_path, environment)
    assert (code, HIDDEN_CURSOR in text) == (0, shown)


def test_no_color_takes_colours_away(tmp_path: Path) -> None:
    assert not COLOUR.search(told(tmp_path, terminal=True, NO_COLOR="1"))


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}])
def test_a_dumb_terminal_gets_plain_text(tmp_path: Path, variables: dict[str, str]) -> None:
    assert ESCAPE not in told(tmp_path, terminal=True, TERM="dumb", **variables)


def test_a_pipe_gets_plain_text_unless_colours_are_forced(tmp_path: Path) -> None:
    assert ESCAPE not in told(tmp_path, terminal=False)
    forced = told(tmp_path, terminal=False, FORCE_COLOR="1")
    assert COLOUR.search(forced)
    assert HIDDEN_CURSOR not in forced
    assert not COLOUR.search(told(tmp_path, terminal=False, FORCE_COLOR="1", NO_COLOR="1"))
