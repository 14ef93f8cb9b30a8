"""JSON Lines in every command, against Python's json."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from array import array
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpumerge_cli.cli.app import invoke
from tests import needs
from tests.json_documents import any_number, any_string, any_value, number_value, spelled

Line = bytes
Key = tuple[tuple[str, ...], bool]
"""A path, and whether it is reversed."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(words: str, capfdbinary: pytest.CaptureFixture[bytes], code: int = 0) -> bytes:
    found = invoke(words.split())
    out, err = capfdbinary.readouterr()
    assert found == code, err.decode()
    return out if code == 0 else err


def error(words: str, capfdbinary: pytest.CaptureFixture[bytes], code: int = 2) -> str:
    return run(words, capfdbinary, code).decode()


def document(draw: random.Random) -> Any:
    """A line with a number at n.x, a text at s, a bool at l.1; any of them may be null or missing."""
    value: dict[str, Any] = {"other": any_value(draw, 2, ["n", "s"])}
    kinds: list[tuple[str, Callable[[], Any]]] = [
        ("n", lambda: {"x": draw.choice([number_value(any_number(draw)), number_value("1"), None])}),
        ("s", lambda: draw.choice([any_string(draw), "", None])),
        ("l", lambda: draw.choice([[1, draw.random() < 0.5], [], None])),
    ]
    draw.shuffle(kinds)
    for name, make in kinds:
        if draw.random() < 0.8:
            value[name] = make()
    return value


def line_of(draw: random.Random, value: Any) -> Line:
    text = spelled(draw, value).encode("utf-8", "surrogatepass")
    return text.replace(b"\xed", b"?") if b"\xed\xa0" in text else text


def value_at(line: Line, path: Sequence[str]) -> Any:
    value = json.loads(line, parse_float=Decimal, parse_int=Decimal)
    for name in path:
        if isinstance(value, dict):
            value = value.get(name)
        else:
            value = value[int(name)] if isinstance(value, list) and int(name) < len(value) else None
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def in_order(lines: Sequence[Line], keys: Sequence[Key], nulls: str = "last") -> list[Line]:
    found = list(lines)
    for path, reverse in reversed(keys):
        filled = [line for line in found if value_at(line, path) is not None]
        empty = [line for line in found if value_at(line, path) is None]
        filled.sort(key=lambda line: value_at(line, path), reverse=reverse)  # stable in both ways
        found = empty + filled if nulls == "first" else filled + empty
    return found


def text_of(lines: Sequence[Line]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


KEYS: list[tuple[str, list[Key]]] = [
    ("--field n.x", [(("n", "x"), False)]),
    ("--field n.x:nr", [(("n", "x"), True)]),
    ("--field s", [(("s",), False)]),
    ("--field s:r,n.x", [(("s",), True), (("n", "x"), False)]),
    ("--field l.1:r --field s", [(("l", "1"), True), (("s",), False)]),
]


@pytest.mark.one_of_each
@pytest.mark.parametrize("nulls", ["", "first"])
@pytest.mark.parametrize(("options", "keys"), KEYS)
def test_commands_against_python(
    options: str, keys: list[Key], nulls: str, seed: int, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    draw = random.Random(seed)
    lines = [line_of(draw, document(draw)) for _ in range(150)]
    words = f"{options}{' --nulls first' * bool(nulls)}"
    parts = [in_order(lines[at::3], keys, nulls) for at in range(3)]
    names = ["a.jsonl", "b.ndjson", "c.jsonl.gz"]
    Path(names[0]).write_bytes(text_of(parts[0]).removesuffix(b"\n"))
    Path(names[1]).write_bytes(b"\xef\xbb\xbf\n" + text_of(parts[1]).replace(b"\n", b"\n \t\n"))
    Path(names[2]).write_bytes(gzip.compress(text_of(parts[2])))
    Path("u.jsonl").write_bytes(text_of(lines))
    merged = in_order([line for part in parts for line in part], keys, nulls)
    every = " ".join(names)
    assert run(f"merge {words} {every}", capfdbinary) == text_of(merged)
    assert run(f"merge {words} --head 7 {every}", capfdbinary) == text_of(merged[:7])
    assert run(f"merge {words} --tail 7 {every}", capfdbinary) == text_of(merged[-7:])
    run(f"check {words} {every}", capfdbinary)
    ordered = in_order(lines, keys, nulls)
    assert run(f"sort -s {words} u.jsonl", capfdbinary) == text_of(ordered)
    assert run(f"sort {words} u.jsonl", capfdbinary) == text_of(in_order(sorted(lines), keys, nulls))
    assert run(f"sort -s -S 64K {words} u.jsonl", capfdbinary) == text_of(ordered)
    if lines != ordered:
        assert b"disorder: " in run(f"check {words} u.jsonl", capfdbinary, 1)
    once = {tuple(value_at(line, path) for path, _ in keys): line for line in reversed(merged)}
    unique = [line for line in merged if any(line is one for one in once.values())]
    assert run(f"merge --unique {words} {every}", capfdbinary) == text_of(unique)
    run(f"merge {words} --parts 3 -o out-{{part}}.jsonl {every}", capfdbinary)
    assert b"".join(path.read_bytes() for path in sorted(Path().glob("out-*"))) == text_of(merged)
    run(f"merge {words} -o whole.jsonl.gz {every}", capfdbinary)
    assert gzip.decompress(Path("whole.jsonl.gz").read_bytes()) == text_of(merged)
    run(f"merge {words} --count-to n.u64 -o one.jsonl {every}", capfdbinary)
    assert Path("one.jsonl").read_bytes() == text_of(unique)
    assert sum(array("Q", Path("n.u64").read_bytes())) == len(merged)


def test_sets(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":1}\n{"k":2.0,"v":1}\n')
    Path("b.jsonl").write_bytes(b'{"k":2}\n{"k":3}\n')
    assert run("union --field k a.jsonl b.jsonl", capfdbinary) == b'{"k":1}\n{"k":2.0,"v":1}\n{"k":3}\n'
    assert run("intersect --field k a.jsonl b.jsonl", capfdbinary) == b'{"k":2.0,"v":1}\n'
    assert run("difference --field k a.jsonl b.jsonl", capfdbinary) == b'{"k":1}\n'
    assert run("symmetric --field k a.jsonl b.jsonl", capfdbinary) == b'{"k":1}\n{"k":3}\n'


def test_a_sort_beyond_memory(seed: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    draw = random.Random(seed)
    lines = [b'{"a":{"b":%d},"t":"%s"}' % (draw.randrange(5000), b"x" * draw.randrange(60)) for _ in range(60_000)]
    Path("a.jsonl").write_bytes(text_of(lines))
    expected = sorted(lines, key=lambda line: int(line[10 : line.index(b"}")]))
    assert run("sort -s --field a.b -S 1M a.jsonl", capfdbinary) == text_of(expected)


def test_kinds_read_the_text_of_strings(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    cases = {
        "t:time": ['"2024-01-01T00:00:00+02:00"', '"2023-12-31T23:00:00Z"', '"\\u0032024-02-01"', "null"],
        "t:time,r": ['"2024-02-01"', '"2024-01-01"', "null"],
        "t:size": ['"900"', '"1K"', "2048", '"1M"', '""'],
        "t:V": ['"v1.9"', '"v1.10"'],
        "t:h": ['"3K"', '"2M"'],
        "t:n": ['"-1"', "0", '"007"', "7.5", '"1e3"', "null"],
        "t:length": ['""', '"é"', '"\\u0000\\u0001"', '"abc"'],
        "t:f": ['""', '"a"', '"A"', '"b"', "null"],
        "t": ["null"],
    }
    for field, values in cases.items():
        lines = [b'{"t":%s}' % value.encode() for value in values]
        Path("a.jsonl").write_bytes(text_of(lines))
        run(f"check --field {field} a.jsonl", capfdbinary)
        Path("b.jsonl").write_bytes(text_of(lines[::-1]))
        if field != "t:f":
            assert run(f"sort -s --field {field} b.jsonl", capfdbinary) == text_of(lines)
    Path("a.jsonl").write_bytes(b'{"t":"-"}\n{"t":"2024-01-01"}\n')
    assert run("sort --field t:time --null-values - a.jsonl", capfdbinary).startswith(b'{"t":"2024')
    assert run("sort --field t --null-values - a.jsonl", capfdbinary).startswith(b'{"t":"2024')
    found = error("sort --field t:time a.jsonl", capfdbinary)
    assert 'a.jsonl:1: "-" is not a time, by --field t:time; add --time-format if its time has' in found
    Path("a.jsonl").write_bytes(b'{"t":"1,000.5"}\n{"t":"2"}\n')
    assert run("sort --field t:n --thousands , a.jsonl", capfdbinary).startswith(b'{"t":"2"}')


def test_paths(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"a.b":{"c,d":2,"e:f":[0,{"":1}]}}\n{"a.b":{"c,d":1,"e:f":[0,{"":2}]}}\n')
    first, second = text_of(Path("a.jsonl").read_bytes().split(b"\n")[:1]), b'{"a.b":{"c,d":1,"e:f":[0,{"":2}]}}\n'
    assert run(r"sort --field a\.b.c\,d a.jsonl", capfdbinary) == second + first
    assert run(r"sort --field a\.b.e\:f.1. a.jsonl", capfdbinary) == first + second
    assert run(r"sort --field a\.b.e\:f.1.:r a.jsonl", capfdbinary) == second + first


def test_ranks(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'\xef\xbb\xbf{"k":1e0,"s":"a"}\n\n{"k":1.50,"s":"b,c"}\n \n{"s":"d"}\n')
    found = json.loads(run("rank --field k,s --at 1 --at 2 --of 1,a --of 1.5,b --json a.jsonl", capfdbinary))
    assert [one["key"] for one in found["ranks"]] == ['1.50,"b,c"', 'null,"d"']
    assert [one["offsets"] for one in found["ranks"]] == [[19], [42]]
    assert [(one["lower"], one["upper"]) for one in found["of"]] == [(0, 1), (1, 1)]
    for text, at in (("d", 2), ('"d"', 2), ("b,c", 1), ('"b,c"', 1), ("a", 0)):
        found = json.loads(run(f"rank --field s --of {text} --json a.jsonl", capfdbinary))
        assert [found["of"][0][name] for name in ("lower", "upper")] == [at, at + 1]
    assert "--of 'x': the key is a number; write JSON" in error("rank --field k --of x a.jsonl", capfdbinary)
    parts = json.loads(run("rank --field s --split 3 a.jsonl", capfdbinary))["parts"]
    ranges = [part["ranges"][0] for part in parts]
    assert all(start == stop for (_, stop), (start, _) in pairwise(ranges))


@pytest.mark.parametrize(
    ("data", "field", "message"),
    [
        (b'{"k":1}\n\n{"k":2,}\n', "k", "a.jsonl:3: it is not JSON: column 8: a name in quotes is expected; mend"),
        ('{"é":"é\tx"}\n'.encode(), "k", "a.jsonl:1: it is not JSON: column 8: a string holds a control character"),
        (
            b'[\n{"k":1}]\n',
            "k",
            "the line ends within a value; write each value on a line of its own, for example",
        ),
        (b'{"k":"\xff"}\n', "k", "a.jsonl:1: it is not JSON: column 7: a string is not UTF-8; convert it"),
        (
            b'{"k":1}\n{"k":"x"}\n',
            "k",
            'a.jsonl:2: --field k is a string, "x", but a number, 1, at a.jsonl:1; give',
        ),
        (b'{"k":1}\n{"k":" 1"}\n', "k:r", "give it one type, or use k:Vr, which compares values of all types as v"),
        (b'{"k":1}\n{"k":"-1.5e3"}\n', "k:r", "or use k:nr, which takes numbers in strings, too"),
        (b'{"k":true}\n{"k":null}\n{"k":1}\n', "k", "a.jsonl:3: --field k is a number, 1, but a bool, true, at a"),
        (b'{"k":{"a":1}}\n', "k", 'a.jsonl:1: --field k is an object, {"a":1}, which has no order; name a value wit'),
        (b'{"k":[1]}\n', "k:n", "a.jsonl:1: --field k:n is an array, [1], which has no order; name a value within it"),
        (b'{"k":["]}",{"a":[]}],"l":1}\n', "k", 'is an array, ["]}",{"a":[]}], which has no order'),
        (b'{"k":"a"}\n', "k:n", '--field k:n is "a", which is not a number; mend it, or use k:V, which compares v'),
        (b'{"k":1e1000000000000000000}\n', "k", "whose exponent has more than 18 digits; write it with a shorter one"),
        (b"{}\n", "k:tme", "there is no kind of key 'tme'; did you mean time?"),
        (b"{}\n", "k:b", "--field k:b: b skips no blanks of a value; leave b out"),
        (b"{}\n", "k,k", "--field k,k: k is named twice; name each value once"),
        (b"{}\n", "k --header 1", "--header: the files hold JSON Lines; leave it out"),
        (b"{}\n", "k -t ,", "-t: JSON Lines have no separator; leave it out"),
        (b"{}\n", "k -z", "-z: JSON Lines end in newlines; leave it out"),
        (b"{}\n", "k --schema union", "a.jsonl is JSON Lines, which is not read by names of columns"),
        (
            b'{"k":1}\n [1]\n',
            "k --count",
            "a.jsonl:2: it is not an object, so it cannot get a member count; write",
        ),
        (b'{"k":{"count":1}}\n{"c\\u006funt":null}\n', "k.count --count", "a.jsonl:2: it has a member count already, "),
        (
            b'{"source":2}\n',
            "k --source",
            "a.jsonl:1: it has a member source already, which the output adds; write --s",
        ),
        (
            b'{"count":2}\n',
            "count --count",
            "the key count is a member that the output adds, too; write the counts to a",
        ),
        (b"{}\n", "k b.csv", "b.csv holds text, but a.jsonl holds JSON Lines; convert one of them"),
        (b"{}\n", "k -k 2", "-k 2: keys of JSON Lines are values, named by --field"),
    ],
)
def test_one_line_and_nothing_written(
    data: bytes, field: str, message: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    Path("a.jsonl").write_bytes(data)
    Path("b.csv").write_bytes(b"k\n1\n")
    found = error(f"merge a.jsonl -o out.jsonl --field {field}", capfdbinary)
    assert message in found
    assert found.count("\n") == 1
    assert not Path("out.jsonl").exists()


def test_the_kind_of_the_way_out_takes_all_types(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = [b'{"k":1}', b'{"k":"1"}', b'{"k":2}', b'{"k":10}', b'{"k":true}', b'{"k":"x"}']
    Path("a.jsonl").write_bytes(text_of(lines))
    assert run("merge --field k:V a.jsonl", capfdbinary) == text_of(lines)
    assert run("sort --field k:Vr a.jsonl", capfdbinary).splitlines()[0] == lines[-1]


def test_types_of_files_differ(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{}\n{"k":1}\n')
    Path("b.jsonl").write_bytes(b'{"k":null}\n\n{"k":"x"}\n')
    found = error("merge --field k a.jsonl b.jsonl", capfdbinary)
    assert 'b.jsonl:3: --field k is a string, "x", but a number, 1, at a.jsonl:2' in found


def test_a_disorder_names_line_and_values(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":[2]}\n\n{"k":[10]}\n\n{"k":[1e0]}\n')
    found = error("check --field k.0 a.jsonl", capfdbinary, 1)
    assert 'a.jsonl:5: disorder: {"k":[1e0]} comes after {"k":[10]} (line 3), key 1e0 after 10 by --field k.0' in found
    Path("a.jsonl").write_bytes(text_of([b'{"k":%d}' % at for at in range(30, 0, -1)]))
    assert "use that for --field k" in error("check --field k a.jsonl", capfdbinary, 1)


def test_without_a_key_and_as_text(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":2}\n{"k":1}\n')
    assert "JSON Lines need a key; name one by --field, or compare lines by --format text" in error(
        "merge a.jsonl", capfdbinary
    )
    as_text = b'{"k":1}\n{"k":2}\n'
    assert run("sort a.jsonl", capfdbinary) == as_text  # as GNU sort
    assert run("merge -r --format text a.jsonl", capfdbinary) == b'{"k":2}\n{"k":1}\n'


def test_a_disorder_of_times_shows_lines(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"t":"2024-01-02"}\n{"t":"2024-01-01"}\n')
    found = error("check --field t:time a.jsonl", capfdbinary, 1)
    assert 'a.jsonl:2: disorder: {"t":"2024-01-01"} comes after {"t":"2024-01-02"} (line 1), 2024-01-01' in found
    assert "header" not in found


def test_a_path_that_no_line_has_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    Path("a.jsonl").write_bytes(b'{"k":1}\n{"k":null}\n')
    for field in ("q", "q:n", "q:time", "q:h"):
        caplog.clear()
        assert invoke(["merge", "--field", field, "a.jsonl"]) == 0
        (warned,) = caplog.messages
        assert "a.jsonl: warning: no line has a value at q, so all compare equal by it; check the path" in warned
    caplog.clear()
    assert invoke(["merge", "--field", "k", "a.jsonl"]) == 0
    assert caplog.messages == []


def test_the_output_is_json_lines(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":1}\n')
    assert "out.i32: " in error("merge --field k a.jsonl -o out.i32", capfdbinary)
    assert not Path("out.i32").exists()
    run("merge -q --field k a.jsonl -o out.json", capfdbinary)


def test_beside_rows(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":1}\n')
    Path("b.parquet").write_bytes(b"PAR1")
    Path("b.i32").write_bytes(b"abcd")
    for name in ("b.parquet", "b.i32"):
        found = error(f"merge --field k a.jsonl {name}", capfdbinary)
        assert f"{name} is binary, but a.jsonl holds JSON Lines; convert one of them" in found


def test_info_says_that_it_is_no_table(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":1}\n')
    assert "a.jsonl is not a table: it has no schema" in error("info a.jsonl", capfdbinary)


def test_jq_has_the_same_order(seed: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    jq = needs.program("jq")
    draw = random.Random(seed)
    values: list[list[Any]] = [
        [draw.choice([None, draw.randrange(-50, 50), draw.random()]) for _ in range(300)],
        [draw.choice([None, "".join(draw.choices("aB\u00e9\ud7ff\U0001f600\uffff", k=3))]) for _ in range(300)],
    ]
    for its in values:
        lines = [json.dumps({"a": {"b": one}, "n": at}, ensure_ascii=False).encode() for at, one in enumerate(its)]
        Path("a.jsonl").write_bytes(text_of(lines))
        by_jq = subprocess.run([jq, "-s", "sort_by(.a.b)[].n", "a.jsonl"], capture_output=True, check=True).stdout
        out = run("sort -s --field a.b --nulls first a.jsonl", capfdbinary)
        assert [json.loads(line)["n"] for line in out.splitlines()] == [*map(int, by_jq.split())]


def test_empty_files(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    for data in (b"", b"\n", b"\xef\xbb\xbf", b" \r\n\n"):
        Path("a.jsonl").write_bytes(data)
        assert run("merge --field k a.jsonl", capfdbinary) == b""
        assert run("sort --field k a.jsonl", capfdbinary) == b""


def test_ends_of_lines_stay(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":1}\r\n{"k":3}')
    Path("b.jsonl").write_bytes(b' {"k":2} \n')
    assert run("merge --field k a.jsonl b.jsonl", capfdbinary) == b'{"k":1}\r\n {"k":2} \n{"k":3}\n'


def test_pipes_and_batches(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.jsonl").write_bytes(b'{"k":2}\n{"k":1}\n')
    Path("jobs.jsonl").write_text(
        '{"operation":"sort","inputs":["a.jsonl"],"output":"o.jsonl","field":"k"}\n'
        '{"operation":"merge","inputs":["o.jsonl","o.jsonl"],"output":"m.jsonl","field":["k"]}\n'
    )
    run("batch -q jobs.jsonl", capfdbinary)
    assert Path("m.jsonl").read_bytes() == b'{"k":1}\n{"k":1}\n{"k":2}\n{"k":2}\n'
    words = [sys.executable, "-m", "gpumerge_cli", "sort", "--format", "jsonl", "--field", "k", "-"]
    done = subprocess.run(words, input=b'\xef\xbb\xbf{"k":2}\n{"k":1}', capture_output=True, check=True)
    assert done.stdout == b'{"k":1}\n{"k":2}\n'


def test_lines_longer_than_blocks(seed: int, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    draw = random.Random(seed)
    lines = [b'{"k":%d,"t":"%s"}' % (at, b"x" * draw.choice([0, 3_000_000, 1 << 20])) for at in range(12)]
    draw.shuffle(lines)
    Path("a.jsonl").write_bytes(b"\n" * 9000 + text_of(lines))
    out = run("sort --field k a.jsonl", capfdbinary)
    assert out == text_of(sorted(lines, key=lambda line: int(line[5 : line.index(b",")])))
    Path("a.jsonl").write_bytes(b"\n" * 9000 + text_of(lines) + b"x\n")
    assert "a.jsonl:9013: it is not JSON: column 1: a value is expected" in error("sort --field k a.jsonl", capfdbinary)
