"""Bytes in CSV that text seldom has: 0 beside newlines in quotes, and carriage returns within lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

NUL = b'k,a\n"x\ny\0",1\n"x\nz",2\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nul.csv").write_bytes(NUL)
    Path("other.csv").write_bytes(b'k,a\n"x\nz",7\n\1,8\n')


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("merge -q --field k nul.csv nul.csv", b'k,a\n"x\ny\0",1\n"x\ny\0",1\n"x\nz",2\n"x\nz",2\n'),
        ("sort --field a:nr nul.csv", b'k,a\n"x\nz",2\n"x\ny\0",1\n'),
        ("sort --csv -S 1K -k a:nr nul.csv", b'k,a\n"x\nz",2\n"x\ny\0",1\n'),
        ("sort --field k nul.csv other.csv", b'k,a\n\1,8\n"x\ny\0",1\n"x\nz",2\n"x\nz",7\n'),
        ("union -q --field k nul.csv nul.csv", NUL),
        ("join -q --csv -j k nul.csv nul.csv", b'k,a,a_2\n"x\ny\0",1,1\n"x\nz",2,2\n'),
        ("check --field k nul.csv", b""),
        ("merge -q --head 1 --field k nul.csv nul.csv", b'k,a\n"x\ny\0",1\n'),
    ],
)
def test_bytes_0(words: str, expected: bytes, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert invoke(words.split()) == 0, capfdbinary.readouterr().err
    assert capfdbinary.readouterr().out == expected


def test_the_text_that_fills_a_join_ends_no_record(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["join", "--csv", "-j", "k", "-a1", "-o", "auto", "nul.csv", "nul.csv", "-e"]
    assert invoke([*words, "\1"]) == 2
    assert "-e: no file holds the byte 1, so it ends records" in capfd.readouterr().err
    assert invoke([*words, "-", "-q"]) == 0


@pytest.mark.parametrize("words", ["--csv -k k", "--field k"])
def test_a_carriage_return_is_read_in_quotes_alone(words: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.csv").write_bytes(b'k,a\n"x\ry",1\n"b\n",2\n')
    assert invoke(["sort", *words.split(), "a.csv"]) == 0
    assert capfdbinary.readouterr().out == b'k,a\n"b\n",2\n"x\ry",1\n'
    Path("a.csv").write_bytes(b"k,a\nx\ry,1\n")
    assert invoke(["sort", *words.split(), "a.csv"]) == 2
    assert b"end lines in newlines, or quote the field" in capfdbinary.readouterr().err
