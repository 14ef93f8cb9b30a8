"""NO_COLOR, FORCE_COLOR, TERM=dumb: colours and progress bars only where they are wanted."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
COLOUR = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|9[0-7])[0-9;]*m")
ESCAPE = b"\x1b"
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


def told(folder: Path, *, terminal: bool, **variables: str) -> bytes:
    """The standard error of a merge whose progress bar appears at once."""
    for name in ("a.i32", "b.i32"):
        np.arange(1000, dtype=np.int32).tofile(folder / name)
    environment = {
        **{name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLORTERM")},
        "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **variables,
    }  # fmt: skip
    ours, theirs = os.openpty() if terminal else os.pipe()
    command = [sys.executable, "-c", PROGRAM, "merge", "a.i32", "b.i32", "-o", "out.i32", "--backend=cpu", "--stats"]
    process = subprocess.Popen(command, cwd=folder, env=environment, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # how a terminal ends
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert process.wait(60) == 0
    assert b"merge kernel" in text
    return text


def test_a_terminal_has_colours_and_a_bar(tmp_path: Path) -> None:
    text = told(tmp_path, terminal=True)
    assert COLOUR.search(text)
    assert b"\x1b[?25l" in text  # the cursor, hidden while there is a bar


def test_no_color_takes_colours_away(tmp_path: Path) -> None:
    assert not COLOUR.search(told(tmp_path, terminal=True, NO_COLOR="1"))


@pytest.mark.parametrize("variables", [{}, {"FORCE_COLOR": "1"}])
def test_a_dumb_terminal_gets_plain_text(tmp_path: Path, variables: dict[str, str]) -> None:
    assert ESCAPE not in told(tmp_path, terminal=True, TERM="dumb", **variables)


def test_a_pipe_gets_plain_text_unless_colours_are_forced(tmp_path: Path) -> None:
    assert ESCAPE not in told(tmp_path, terminal=False)
    forced = told(tmp_path, terminal=False, FORCE_COLOR="1")
    assert COLOUR.search(forced)
    assert b"\x1b[?25l" not in forced
    assert not COLOUR.search(told(tmp_path, terminal=False, FORCE_COLOR="1", NO_COLOR="1"))
