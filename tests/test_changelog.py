"""The changelog names this version, and its table of old spellings is true of the program."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli import __version__

CHANGELOG = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")


def table() -> list[list[str]]:
    """The old spelling, the new one and the refusal of each row."""
    text = CHANGELOG.partition("### What each old spelling became")[2].partition("\n### ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip("`") for cell in row] for row in rows]


def run(spelling: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(spelling)
    environment = dict(os.environ)
    while "=" in words[0]:
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    command = [sys.executable, "-m", "gpumerge_cli", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace")


def test_the_top_section_is_of_this_version() -> None:
    (top,) = [line for line in CHANGELOG.splitlines() if line.startswith("## ")][:1]
    assert top.startswith(f"## {__version__} (20")


@pytest.mark.parametrize(("old", "new", "refusal"), table(), ids=[row[0] for row in table()])
def test_old_spellings(old: str, new: str, refusal: str, tmp_path: Path) -> None:
    """The new spelling works, and the old one is refused in the line of the table, with nothing written."""
    for name in "ab":
        (tmp_path / name).write_bytes(b"x 1\nx 2\n")
    np.save(tmp_path / "r.npy", np.zeros(4, dtype=[("id", "i4"), ("v", "f4")]))
    before = sorted(tmp_path.iterdir())
    done = run(old, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"gpumerge: {refusal}\n")
    assert sorted(tmp_path.iterdir()) == before
    done = run(new, tmp_path)
    assert done.returncode == 0, done.stderr
