"""Dialects of CSV against Python's csv: separators of several bytes, quotes that are text or behind backslashes."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

SEPARATORS = [",", "|", "\t", "||", "::", "§", "¦", ", ", "<|>"]


def written(table: list[list[str]], separator: str, quotes: str, chance: random.Random) -> list[bytes]:
    """The record of each row. Where quotes are text, no field may hold a separator or an end of a line."""
    found = []
    end = chance.choice(["\n", "\r\n"])
    for fields in table:
        if quotes == "none":
            found.append(separator.join(fields) + end)
            continue
        # The module takes one character: one that no field has stands for the separator.
        quoting = csv.QUOTE_ALL if any(separator[0] in field for field in fields) else chance.choice([0, csv.QUOTE_ALL])
        out = io.StringIO()
        writer = csv.writer(
            out, delimiter="\x02", lineterminator=end, quoting=quoting, doublequote=quotes == "csv",
            escapechar="\\" if quotes == "backslash" else None,
        )  # fmt: skip
        writer.writerow(fields)
        found.append(out.getvalue().replace("\x02", separator))
    return [record.encode() for record in found]


def random_table(chance: random.Random, separator: str, quotes: str) -> list[list[str]]:
    alphabet = "ab19 " + separator[0] + "'-" + ('"\\' if quotes == "backslash" else '"')
    if quotes == "none":
        alphabet = alphabet.replace(separator[0], "")
    elif chance.random() < 0.5:
        alphabet += "\n"
    wide = chance.randrange(2, 5)

    def field() -> str:
        return "".join(chance.choices(alphabet, k=chance.randrange(5)))

    return [["r" + field(), *(field() for _ in range(wide - 1))] for _ in range(chance.randrange(1, 25))]


@pytest.mark.one_of_each
@pytest.mark.parametrize("quotes", ["csv", "none", "backslash"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_sorts_and_merges_by_fields(separator: str, quotes: str, tmp_path: Path, seed: int) -> None:
    for number in range(6):
        chance = random.Random(f"{seed} {separator} {quotes} {number}")
        table = random_table(chance, separator, quotes)
        rows = written(table, separator, quotes, chance)
        (tmp_path / "in").write_bytes(b"".join(rows))
        at, reverse = chance.randrange(len(table[0])), chance.random() < 0.5
        order = sorted(range(len(table)), key=lambda row: table[row][at].encode(), reverse=reverse)
        written_t = r"\t" if separator == "\t" else separator
        options = ["-q", "--csv", "--quotes", quotes, "-t", written_t, "-k", f"{at + 1},{at + 1}{'r' * reverse}"]
        out = tmp_path / "out"
        assert invoke(["sort", "-s", *options[1:], str(tmp_path / "in"), "-o", str(out)]) == 0, (number, options)
        assert out.read_bytes() == b"".join(rows[row] for row in order), (number, options)
        cut = chance.randrange(len(order) + 1)
        for name, part in (("a", order[:cut]), ("b", order[cut:])):
            (tmp_path / name).write_bytes(b"".join(rows[row] for row in part))
        merge = ["merge", *options, str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(out)]
        assert invoke(merge) == 0, (number, merge)
        assert out.read_bytes() == b"".join(rows[row] for row in order), (number, merge)


def test_columns_by_name_with_inches(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text('name\tsize\n3" pipe\t9\n"x"\t10\n')
    options = ["--quotes", "none", "-t", r"\t", "--field", "name"]
    assert invoke(["sort", *options, str(tmp_path / "a")]) == 0
    assert capfd.readouterr().out == 'name\tsize\n"x"\t10\n3" pipe\t9\n'
    (tmp_path / "b").write_text('name\tsize\n"x"\t1\n3" pipe\t9\n')
    assert invoke(["merge", "-q", "--count=after", *options, *[str(tmp_path / "b")] * 2]) == 0
    assert capfd.readouterr().out == 'name\tsize\tcount\n"x"\t1\t2\n3" pipe\t9\t2\n'


def test_backslashes_that_escape_nothing_are_text(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b'k,v\n\\N,1\n"a\\"b",2\na\\,b,3\n"C:\\\\dir",4\nC:\\dir,5\n')
    assert invoke(["sort", "--quotes", "backslash", "--field", "k", "-s", str(tmp_path / "a")]) == 0
    out = capfd.readouterr().out
    assert out == 'k,v\n"C:\\\\dir",4\nC:\\dir,5\n\\N,1\n"a\\"b",2\na\\,b,3\n'
    assert invoke(["sort", "--quotes", "backslash", "--field", "k", "--null-values", r"\N", str(tmp_path / "a")]) == 0
    assert capfd.readouterr().out.endswith("\\N,1\n")


@pytest.mark.parametrize("field", ["a\\{}b", '"a\\{}b"', '"a{}b"', '"a\\\\\\{}b"'])
@pytest.mark.parametrize("ends", [[], ["--line-ends", "lf"], ["--line-ends", "crlf"]], ids=" ".join)
def test_ends_of_lines_behind_backslashes(
    field: str,
    ends: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """What is written reads back as the same records, whatever ends lines."""
    monkeypatch.chdir(tmp_path)
    words = ["sort", "--quotes", "backslash", "--field", "k"]
    for end in ("\n", "\r\n"):
        rows = [field.format(end) + ",1", "a,2"]
        Path("in.csv").write_bytes((end.join(["k,v", *rows]) + end).encode())
        assert invoke([*words, *ends, "in.csv"]) == 0
        out = capfdbinary.readouterr().out
        written = {"": end, "lf": "\n", "crlf": "\r\n"}[ends[-1] if ends else ""]
        assert out.decode() == written.join(["k,v", *reversed(rows)]) + written
        Path("in.csv").write_bytes(out)
        assert invoke([*words, *ends, "in.csv"]) == 0
        assert capfdbinary.readouterr().out == out
        Path("other.csv").write_text("v,k\n")
        assert invoke([*words, "--schema", "union", "other.csv", "in.csv"]) == 0
        assert field.format(end).encode() in capfdbinary.readouterr().out


@pytest.mark.parametrize(("text", "separator"), [("\\t|", "\t|"), ("|\\t\\t", "|\t\t"), ("\\", "\\")])
def test_escapes_in_separators(text: str, separator: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text(f"2{separator}b\n1{separator}c\n3{separator}a\n")
    assert invoke(["sort", "-t", text, "-k2,2", str(tmp_path / "a")]) == 0
    assert capfd.readouterr().out == f"3{separator}a\n2{separator}b\n1{separator}c\n"
    assert invoke(["sort", "-t", f"{text}\\x", "-k2,2", str(tmp_path / "a")]) == 2
    assert capfd.readouterr().err.endswith("; write \\0 for NUL, \\t for a tab, any other byte itself\n")


def test_joins_of_long_separators(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_text('id||n\n1||"x||y"\n2||z\n')
    (tmp_path / "b").write_text("id||m\n1||u\n3||w\n")
    files = [str(tmp_path / "a"), str(tmp_path / "b")]
    assert invoke(["join", "-q", "--field", "id", "-t", "||", *files, "--type", "outer"]) == 0
    assert capfd.readouterr().out == 'id||n||m\n1||"x||y"||u\n2||z||\n3||||w\n'
    assert invoke(["join", "-q", "-t", "||", "--header", "-o", "2.2,0,1.2", *files]) == 0
    assert capfd.readouterr().out == 'm||id||n\nu||1||"x\n'


@pytest.mark.parametrize(
    ("options", "data", "says"),
    [
        (["--field", "a"], 'a,b\nx,"y\n', "a:2: not CSV: a quote is not closed; check its quotes, or read"),
        (["--field", "a"], 'a,b\nx,"y \\" z"\n', "'; check its quotes, or read them by --quotes backslash"),
        (["--field", "a", "-t", "§"], 'a§b\nx§"y"z\n', "a:2: not CSV: '§' expected after '\"'; check its quotes"),
        (["-k1", "--quotes", "none"], "a\n", "--quotes none: fields of plain lines are never quoted; leave it out"),
        (["--csv", "--quotes", "backslash", "-t", "\\"], "a\n", "a backslash cannot separate fields; use another byte"),
        (["-k1", "-t", "12345678"], "a\n", "-t '12345678' is longer than 7 bytes; name a shorter separator"),
    ],
)  # fmt: skip
def test_refusals(
    options: list[str], data: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("a").write_text(data)
    assert invoke(["sort", *options, "a"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert says in error


@pytest.mark.parametrize(("quotes", "separator"), [("none", "||"), ("backslash", ","), ("csv", "§")])
def test_files_with_other_columns_and_their_names(
    quotes: str, separator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    field = {"none": '3" x', "backslash": '"a \\" b"', "csv": f'"a{separator}b"'}[quotes]
    Path("a").write_text(f"id{separator}n\n1{separator}{field}\n")
    Path("b").write_text(f"m{separator}id\n{field}{separator}2\n")
    options = ["-q", "--quotes", quotes, "-t", separator, "--field", "id", "--schema", "union", "--source"]
    assert invoke(["merge", *options, "a", "b", "--output", "out"]) == 0
    rows = (["source", "id", "n", "m"], ["a", "1", field, ""], ["b", "2", "", field])
    assert Path("out").read_text() == "".join(separator.join(row) + "\n" for row in rows)


@pytest.mark.parametrize("quotes", ["csv", "none", "backslash"])
def test_numbers_beside_records_of_long_separators(
    quotes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for data in ("k||v\na||1\na||2\nb||3\n", 'k||v\n"a"||1\n"a"||2\nb||3\n'):
        Path("a").write_text(data)
        first, second = ("a", "b") if '"' not in data else ('"a"', "b")
        for where, rows in (
            ("ahead", ["count||k||v", f"2||{first}||1", f"1||{second}||3"]),
            ("after", ["k||v||count", f"{first}||1||2", f"{second}||3||1"]),
        ):
            options = ["--quotes", quotes, "-t", "||", "--field", "k", f"--count={where}", "a", "-o", "out"]
            assert invoke(["sort", "-s", *options]) == 0
            assert Path("out").read_text().splitlines() == rows
