"""Options that are given twice: the same value is fine, another one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.gnu import parse_sort


@pytest.mark.parametrize(
    "words",
    ["merge a -o x -o y", "union a --report r.json --report s.json", "merge a --threads 1 --threads=2",
     "check a --dtype int32 --dtype int64", "rank a --at 0 -o x -o y", "sort a --report r.json --report s.json",
     "sort a --dtype int32 --dtype int64", "sort a -o x -o y", "join a a -t, -t;", "generate a -c 1 -c 2",
     "merge a --header 1 --header 0"],
)  # fmt: skip
def test_options_with_two_values(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("1\n")
    assert invoke(words.split()) == 2
    told = capsys.readouterr().err
    assert " is given twice, as " in told
    assert " out\n" in told
    assert [path.name for path in Path().iterdir()] == ["a"]


def test_several_values_of_sort_are_those_of_gnu_sort() -> None:
    options = parse_sort(["-S", "1M", "-S", "2M", "-S", "1K", "--parallel=2", "--parallel=1"]).options
    assert (options.memory, options.threads) == (2 << 20, 1)


def test_one_value_written_in_two_ways(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    assert invoke(["check", "-q", "-S", "1G", "-S", "1024M", str(tmp_path / "a.txt")]) == 0


@pytest.mark.parametrize("words", ["merge -q", "sort", "union -q"])
def test_options_that_say_the_same_twice(words: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n")
    out = str(tmp_path / "o.txt")
    again = ["--threads=2", "--backend=cpu", "-o", out] * 2
    assert invoke([*words.split(), *again, str(tmp_path / "a.txt")]) == 0
    assert Path(out).read_text() == "1\n"
