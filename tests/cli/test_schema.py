"""--schema: CSV files whose columns differ, against Python's csv."""

from __future__ import annotations

import bz2
import csv
import io
import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

ONE = 'id,name,x\n1,a,"p,q"\n3,b\n'
TWO = 'name,id,y\nc,2,7\n"d ""e""",4,"8\n9"\n'
UNION = 'id,name,x,y\n1,a,"p,q",\n2,c,,7\n3,b,,\n4,"d ""e""",,"8\n9"\n'
INTERSECTION = 'id,name\n1,a\n2,c\n3,b\n4,"d ""e"""\n'
VALUES = [
    "",
    "a",
    "bc",
    "x" * 70,
    '"q"',
    '"a,b"',
    '"two ""quotes"""',
    '"line\nend"',
    '""',
    'un"quoted',
    " b ",
    "y" * 3000,
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.csv").write_text(ONE)
    Path("two.csv").write_text(TWO)


@pytest.mark.parametrize("words", [["merge"], ["union"], ["sort", "-s"], ["symmetric"], ["merge", "-u"]])
@pytest.mark.parametrize(("schema", "expected"), [("union", UNION), ("intersect", INTERSECTION)])
@pytest.mark.parametrize("keys", [["--field", "id:n"], ["--csv", "--header", "1", "-k", "id:n"]])
def test_commands(words: list[str], schema: str, expected: str, keys: list[str]) -> None:
    assert invoke([*words, "--schema", schema, *keys, "-q", "-o", "o.csv", "one.csv", "two.csv"]) == 0
    assert Path("o.csv").read_text() == expected


def test_a_schema_implies_csv_and_a_header(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert invoke(["merge", "--schema", "intersect", "-k", "1:n", "-q", "one.csv", "two.csv"]) == 0
    assert capfdbinary.readouterr().out.decode() == INTERSECTION


def test_parts_of_compressed_files_and_marks() -> None:
    Path("one.csv.bz2").write_bytes(bz2.compress(b"\xef\xbb\xbf" + ONE.encode()))
    words = ["merge", "--schema", "union", "--field", "id:n", "-q", "--parts", "2", "-o", "p{part}.csv"]
    assert invoke([*words, "one.csv.bz2", "two.csv"]) == 0
    header, rows = UNION.split("\n", 1)
    found = [path.read_text() for path in sorted(Path().glob("p*.csv"))]
    assert all(text.startswith(f"\ufeff{header}\n") for text in found)
    assert "".join(text.removeprefix(f"\ufeff{header}\n") for text in found) == rows


def test_comments_ahead_of_names() -> None:
    Path("one.csv").write_text('# a "\n#id,name\n1,a\n')
    Path("two.csv").write_text("# b\nname,#id\nb,0\n")
    words = ["merge", "--schema", "union", "--header-prefix", "#", "--headers", "union", "--field", "#id:n", "-q"]
    assert invoke([*words, "-o", "o.csv", "one.csv", "two.csv"]) == 2  # its last line of the header is "# b"
    Path("two.csv").write_text("# b\n#id\n0\n")
    assert invoke([*words, "-o", "o.csv", "one.csv", "two.csv"]) == 0
    assert Path("o.csv").read_text() == '# a "\n# b\n#id,name\n0,\n1,a\n'


def test_a_sort_beyond_memory() -> None:
    rows = [f"{(number * 7919) % 100_003},{'x' * (number % 90)}" for number in range(30_000)]
    Path("one.csv").write_text("id,x\n" + "\n".join(rows[::2]) + "\n")
    Path("two.csv").write_text("x,id\n" + "\n".join(",".join(row.split(",")[::-1]) for row in rows[1::2]) + "\n")
    options = ["--schema", "union", "--field", "id:n", "-S", "300K", "-T", ".", "-o", "o.csv"]
    assert invoke(["sort", *options, "one.csv", "two.csv"]) == 0
    assert Path("o.csv").read_text().splitlines() == ["id,x", *sorted(rows, key=lambda row: int(row.split(",")[0]))]


@pytest.mark.parametrize(
    ("words", "one", "two", "expected"),
    [
        (["-t", "::"], 'id::x\n1::"a::b"\n', "y::id\nc::0\n", 'id::x::y\n0::::c\n1::"a::b"::\n'),
        (["--quotes", "none"], 'id,x\n1,"a\n', 'y,id\n5",0\n', 'id,x,y\n0,,5"\n1,"a,\n'),
        (["--quotes", "backslash"], 'id,x\n1,"a\\","\n', "y,id\n\\,c,0\n", 'id,x,y\n0,,\\,c\n1,"a\\",",\n'),
        (["-t", "\\t"], "id\tx\n1\ta,b\n", "y\tid\nc\t0\n", "id\tx\ty\n0\t\tc\n1\ta,b\t\n"),
    ],
)
def test_dialects(words: list[str], one: str, two: str, expected: str) -> None:
    Path("one.csv").write_text(one)
    Path("two.csv").write_text(two)
    options = ["--schema", "union", "--field", "id:n", *words, "-q", "-o", "o.csv"]
    assert invoke(["merge", *options, "one.csv", "two.csv"]) == 0
    assert Path("o.csv").read_text() == expected


@pytest.mark.parametrize("names", [["-", "two.csv"], ["one.csv", "-"]])
def test_pipes(names: list[str]) -> None:
    words = ["merge", "--schema", "union", "--field", "id:n", "-q", *names]
    given = (ONE, TWO)[names.index("-")]
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", *words], input=given, capture_output=True, text=True, check=True
    )
    assert done.stdout == UNION


def test_counts_and_ranks(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("one.csv").write_text("id,x\n1,a\n1,a\n")
    Path("two.csv").write_text("id\n1\n2\n")
    assert invoke(["merge", "--schema", "union", "--field", "id:n", "--count", "-q", "one.csv", "two.csv"]) == 0
    assert capfdbinary.readouterr().out == b"count,id,x\n3,1,a\n1,2,\n"
    assert invoke(["rank", "--schema", "union", "--field", "id:n", "--range", "2:4", "-q", "one.csv", "two.csv"]) == 0
    assert capfdbinary.readouterr().out == b"id,x\n1,\n2,\n"


def test_places_of_files_with_other_columns_are_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    Path("one.csv").write_text("id,x\n1,a\n3,a\n")
    Path("two.csv").write_text("id\n2\n4\n")
    words = ["--schema", "union", "--field", "id:n", "one.csv", "two.csv"]
    assert invoke(["rank", "--at", "2", "--of", "3", "--json", *words]) == 0
    answers = json.loads(capfd.readouterr().out)
    assert answers["ranks"][0]["offsets"] == answers["of"][0]["offsets"] == [4, None]
    for command in (["rank", "--split", "2"], ["merge", "--plan"]):
        assert invoke([*command, *words]) == 2
        what = "it cannot be cut, because the merged records have other columns"
        assert capfd.readouterr().err == f"gpumerge: two.csv: {what}; give all files the same columns\n"


def test_columns_that_are_left_out_are_shown(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["merge", "--schema", "intersect", "--field", "id:n", "-v", "-o", "o.csv", "one.csv", "two.csv"]
    assert invoke(words) == 0
    (line,) = [line for line in capfd.readouterr().err.splitlines() if "columns left out" in line]
    assert line.split("left out")[1].strip() == "x of one.csv; y of two.csv"


def test_a_check_finds_the_column_of_each_file(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["check", "-q", "--schema", "union", "--field", "id:n", "one.csv", "two.csv"]) == 0
    Path("two.csv").write_text("name,id\nb,3\na,1\n")
    assert invoke(["check", "-q", "--schema", "union", "--field", "id:n", "one.csv", "two.csv"]) == 1
    assert "two.csv:3: disorder" in capfd.readouterr().err


def test_a_column_alone_keeps_its_empty_fields() -> None:
    Path("one.csv").write_text("x,id\n,1\na,2\n")
    Path("two.csv").write_text("x\nb\n")
    assert invoke(["sort", "--schema", "intersect", "--field", "x", "-o", "o.csv", "one.csv", "two.csv"]) == 0
    assert Path("o.csv").read_text() == 'x\n""\na\nb\n'


@pytest.mark.parametrize(
    ("two", "words", "told"),
    [
        (TWO, "--schema union --field x", "two.csv:1: it has no column 'x', which is a key; leave it out, or add the "
         "column to it"),
        (TWO, "--schema union --field z", "the header of one.csv has no field 'z'; use one of id, name, x, y"),
        ("a,b\n", "--schema intersect", "two.csv:1: it has no column that all files before it have, too; use "
         "--schema union, or leave it out"),
        ("id,y,y\n", "--schema union", "two.csv:1: it has 2 columns 'y', and --schema goes by their names; give each "
         "its own name"),
        ("id,y\n1,2\n3,4,5\n", "--schema union", "two.csv:3: it has more fields than its header has names; check its "
         "separators and quotes"),
        ('id,y\n1,2\n3,"4"5\n', "--schema union", "two.csv:3: not CSV: text follows a closing quote; check its "
         "quotes"),
        ('id,y\n1,2\n3,"4\n', "--schema union", "two.csv:3: not CSV: a quote is not closed; check its quotes"),
        (TWO, "--schema union --format text", "--schema union: one.csv is text, which is not read by names of columns; "
         "leave --schema out, or use --csv"),
        (TWO, "--field id", "two.csv:1: its header 'name,id,y' differs from that of one.csv, 'id,name,x'; give all "
         "files the same columns and header, add --schema union or intersect, or join them by a key with gpumerge "
         "join"),
    ],
)  # fmt: skip
def test_refused(two: str, words: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("two.csv").write_text(two)
    assert invoke(["merge", *words.split(), "one.csv", "two.csv"]) == 2
    error = capfd.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_random_files_against_csv(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(40):
        check_case(draw)


def check_case(draw: random.Random) -> None:
    names = ["key", "a", "b c", "d", "e,f"]
    files, end = [], draw.choice(["\n", "\n", "\r\n"])
    for number in range(draw.randrange(1, 4)):
        columns = ["key", *draw.sample(names[1:], draw.randrange(5))]
        draw.shuffle(columns)
        rows = []
        for key in sorted(draw.randrange(50) for _ in range(draw.choice([0, 3, 30]))):
            row = [str(key) if name == "key" else draw.choice(VALUES) for name in columns]
            last = columns.index("key")
            rows.append(row[: draw.randrange(last, len(row)) + 1] if draw.random() < 0.1 else row)
        header = ",".join(f'"{name}"' if "," in name or draw.random() < 0.2 else name for name in columns)
        lines = [header, *(",".join(row) for row in rows)]
        text = end.join(lines) + end * draw.choice([0, 1])
        Path(f"{number}.csv").write_bytes(text.encode())
        files.append((columns, rows))
    schema = draw.choice(["union", "intersect"])
    command = draw.choice([["merge"], ["sort", "-s"]])
    given = [f"{number}.csv" for number in range(len(files))]
    assert invoke([*command, "--schema", schema, "--field", "key:n", "-q", "-o", "o.csv", *given]) == 0
    wanted = list(dict.fromkeys(name for columns, _ in files for name in columns))
    if schema == "intersect":
        wanted = [name for name in files[0][0] if all(name in columns for columns, _ in files)]
    expected = sorted(
        (row for file in files for row in arranged(*file, wanted)), key=lambda row: int(row[wanted.index("key")])
    )
    found = list(csv.reader(io.StringIO(Path("o.csv").read_bytes().decode(), newline="")))
    assert found == [wanted, *expected]


def arranged(columns: list[str], rows: list[list[str]], wanted: Sequence[str]) -> list[list[str]]:
    if list(columns) == list(wanted):  # such a file stays as it is, short rows included
        return [*csv.reader(io.StringIO("".join(",".join(row) + "\n" for row in rows), newline=""))]
    text = "".join(",".join(row) + "\n" for row in rows)
    parsed = csv.reader(io.StringIO(text, newline=""))
    named = [dict(zip(columns, row, strict=False)) for row in parsed]
    return [[row.get(name, "") for name in wanted] for row in named]
