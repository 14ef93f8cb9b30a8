"""A sort whose output has the name of a compressed file warns on a terminal that it writes plain text."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest

from tests.terminals import standard_error


def told(folder: Path, *words: str, terminal: bool = True, exit_code: int = 0) -> str:
    (folder / "in.txt").write_text("b\na\n")
    words = words if words[0] == "batch" else ("sort", *words)
    code, text = standard_error([sys.executable, "-m", "gpumerge_cli", *words], folder, terminal=terminal)
    assert code == exit_code
    return text.decode()


@pytest.mark.parametrize(
    ("name", "codec"), [("x.txt.gz", "gzip"), ("x.bz2", "bzip2"), ("x.XZ", "xz"), ("x.zst", "Zstandard")]
)
def test_a_terminal_shows_that_plain_text_is_written(name: str, codec: str, tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", name) == (
        f"gpumerge: warning: {name}: plain text was written, not {codec} data; add --compressed to compress it\r\n"
    )
    assert (tmp_path / name).read_text() == "a\nb\n"


@pytest.mark.parametrize(
    ("name", "what"),
    [("x.lz4", "LZ4"), ("x.zip", "ZIP"), ("x.avro", "Avro"), ("x.tgz", "a tar archive"),
     ("x.Z", "Unix compress"), ("x.br", "Brotli"), ("x.lz", "lzip"), ("x.lzo", "lzop")],
)  # fmt: skip
def test_names_that_other_commands_refuse(name: str, what: str, tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", name) == (
        f"gpumerge: warning: {name}: plain text was written, and its suffix means {what}; name it .txt\r\n"
    )
    refused = told(tmp_path, "in.txt", "-o", name, "--compressed", exit_code=2)
    assert refused.startswith(f"gpumerge: {name}: its suffix means {what}")


@pytest.mark.parametrize("words", [["missing", "-o", "x.gz"], ["in.txt", "-k", "1x", "-o", "x.lz4"]])
def test_a_refusal_has_no_warning_ahead(words: list[str], tmp_path: Path) -> None:
    said = told(tmp_path, *words, exit_code=2)
    assert (said.count("\n"), "warning" in said) == (1, False)


def test_a_job_of_a_batch_warns(tmp_path: Path) -> None:
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "one"\noperation = "sort"\ninputs = "in.txt"\noutput = "x.gz"\n'
        '[[job]]\noperation = "merge"\ninputs = "sorted.txt"\noutput = "y.gz"\n'
    )
    (tmp_path / "sorted.txt").write_text("a\n")
    warning = "job one: warning: x.gz: plain text was written, not gzip data; add --compressed to compress it"
    said = told(tmp_path, "batch", "jobs.toml", "--no-progress")
    assert (warning in said, said.count("warning")) == (True, 1)
    assert warning in told(tmp_path, "batch", "jobs.toml", "-q")
    assert "warning" not in told(tmp_path, "batch", "jobs.toml", terminal=False)


@pytest.mark.parametrize(
    "words",
    [["in.txt", "-o", "x.txt"], ["in.txt", "-o", "x.md"], ["in.txt"],
     ["in.txt", "--format", "text", "-o", "x.lz4"]],
)  # fmt: skip
def test_other_sorts_are_silent(words: list[str], tmp_path: Path) -> None:
    assert told(tmp_path, *words) == ""


def test_quiet_sorts_warn(tmp_path: Path) -> None:
    """As the help says of --quiet."""
    assert told(tmp_path, "in.txt", "-q", "-o", "x.gz").startswith("gpumerge: warning: x.gz: plain text was written")


def test_scripts_see_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", "x.gz", terminal=False) == ""


def test_following_the_warning_compresses(tmp_path: Path) -> None:
    assert told(tmp_path, "in.txt", "-o", "x.gz", "--compressed") == ""
    assert gzip.decompress((tmp_path / "x.gz").read_bytes()) == b"a\nb\n"
