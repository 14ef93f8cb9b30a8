"""gpumerge rank, by its command line."""

from __future__ import annotations

import gzip
import json
import os
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke

Captured = pytest.CaptureFixture[str]


def told(capfd: Captured, *words: str) -> Any:
    assert invoke(["rank", "a.i32", "b.i32", "--json", *words]) == 0
    captured = capfd.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_items_and_co_ranks(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    found = told(capfd, "--at", "0,1,2,3,4,5,6,7,8,9")
    assert (found["items"], found["inputs"], found["order"]) == (9, ["a.i32", "b.i32"], "int32")
    assert [one["item"] for one in found["ranks"]] == [*two.tolist(), None]
    expected = [[0, 0], [1, 0], [1, 1], [2, 1], [2, 2], [3, 2], [4, 2], [5, 2], [5, 3], [5, 4]]
    assert [one["ahead"] for one in found["ranks"]] == expected
    assert [one["offsets"] for one in found["ranks"]] == (4 * np.array(expected)).tolist()
    assert [one.get("input") for one in found["ranks"][2:5]] == ["a.i32", "b.i32", "a.i32"]
    assert [one.get("index") for one in found["ranks"][2:5]] == [1, 1, 2]
    assert "input" not in found["ranks"][9]


def test_quantiles(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    found = told(capfd, "--quantile", "0,0.5,1/3,0.99,1")["ranks"]
    assert [(one["quantile"], one["rank"]) for one in found] == [
        ("0", 0),
        ("0.5", 4),
        ("1/3", 2),
        ("0.99", 8),
        ("1", 8),
    ]
    levels = [0, 0.5, 1 / 3, 0.99, 1]
    assert [one["item"] for one in found] == np.quantile(two, levels, method="inverted_cdf").tolist()


def test_ranks_of_items(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    found = told(capfd, *(word for item in range(-1, 11) for word in ("--of", str(item))))["of"]
    for one in found:
        low, high = (int(np.searchsorted(two, one["item"], side)) for side in ("left", "right"))
        assert (one["lower"], one["upper"], one["count"]) == (low, high, high - low)
        assert (sum(one["ahead"]), sum(one["ahead_upper"])) == (low, high)


def test_even_cuts(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    assert invoke(["rank", "a.i32", "b.i32", "--split", "2"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["parts"] == [
        {"offset": 0, "nbytes": 16, "ranges": [[0, 8], [0, 8]], "items": 4, "item_ranges": [[0, 2], [0, 2]]},
        {"offset": 16, "nbytes": 20, "ranges": [[8, 20], [8, 16]], "items": 5, "item_ranges": [[2, 5], [2, 4]]},
    ]


def test_the_parts_are_those_of_merge(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    random_ = random.Random(5)
    for name in ("a.txt", "b.txt"):
        lines = sorted(b"x" * random_.randint(0, 30) for _ in range(200))
        Path(name).write_bytes(b"".join(line + b"\n" for line in lines))
    assert invoke(["merge", "-q", "a.txt", "b.txt", "--parts", "3", "-o", "part{part}.txt"]) == 0
    assert invoke(["rank", "a.txt", "b.txt", "--split", "3"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert found["items"] is None
    for number, part in enumerate(found["parts"]):
        assert part["nbytes"] == os.path.getsize(f"part{number}.txt")
        assert "items" not in part
    for first, second in pairwise(found["parts"]):
        assert [high for _, high in first["ranges"]] == [low for low, _ in second["ranges"]]


def test_the_table(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    words = ["rank", "a.i32", "b.i32", "--at", "3,9", "--of", "7"]
    answers = [
        "rank  file   index  item",
        "   3  b.i32      1     3",
        "   9  (end)",
        "",
        "lower  upper  equal  item",
        "    5      8      3     7",
    ]
    assert invoke(words) == 0
    captured = capfd.readouterr()
    assert (captured.out.splitlines(), captured.err) == (answers, "")
    assert invoke([*words, "--stats", "-q"]) == 0
    assert capfd.readouterr().err == ""
    assert invoke([*words, "--stats"]) == 0
    captured = capfd.readouterr()
    assert captured.out.splitlines() == answers
    assert captured.err.splitlines() == [
        "9 items of 2 files, order: int32",
        "",
        "items ahead  rank 3  rank 9  7",
        "a.i32             2       5  3",
        "b.i32             1       4  2",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:3", slice(0, 3)), (":", slice(None)), ("4:", slice(4, None)), ("-2:", slice(-2, None)), (":-3", slice(-3)),
     ("7:2", slice(0, 0)), ("5:1e6", slice(5, None)), ("-1e6:1", slice(0, 1)), ("50:", slice(0, 0))],
)  # fmt: skip
def test_ranges_are_slices(two: np.ndarray[Any, Any], capfd: Captured, text: str, expected: slice) -> None:
    assert invoke(["rank", "a.i32", "b.i32", f"--range={text}", "-o", "out.npy", "--report", "r.json"]) == 0
    assert np.load("out.npy").tolist() == two[expected].tolist()
    report = json.loads(Path("r.json").read_text())
    assert report["items"] == len(two[expected])
    assert sum(one["nbytes"] for one in report["inputs"]) == report["nbytes"] == 4 * len(two[expected])
    assert capfd.readouterr().out == ""


def test_csv_compressed_files_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text('city,amount\n"Rome, Italy",7\nOslo,40\n')
    Path("b.csv").write_text('city,amount\n"A ""big""\ntown",9\nBern,50\n')
    merged = ['"Rome, Italy",7', '"A ""big""\ntown",9', "Oslo,40", "Bern,50"]
    words = ["a.csv", "b.csv", "--field", "amount:n"]
    assert invoke(["rank", *words, "--at", "0,1,2,3,4", "--of", "8", "--of", "50", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [one["item"] for one in found["ranks"]] == [*(line.replace("\n", "\\n") for line in merged), None]
    assert [one["key"] for one in found["ranks"]] == ["7", "9", "40", "50", None]
    assert [(one["lower"], one["upper"]) for one in found["of"]] == [(1, 1), (3, 4)]
    assert invoke(["rank", *words, "--of", "x,50", "--last-resort", "--json"]) == 0
    (one,) = json.loads(capfd.readouterr().out)["of"]
    assert (one["lower"], one["upper"]) == (4, 4)
    assert invoke(["merge", "-q", *words, "--tail", "3"]) == 0
    assert capfd.readouterr().out == "city,amount\n" + "\n".join(merged[1:]) + "\n"
    assert invoke(["merge", "-q", *words, "--head", "0"]) == 0
    assert capfd.readouterr().out == "city,amount\n"
    Path("c.txt.gz").write_bytes(gzip.compress(b"1\n3\n5\n"))
    Path("d.txt").write_bytes(b"2\n4")
    assert invoke(["merge", "-q", "c.txt.gz", "d.txt", "--tail", "2"]) == 0
    assert capfd.readouterr().out == "4\n5\n"
    assert invoke(["rank", "c.txt.gz", "d.txt", "--at", "3"]) == 0
    assert "4" in capfd.readouterr().out


def test_records_and_structured_arrays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.array([(1, 2.5, b"ab"), (1, 3.5, b"b"), (4, 0.5, b"c")], [("id", "u4"), ("price", "f8"), ("name", "S3")])
    for field, item, expected in (
        ("id", "1", (0, 3)), ("name", "b", (1, 3)), ("name", "0x626262", (3, 3)), ("id,price", "1,3.5", (1, 3)),
        ("id:r", "3", (2, 2)),
    ):  # fmt: skip
        for name, turned in (("a.npy", rows), ("b.npy", rows[1:])):
            np.save(name, turned[::-1] if field.endswith(":r") else turned)
        assert invoke(["rank", "a.npy", "b.npy", "--field", field, "--of", item, "--json"]) == 0
        (one,) = json.loads(capfd.readouterr().out)["of"]
        assert (one["lower"], one["upper"]) == expected, (field, item)
    Path("a.bin").write_bytes(b"aaxbbx")
    assert invoke(["rank", "a.bin", "--record-size", "3", "--key-size", "2", "--at", "1", "--of", "ab", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert (found["ranks"][0]["item"], found["of"][0]["lower"]) == ("bb", 1)
    assert (
        invoke(["rank", "a.bin", "--record-size", "3", "--key-size", "2", "--of", "0x62", "--of", "b", "--json"]) == 0
    )
    found = json.loads(capfd.readouterr().out)
    assert [one["lower"] for one in found["of"]] == [1, 1]  # zeros fill up both
    assert invoke(["rank", "a.bin", "--record-size", "3", "--key-size", "2", "--of", "0x626262"]) == 2
    assert "a key has 2 bytes, and '0x626262' has 3; write fewer, or 0x and up to 4" in capfd.readouterr().err


CITIES = [
    b"Bern",
    b"Bern",
    b"0x1",
    b"12",
    b"",
    b"a, b",
    b'a"b"',
    b"a\nb",
    b"caf\xe9",
    "café".encode(),
    b" x",
    b"\xff" * 6,
]


@pytest.mark.parametrize("fields", ["city", "city:r", "city,amount", "amount:r,city", "amount,share", "share"])
@pytest.mark.parametrize("dtype", ["<", ">"])
def test_items_of_answers_are_items_that_can_be_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured, rng: np.random.Generator, fields: str, dtype: str
) -> None:
    """A question for each item gives the ranks of its equals."""
    monkeypatch.chdir(tmp_path)
    shares = [0.1, 1e30, -0.0, 0.0, np.nan, np.inf, 1 / 3]
    rows = [(city, int(rng.integers(-3, 3)), float(rng.choice(shares))) for city in CITIES for _ in range(3)]
    np.save("given.npy", np.array(rows, [("city", "S6"), ("amount", f"{dtype}i8"), ("share", f"{dtype}f4")]))
    assert invoke(["sort", "given.npy", "--field", fields, "-o", "a.npy", "--quiet"]) == 0
    words = ["rank", "a.npy", "--field", fields, "--json"]
    capfd.readouterr()
    assert invoke([*words, "--at", ",".join(map(str, range(len(rows))))]) == 0
    items = [one["item"] for one in json.loads(capfd.readouterr().out)["ranks"]]
    assert invoke([*words, *(f"--of={item}" for item in items)]) == 0
    found = json.loads(capfd.readouterr().out)["of"]
    for rank, (item, one) in enumerate(zip(items, found, strict=True)):
        assert one["item"] == item
        assert one["lower"] <= rank < one["upper"], item
    groups = sorted({(one["lower"], one["upper"]) for one in found})
    assert [upper for _, upper in groups[:-1]] == [lower for lower, _ in groups[1:]]


def test_an_empty_line_is_an_item_in_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\nb\n")
    assert invoke(["rank", "a.txt", "--at", "0", "--of", ""]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "rank  file   index  line",
        "   0  a.txt      0",
        "",
        "lower  upper  equal  line",
        "    0      1      1",
    ]


def test_lines_like_words_for_others_are_found_as_they_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["", "(empty)", "(end)", " a", "b"]
    Path("a.txt").write_text("\n".join(sorted(lines)) + "\n")
    assert invoke(["rank", "a.txt", "--at", "0,1,2,3,4,5"]) == 0
    head, *rows, end = capfd.readouterr().out.split("\n")[:-1]
    assert end == "   5  (end)"
    shown = [row[head.index("line") :] for row in rows]
    assert shown == sorted(lines)
    assert invoke(["rank", "a.txt", "--of", "b  "]) == 0
    assert capfd.readouterr().out.endswith("  0  b  \n")
    for at, line in enumerate(shown):
        assert invoke(["rank", "a.txt", "--of", line]) == 0
        assert capfd.readouterr().out.split("\n")[1] == f"{at:5}  {at + 1:5}      1" + f"  {line}" * bool(line)


def test_offsets_and_bytes_of_parts_are_those_of_the_output_and_ranges_those_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("a\nbb")
    Path("b.txt").write_text("a\nc")
    Path("a.csv").write_text('h\n"a\nx"\nb')
    for words, ranges, total in (
        (["a.txt", "b.txt"], [[0, 4], [0, 3]], 9),
        (["a.csv", "--csv", "--header", "1"], [[0, 7]], 8),
    ):
        assert invoke(["rank", *words, "--split", "3"]) == 0
        parts = json.loads(capfd.readouterr().out)["parts"]
        for first, second in pairwise([*parts, {"offset": total}]):
            assert first["offset"] + first["nbytes"] == second["offset"]
        assert [[0, high] for _, high in parts[-1]["ranges"]] == ranges
        assert invoke(["merge", *words, "--plan"]) == 0
        plan = json.loads(capfd.readouterr().out)
        assert plan == {"nbytes": total, "chunks": [{"offset": 0, "nbytes": total, "ranges": ranges}]}


@pytest.mark.parametrize("words", [["--at", "3,9", "--of", "7"], ["--split", "2"], ["--quantile", "0.5", "--json"]])
def test_answers_go_to_a_file_whole_or_not_at_all(two: np.ndarray[Any, Any], capfd: Captured, words: list[str]) -> None:
    assert invoke(["rank", "a.i32", "b.i32", *words]) == 0
    shown = capfd.readouterr().out
    for more in ([], ["--fsync"]):
        assert invoke(["rank", "a.i32", "b.i32", *words, "-o", "answers.txt", *more]) == 0
        assert Path("answers.txt").read_text() == shown
        assert capfd.readouterr() == ("", "")
    assert invoke(["rank", "a.i32", "b.i32", "--at", "10", "-o", "answers.txt"]) == 2
    assert Path("answers.txt").read_text() == shown
    assert sorted(os.listdir()) == ["a.i32", "answers.txt", "b.i32"]


def test_each_question_has_an_answer(two: np.ndarray[Any, Any], capfd: Captured) -> None:
    words = ["--at", "3,3,1", "--quantile", "0.5,1/2,0.5", "--of", "1", "--of", "1"]
    assert invoke(["rank", "a.i32", "b.i32", *words, "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [one["rank"] for one in found["ranks"][:3]] == [3, 3, 1]
    assert [one["quantile"] for one in found["ranks"][3:]] == ["0.5", "1/2", "0.5"]
    assert len(found["of"]) == 2


def test_lines_are_texts_in_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["1.10", "007", " 5", "1e3", "12345678901234567.89"]
    Path("a.txt").write_text("".join(f"{line}\n" for line in sorted(lines)))
    assert invoke(["rank", "a.txt", "--at", "0,1,2,3,4", "--of", "1.10", "--json"]) == 0
    found = json.loads(capfd.readouterr().out)
    assert [one["item"] for one in found["ranks"]] == sorted(lines)
    assert found["of"][0]["item"] == "1.10"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no rank was asked for; add --at"),
        (["--at", "10"], "--at 10: the merge has 9 items; ask for a rank from 0 to 9"),
        (["--at", "x"], "--at: invalid count 'x'"),
        (["--quantile", "1.5"], "--quantile: '1.5' is not a quantile"),
        (["--of", "x"], "--of 'x': it is not of type int32; write a whole number"),
        (["--of", "3000000000"], "--of '3000000000': it is not of type int32"),
        (["--of", "1.5"], "--of '1.5': it is not of type int32"),
        (["--range", "5"], "--range: invalid range '5'"),
        (["--range", "1:2", "--at", "3"], "--range writes only items"),
        (["--at", "1", "-o", "a.i32"], "-o a.i32 would replace a.i32"),
        (["--at", "1", "-o", "s3://bucket/x"], "-o s3://bucket/x: answers are written to local files only"),
        (["--at", "1", "-o", "no/such/x"], "no/such"),
        (["--at", "1", "--report", "x.json"], "--report is for the items of --range"),
        (["--quantile", "101%"], "--quantile: '101%' is not a quantile; use numbers from 0 to 1, as 0.5,0.99, or 50%"),
        (["--quantile", "1e-999999999"], "--quantile: '1e-999999999' is not a quantile"),
        (["--quantile", "1%%"], "--quantile: '1%%' is not a quantile"),
        (["--split", "0"], "--split: invalid number '0'; write 1 or more"),
        (["--split", "65537"], "--split 65537: a merge is cut into 1 to 65536 parts; choose fewer"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    two: np.ndarray[Any, Any], capfd: Captured, words: list[str], said: str
) -> None:
    assert invoke(["rank", "a.i32", "b.i32", *words]) == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gpumerge: {said}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content", "words", "said"),
    [
        ("a.txt", b"1\n", ["--of", "a\nb"], "a line ends at a newline"),
        ("a.f16", np.zeros(1, np.float16).tobytes(), ["--of", "1e9"], "it is too large for float16"),
        ("a.f64", np.zeros(1).tobytes(), ["--of", "1e400"], "it is too large for float64; write inf"),
        ("a.bin", b"abc", ["--record-size", "3", "--of", "abcd"], "a key has 3 bytes"),
        *[
            ("a.csv", data, ["--csv", "-k2,2", "--last-resort", "--of", '1,"x'], "it is not a record of CSV: ")
            for data in (b"1,x\n", b'1,"x"\n', b'1,"x\ny"\n', b'1,x"y"\n')
        ],
        ("a.i32", b"", ["--quantile", "0.5"], "--quantile: the files hold no items"),
        ("a.txt", b"", ["--at", "1"], "--at 1: the merge has 0 lines"),
    ],
)
def test_items_that_cannot_be(
    tmp_path: Path, capfd: Captured, name: str, content: bytes, words: list[str], said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert invoke(["rank", str(tmp_path / name), *words]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["merge", "--head", "NUMBER"], "a\nb\nc\n"),
        (["merge", "--tail", "NUMBER"], "a\nb\nc\n"),
        (["rank", "--range", "1:NUMBER"], "b\nc\n"),
        (["rank", "--range", "-NUMBER:2"], "a\nb\n"),
        (["rank", "--at", "NUMBER"], "--at NUMBER: the merge has 3 lines; ask for a rank from 0 to 3"),
    ],
)
@pytest.mark.parametrize("number", [1 << 31, (1 << 63) - 1, 1 << 63, 10**30])
def test_numbers_beyond_those_of_machines(
    words: list[str], wanted: str, number: int, tmp_path: Path, capfd: Captured
) -> None:
    (tmp_path / "a").write_text("a\nc\n")
    (tmp_path / "b").write_text("b\n")
    asked = [word.replace("NUMBER", str(number)) for word in words]
    code = invoke([*asked, "-q", str(tmp_path / "a"), str(tmp_path / "b")])
    captured = capfd.readouterr()
    told = captured.out if code == 0 else captured.err
    assert wanted.replace("NUMBER", str(number)) in told
    assert code == (2 if wanted.startswith("--at") else 0)


def test_empty_files(tmp_path: Path, capfd: Captured) -> None:
    for name in ("a.i32", "b.i32", "a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"")
    for suffix in ("i32", "txt"):
        names = [str(tmp_path / f"{one}.{suffix}") for one in "ab"]
        assert invoke(["rank", *names, "--at", "0", "--of", "1", "--split", "3"]) == 0
        found = json.loads(capfd.readouterr().out)
        assert (found["ranks"][0]["ahead"], found["of"][0]["count"], len(found["parts"])) == ([0, 0], 0, 3)
        for words in (["merge", "--tail", "5"], ["merge", "--head", "5"], ["rank", "--range", "0:5"]):
            assert invoke([words[0], "-q", *names, *words[1:]]) == 0
            assert capfd.readouterr().out == ""


def test_questions_that_are_asked_again_are_all_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("".join(f"{number}\n" for number in range(100)))
    words = ["--at", "0", "--at", "10,11", "--quantile", "0.5", "--quantile=0.9,0.99"]
    assert invoke(["rank", "-n", "a.txt", *words, "--json"]) == 0
    ranks = json.loads(capfd.readouterr().out)["ranks"]
    assert [one["rank"] for one in ranks] == [0, 10, 11, 49, 89, 98]


def test_the_suffix_of_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("1\n2\n")
    assert invoke(["rank", "a.txt", "--at", "1", "-o", "r.json"]) == 0
    assert json.loads(Path("r.json").read_text())["ranks"][0]["item"] == "2"
    assert invoke(["rank", "a.txt", "--at", "1", "-o", "r.txt"]) == 0
    assert Path("r.txt").read_text() == "rank  file   index  line\n   1  a.txt      1     2\n"
    for name, holds in (
        ("r.npy", []),
        ("r.i32", []),
        ("r.csv", []),
        ("r.jsonl", []),
        ("r.ndjson", []),
        ("r.npy.gz", ["--json"]),
    ):
        assert invoke(["rank", "a.txt", "--at", "1", *holds, "-o", name]) == 2
        held = "a JSON object" if holds else "tables of text"
        assert f"-o {name}: answers are {held}, not .{name.split('.')[1]}; name it " in capsys.readouterr().err
        assert not Path(name).exists()
    for name in ("r.gz", "r.txt.zst", "r.json.bz2"):
        assert invoke(["rank", "a.txt", "--at", "1", "-o", name]) == 2
        assert (
            f"-o {name}: answers are not compressed; name it without .{name.split('.')[-1]}" in capsys.readouterr().err
        )
        assert not Path(name).exists()
