"""Records of CSV: what they are read from, and what is said of files that hold none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.chosen_format import FormatChoice, requested_columns
from gpumerge_cli.cli.options.commands import command
from gpumerge_cli.cli.options.typed import MergeOptions
from gpumerge_cli.cli.scan import read_words
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats import csv_parser
from gpumerge_cli.formats.csv_dialect import Dialect
from gpumerge_cli.formats.csv_lines import without_fields
from gpumerge_cli.formats.input import SeekableInput


def lines(path: Path) -> bytes:
    """The records of a file after they were taken to pieces."""
    out, file = io.BytesIO(), SeekableInput(str(path))
    try:
        csv_parser.write_fields(file, Dialect(), out, lambda share: None)
    finally:
        file.close()
    return without_fields(out.getvalue())


@pytest.mark.parametrize("block", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_records_over_any_number_of_blocks(
    block: int, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_parser, "_BLOCK", block)
    data = b'a,2\n\n"' + 30 * b"x" + b'\ny,""",3\r\n,\nlast,1'
    (tmp_path / "in").write_bytes(data + end)
    assert lines(tmp_path / "in") == data + b"\n"


def test_a_carriage_return_that_ends_no_line(tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b"a,1\nb\rc,2\n")
    with pytest.raises(InputError, match=r"in:2: not CSV: a carriage return stands where no line ends; end lines"):
        lines(tmp_path / "in")


DATA = b'name,amount\n"b, or c",2\na,10\n"d\ne",1\n'


@pytest.mark.parametrize("csv", [["--csv"], ["--format", "csv"], ["--format=csv"], ["--format", "text", "--csv"]])
@pytest.mark.parametrize("command", ["sort", "merge"])
def test_the_format_by_its_name_or_option(command: str, csv: list[str], tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(DATA)
    out = str(tmp_path / "out.csv")
    assert invoke(["sort", *csv, "-k", "amount:n", str(tmp_path / "in.csv"), "-o", out]) == 0
    assert invoke([command, *csv, "-k", "amount:n", out, "-o", out]) == 0
    assert Path(out).read_bytes() == b'name,amount\n"d\ne",1\n"b, or c",2\na,10\n'


def test_the_option_beside_another_format(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.i32").write_bytes(bytes(4))
    name = str(tmp_path / "in.i32")
    for words in (["--format", "raw"], []):
        assert invoke(["merge", "--csv", *words, name, "-o", str(tmp_path / "out.i32")]) == 2
        told = f"gpumerge: {name} is binary: --csv applies to text; leave --csv out, or use --format text\n"
        assert capfd.readouterr().err == told


@pytest.mark.parametrize("start", [b"\x1f\x8b\x08\x00", b"PAR1\x15\x04"])
def test_files_of_another_beginning(start: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """--csv asks for CSV, and --format says that it is: such a file is taken as it is then."""
    (tmp_path / "in").write_bytes(start + b",1\n")
    words = ["-k", "2n", str(tmp_path / "in"), "-o", str(tmp_path / "out")]
    assert invoke(["merge", "--csv", *words]) == 2
    assert "data, not lines of text" in capfd.readouterr().err
    assert invoke(["merge", "--format", "csv", *words]) == 0


@pytest.mark.parametrize("key", ["2", "amount"])
def test_the_keys_of_the_format_are_not_underlined(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("id,amount\n1,9\n")
    assert invoke(["sort", "--debug", "--format", "csv", "-k", key, str(tmp_path / "a.csv")]) == 2
    told = capsys.readouterr().err
    assert "a.csv holds CSV, whose keys --debug does not underline; leave --debug out" in told
    assert told.count("\n") == 1


def test_the_format_stays_what_is_asked_for() -> None:
    options = read_words(command("merge"), ["--csv", "--format", "csv", "a.csv"])
    assert isinstance(options, MergeOptions)
    assert options.format == "csv"
    assert requested_columns(options, options.files) == FormatChoice("csv")
