"""Records of several lines, --record-start, against plain Python."""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.formats import line_records

Captured = pytest.CaptureFixture[str]
PATTERNS: dict[str, Callable[[bytes], object]] = {
    "^[0-9]": lambda line: re.match(rb"[0-9]", line),
    "^(>|#.*[ab]$)": lambda line: re.match(rb">|#[^\n]*[ab]\Z", line),
    "[[:digit:]]{2}|^$": lambda line: re.search(rb"[0-9]{2}", line) or not line,
    "x": lambda line: b"x" in line,
}


def split(data: bytes, begins: Callable[[bytes], object]) -> list[bytes]:
    """The records of a file, each with all its newlines but the last one."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    found: list[list[bytes]] = []
    for line in lines:
        if not found or begins(line):
            found.append([])
        found[-1].append(line)
    return [b"\n".join(record) for record in found]


def whole(records: list[bytes]) -> bytes:
    return b"".join(record + b"\n" for record in records)


def random_file(chance: random.Random) -> bytes:
    def line() -> bytes:
        start = chance.choice([b"1", b"22", b">", b"#", b" ", b"", b"x", b"\xff", b"\0" * chance.randrange(2)])
        return start + b"".join(chance.choices([b"a", b"b", b" ", b"9", b"x", b"\t"], k=chance.randrange(6)))

    data = b"".join(line() + b"\n" for _ in range(chance.randrange(40)))
    return data[:-1] if chance.random() < 0.3 else data


def sorted_by(records: list[bytes], key: str) -> list[bytes]:
    if key == "":
        return sorted(records)
    field = int(key[0]) - 1

    def value(record: bytes) -> bytes:
        fields = record.split(b"\n", 1)[0].split(b" ")
        return fields[field] if field < len(fields) else b""

    return sorted(records, key=value)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_command_takes_records(pattern: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(line_records, "_BLOCK", 7)
    out = Path("out")
    for number in range(8):
        chance = random.Random(f"{seed} {pattern} {number}")
        files = [random_file(chance) for _ in range(2)]
        if not all(any(PATTERNS[pattern](line) for line in data.split(b"\n")[: -1 if data[-1:] == b"\n" else None])
                   for data in files):  # fmt: skip
            continue
        records = [split(data, PATTERNS[pattern]) for data in files]
        key = chance.choice(["", "1,1", "2,2"])
        options = ["--record-start", pattern, *(["-t", " ", "-k", key] if key else [])]
        for name, data in zip("ab", files, strict=True):
            Path(name).write_bytes(data)
        assert invoke(["sort", *options, *["-s"] * bool(key), "a", "b", "-o", "out"]) == 0
        every = sorted_by(records[0] + records[1], key)
        assert out.read_bytes() == whole(every), (number, options)
        ordered = [sorted_by(each, key) for each in records]
        for name, each in zip("ab", ordered, strict=True):
            Path(name).write_bytes(whole(each))
        # A record without a start may have come to another place, where it belongs to the one ahead of it.
        read = [split(whole(each), PATTERNS[pattern]) for each in ordered]
        if read != ordered:
            continue
        every = sorted_by(ordered[0] + ordered[1], key)
        assert invoke(["merge", "-q", *options, "a", "b", "-o", "out"]) == 0
        assert out.read_bytes() == whole(every)
        assert invoke(["check", "-q", *options, "out"]) == 0
        if key:
            continue
        assert invoke(["merge", "-q", "--unique", *options, "a", "b", "-o", "out"]) == 0
        assert out.read_bytes() == whole(sorted(set(every)))
        assert invoke(["intersect", "-q", "--distinct", *options, "a", "b", "-o", "out"]) == 0
        assert out.read_bytes() == whole(sorted(set(ordered[0]) & set(ordered[1])))
        assert invoke(["merge", "-q", "--head", "3", *options, "a", "b", "-o", "out"]) == 0
        assert out.read_bytes() == whole(every[:3])
        assert invoke(["merge", "-q", "--tail", "3", *options, "a", "b", "-o", "out"]) == 0
        assert out.read_bytes() == whole(every[-3:])
        assert invoke(["rank", "-q", *options, "--range", "1:4", "a", "b", "-o", "out"]) == 0
        assert out.read_bytes() == whole(every[1:4])
        assert invoke(["merge", "-q", "--parts", "2", *options, "a", "b", "-o", "p{part}"]) == 0
        assert Path("p0").read_bytes() + Path("p1").read_bytes() == whole(every)


LOG = b"2024-01-01 10:00:0%d b\n  at x\n\nCaused by: y\n2024-01-01 10:00:0%d c\n"


def test_stack_traces_go_along_with_their_times(tmp_path: Path, capfd: Captured) -> None:
    a, b = tmp_path / "a.log", tmp_path / "b.log.gz"
    a.write_bytes(LOG % (1, 3))
    b.write_bytes(gzip.compress((LOG % (2, 4))[:-1]))
    assert invoke(["merge", "--time", str(a), str(b)]) == 2
    says = (
        "a.log:2: '  at x' has no time in it, by --time; if it goes on from the line above, add --record-start time; "
    )
    assert says in capfd.readouterr().err
    assert invoke(["merge", "-q", "--time", "--record-start", "time", str(a), str(b)]) == 0
    lines = b"".join((LOG % (second, 0)).partition(b"2024-01-01 10:00:00")[0] for second in (1, 2)).decode()
    assert capfd.readouterr().out == f"{lines}2024-01-01 10:00:03 c\n2024-01-01 10:00:04 c\n"


def test_a_pipe_and_a_header(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"log 1\n> 2\n  x\n")
    command = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", "--record-start", "^>", "--header", "1", "-", "a"]
    ran = subprocess.run(command, cwd=tmp_path, input=b"log 1\n> 1\n\n> 3\n", capture_output=True, check=True)
    assert ran.stdout == b"log 1\n> 1\n\n> 2\n  x\n> 3\n"


def test_lines_ahead_of_the_first_record_are_one(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "a").write_bytes(b"lost\n  too\n2024-01-01 b\n")
    command = ["sort", "--time", "--record-start", "time", str(tmp_path / "a")]
    assert invoke(command) == 2
    assert "a:1: 'lost' has no time in it" in capfd.readouterr().err
    assert invoke([*command, "--invalid", "first"]) == 0
    assert capfd.readouterr().out == "lost\n  too\n2024-01-01 b\n"


def test_places_are_lines(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "a").write_bytes(b"> 1\n x\n> 3\n y\n> 2\n")
    assert invoke(["check", "--record-start", "^>", str(tmp_path / "a")]) == 1
    assert "a:5: disorder: '> 2' comes after '> 3\\n y' (line 3); sort it first\n" in capfd.readouterr().err


@pytest.mark.parametrize("ends", [[], ["--line-ends", "crlf"]])
def test_parts_are_cut_where_records_begin_in_files(ends: list[str], tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "a").write_bytes(b"> 1\r\n x\r\n> 3\r\n x\r\n")
    command = ["rank", "--record-start", "^>", *ends, "--split", "2", str(tmp_path / "a")]
    assert invoke(command) == 0
    assert [part["ranges"] for part in json.loads(capfd.readouterr().out)["parts"]] == [[[0, 9]], [[9, 18]]]


def test_more_than_memory_holds(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    records = [b"> %d\n%s" % (chance.randrange(10**6), b"  at x\n" * chance.randrange(6)) for _ in range(200_000)]
    (tmp_path / "a").write_bytes(b"".join(records))
    out = tmp_path / "out"
    command = ["sort", "--record-start", "^>", "-k2,2n", "-s", "-S", "2M", str(tmp_path / "a"), "-o", str(out)]
    assert invoke(command) == 0
    assert out.read_bytes() == b"".join(sorted(records, key=lambda record: int(record.split(b"\n", 1)[0][2:])))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--record-start", "("], "--record-start '(': Unmatched ( or \\(; write time, or a POSIX extended regular"),
        (["--record-start", "^zz"], "a: no line of it begins a record; check --record-start"),
        (["--record-start", "x", "-z"], "--record-start cannot be combined with -z; leave -z out"),
        (["--record-start", "x", "--csv"], "--record-start cannot be combined with --csv; leave --csv out"),
        (["--record-start", "x", "-t", " ", "--field", "a"], "--record-start: records of CSV have lines within"),
        (["--line-ends", "lf", "-z"], "--line-ends and -z: lines end in newlines, or in NUL; leave one of the two out"),
        (["--line-ends", "cr"], "--line-ends: invalid value 'cr'"),
    ],
)  # fmt: skip
def test_refusals(
    options: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("a b\n")
    assert invoke(["sort", *options, "a"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert says in error


def test_numbers_and_columns_beside_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("> 1\n x\n> 2\n")
    Path("b").write_text("> 1\n x\n> 3\n")
    options = ["-q", "--record-start", "^>", "a", "b"]
    assert invoke(["merge", "--count", *options]) == 0
    assert capfd.readouterr().out == "      2 > 1\n x\n      1 > 2\n      1 > 3\n"
    assert invoke(["compare", *options]) == 0
    assert capfd.readouterr().out == "\t\t> 1\n x\n> 2\n\t> 3\n"
    assert invoke(["merge", "--source", *options]) == 0
    assert capfd.readouterr().out == "a\t> 1\n x\nb\t> 1\n x\na\t> 2\nb\t> 3\n"
