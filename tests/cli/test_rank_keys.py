"""The keys in questions and answers of gpumerge rank: each answer can be asked for again."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine import file_places
from gpumerge_cli.engine.escapes import bytes_of, escaped_line, escaped_text

Captured = pytest.CaptureFixture[str]


def answers(capfd: Captured, *words: str) -> Any:
    capfd.readouterr()
    assert invoke(["rank", *words, "--json"]) == 0, capfd.readouterr().err
    text = capfd.readouterr().out
    text.encode()  # no lone surrogates, nor as escapes
    assert "\\ud" not in text
    return json.loads(text)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("salt").write_bytes(bytes(range(16)))


def test_the_median_of_many_files_is_the_last_line(capfd: Captured) -> None:
    names = [f"f{number}.csv" for number in range(1, 201)]
    for number, name in enumerate(names, 1):
        Path(name).write_text(f"host,ms\nh,{number}\nh,500\n")
    assert invoke(["rank", "--field", "ms:n", *names, "--quantile", "0.5,99.9%"]) == 0
    assert capfd.readouterr().out == (
        "rank  quantile  file      index   ms\n"
        " 199  0.5       f200.csv      0  200\n"
        " 399  99.9%     f200.csv      1  500\n"
    )  # fmt: skip
    for words in (["--field", "ms:n"], ["-t,", "-k2,2n", "--header", "1"], ["-t,", "-k2n", "--header", "1"]):
        (found,) = answers(capfd, *words, *names, "--of", "100")["of"]
        assert (found["key"], found["lower"], found["upper"]) == ("100", 99, 100)
    assert invoke(["rank", "--field", "ms:n", *names, "--of", "x,100"]) == 2
    told = "--of 'x,100': the key has 1 field, not 2; put a field that holds commas into double quotes"
    assert told in capfd.readouterr().err


@pytest.mark.parametrize("quantile", ["99%", "0.99", "99/100", "99.0%", "198/2%"])
def test_quantiles_in_percent(capfd: Captured, quantile: str) -> None:
    Path("a.txt").write_text("".join(f"{number:03}\n" for number in range(200)))
    (found,) = answers(capfd, "a.txt", "--quantile", quantile)["ranks"]
    assert (found["rank"], found["item"], found["quantile"]) == (197, "197", quantile)


def test_several_fields_have_commas_between(capfd: Captured) -> None:
    Path("a.csv").write_text('city,n,m\n"Rome, Italy",7,x\n"Rome, Italy",9,x\n"say ""hi""",1,\n')
    found = answers(capfd, "--field", "city,n:n", "a.csv", "--at", "0,1,2", "--of", '"Rome, Italy",8')
    assert [one["key"] for one in found["ranks"]] == ['"Rome, Italy",7', '"Rome, Italy",9', '"say ""hi""",1']
    assert [one["item"] for one in found["ranks"]] == ['"Rome, Italy",7,x', '"Rome, Italy",9,x', '"say ""hi""",1,']
    assert (found["of"][0]["lower"], found["of"][0]["count"]) == (1, 0)
    found = answers(capfd, "--field", "city", "a.csv", "--of", '"Rome, Italy"', "--of", "", "--of", "z")["of"]
    assert [(one["lower"], one["upper"]) for one in found] == [(0, 2), (0, 0), (3, 3)]
    Path("b.csv").write_text("1,7,x\n2,9,x\n3,9,y\n")
    found = answers(capfd, "--csv", "-k2", "b.csv", "--of", "9,x", "--of", '"9,x"')["of"]
    assert [one["upper"] - one["lower"] for one in found] == [1, 1]
    assert invoke(["rank", "--field", "city,n", "a.csv", "--at", "0"]) == 0
    assert capfd.readouterr().out.splitlines()[0].endswith("  city,n")
    for text, told in (
        ("Rome", "the key has 2 fields, not 1; write a value for each, with commas between"),
        ('"Rome,1', "its fields are not valid CSV"),
        (r"C:\data,1", r"'C:\data,1': \d is not an escape; write \\ for a backslash"),
        (r"\0,1", r"'\0,1': \0 is not an escape; write \x00 for byte 0"),
    ):
        assert invoke(["rank", "--field", "city,n", "a.csv", "--of", text]) == 2
        captured = capfd.readouterr().err
        assert told in captured
        assert captured.count("\n") == 1


def test_carriage_returns_belong_to_no_field(capfd: Captured) -> None:
    Path("a.csv").write_bytes(b"id,v\r\n1,a\r\n2,b\r\n")
    found = answers(capfd, "--field", "id,v", "a.csv", "--at", "0,1", "--of", "1,a", "--of", "2,b")
    assert [one["key"] for one in found["ranks"]] == ["1,a", "2,b"]
    assert [(one["lower"], one["upper"]) for one in found["of"]] == [(0, 1), (1, 2)]
    for words in (["--field", "id"], ["--field", "v"], ["-k1,2"]):  # the last one by the parser of CSV
        whole = ["--csv", "--header", "1", *words, "--last-resort", "a.csv"]
        found = answers(capfd, *whole, "--at", "0,1", "--of", "1,a", "--of", r"1,a\r", "--of", r"2,b\r")
        assert [one["item"] for one in found["ranks"]] == [r"1,a\r", r"2,b\r"]
        assert [(one["lower"], one["upper"]) for one in found["of"]] == [(0, 1), (0, 1), (1, 2)]


def test_control_bytes_are_written_and_read_as_escapes(capfd: Captured) -> None:
    texts = [r"C:\\x", r"a\tb", r"c\x01d", r"e\x20", "é", r"\xe9"]
    Path("a").write_bytes(b"".join(bytes_of(text) + b"\n" for text in texts))
    found = answers(capfd, "a", "--at", "0,1,2,3,4,5", *(f"--of={text}" for text in texts))
    assert [one["item"] for one in found["ranks"]] == texts == [one["item"] for one in found["of"]]
    assert [(one["lower"], one["upper"]) for one in found["of"]] == [(at, at + 1) for at in range(6)]
    raw = answers(capfd, "a", "--of", "a\tb", "--of", "c\1d", "--of", os.fsdecode(b"\xe9"))["of"]
    assert [(one["item"], one["lower"], one["count"]) for one in raw] == [
        (r"a\tb", 1, 1),
        (r"c\x01d", 2, 1),
        (r"\xe9", 5, 1),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_escapes_give_all_bytes_back(seed: int) -> None:
    random_ = random.Random(seed)
    for _ in range(300):
        data = bytes(random_.choices(range(256), k=9)) + random_.choice([b"", b" ", "é\u200b\u2028".encode()])
        assert bytes_of(escaped_text(data)) == bytes_of(escaped_line(data)) == data
        assert escaped_text(data).isprintable()


def test_no_cut_lies_past_the_end_of_a_file(capfd: Captured) -> None:
    Path("a.txt").write_bytes(b"a\nc")
    Path("b.txt").write_bytes(b"b")
    found = answers(capfd, "a.txt", "b.txt", "--at", "0,1,2,3", "--of", "z", "--split", "3")
    assert [one["offsets"] for one in found["ranks"]] == [[0, 0], [2, 0], [2, 1], [3, 1]]
    assert found["of"][0]["offsets"] == [3, 1]
    assert [part["ranges"] for part in found["parts"]] == [[[0, 2], [0, 0]], [[2, 2], [0, 1]], [[2, 3], [1, 1]]]
    assert [part["nbytes"] for part in found["parts"]] == [2, 2, 2]  # in the output
    assert [part["offset"] for part in found["parts"]] == [0, 2, 4]  # in the output, where all lines have ends


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("key", ["-k1,1", "-k1,2"])
def test_cuts_of_csv_are_places_in_the_file(
    capfd: Captured, monkeypatch: pytest.MonkeyPatch, key: str, end: str
) -> None:
    """Records of the second order are copied with their fields."""
    monkeypatch.setattr(file_places, "_BLOCK", 16)
    records = [f'{number},"{"x" * (number % 7)}\n"\r\n' for number in range(10, 60)]
    Path("a.csv").write_text("id,v\r\n" + "".join(records).removesuffix("\r\n") + end)
    starts = [len("".join(records[:number])) for number in range(50)]
    ends = [*starts, len("".join(records)) - 2 + len(end)]
    words = ["--csv", "--header", "1", key, "a.csv"]
    found = answers(capfd, *words, "--at", "3,7,0,50,49", "--split", "7")
    assert [one["offsets"] for one in found["ranks"]] == [[ends[rank]] for rank in (3, 7, 0, 50, 49)]
    low = 0
    for part in found["parts"]:
        (ranges,) = part["ranges"]
        assert part["offset"] == ranges[0] == low
        low = ranges[0] + part["nbytes"]
        assert ranges[1] in ends
        assert ranges[1] == min(low, ends[-1])
    assert low == ends[-1] + (not end)


def test_names_that_are_not_utf8(capfd: Captured) -> None:
    name = os.fsdecode(b"n\xff.txt")
    Path(name).write_text("a\n")
    found = answers(capfd, name, "--at", "0")
    assert found["inputs"] == [found["ranks"][0]["input"]] == ["n\0ff.txt"]


def test_long_lines_are_cut_on_a_terminal_alone(capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    Path("a.txt").write_text("x" * 300 + "\n")
    assert invoke(["rank", "a.txt", "--at", "0"]) == 0
    assert capfd.readouterr().out.splitlines()[1].endswith("x" * 300)
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True, raising=False)
    assert invoke(["rank", "a.txt", "--at", "0"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [len(line) for line in lines] == [24, 50]
    assert lines[1].endswith("x...")
    Path("folder/of/a/long/name").mkdir(parents=True)
    Path("folder/of/a/long/name/b.txt").write_text("the key\n")
    assert invoke(["rank", "folder/of/a/long/name/b.txt", "--at", "0"]) == 0
    assert capfd.readouterr().out.splitlines()[1] == "   0  ...ng/name/b.txt      0  the key"


def test_a_text_in_place_of_a_number_is_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    Path("a.csv").write_text("host,ms\na,5\nb,100\n")
    assert invoke(["rank", "--field", "ms:n,host", "a.csv", "--of", "b,100"]) == 0
    assert "--of 'b,100': the key 'b' by --field ms:n is not a number" in caplog.text


ORDERS = [
    [],
    ["-b"],
    ["-n"],
    ["-f"],
    ["-V"],
    ["-R", "--random-source=salt"],
    ["-z"],
    ["-r", "--last-resort", "-k2"],
    ["-k2,2"],
    ["-k2b,2", "-k1,1n"],
    ["-k2n"],
    ["-k2.2,2.3", "-k1.2b,1.4"],
    ["-t,", "-k2,2n", "-k1,1r"],
    ["-t,", "-k2", "-k1"],
    ["-t,", "-k1.2,3.1"],
    ["-t,", "-k3,3M", "-k2,2h"],
    ["-t,", "-z", "-k2,2"],
    ["--sort=size", "--invalid=last"],
    ["-k2,2:size", "-k1,1:hex,r", "--invalid=first"],
    ["-t;", "-k1,1:time,r", "-k2,2:duration", "--invalid=last", "--nulls=first"],
    ["-t,", "-k2:address", "-k1,1:length", "--invalid=first", "--null-values=7,a"],
]
CSV_ORDERS = [
    [],
    ["-k2,2"],
    ["-k2,2n", "-k1,1"],
    ["-k2b,2", "-k1,1f"],
    ["-k1.2,1", "-k2,2"],
    ["-k2"],
    ["-k1,2"],
    ["-k2.2,3.1", "-k1,1r"],
    ["-k1,1R", "--random-source=salt"],
    ["-k1,1d", "-k3,3V"],
    ["-t;", "-k2"],
    ["-k2,2", "--last-resort"],
    ["-k2", "--last-resort"],
    ["-k2,2:size,r", "-k1,1:bytes-length", "--invalid=first"],
    ["-k2,3:hex", "--invalid=last", "--nulls=first", "--null-values=7"],
]
_PIECES = [b"a", b"B", b"7", b"-1", b"2K", b"Feb", b"x1.10", b" ", b"  ", b"\t", b",", b";", b'"', b"\\", b"\x01",
           b"\x7f", b"\xe9", b"\xff", "é".encode(), b"\r", b"\0"]  # fmt: skip


def drawn(random_: random.Random, most: int, without: bytes) -> bytes:
    pieces = [piece for piece in _PIECES if not set(piece) & set(without)]
    return b"".join(random_.choices(pieces, k=random_.randint(0, most)))


def sort(order: list[str], name: str, seed: int) -> None:
    ties = [] if "--last-resort" in order else ["-s"]
    assert invoke(["sort", *ties, *order, "given", "-o", name]) == 0, (seed, order)


def check_all(capfd: Captured, words: list[str], seed: int) -> None:
    """Ask for the items of all ranks, and for the ranks of all their keys."""
    total = answers(capfd, *words, "--quantile", "1")["items"]
    ranks = answers(capfd, *words, "--at", ",".join(map(str, range(total))))["ranks"]
    texts = [one.get("key", one["item"]) for one in ranks]
    found = answers(capfd, *words, *(f"--of={text}" for text in texts))["of"]
    for rank, (text, one) in enumerate(zip(texts, found, strict=True)):
        assert text.isprintable()
        assert one["lower"] <= rank < one["upper"], (seed, words, text)
        assert one.get("key", one.get("item")) == text
    groups = sorted({(one["lower"], one["upper"]) for one in found})
    assert [0, *(upper for _, upper in groups)] == [*(lower for lower, _ in groups), total], (seed, words)


@pytest.mark.parametrize("order", ORDERS, ids=" ".join)
def test_each_answer_of_lines_can_be_asked_for(order: list[str], capfd: Captured, rng: np.random.Generator) -> None:
    seed = int(rng.integers(1 << 32))
    random_ = random.Random(seed)
    end = b"\0" if "-z" in order else b"\n"
    names = ["a.txt", "b.txt"]
    for name in names:
        lines = [drawn(random_, 7, end) for _ in range(25)]
        Path("given").write_bytes(end.join(lines) + end * random_.randint(0, 1))
        sort(order, name, seed)
    check_all(capfd, [*order, *names], seed)


@pytest.mark.one_of_each
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("order", CSV_ORDERS, ids=" ".join)
def test_each_answer_of_csv_can_be_asked_for(
    order: list[str], ends: str, capfd: Captured, rng: np.random.Generator
) -> None:
    seed = int(rng.integers(1 << 32))
    random_ = random.Random(seed)
    separator = b";" if "-t;" in order else b","
    names = ["a.csv", "b.csv"]
    newlines = bool(random_.randint(0, 1))
    for name in names:
        records = [record(random_, separator, newlines) for _ in range(25)]
        Path("given").write_bytes(b"".join(one + ends.encode() for one in records))
        sort(["--csv", *order], name, seed)
    check_all(capfd, ["--csv", *order, *names], seed)


def record(random_: random.Random, separator: bytes, newlines: bool) -> bytes:
    """A record of three fields, any of which may be quoted."""
    fields = []
    for _ in range(3):
        if random_.randint(0, 1):
            field = drawn(random_, 4, b"\0\1\r") + b"\n" * (newlines and random_.randint(0, 1))
            fields.append(b'"' + field.replace(b'"', b'""') + b'"')
        else:
            fields.append(drawn(random_, 4, b'\0\1\r"' + separator))
    return separator.join(fields)
