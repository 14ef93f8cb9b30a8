"""gpumerge diff against dicts of Python, and against comm where all of a line is its key."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import subprocess
import tracemalloc
from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.formats.csv_joins import raw_fields
from tests.needs import program

Row = list[str]
_OLD = "id,name,seen\n1,a,x\n2,b,x\n4,d,x\n5,e,x\n"
_NEW = "id,name,seen\n1,a,y\n2,B,x\n3,c,y\n5,e,x\n"


def run(folder: Path, *words: str, old: str | bytes = _OLD, new: str | bytes = _NEW, suffix: str = ".csv") -> int:
    """The exit code of a diff of files with this content, whose output is the file out."""
    names = [folder / f"{name}{suffix}" for name in ("old", "new")]
    for name, data in zip(names, (old, new), strict=True):
        name.write_bytes(data.encode() if isinstance(data, str) else data)
    output = [] if "--total" in words else ["-o", str(folder / "out")]
    return door.invoke(["diff", *words, *map(str, names), *output])


def difference(
    old: Sequence[Row], new: Sequence[Row], key: Callable[[Row], object], ignored: Sequence[int] = ()
) -> list[Row]:
    """The rows of a diff. Rows with equal keys are paired in order."""
    groups: dict[object, tuple[list[Row], list[Row]]] = {}
    for side, rows in enumerate((old, new)):
        for row in rows:
            groups.setdefault(key(row), ([], []))[side].append(row)
    found = []
    for one in sorted(groups):  # type: ignore[type-var]
        for a, b in zip_longest(*groups[one]):
            if a is None or b is None:
                found.append(["+", *b] if a is None else ["-", *a])
            elif any(x != y for at, (x, y) in enumerate(zip_longest(a, b)) if at not in ignored):
                found += [["<", *a], [">", *b]]
    return found


def changed_columns(rows: Sequence[Row], names: Sequence[str], ignored: Sequence[int] = ()) -> list[Row]:
    """The rows of --changes for those of a diff whose key is the first column."""
    pairs = [(a[1:], b[1:]) for a, b in pairwise(rows) if a[0] == "<"]
    return [
        [a[0], names[at], x, y]
        for a, b in pairs
        for at, (x, y) in enumerate(zip(a, b, strict=True))
        if x != y and at not in ignored
    ]


def written(rows: Sequence[Row], end: str = "\n", quoting: int = csv.QUOTE_MINIMAL) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator=end, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    return out.getvalue()


def read(path: Path) -> list[Row]:
    return list(csv.reader(io.StringIO(path.read_bytes().decode(), newline="")))


def random_rows(chance: random.Random, *, multi: bool) -> list[Row]:
    texts = ["", "a", "b", "with, comma", 'a "quote"', "new\nline", "long " * 40]
    most = chance.choice([3, 30, 600])
    keys = [chance.randrange(2 * most) for _ in range(most)] if multi else chance.sample(range(2 * most), most)
    return [[str(key), chance.choice(texts), chance.choice(texts[:3])] for key in sorted(keys)]


def check_csv(chance: random.Random, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A diff of random CSV is as dicts have it."""
    multi = chance.random() < 0.5
    old = random_rows(chance, multi=multi)
    new = [[*row[:2], chance.choice([row[2], "c"])] for row in old if chance.random() < 0.8]
    added = random_rows(chance, multi=multi)
    new += added if multi else [row for row in added if row[0] not in {own[0] for own in new}]
    new.sort(key=lambda row: int(row[0]))
    ignored = chance.choice([(), (2,), (1, 2)])
    names = ["id", "name", "seen"]
    expected = difference(old, new, lambda row: int(row[0]), ignored)
    words = ["--field", "id:n", *["--multi"] * multi, *(f"--ignore={names[at]}" for at in ignored)]
    end = chance.choice(["\n", "\r\n"])
    quoting = [chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]) for _ in "ab"]
    data = [written([names, *rows], end, quotes) for rows, quotes in zip((old, new), quoting, strict=True)]
    small = ["-S", "1M"] * chance.randrange(2)
    listed = folder / "changes.csv"
    code = run(folder, *words, *small, "--changes", str(listed), old=data[0], new=data[1])
    assert (code, capsys.readouterr().err) == (int(expected != []), "")
    assert read(folder / "out") == [["change", *names], *expected]
    assert read(listed) == [["key", "column", "old", "new"], *changed_columns(expected, names, ignored)]
    assert run(folder, *words, "--total", old=data[0], new=data[1]) == code
    counts = [sum(row[0] == mark for row in expected) for mark in "+-<"]
    unchanged = len(old) - counts[1] - counts[2]
    words = [f"{name}\t{count}" for name, count in zip(("added", "removed", "changed"), counts, strict=True)]
    assert capsys.readouterr().out.splitlines() == [*words, f"unchanged\t{unchanged}"]


def check_lines(chance: random.Random, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A diff of random lines is as dicts have it."""
    words, key = chance.choice(
        [
            (["-k1,1n"], lambda row: int(row[0])),
            (["-k2,2", "-k1,1n"], lambda row: (row[1], int(row[0]))),
            (["-k1,2"], lambda row: (" ".join(row[:2]))),
            (["-t", " ", "-k2.2,2"], lambda row: row[1][1:]),
            (["-t", " ", "-k1,1"], lambda row: row[0]),
        ]
    )  # fmt: skip
    sides: list[list[Row]] = [
        [
            [str(chance.randrange(10, 40)), chance.choice(["ab", "cd", "ef"]), chance.choice("xy")]
            for _ in range(chance.choice([0, 5, 300]))
        ]
        for _ in "ab"
    ]
    if chance.random() < 0.5:
        sides[1] = [row if chance.random() < 0.9 else other for row, other in zip_longest(sides[0], sides[0][::-1])]
    for rows in sides:
        rows.sort(key=key)  # type: ignore[arg-type]
    data = ["".join(" ".join(row) + "\n" for row in rows) for rows in sides]
    expected = difference(*sides, key)
    assert run(folder, *words, "--multi", "-S", "1M", old=data[0], new=data[1], suffix="") == int(expected != [])
    assert (folder / "out").read_text() == "".join(f"{mark}\t{' '.join(row)}\n" for mark, *row in expected)


def check_json(chance: random.Random, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A diff of random JSON Lines is as dicts have it."""
    most = chance.choice([3, 300])
    sides = [{key: chance.choice("ab") for key in sorted(chance.sample(range(2 * most), most))} for _ in "ab"]
    if chance.random() < 0.5:
        sides[1] = {key: text if chance.random() < 0.95 else "c" for key, text in sides[0].items()}
    rows = [[[str(key), text] for key, text in side.items()] for side in sides]
    data = ["".join(json.dumps({"id": key, "v": text}) + "\n" for key, text in side.items()) for side in sides]
    expected = difference(*rows, lambda row: int(row[0]))
    assert run(folder, "--field", "id", old=data[0], new=data[1], suffix=".jsonl") == int(expected != [])
    found = [json.loads(line) for line in (folder / "out").read_text().splitlines()]
    assert [[line["change"], str(line["id"]), line["v"]] for line in found] == expected


def check_records(chance: random.Random, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A diff of random records is as dicts have it."""
    dtype = np.dtype([("pad", "u1"), ("id", ">i4"), ("v", "<i2")])
    most = chance.choice([0, 3, 500])
    old = np.zeros(most, dtype)
    old["id"] = sorted(chance.sample(range(-most, most), most))
    old["v"] = [chance.randrange(2) for _ in range(most)]
    new = old[[row for row in range(most) if chance.random() < 0.9]].copy()
    new["v"] = [value if chance.random() < 0.9 else 7 for value in new["v"]]
    if chance.random() < 0.3:
        new["id"] += 1
    names = [str(folder / f"{name}.bin") for name in ("old", "new")]
    for name, rows in zip(names, (old, new), strict=True):
        rows.tofile(name)
    texts = [[[str(int(row["id"])), str(int(row["v"]))] for row in rows] for rows in (old, new)]
    expected = difference(*texts, lambda row: int(row[0]))
    options = ["--record-size", "7", "--key-offset", "1", "--dtype", ">i4"]
    assert door.invoke(["diff", *options, *names, "-o", str(folder / "out")]) == int(expected != [])
    found = np.frombuffer((folder / "out").read_bytes(), np.dtype([("change", "S1"), *dtype.descr]))
    assert [[row["change"].decode(), str(int(row["id"])), str(int(row["v"]))] for row in found] == expected


@pytest.mark.parametrize("cases", [8, pytest.param(900, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("check", [check_csv, check_lines, check_json, check_records])
def test_random_files_are_as_dicts_have_it(
    check: Callable[[random.Random, Path, pytest.CaptureFixture[str]], None],
    cases: int,
    seed: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number in range(cases):
        check(random.Random(f"{seed} {number}"), tmp_path, capsys)


def test_lines_without_a_key_are_as_comm_has_them(tmp_path: Path, seed: int) -> None:
    comm = program("comm")
    chance = random.Random(seed)
    data = ["".join(sorted(f"{chance.randrange(900)}\n" for _ in range(2000))) for _ in "ab"]
    assert run(tmp_path, "--multi", old=data[0], new=data[1], suffix="") == 1
    told = subprocess.run(
        [comm, "-3", "--output-delimiter=+", "old", "new"],
        cwd=tmp_path,
        env={**os.environ, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    lines = [f"+\t{line[1:]}" if line.startswith("+") else f"-\t{line}" for line in told.splitlines()]
    assert (tmp_path / "out").read_text().splitlines() == lines


def test_files_of_many_chunks(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    old = [[f"{key:07}", "x" * 40] for key in range(0, 200_000, 2)]
    new = [[key, chance.choice([text] * 9 + ["y"])] for key, text in old if chance.random() < 0.99]
    new = sorted(new + [[f"{key:07}", "z"] for key in chance.sample(range(1, 200_000, 2), 500)])
    data = [written([["id", "t"], *rows]) for rows in (old, new)]
    expected = difference(old, new, lambda row: row[0])
    words = ["--field", "id", "-S", "2M", "--threads", "2", "--changes", str(tmp_path / "changes.csv")]
    assert run(tmp_path, *words, old=data[0], new=data[1]) == 1
    assert read(tmp_path / "out")[1:] == expected
    assert read(tmp_path / "changes.csv")[1:] == changed_columns(expected, ["id", "t"])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_keys_behind_quoted_fields_of_many_chunks(end: str, tmp_path: Path, seed: int) -> None:
    """Files are cut by keys, whatever is quoted ahead of them: equal keys go to one part."""
    chance = random.Random(seed)
    first = ["Smith, 7", 'a "b", c', "plain", "new\nline, too", ""]
    rows = [[chance.choice(first), f"{number:05}", chance.choice("xy")] for number in range(6000)]
    changed = [[row[0], row[1], "z"] if chance.random() < 0.01 else row for row in rows if chance.random() > 0.01]
    header = [["name", "id", "seen"]]
    for key, order in (("id", rows), ("id:n", rows), ("name", sorted(rows)), ("name,id", sorted(rows))):
        chosen = [{"name": 0, "id": 1}[name.partition(":")[0]] for name in key.split(",")]
        new = sorted(changed) if order is not rows else changed
        texts = [written([*header, *each], end) for each in (order, new)]
        words = [word for name in key.split(",") for word in ("--field", name)]
        for limit in ("64K", "1G"):
            code = run(tmp_path, *words, "--multi", "-S", limit, "--threads", "2", old=texts[0], new=texts[1])
            found = read(tmp_path / "out")[1:]
            assert found == difference(order, new, lambda row: tuple(row[at] for at in chosen)), (key, limit)  # noqa: B023
            assert code == bool(found)
            assert run(tmp_path, *words, "--multi", "-S", limit, old=texts[0], new=texts[0]) == 0, (key, limit)


@pytest.mark.parametrize("kind", ["structured", "raw"])
def test_records(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.chdir(tmp_path)
    dtype = np.dtype([("pad", "u1"), ("id", ">i4"), ("v", "<f4")])
    sides = []
    for _ in "ab":
        rows = np.zeros(500, dtype)
        rows["id"] = np.sort(rng.choice(1000, 500, replace=False)) - 300
        rows["v"] = rng.integers(0, 2, 500)
        sides.append(rows)
    texts = [[[str(int(row["id"])), str(row["v"])] for row in rows] for rows in sides]
    expected = difference(*texts, lambda row: int(row[0]))
    if kind == "raw":
        for name, rows in zip("ab", sides, strict=True):
            rows.tofile(f"{name}.bin")
        options = ["--record-size", "9", "--key-offset", "1", "--dtype", ">i4"]
        assert door.invoke(["diff", *options, "a.bin", "b.bin", "-o", "o.bin"]) == 1
        data = Path("o.bin").read_bytes()
        found = np.frombuffer(data, np.dtype([("change", "S1"), *dtype.descr]))
    else:
        for name, rows in zip("ab", sides, strict=True):
            np.save(f"{name}.npy", rows)
        assert door.invoke(["diff", "--field", "id", "a.npy", "b.npy", "-o", "o.npy"]) == 1
        found = np.load("o.npy")
        assert found.dtype.names == ("change", "pad", "id", "v")
    assert [[row["change"].decode(), str(int(row["id"])), str(row["v"])] for row in found] == expected


def test_json_lines(tmp_path: Path) -> None:
    sides = [{1: "a", 2: "b", 4: "d"}, {1: "a", 2: "B", 3: "c"}]
    data = ["".join(json.dumps({"id": key, "v": text}) + "\n" for key, text in side.items()) for side in sides]
    assert run(tmp_path, "--field", "id", old=data[0], new=data[1], suffix=".jsonl") == 1
    lines = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [(line["change"], line["id"], line["v"]) for line in lines] == [
        ("<", 2, "b"), (">", 2, "B"), ("+", 3, "c"), ("-", 4, "d"),
    ]  # fmt: skip
    assert list(lines[0]) == ["change", "id", "v"]


def test_files_that_do_not_differ(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, "--field", "id", new=_OLD) == 0
    assert (tmp_path / "out").read_text() == "change,id,name,seen\n"
    assert run(tmp_path, "--field", "id", "--total", new=_OLD) == 0
    assert capfd.readouterr().out == "added\t0\nremoved\t0\nchanged\t0\nunchanged\t4\n"


def test_unsorted_inputs_are_sorted_first(tmp_path: Path) -> None:
    head, *lines = _OLD.splitlines()
    turned = "\n".join([head, *lines[::-1]]) + "\n"
    assert run(tmp_path, "--field", "id", "--sort-inputs", "-T", str(tmp_path), old=turned) == 1
    assert [row[:2] for row in read(tmp_path / "out")[1:]] == [
        ["<", "1"], [">", "1"], ["<", "2"], [">", "2"], ["+", "3"], ["-", "4"],
    ]  # fmt: skip
    assert sorted(one.name for one in tmp_path.iterdir()) == ["new.csv", "old.csv", "out"]


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (_OLD + "2,e,x\n", "old.csv (sorted):4: its key equals the key of the item before it; "),
        ("id,other\n1,a\n", "new.csv (sorted):1: its header 'id,name,seen' differs from that of "),
    ],
)
def test_errors_about_sorted_inputs_name_them(
    old: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--field", "id", "--sort-inputs", old=old) == 2
    told = capfd.readouterr().err
    assert f"{tmp_path}/{message}" in told
    assert "gpumerge-" not in told


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"change":5,"id":1}', "it has a member change already, which the output adds"),
        ("[1]", "it is not an object, so it cannot get a member change"),
    ],
)
def test_lines_that_cannot_get_a_mark(
    line: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "--field", "id", old=f"{line}\n", new="", suffix=".jsonl") == 2
    assert f"old.jsonl:1: {error}; give the member another name first" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert run(tmp_path, "--field", "id", "--total", old=f"{line}\n", new="", suffix=".jsonl") == 1


def test_total_of_npy_files(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / name) for name in ("a.npy", "b.npy")]
    for name, keys in zip(names, ([1, 2, 5], [1, 3, 5]), strict=True):
        np.save(name, np.array(keys))
    assert door.invoke(["diff", "--total", *names]) == 1
    assert capfd.readouterr().out == "added\t1\nremoved\t1\nchanged\t0\nunchanged\t2\n"


def test_columns_are_ignored_by_number(tmp_path: Path) -> None:
    assert run(tmp_path, "-t", ",", "-k1,1n", "--ignore", "2,3", old="1,a,x\n", new="1,b,y\n", suffix="") == 0
    assert run(tmp_path, "-k1,1n", "--ignore", "2", old="1 a x\n", new="1 b\n", suffix="") == 1


def test_a_header_with_a_prefix_keeps_it(tmp_path: Path) -> None:
    words = ["-t", "\\t", "-k1,1n", "--header-prefix", "#", "--changes", str(tmp_path / "changes.csv")]
    old, new = (f"##told\n#id\tv\tw\n1\ta\tx\n2\t{value}\tz\n" for value in "bc")
    assert run(tmp_path, *words, "--ignore", "w", old=old, new=new, suffix=".vcf") == 1
    assert (tmp_path / "out").read_text() == "##told\n#change\tid\tv\tw\n<\t2\tb\tz\n>\t2\tc\tz\n"
    assert (tmp_path / "changes.csv").read_text() == "key,column,old,new\n2,v,b,c\n"


def test_names_of_columns_may_be_any_bytes(tmp_path: Path) -> None:
    old, new = (b"id,\xe9,w\n1,%b,x\n" % value for value in (b"a", b"b"))
    changes = tmp_path / "changes.csv"
    assert run(tmp_path, "--field", "id", "--changes", str(changes), old=old, new=new) == 1
    assert changes.read_bytes() == b"key,column,old,new\n1,\xe9,a,b\n"
    assert run(tmp_path, "--field", "id", "--ignore", os.fsdecode(b"\xe9"), old=old, new=new) == 0


@pytest.mark.parametrize(
    ("old", "new", "row"),
    [
        ("b q\vr", "b q\vs", ["b", "2", "q\vr", "q\vs"]),
        ("b q\fr x", "b q\fr y", ["b", "3", "x", "y"]),
        ("b  q\tx", "b q y", ["b", "3", "x", "y"]),
        ("b q", "b q\r", ["b", "2", "q", "q\r"]),
        ("b  q r", "b q r", ["b", "2", "  q", " q"]),
        ("b q", "b q ", ["b", "3", "", " "]),
    ],
)
def test_changed_fields_between_blanks(old: str, new: str, row: Row, tmp_path: Path) -> None:
    changes = tmp_path / "changes.csv"
    assert run(tmp_path, "-k1,1", "--changes", str(changes), old=f"{old}\n", new=f"{new}\n", suffix="") == 1
    assert read(changes)[1:] == [row]


def test_backslashes_ahead_of_quotes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    old = 'id,v,w\n1,"a\\"b",x\n2,"x\\\\",x\n3,c\\,d,x\n4,"e",x\n5,"new\nline",x\n'
    new = 'id,v,w\n1,"a\\"c",x\n2,"x\\\\y",x\n3,c\\,e,x\n4,e,x\n5,"new\nline",y\n'
    changes = tmp_path / "changes.csv"
    words = ["--quotes", "backslash", "--field", "id"]
    assert run(tmp_path, *words, "--changes", str(changes), old=old, new=new) == 1
    assert read(changes)[1:] == [
        ["1", "v", 'a"b', 'a"c'], ["2", "v", "x\\", "x\\y"], ["3", "v", "c,d", "c,e"], ["5", "w", "x", "y"],
    ]  # fmt: skip
    assert run(tmp_path, *words, "--ignore", "v", "--changes", str(changes), old=old, new=new) == 1
    assert read(changes)[1:] == [["5", "w", "x", "y"]]
    assert run(tmp_path, *words, "--ignore", "2,3", "--total", old=old, new=new) == 0
    assert run(tmp_path, *words, "--total", old=old, new=new) == 1
    assert capfd.readouterr().out.endswith("changed\t4\nunchanged\t1\n")  # the quotes around e are no change


@pytest.mark.parametrize("text", [b"x" * (1 << 20), b'""' * (1 << 19)])
@pytest.mark.parametrize("separator", [b",", b"::"])
def test_a_long_field_takes_memory_once(text: bytes, separator: bytes) -> None:
    fields = [b"1", b'"%b"' % text, b"", b'"%b"' % separator]
    line = separator.join(fields)
    tracemalloc.start()
    try:
        assert raw_fields(line, separator, "doubled") == fields
        assert tracemalloc.get_traced_memory()[1] < 2 * len(line)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("words", "old", "message"),
    [
        (
            ["--field", "id"],
            "id,name,seen\n1,a,x\n1,b,x\n",
            "old.csv:3: its key equals the key of the item before it; ",
        ),
        (["--field", "id"], "id,name,seen\n2,a,x\n1,b,x\n", "old.csv:3: disorder"),
        (["--field", "id"], "id,name,seen\n2,a,x\n1,b,x\n", "add --sort-inputs"),
        (["--field", "id"], "id,name\n1,a\n", "header"),
        (["--field", "id", "--ignore", "nam"], _OLD, "--ignore nam: there is no such column; did you mean name?"),
        (["--field", "id", "--total", "--changes", "c.csv"], _OLD, "--total"),
        (["--field", "id", "--changes", "{out}"], _OLD, "--changes"),
        (["--field", "id", "third.csv"], _OLD, "diff needs two files, not 3 files"),
        (["--field", "id", "--backend", "gpu"], _OLD, "made by the CPU alone"),
    ],
)
def test_what_is_refused(
    words: list[str], old: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, *(word.replace("{out}", str(tmp_path / "out")) for word in words), old=old) == 2
    told = capfd.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ends", [("", ""), ("\n", ""), ("", "\n")])
def test_the_last_line_may_lack_its_end(
    ends: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = "\n".join(f"{number:05} x" for number in range(3000))
    old, new = (lines + end for end in ends)
    assert run(tmp_path, "--total", "-k1,1", old=old, new=new, suffix="") == 0
    assert capfd.readouterr().out == "added\t0\nremoved\t0\nchanged\t0\nunchanged\t3000\n"
