"""A format of lines with columns of its own: one class says the columns, and every command takes their names."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.job_parts import items_of
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.groups import OrderOptions
from gpumerge_cli.cli.values import make_options
from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.beginnings import refuse_binary
from gpumerge_cli.formats.format import FORMATS, register_format
from tests.formats.widths import FixedWidth

HEAD = "#id:3 name:5 amount:4\n"
A = f"{HEAD}  7pear   10\n 12fig     9\n"
B = f"{HEAD}  3apple 100\n"


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    Path("a.fwf").write_text(A)
    Path("b.fwf").write_text(B)
    register_format(FixedWidth())
    yield
    del FORMATS["fwf"]


def lines(name: str) -> list[str]:
    """The names in the lines of a file, behind its header."""
    text = Path(name).read_text()
    assert text.startswith(HEAD)
    return [line[3:8].strip() for line in text.splitlines()[1:]]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", "apple pear fig"),
        ("-r", "fig pear apple"),
        ("-n", "apple pear fig"),
        ("--field name", "apple fig pear"),
        ("--field amount:n", "fig pear apple"),
        ("--field amount:nr", "apple pear fig"),
        ("--field id:n", "apple pear fig"),
        ("--field 3:n", "fig pear apple"),
        ("-s --field amount:n,name", "fig pear apple"),
    ],
)
def test_lines_are_sorted_merged_and_checked_by_its_columns(words: str, names: str) -> None:
    options = words.split()
    assert invoke(["sort", *options, "a.fwf", "b.fwf", "-o", "out.fwf"]) == 0
    assert lines("out.fwf") == names.split()
    stable = ["--last-resort" if option == "-s" else option for option in options]
    assert invoke(["check", *stable, "out.fwf"]) == 0
    assert invoke(["merge", "-q", *stable, "out.fwf", "-o", "again.fwf"]) == 0
    assert Path("again.fwf").read_bytes() == Path("out.fwf").read_bytes()
    for file in "ab":
        assert invoke(["sort", *options, f"{file}.fwf", "-o", f"{file}.fwf"]) == 0
        Path(f"{file}.fwf.gz").write_bytes(gzip.compress(Path(f"{file}.fwf").read_bytes()))
    assert invoke(["merge", "-q", *stable, "a.fwf.gz", "b.fwf.gz", "-o", "merged.fwf"]) == 0
    assert lines("merged.fwf") == names.split()


def test_a_file_out_of_order_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "--field", "amount:n", "a.fwf"]) == 1
    assert "a.fwf:3: disorder" in capsys.readouterr().err
    assert invoke(["check", "--field", "id:n", "a.fwf"]) == 0


def test_an_option_says_the_format_and_its_keys_may_be_names() -> None:
    Path("a.data").write_text(A)
    values: dict[str, Any] = {"format": "fwf", "key": ("amount:n",), "files": ("a.data",)}
    options = make_options(command("merge"), values, {"format", "key"}, ("key",))
    assert isinstance(options, OrderOptions)
    items = items_of(options, ("a.data",))
    assert (items.format, items.certainty, items.header_lines) == ("fwf", "named", 1)
    assert items.lines is not None
    assert [key.option_text for key in items.lines.keys] == ["-k amount:n"]


def test_an_empty_file_has_no_columns() -> None:
    Path("empty.fwf").touch()
    assert invoke(["merge", "-q", "--field", "amount:n", "empty.fwf", "b.fwf", "-o", "out.fwf"]) == 0
    assert lines("out.fwf") == ["apple"]


def test_it_is_no_binary_data() -> None:
    refuse_binary("a.txt", A.encode(), plain=False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("merge --field amuont a.fwf", "has no field 'amuont'; did you mean amount?"),
        ("merge --field 4 a.fwf", "--field 4: there are 3 columns; name one of them"),
        ("merge --field amount:b a.fwf", "--field amount:b: b skips no blanks of a column at a fixed place; leave b"),
        ("sort -b --field amount a.fwf", "b skips no blanks of a column at a fixed place; leave b out"),
        ("merge -k 1.2,1.3 a.fwf", "-k 1.2,1.3: a key is a whole column; name columns with --field"),
        ("merge -t , --field id a.fwf", "columns of fixed width have no separators"),
        ("merge a.fwf bad.fwf", "bad.fwf:1: its first line '#id:x' does not say columns; write it as #id:8 name:12"),
        ("merge --field id bad.fwf", "bad.fwf:1: its first line '#id:x' does not say columns"),
        ("merge --field id a.fwf other.fwf", "other.fwf:1: its header '#id:4' differs from that of a.fwf"),
        (
            "merge a.fwf a.txt",
            "a.txt holds text, but a.fwf holds text of fixed width; convert one of them, or name",
        ),
        ("merge --field id a.txt a.fwf", "a.fwf holds text of fixed width, but a.txt holds text; convert one of them"),
        ("sort --field id a.txt a.fwf", "a.fwf holds text of fixed width, but a.txt holds text; convert one of them"),
        ("join -j id a.fwf b.fwf", "a.fwf holds text of fixed width; join lines, records or numbers"),
        ("join -j 1 a.fwf a.txt", "a.txt holds text, but a.fwf holds text of fixed width"),
    ],
)
def test_mistakes_are_one_line(words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.txt").write_text("id\n1\n")
    Path("bad.fwf").write_text("#id:x\n1\n")
    Path("other.fwf").write_text("#id:4\n1\n")
    arguments = words.split()
    assert invoke([arguments[0], "--output", "out.fwf", *arguments[1:]]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert not Path("out.fwf").exists()


def test_its_keys_are_not_underlined(capsys: pytest.CaptureFixture[str]) -> None:
    """Places of keys are known once a header is read, and --debug shows keys as they were given."""
    assert invoke(["sort", "--debug", "-k", "2,2", "a.fwf"]) == 2
    told = "a.fwf holds text of fixed width, whose keys --debug does not underline; leave --debug out"
    assert told in capsys.readouterr().err


def test_csv_beside_its_name_is_a_contradiction() -> None:
    options = make_options(command("merge"), {"format": "fwf", "csv": True, "files": ("a.fwf",)}, {"format", "csv"})
    assert isinstance(options, OrderOptions)
    with pytest.raises(UsageError, match="--csv and --format fwf name two formats; leave one of them out"):
        items_of(options, ("a.fwf",))


@pytest.mark.parametrize("command", ["merge", "union", "sort -s"])
def test_no_number_moves_its_columns(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke([*command.split(), "--count", "--field", "name", "b.fwf", "-o", "out.fwf"]) == 2
    told = "--count has no place in this file, which is text of fixed width; write the counts to a file"
    assert told in capfd.readouterr().err
    assert not Path("out.fwf").exists()
