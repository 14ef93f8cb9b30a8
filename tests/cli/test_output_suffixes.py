"""A sort whose output has the name of a compressed file warns on a terminal that it writes plain text."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from tests.terminals import standard_error


def told(folder: Path, *words: str, terminal: bool = True) -> str:
    (folder / "in.txt").write_text("b\na\n")
    command = [sys.executable, "-m", "gpumerge_cli", "sort", *words]
    code, text = standard_error(command, folder, terminal=terminal)
    assert code == 0
    return text.decode()


@pytest.mark.parametrize(
    ("name", "codec"), [("x.txt.gz", "gzip"), ("x.bz2", "bzip2"), ("x.XZ", "xz"), ("x.zst", "Zstandard")]
)
def test_a_terminal_shows_that_plain_text_is_written(name: str, codec: str, tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", name) == (
        f"gpumerge: warning: {name}: plain text is written, not {codec} data; add --compressed to compress it\r\n"
    )
    assert (tmp_path / name).read_text() == "a\nb\n"


@pytest.mark.parametrize("words", [["in.txt", "-o", "x.txt"], ["in.txt"], ["in.txt", "-q", "-o", "x.gz"]])
def test_other_sorts_are_silent(words: list[str], tmp_path: Path) -> None:
    assert told(tmp_path, *words) == ""


def test_scripts_see_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", "x.gz", terminal=False) == ""


def test_following_the_warning_compresses(tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", "x.gz", "--compressed") == ""
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == b"a\nb\n"
