"""Members that JSON Lines get: counts, columns of compare and the names of files, against Python."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from tests.json_documents import any_value, spelled

Capture = pytest.CaptureFixture[bytes]
Line = bytes
COMMANDS = {
    "union": lambda m, n: (range(m), range(m, n)),
    "intersect": lambda m, n: (range(min(m, n)), range(0)),
    "difference": lambda m, n: (range(n, m), range(0)),
    "symmetric": lambda m, n: (range(n, m), range(m, n)),
}
"""The equal lines of A and of B that go out, if A has m and B has n of them."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(words: str, capture: Capture) -> bytes:
    assert invoke([*words.split(), "-q"]) == 0
    return capture.readouterr().out


def drawn_line(draw: random.Random) -> Line:
    """An object with a key of few values, or without one."""
    value = {"other": any_value(draw, 2, ["k"]), "k": draw.choice([None, *range(6)])}
    if draw.random() < 0.3:
        del value[draw.choice(["k", "other"])]
    if draw.random() < 0.1:
        value = {}
    text = draw.choice(["", " ", "\t"]) + spelled(draw, value) + draw.choice(["", " ", "\r"])
    return text.encode("utf-8", "surrogatepass")


def key(line: Line) -> tuple[bool, int]:
    value = json.loads(line.decode("utf-8", "surrogatepass")).get("k")
    return (value is None, -(value or 0))


def with_members(line: Line, ahead: Sequence[tuple[str, Any]], behind: Sequence[tuple[str, Any]] = ()) -> Line:
    """The plain form: members are put behind the first brace, and ahead of the last one."""
    blanks, inner, tail = re.fullmatch(rb"([ \t\r]*)\{(.*)\}([ \t\r]*)", line, re.DOTALL).groups()  # type: ignore[union-attr]
    for name, value in reversed(ahead):
        text = f"{json.dumps(name)}:{json.dumps(value, ensure_ascii=False)}".encode()
        inner = text + (b"," + inner if inner.strip() else inner)
    carriage = b""
    for name, value in behind:
        if line.endswith(b"\r"):
            carriage, tail = b"\r", tail.removesuffix(b"\r")
        text = f"{json.dumps(name)}:{json.dumps(value)}".encode()
        inner = (inner + b"," if inner.strip() else inner) + text
    return blanks + b"{" + inner + b"}" + tail + carriage


@pytest.fixture
def two(seed: int) -> list[list[Line]]:
    draw = random.Random(seed)
    files = [sorted((drawn_line(draw) for _ in range(draw.choice([0, 5, 80]))), key=key) for _ in range(2)]
    for name, lines in zip(("a.jsonl", "b.jsonl"), files, strict=True):
        Path(name).write_bytes(b"".join(line + b"\n" for line in lines))
    return files


def groups(files: Sequence[Sequence[Line]]) -> list[list[list[Line]]]:
    """For each key the lines of each file."""
    keys = sorted({key(line) for lines in files for line in lines})
    return [[[line for line in lines if key(line) == one] for lines in files] for one in keys]


def test_counts_and_sources(two: list[list[Line]], capfdbinary: Capture) -> None:
    names = ("a.jsonl", "b.jsonl")
    merged = [(line, name) for group in groups(two) for name, lines in zip(names, group, strict=True) for line in lines]
    expected = [with_members(line, [("source", name)]) for line, name in merged]
    words = "--field k:r a.jsonl b.jsonl"
    assert run(f"merge --source {words}", capfdbinary).split(b"\n")[:-1] == expected
    assert run(f"sort -s --source {words}", capfdbinary).split(b"\n")[:-1] == expected
    assert run(f"merge --source --tail 7 {words}", capfdbinary).split(b"\n")[:-1] == expected[-7:]
    for parts in ("merge", "sort -s"):
        run(f"{parts} --source --parts 3 -o p{{part}}.jsonl {words}", capfdbinary)
        found = b"".join(Path(f"p{number}.jsonl").read_bytes() for number in range(3))
        assert found.split(b"\n")[:-1] == expected
    firsts = [(max(group, key=bool)[0] if not group[0] else group[0][0], sum(map(len, group))) for group in groups(two)]
    of = [names[not group[0]] for group in groups(two)]
    ahead = [with_members(line, [("count", count)]) for line, count in firsts]
    assert run(f"merge --count {words}", capfdbinary).split(b"\n")[:-1] == ahead
    assert run(f"sort -u --count {words}", capfdbinary).split(b"\n")[:-1] == ahead
    after = [
        with_members(line, [("file", name)], [("count", count)]) for (line, count), name in zip(firsts, of, strict=True)
    ]
    assert run(f"merge --count=after --source=file {words}", capfdbinary).split(b"\n")[:-1] == after
    both = [with_members(line, [("count", n), ("source", name)]) for (line, n), name in zip(firsts, of, strict=True)]
    assert run(f"merge --count --source {words}", capfdbinary).split(b"\n")[:-1] == both


@pytest.mark.parametrize("command", COMMANDS)
def test_sets(command: str, two: list[list[Line]], capfdbinary: Capture) -> None:
    expected, counted = [], []
    for a, b in groups(two):
        of_a, of_b = COMMANDS[command](len(a), len(b))
        lines = [(a[at], "a.jsonl") for at in of_a] + [(b[at], "b.jsonl") for at in of_b]
        expected += [with_members(line, [("source", name)]) for line, name in lines]
        counted += [with_members(line, [("count", len(lines))]) for line, _ in lines[:1]]
    assert run(f"{command} --source --field k:r a.jsonl b.jsonl", capfdbinary).split(b"\n")[:-1] == expected
    assert run(f"{command} --count --field k:r a.jsonl b.jsonl", capfdbinary).split(b"\n")[:-1] == counted


@pytest.mark.parametrize("hidden", ["", "-1", "-2", "-3", "-13"])
def test_compare(hidden: str, two: list[list[Line]], capfdbinary: Capture) -> None:
    expected, totals = [], {"first": 0, "second": 0, "both": 0}
    for a, b in groups(two):
        met = min(len(a), len(b))
        cases = [(line, "both") for line in a[:met]]
        cases += [(line, "first") for line in a[met:]] + [(line, "second") for line in b[met:]]
        for line, place in cases:
            totals[place] += 1
            column = {"first": "1", "second": "2", "both": "3"}[place]
            if column not in hidden:
                expected.append(with_members(line, [("found_in", place)]))
    words = f"compare {hidden} --field k:r a.jsonl b.jsonl"
    found = run(f"{words} --total", capfdbinary).split(b"\n")[:-1]
    assert found == [*expected, json.dumps({"total": totals}, separators=(",", ":")).encode()]
    if hidden != "-13":
        assert run(words, capfdbinary).split(b"\n")[:-1] == expected


def test_blocks_of_many_lines(capfdbinary: Capture) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        Path(name).write_text("".join(f'{{"k":{number // 3}}}\n' for number in range(100_000)))
    found = run("merge --count --field k a.jsonl b.jsonl", capfdbinary)
    assert found == b"".join(
        b'{"count":%d,"k":%d}\n' % (2 * min(3, 100_000 - 3 * number), number) for number in range(33_334)
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: os.fsdecode(b"\xff.jsonl"), "is not UTF-8, which JSON is; rename it, or name a link to it"),
        (lambda: "a b.jsonl", ""),
        (lambda: 'q"\\\n.jsonl', ""),
    ],
)
def test_names(make: Callable[[], str], message: str, capfdbinary: Capture) -> None:
    name = make()
    Path(name).write_text('{"k":1}\n')
    code = invoke(["merge", "--source", "--field", "k", name, "-q"])
    out, err = capfdbinary.readouterr()
    if message:
        assert (code, message in err.decode("utf-8", "replace")) == (2, True)
    else:
        assert json.loads(out) == {"source": name, "k": 1}


def test_no_text_between_columns(capfdbinary: Capture) -> None:
    Path("a.jsonl").write_text('{"k":1}\n')
    assert invoke(["compare", "--field", "k", "--output-delimiter", ",", "a.jsonl", "a.jsonl"]) == 2
    assert b"--output-delimiter: one column of the output says which files" in capfdbinary.readouterr().err
    Path("b.jsonl").write_text('{"k":1,"found_in":2}\n')
    assert invoke(["compare", "--field", "k", "a.jsonl", "b.jsonl", "-o", "o.jsonl"]) == 2
    assert (
        b"b.jsonl:1: it has a member found_in already, which the output adds; write one" in capfdbinary.readouterr().err
    )
    assert not Path("o.jsonl").exists()
