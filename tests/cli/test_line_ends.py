"""--line-ends: a carriage return ahead of a newline is no part of a line, and the output has ends of one kind."""

from __future__ import annotations

import json
import random
import re
from itertools import accumulate
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats import line_ends

Captured = pytest.CaptureFixture[str]


def random_lines(chance: random.Random) -> list[bytes]:
    return sorted({b"".join(chance.choices([b"a", b"b,", b"\r", b" "], k=chance.randrange(5))) for _ in range(20)})


def bare(line: bytes) -> bytes:
    return line.removesuffix(b"\r")


@pytest.mark.parametrize("ends", ["first", "lf", "crlf"])
def test_mixed_ends(ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(line_ends, "_PIECE", 3)
    for number in range(25):
        chance = random.Random(f"{seed} {ends} {number}")
        data = []
        for name in "ab":
            lines = sorted({bare(line) for line in random_lines(chance)})
            both = [b"\n", b"\r\n"]
            wanted = chance.choice([both[:1], both[1:], both])
            data.append(b"".join(line + chance.choice(wanted) for line in lines))
            Path(name).write_bytes(data[-1])
        first = re.match(rb"[^\n]*?(\r?\n)", data[0])
        assert first is not None
        end = {"first": first[1], "lf": b"\n", "crlf": b"\r\n"}[ends]
        every = sorted(bare(line) for each in data for line in each.split(b"\n")[:-1])
        for command, expected in (
            (["sort"], every), (["merge", "-q"], every), (["merge", "-q", "-u"], sorted(set(every))),
        ):  # fmt: skip
            assert invoke([*command, "--line-ends", ends, "a", "b", "-o", "out"]) == 0
            assert Path("out").read_bytes() == b"".join(line + end for line in expected), (number, command)
        assert invoke(["check", "-q", "--line-ends", ends, "a"]) == 0


@pytest.mark.parametrize(
    "text", ["k,v\n1,x\n2,y\n", 'k,v\n1,"x\r\nz"\n2,y\n', 'k,v\n1,"x""\r\nz"\n2,y\n', 'k,v\n1,x"q\n2,y\n']
)
@pytest.mark.parametrize("keys", [["--field", "k"], ["--csv", "--header", "1", "-k", "1"]])
def test_csv_keeps_what_quotes_enclose(
    text: str, keys: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_bytes(text.encode())
    crlf = re.sub(r"(?<!\r)\n", "\r\n", text).encode()
    Path("b").write_bytes(crlf)
    header, record = (crlf.split(b"\r\n", 1)[0], crlf.split(b"\r\n", 1)[1].rsplit(b"\r\n", 2)[0])
    for ends, end in (("lf", b"\n"), ("crlf", b"\r\n"), ("first", b"\n")):
        assert invoke(["merge", "-q", "-u", *keys, "--line-ends", ends, "a", "b", "-o", "out"]) == 0
        assert Path("out").read_bytes() == end.join([header, record, b"2,y", b""]), ends


def test_a_join_and_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_bytes(b"1 x\r\n2 y\r\n")
    Path("b").write_bytes(b"1 z\n3\n")
    assert invoke(["join", "-q", "--line-ends", "first", "a", "b", "-o", "1.2,0,2.2", "--output", "out"]) == 0
    assert Path("out").read_bytes() == b"x 1 z\r\n"
    Path("a").write_bytes(b"> 2\r\n x\r\n> 1\r\n")
    assert invoke(["sort", "--line-ends", "lf", "--record-start", "^> [0-9]$", "a", "-o", "out"]) == 0
    assert Path("out").read_bytes() == b"> 1\n> 2\n x\n"
    assert invoke(["sort", "--line-ends", "first", "--record-start", "^> [0-9]$", "a", "-o", "out"]) == 0
    assert Path("out").read_bytes() == b"> 1\r\n> 2\r\n x\r\n"


@pytest.mark.one_of_each
@pytest.mark.parametrize("options", [[], ["--csv"], ["--record-start", "[abc]"], ["--header", "1"]], ids=" ".join)
@pytest.mark.parametrize("ends", ["lf", "crlf"])
def test_parts_are_places_of_the_files_and_of_the_output(
    ends: str, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured, seed: int
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(line_ends, "_PIECE", 5)
    for number in range(10):
        chance = random.Random(f"{seed} {ends} {options} {number}")
        files = []
        for name in "ab":
            kinds = chance.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
            lines = sorted(chance.choice(b"abc").to_bytes() + b"x" * chance.randrange(4) for _ in range(15))
            if "--csv" in options:
                lines = [b'"%s\r\n"' % line for line in lines]
            if "--record-start" in options:
                lines = sorted(line + chance.choice([b"", b"\r\n  of it"]) for line in lines)
            files.append([line + chance.choice(kinds) for line in lines])
            if chance.random() < 0.5:
                files[-1][-1] = files[-1][-1].rstrip(b"\r\n")
            head = b"head" + chance.choice(kinds) if "--header" in options else b""
            Path(name).write_bytes(head + b"".join(files[-1]))
        command = ["--line-ends", ends, *options, "a", "b"]
        assert invoke(["merge", "-q", *command, "-o", "out"]) == 0
        out = Path("out").read_bytes()
        if "--header" in options:
            out = out.split(b"\n", 1)[1]
        capfd.readouterr()
        assert invoke(["rank", "--split", "3", *command]) == 0
        parts = json.loads(capfd.readouterr().out)["parts"]
        ranges = [part["ranges"] for part in parts]
        for file, of_file in zip(files, zip(*ranges, strict=True), strict=True):
            starts = [0, *accumulate(map(len, file))]
            assert {place for both in of_file for place in both} <= set(starts), (number, file, of_file)
            assert [low for low, _ in of_file[1:]] == [high for _, high in of_file[:-1]]
            assert (of_file[0][0], of_file[-1][1]) == (0, starts[-1])
        for part in parts:
            pairs = zip(map(b"".join, files), part["ranges"], strict=True)
            inside = b" ".join(file[low:high] for file, (low, high) in pairs)
            written = out[part["offset"] : part["offset"] + part["nbytes"]]
            assert bare_words(written) == bare_words(inside), (number, part)
        assert sum(part["nbytes"] for part in parts) == len(out)


def bare_words(lines: bytes) -> list[bytes]:
    return sorted(lines.split())


@pytest.mark.parametrize("words", [[], ["--csv"], ["--record-start", "^[ab]"]], ids=" ".join)
def test_a_last_line_without_newline(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    for piece in (2, 3, 100):
        monkeypatch.setattr(line_ends, "_PIECE", piece)
        for data in (b"a\r\nb\r", b"a\nb\r", b"a\r\nb", b"a\nb\n"):
            Path("in").write_bytes(data)
            for ends, end in (("lf", b"\n"), ("crlf", b"\r\n")):
                assert invoke(["merge", "-q", "--line-ends", ends, *words, "in"]) == 0
                assert capfdbinary.readouterr().out == b"a" + end + b"b" + end
    Path("in").write_bytes(b"a\r\r")
    assert invoke(["merge", "-q", "--line-ends", "lf", "in"]) == 0
    assert capfdbinary.readouterr().out == b"a\r\n"
