"""Columns of CSV whose names look like numbers or like letters of keys, that are empty, or that two columns have."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

YEARS = "country,2019,2020\nzimbabwe,5,1\nchad,6,9\nZambia,1,2\n"
HOURS = "coin,1h,24h\nbtc,5,30\neth,-2,4\nada,10,100\n"
PANDAS = ",id,name\n0,5,x\n1,3,y\n2,4,z\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("table", "words", "firsts"),
    [
        (YEARS, "--field 2020:n", "z Z c"),
        (YEARS, "--csv -k 2020:n", "z Z c"),
        (YEARS, "--field 2020:n --header 1", "z Z c"),
        (YEARS, "--field 2019:nr,country", "c z Z"),
        (HOURS, "--field 24h:n", "e b a"),
        (HOURS, "--csv -k 24h", "a b e"),
        (HOURS, "--csv -k 1h:n", "e b a"),
        ("0,1\nb,1\na,2\n", "--field 0 --header 1", "a b"),
        ("0,1\nb,1\na,2\n", "--field 1:nr --header 1", "a b"),
        ("x,0.5\nb,10\na,9\n", "--csv -k 0.5:n", "a b"),
        (PANDAS, "--field id", "1 2 0"),
        (PANDAS, "--csv -k id:nr", "0 2 1"),
    ],
)
def test_a_name_of_the_header_is_a_name(table: str, words: str, firsts: str) -> None:
    """It may look like a number, or like letters of a key beside an empty name."""
    Path("a.csv").write_text(table)
    assert invoke(["sort", *words.split(), "a.csv", "-o", "b.csv"]) == 0
    header, *lines = Path("b.csv").read_text().splitlines()
    assert header == table.splitlines()[0]
    assert [line[0] for line in lines] == firsts.split()
    assert invoke(["check", *words.split(), "b.csv"]) == 0
    assert invoke(["merge", "-q", *words.split(), "b.csv", "-o", "c.csv"]) == 0
    assert Path("c.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.parametrize(
    ("table", "key", "rows"),
    [
        (YEARS, "2020:n", "2020,country,2019,country_2,2019_2 1 2 9"),
        (HOURS, "24h:n", "24h,coin,1h,coin_2,1h_2 4 30 100"),
        (PANDAS, "id", "id,,name,,name_2 3 4 5"),
    ],
)
def test_a_join_by_such_a_name(table: str, key: str, rows: str) -> None:
    Path("a.csv").write_text(table)
    assert invoke(["sort", "-s", "--field", key, "a.csv", "-o", "b.csv"]) == 0
    assert invoke(["join", "-q", "--csv", "-j", key, "b.csv", "b.csv", "--output", "c.csv"]) == 0
    header, *lines = Path("c.csv").read_text().splitlines()
    assert [header, *(line.split(",")[0] for line in lines)] == rows.split()


@pytest.mark.parametrize("words", ["--field 1:n", "--csv -k 1:n"])
def test_a_number_that_is_also_the_name_of_another_column(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("0,1\n5,3\n4,9\n")
    assert invoke(["sort", *words.split(), "a.csv"]) == 2
    told = "means field 1, or the field '1' if line 1 is a header; add --header 1 for the name, or --header 0 for the"
    assert told in capsys.readouterr().err
    for header, lines in (("1", "0,1 5,3 4,9"), ("0", "0,1 4,9 5,3")):
        assert invoke(["sort", *words.split(), "--header", header, "a.csv", "-o", "b.csv"]) == 0
        assert Path("b.csv").read_text().split() == lines.split()


def test_a_join_by_a_number_that_is_also_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("0,1\n4,9\n")
    assert invoke(["join", "--csv", "-j", "1:n", "a.csv", "a.csv"]) == 2
    assert "add --header for the name, or --no-header for the number" in capsys.readouterr().err
    for header, lines in (("--header", "1,0,0_2 9,4,4"), ("--no-header", "0,1,1 4,9,9")):
        assert invoke(["join", "-q", "--csv", "-j", "1:n", header, "a.csv", "a.csv", "--output", "b.csv"]) == 0
        assert Path("b.csv").read_text().split() == lines.split()


def test_a_column_of_its_own_number_and_data_without_a_header() -> None:
    Path("a.csv").write_text("1,b\n0,a\n")
    for words in (["--field=1:n"], ["--csv", "-k1,1n"]):
        assert invoke(["sort", *words, "a.csv", "-o", "b.csv"]) == 0
        assert Path("b.csv").read_text() == "0,a\n1,b\n"


@pytest.mark.parametrize("command", ["sort", "merge", "join"])
@pytest.mark.parametrize("name", ["bid", "grid", "prize"])
def test_no_letters_choose_a_column_without_a_name(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(",name,price\n0,x,9\n1,y,3\n")
    words = ["--csv", "-j", name, "a.csv", "a.csv"] if command == "join" else ["--field", name, "a.csv"]
    assert invoke([command, *words]) == 2
    near = "did you mean price? " * (name == "prize")
    assert f"the header has no field '{name}'; {near}use one of name, price\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ahead", "told"), [("\n", "line 1 is blank"), ("sep=;\n", "line 1 is 'sep=', which names no field")]
)
def test_a_line_ahead_of_the_header_is_named(ahead: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text(f"{ahead}id;name\n2;b\n1;a\n")
    words = ["sort", "-t", ";", "--field", "id", "a.csv"]
    assert invoke(words) == 2
    assert f"the header has no field 'id'; {told}: add --header 2, or remove it\n" in capsys.readouterr().err
    assert invoke([*words, "--header", "2", "-o", "b.csv"]) == 0
    assert Path("b.csv").read_text() == f"{ahead}id;name\n1;a\n2;b\n"


def test_names_with_blanks_are_quoted(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("id, name\n1,a\n")
    assert invoke(["sort", "--field", "name", "a.csv"]) == 2
    assert capsys.readouterr().err.endswith("no field 'name'; did you mean ' name'? use one of id, ' name'\n")
    Path("a.csv").write_text("id\tname\n1\ta\n")
    assert invoke(["sort", "--field", "id", "a.csv"]) == 2
    assert capsys.readouterr().err.endswith(r"it has one, 'id\tname'; -t says what separates them, as -t '\t'" + "\n")


@pytest.mark.parametrize("words", ["merge --field", "sort --csv -k", "join --csv -j"])
def test_an_empty_name_is_quoted(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("id,name\n1,a\n")
    assert invoke([*words.split(), "", "a.csv", *["a.csv"] * words.startswith("join")]) == 2
    option = words.split()[-1]
    assert f"{option} '': the header has no field ''; use one of id, name\n" in capsys.readouterr().err


def test_the_number_of_a_doubled_name_keeps_the_header(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("id,when,when\n2,mar,b\n1,apr,a\n")
    assert invoke(["sort", "--field", "when", "a.csv"]) == 2
    assert "the header has when more than once; use its number, with --header 1" in capsys.readouterr().err
    assert invoke(["sort", "--header", "1", "--field", "2", "a.csv", "-o", "b.csv"]) == 0
    assert Path("b.csv").read_text() == "id,when,when\n1,apr,a\n2,mar,b\n"
    assert invoke(["join", "--csv", "-j", "when", "a.csv", "a.csv"]) == 2
    assert "use its number, with --header\n" in capsys.readouterr().err


def test_a_pipe_has_names_numbers_and_a_header() -> None:
    def sort(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gpumerge_cli", "sort", *words]
        return subprocess.run(command, input="id,name\n2,b\n10,a\n", capture_output=True, text=True, check=False)

    assert sort("--field", "id:nr").stdout == "id,name\n10,a\n2,b\n"
    assert sort("--header", "1", "--field", "1:nr").stdout == "id,name\n10,a\n2,b\n"


@pytest.mark.parametrize("words", [["--field", "id:n"], ["--csv", "-k", "id:n"]])
@pytest.mark.parametrize("command", [["sort"], ["merge", "-q"]])
def test_names_of_files_from_a_list(command: list[str], words: list[str]) -> None:
    Path("a.csv").write_text("id,name\n-3,c\n1,a\n")
    Path("names").write_bytes(b"a.csv\0a.csv\0")
    assert invoke([*command, "--files0-from", "names", *words, "-o", "b.csv"]) == 0
    assert Path("b.csv").read_text() == "id,name\n-3,c\n-3,c\n1,a\n1,a\n"


@pytest.mark.parametrize("key", ["zone", "zone:n"])
def test_a_hint_of_disorder_names_a_key_as_it_was_named(key: str, capfd: pytest.CaptureFixture[str]) -> None:
    """By its number, the header would no longer be known."""
    Path("a.csv").write_text("id,zone\n" + "".join(f"1,{number}\n" for number in range(90, 12, -3)))
    assert invoke(["merge", "--csv", "-k", key, "a.csv"]) == 2
    assert f"the file is in the order of -k zone:nr: use that for -k {key}\n" in capfd.readouterr().err
    assert invoke(["merge", "-q", "--csv", "-k", "zone:nr", "a.csv", "-o", "b.csv"]) == 0
    assert Path("b.csv").read_bytes() == Path("a.csv").read_bytes()


@pytest.mark.parametrize(
    "words",
    ["merge --field", "sort --field", "check --field", "rank --split 2 --field", "merge --csv -k", "sort --csv -k"],
)
def test_names_that_differ_by_case(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("Id,name\n1,a\n")
    Path("b.csv").write_text("id,name\n1,a\n")
    why = "did you mean Id (names are compared by all their bytes)? use one of Id, name"
    assert invoke([*words.split(), "id", "a.csv", "b.csv"]) == 2
    assert capsys.readouterr().err.endswith(f" id: the header of a.csv has no field 'id'; {why}\n")
    assert invoke([*words.split(), "ID", "a.csv"]) == 2
    assert capsys.readouterr().err.endswith(f" ID: the header has no field 'ID'; {why}\n")


@pytest.mark.parametrize("words", ["--field id", "--csv -j id", "--csv -1 id -2 id"])
def test_names_of_a_join_that_differ_by_case(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,name\n1,a\n")
    Path("b.csv").write_text("ID,town\n1,a\n")
    assert invoke(["join", *words.split(), "a.csv", "b.csv"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("gpumerge: b.csv: ")
    assert "did you mean ID (names are compared by all their bytes)?" in said
