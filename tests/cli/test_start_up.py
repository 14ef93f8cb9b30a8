"""The way of a file through the CPU loads little: modules take time, for small files all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

NEVER = (
    "numpy", "typer", "rich", "cupy", "dataclasses", "ast", "bisect", "inspect", "json", "subprocess", "tempfile",
    "shutil", "logging", "concurrent.futures", "pathlib", "shlex", "tokenize", "weakref",
    "gpumerge_cli.cluster", "gpumerge_cli.arrays", "gpumerge_cli.compare",
)  # fmt: skip
"""Modules that none of these command lines may load."""
WAYS = {
    "merge of numbers": "merge a.i32 b.i32 -o c.i32",
    "merge of lines": "merge a.txt b.txt -o c.txt",
    "merge by a key": "merge a.txt b.txt -k 1n -o c.txt",
    "merge of records": "merge a.bin b.bin --record-size 8 --key-size 4 -o c.bin",
    "unique": "merge a.txt b.txt --unique --output c.txt",
    "union": "union a.i32 b.i32 -o c.i32",
    "join": "join a.txt b.txt --output c.txt",
    "sort of lines": "sort a.txt -o c.txt",
    "sort by a key": "sort -k1,1n b.txt -o c.txt",
    "merge to a pipe": "merge a.i32 b.i32 --format raw",
    "check of numbers": "check a.i32",
    "check of lines": "check a.txt",
}
ASK = """
import sys
from gpumerge_cli.cli.app import invoke
code = invoke(sys.argv[2:])
print(code, *(name for name in sys.argv[1].split(",") if name in sys.modules), file=sys.stderr)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for number, name in enumerate("ab"):
        np.arange(number, 200, 2, dtype=np.int32).tofile(tmp_path / f"{name}.i32")
        np.arange(number, 200, 2, dtype=">u8").tofile(tmp_path / f"{name}.bin")
        (tmp_path / f"{name}.txt").write_text("".join(f"{key:05} x\n" for key in range(number, 200, 2)))
    return tmp_path


def loaded(folder: Path, words: str, asked: tuple[str, ...]) -> list[str]:
    """Those of the modules that a command has loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, ",".join(asked), *words.split()],
        cwd=folder, capture_output=True, check=True,
    )  # fmt: skip
    code, *found = done.stderr.decode().splitlines()[-1].split()
    assert code == "0", done.stderr
    return found


@pytest.mark.parametrize("way", WAYS)
def test_few_modules_are_loaded(folder: Path, way: str) -> None:
    assert loaded(folder, f"{WAYS[way]} --backend cpu", NEVER) == []


def test_a_batch_needs_no_typer(folder: Path) -> None:
    text = """
defaults = {inputs = ["a.txt", "b.txt"], output = "{job}.txt", backend = "cpu"}
[[job]]
operation = "merge"
[[job]]
operation = "join"
[[job]]
operation = "check"
[[job]]
operation = "sort"
inputs = ["1.txt", "2.txt"]
"""
    (folder / "jobs.toml").write_text(text)
    assert loaded(folder, "batch jobs.toml --dry-run", ("typer", "rich", "numpy", "dataclasses", "logging")) == []
    assert loaded(folder, "batch jobs.toml", ("typer",)) == []


def test_a_sort_of_numbers_needs_no_numpy(folder: Path) -> None:
    assert loaded(folder, "sort a.i32 -o c.i32 --backend cpu", ("numpy", "typer", "dataclasses")) == []


@pytest.mark.parametrize(
    "words",
    ["a.i32 b.i32 --at 9 --of 7", "a.bin b.bin --record-size 8 --key-size 4 --of aaaa", "a.txt b.txt --at 9 --of b"],
)
def test_ranks_need_no_numpy(folder: Path, words: str) -> None:
    assert loaded(folder, f"rank {words}", ("numpy", "typer", "dataclasses")) == []


def test_what_is_loaded_is_seen(folder: Path) -> None:
    assert loaded(folder, "sort a.txt -o c.txt --backend cpu", ("re", "gpumerge_cli.plan")) == [
        "re",
        "gpumerge_cli.plan",
    ]
