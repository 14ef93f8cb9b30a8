"""--count of CSV: a column of counts, which readers of CSV take; quotes and newlines in them stay."""

from __future__ import annotations

import csv
import json
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from tests import needs

PLAIN = b"id,name\n1,a\n1,a\n1,a\n2,c\n"
FILES = {
    "plain": PLAIN,
    "quoted": b'id,name\n1,"a,x"\n1,"a,x"\n1,"a,x"\n2,c\n',
    "newlines": b'id,"na\nme"\n1,"a\n""x"""\n1,"a\n""x"""\n1,"a\n""x"""\n2,c\n',
    "returns": b'id,name\r\n1,"a\r\nx"\r\n1,"a\r\nx"\r\n1,"a\r\nx"\r\n2,c\r\n',
    "bare returns": b"id,name\r\n1,a\r\n1,a\r\n1,a\r\n2,c\r\n",
    "odd quotes": b'id,name\n1,a"x\n1,a"x\n1,a"x\n2,c\n',
    "mark": b"\xef\xbb\xbf" + PLAIN,
    "no last newline": PLAIN[:-1],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def rows_of(name: str) -> list[list[str]]:
    with open(name, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize("where", ["ahead", "after"])
@pytest.mark.parametrize("keys", ["--field id:n", "--csv --header 1 -k 1,2", "--field id --field {1}"])
@pytest.mark.parametrize("command", ["merge", "sort", "sort -m", "union", "symmetric"])
@pytest.mark.parametrize("kind", FILES)
def test_counts_are_a_column(kind: str, command: str, keys: str, where: str) -> None:
    Path("a.csv").write_bytes(FILES[kind])
    before = rows_of("a.csv")
    names = [name.removeprefix("\ufeff") for name in before[0]]
    words = [word.replace("{1}", names[1]) for word in keys.split()]
    assert invoke([*command.split(), *words, f"--count={where}", "a.csv", "-o", "out.csv", "-q", "--backend=cpu"]) == 0
    groups = [(fields, str(len(list(same)))) for fields, same in groupby(before[1:])]
    expected = [before[0], *(fields for fields, _ in groups)]
    counts = ["count", *(count for _, count in groups)]
    head, *others = rows_of("out.csv")
    mark = "\ufeff" * (kind == "mark")
    found = [[head[0].removeprefix(mark), *head[1:]], *others]
    expected[0] = names
    if where == "ahead":
        assert head[0].startswith(mark)
        assert found == [[count, *fields] for count, fields in zip(counts, expected, strict=True)]
    else:
        assert found == [[*fields, count] for count, fields in zip(counts, expected, strict=True)]
    bare = Path("out.csv").read_bytes().replace(b"\r\n", b"")
    assert (b"\r" in bare) is False
    assert (b"\r\n" in Path("out.csv").read_bytes()) == (b"\r\n" in FILES[kind])
    for row in FILES[kind].removeprefix(b"\xef\xbb\xbf").splitlines()[-1:]:
        assert row in Path("out.csv").read_bytes()  # as it was written


@pytest.mark.parametrize(
    ("header", "name"), [("count,x", "count_2"), ("x,count", "count_2"), ('"count",count_2', "count_3")]
)
def test_the_columns_name_is_new(header: str, name: str) -> None:
    Path("a.csv").write_text(f"{header}\n1,2\n")
    assert invoke(["merge", "--csv", "--header", "1", "--count", "a.csv", "-o", "out.csv", "-q"]) == 0
    assert rows_of("out.csv") == [[name, *next(csv.reader([header]))], ["1", "1", "2"]]


def test_titles_above_the_names_get_an_empty_field() -> None:
    Path("a.csv").write_text("sales,2026\nid,x\n1,2\n1,2\n")
    for where, expected in (
        ("ahead", ",sales,2026\ncount,id,x\n2,1,2\n"),
        ("after", "sales,2026,\nid,x,count\n1,2,2\n"),
    ):
        assert invoke(f"merge --csv --header 2 --count={where} a.csv -o out.csv -q".split()) == 0
        assert Path("out.csv").read_text() == expected


def test_without_a_header_and_with_other_separators() -> None:
    Path("a.csv").write_text("1;2\n1;2\n3;4\n")
    assert invoke(["merge", "--csv", "-t", ";", "--count", "a.csv", "-o", "out.csv", "-q"]) == 0
    assert Path("out.csv").read_text() == "2;1;2\n1;3;4\n"
    Path("b.tsv").write_text("1\t%\n1\t%\n")
    assert invoke(["merge", "--csv", "-t", "\\t", "--count=after", "b.tsv", "-o", "out.tsv", "-q"]) == 0
    assert Path("out.tsv").read_text() == "1\t%\t2\n"


def test_a_digit_cannot_separate_counts(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("x1y\n")
    assert invoke(["merge", "--csv", "-t", "1", "--count", "a.csv", "-q"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: --count: a digit cannot separate a number from fields; use ")


def test_large_counts_are_digits_alone() -> None:
    Path("a.csv").write_text("x,y\n" + "1,2\n" * 123_456)
    assert invoke(["merge", "--field", "x", "--count", "a.csv", "-o", "out.csv", "-q"]) == 0
    assert Path("out.csv").read_text() == "count,x,y\n123456,1,2\n"


def test_many_records_in_little_memory(rng: np.random.Generator) -> None:
    numbers = np.sort(rng.integers(0, 30_000, 200_000))
    Path("a.csv").write_text("id,name\n" + "".join(f'{number},"a ""{number}"""\n' for number in numbers))
    unique, counts = np.unique(numbers, return_counts=True)
    for command in ("merge", "sort -S 1M"):
        words = f"{command} --field id:n --count a.csv -o out.csv -q --backend cpu"
        assert invoke(words.split()) == 0
        head, *rows = rows_of("out.csv")
        assert head == ["count", "id", "name"]
        assert rows == [[str(n), str(one), f'a "{one}"'] for one, n in zip(unique, counts, strict=True)]


def test_reports_and_files_of_counts_fit() -> None:
    Path("a.csv").write_bytes(FILES["newlines"])
    words = ["merge", "--field", "id:n", "a.csv", "-o", "out.csv", "-q", "--report", "r.json", "--backend", "cpu"]
    assert invoke([*words, "--count"]) == 0
    report = json.loads(Path("r.json").read_text())
    assert (report["items"], report["dropped"]) == (4, 2)
    assert report["written"] == len(Path("out.csv").read_bytes()) - len(b'count,id,"na\nme"\n')
    assert invoke([*words, "--count-to", "counts.npy"]) == 0
    assert np.load("counts.npy").tolist() == [3, 1]
    assert Path("out.csv").read_bytes() == b'id,"na\nme"\n1,"a\n""x"""\n2,c\n'


def test_lines_of_text_keep_the_form_of_uniq() -> None:
    Path("a.csv").write_bytes(PLAIN)
    assert invoke(["merge", "--header", "1", "--count", "a.csv", "-o", "out.csv", "-q"]) == 0
    assert Path("out.csv").read_text() == "id,name\n      3 1,a\n      1 2,c\n"


def test_readers_of_data_frames_take_it() -> None:
    reader = needs.library("pyarrow.csv")
    Path("a.csv").write_bytes(FILES["newlines"])
    assert invoke(["merge", "--field", "id:n", "--count", "a.csv", "-o", "out.csv", "-q"]) == 0
    options = reader.ParseOptions(newlines_in_values=True)
    table = reader.read_csv("out.csv", parse_options=options)
    assert table.column("count").to_pylist() == [3, 1]
