"""--field: columns of CSV and the key field of records, by name, in every command that takes an order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import run

SALES = b'city,"amount, net",day\n"Rome, Italy",7,2\nOslo,40,1\nOslo,9,3\n'


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_bytes(SALES)
    return tmp_path


@pytest.mark.parametrize(
    ("fields", "days"),
    [
        (["city"], "132"),
        (["city:r"], "213"),
        (["city,day:nr"], "312"),
        (["city", "day:nr"], "312"),
        (["amount, net:n"], "231"),
        (["amount, net"], "123"),
        (["1,3:nr"], "312"),
        (["3:n"], "123"),
        (["3"], "123"),
    ],
)
def test_columns(fields: list[str], days: str, sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They imply --csv, names also --header 1."""
    words = [f"--field={field}" for field in fields]
    header = ["--header=1"] if fields[0][0].isdigit() else []
    assert run(["sort", *words, *header, "sales.csv", "-o", "sorted.csv"]) == 0
    lines = Path("sorted.csv").read_bytes().splitlines()
    assert lines[0] == SALES.splitlines()[0]
    assert b"".join(line[-1:] for line in lines[1:]).decode() == days
    for command in ("check", "merge -q", "sort -c", "sort -m"):
        assert run([*command.split(), *words, *header, "sorted.csv"]) == 0
        if command.endswith(("-q", "-m")):
            assert capfd.readouterr().out.encode() == Path("sorted.csv").read_bytes()


@pytest.mark.parametrize("command", ["merge", "sort", "check"])
@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("town", "--field town: the header has no field 'town'; use one of city, 'amount, net', day"),
        ("city,town", "--field town: the header has no field 'town'; use one of city, 'amount, net', day"),
        ("city:x", "--field city:x: 'x' are no options of a key; use letters from bdfghiMnRrV"),
        ("0", "--field 0: there is no field 0; count from 1"),
        ("day:gn", "options -gn are incompatible; give a key one way to compare"),
    ],
)
def test_what_is_no_column(
    command: str, field: str, said: str, sales: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, f"--field={field}", "sales.csv"]) == 2
    assert capsys.readouterr().err == f"gpumerge: {said}\n"


@pytest.mark.parametrize("command", ["sort", "merge -q"])
def test_a_name_implies_the_header(command: str, sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["--csv", "-k", "day:n"], ["--field=day:n"]):
        assert run([*command.split(), *words, "-s", "sales.csv"]) == (0 if command == "sort" else 2)
        out = capfd.readouterr().out
        assert command != "sort" or out.splitlines()[0] == 'city,"amount, net",day'


def test_columns_between_tabs(sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.tsv").write_text("city\tday\nOslo\t3\nRome\t1\n")
    for command in ("sort", "sort -m", "merge -q"):
        assert run([*command.split(), "--field", "city", "-t", "\\t", "a.tsv"]) == 0
        assert capfd.readouterr().out == Path("a.tsv").read_text()


def test_a_key_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = np.array([(3, 1.5), (1, 2.5), (2, 0.5)], [("id", "<u4"), ("x", "<f8")])
    np.save("a.npy", items)
    for field, order in (("id", [1, 2, 3]), ("id:r", [3, 2, 1]), ("x", [2, 3, 1])):
        assert run(["sort", "--field", field, "a.npy", "-o", "s.npy"]) == 0
        assert np.load("s.npy")["id"].tolist() == order
        assert run(["check", "--field", field, "s.npy"]) == 0
        assert run(["merge", "-q", "--field", field, "s.npy", "-o", "m.npy"]) == 0
        assert np.array_equal(np.load("m.npy"), np.load("s.npy"))


@pytest.mark.parametrize(
    "words",
    ["merge a.npy --field id --field x", "sort a.npy --field id,x", "generate b.npy --field id,x --dtype u4,f8"],
)
def test_records_have_one_key(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros(3, [("id", "<u4"), ("x", "<f8")]))
    assert run(words.split()) == 2
    told = "gpumerge: --field id,x: the key of records is one field; name one; of CSV, several columns can be named\n"
    assert capsys.readouterr().err == told


def test_a_header_of_one_column_makes_one_think_of_the_separator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("city;day\nOslo;1\n")
    assert run(["merge", "--field=day", str(tmp_path / "a.csv")]) == 2
    said = "the header has no field 'day'; it has one, city;day; -t says what separates them"
    assert capsys.readouterr().err == f"gpumerge: --field day: {said}\n"
