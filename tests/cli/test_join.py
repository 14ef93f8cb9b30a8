"""gpumerge join: coreutils' join is the oracle for text, and a few lines of Python are for other orders and for CSV."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cmp_to_key
from pathlib import Path

import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.native.comparison import Comparison
from gpumerge_cli.order.joins import JOIN_TYPES
from gpumerge_cli.order.key_kinds import JOIN_LETTERS
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests import against_join

needs_join = pytest.mark.skipif(shutil.which("join") is None, reason="needs join; install coreutils")
CASES = os.environ.get("GPUMERGE_TEST_JOINS", "100")
_WAYS: dict[str, str] = {"-n": "numeric", "-g": "general", "-h": "human", "-M": "month", "-V": "version"}
_PAIRS, _ONLY_A, _ONLY_B, _PAIRED_A = 1, 2, 4, 8


def joined(folder: Path, *arguments: str, a: bytes, b: bytes) -> bytes:
    """The output of a join of files with this content."""
    (folder / "a").write_bytes(a)
    (folder / "b").write_bytes(b)
    out = folder / "out"
    assert door.invoke(["join", "-q", *arguments, str(folder / "a"), str(folder / "b"), "--output", str(out)]) == 0
    return out.read_bytes()


def refusal(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str, a: bytes, b: bytes) -> str:
    """The one line of an error, which leaves no output."""
    (folder / "a").write_bytes(a)
    (folder / "b").write_bytes(b)
    out = folder / "out"
    assert door.invoke(["join", *arguments, str(folder / "a"), str(folder / "b"), "--output", str(out)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert not out.exists()
    return said


@needs_join
def test_the_bytes_of_coreutils_join(capsys: pytest.CaptureFixture[str], seed: int) -> None:
    assert against_join.main(["--cases", CASES, "--seed", str(seed)]) == 0, capsys.readouterr().err


def plainly(a: Sequence[list[bytes]], b: Sequence[list[bytes]], order: Order, shows: int) -> list[bytes]:
    """The join of records by their first fields, line by line, with commas between fields."""
    compare = Comparison(order)
    pairs = [[compare(x[0], y[0]) == 0 for y in b] for x in a]
    rows: list[tuple[bytes, int, int, bytes]] = []
    for i, x in enumerate(a):
        if shows & _PAIRS:
            rows += [(x[0], 0, i, b",".join([*x, *y[1:]])) for y, same in zip(b, pairs[i], strict=True) if same]
        if shows & (_PAIRED_A if any(pairs[i]) else _ONLY_A):
            rows.append((x[0], 0, i, b",".join(x)))
    if shows & _ONLY_B:
        rows += [(y[0], 1, j, b",".join(y)) for j, y in enumerate(b) if not any(row[j] for row in pairs)]
    return [row[3] for row in sorted(rows, key=cmp_to_key(lambda x, y: compare(x[0], y[0]) or x[1] - y[1]))]


@pytest.mark.parametrize("kind", JOIN_TYPES)
@pytest.mark.parametrize(
    "options", [["-n"], ["-g"], ["-h"], ["-M"], ["-V"], ["-r"], ["-n", "-r"], ["-i"], ["-d", "-r"]]
)
def test_any_order_of_sort(options: list[str], kind: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    way = next((_WAYS[option] for option in options if option in _WAYS), "bytes")
    key = LineKey(way, reverse="-r" in options, fold="-i" in options, dictionary="-d" in options)
    order = Order.lines(LineOrder((key,), stable=True))
    words = [b"1", b"1.0", b"01", b"-3", b"10", b"2K", b"", b"jan", b"FEB", b"Feb", b"x1.9", b"x1.10", b"b-a", b"ba"]
    words += [b"123456789012345678901234567890", b"k" * 30, b"K" * 30]
    files = []
    compare = Comparison(order)
    for name in (b"a", b"b"):
        some = [[chance.choice(words), name + b"%d" % chance.randrange(9)] for _ in range(chance.randint(0, 60))]
        files.append(sorted(some, key=cmp_to_key(lambda x, y: compare(x[0], y[0]))))
    a, b = (b"".join(b",".join(fields) + b"\n" for fields in each) for each in files)
    found = joined(tmp_path, "-t,", *options, "--type", kind, "--threads", "2", a=a, b=b)
    assert found.splitlines() == plainly(*files, order, JOIN_TYPES[kind])


@needs_join
@pytest.mark.parametrize(
    "words",
    ["-t, -t,", "-t, -t;", "-t, -t ''", "-t, -e x -e x -a1 -o auto", "-t, -e x -e y", "-t, -e x -e ''", "-t, -1 2 -1 2",
     "-t, -1 1 -1 2", "-t, -2 1 -2 2", "-t, -j 1 -j 1", "-t, -j 1 -j 2", "-t, -j 1 -1 1 -2 1", "-t, -j 1 -2 2",
     "-t, -a1 -a1", "-t, -o 1.1 -o 2.1", "-t, -o auto -o auto", "-t, -v1 -v1"],
)  # fmt: skip
def test_options_that_are_given_twice(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where coreutils' join refuses two values, so does this one; where it takes them, the bytes are the same."""
    (tmp_path / "a").write_bytes(b"1,1\n2,2\n")
    (tmp_path / "b").write_bytes(b"1,1\n3,3\n")
    line = [*shlex.split(words), str(tmp_path / "a"), str(tmp_path / "b")]
    environment = os.environ | {"LC_ALL": "C"}
    theirs = subprocess.run(["join", *line], capture_output=True, env=environment, check=False)
    code = door.invoke(["join", "-q", *line, "--output", str(tmp_path / "out")])
    assert bool(code) is bool(theirs.returncode)
    if code:
        assert re.search(r"is given twice|name different fields", capsys.readouterr().err)
        assert not (tmp_path / "out").exists()
    else:
        assert (tmp_path / "out").read_bytes() == theirs.stdout


def test_two_types_are_refused_and_a_setting_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two = {"a": b"1;x\n2;y\n", "b": b"1;z\n"}
    said = refusal(tmp_path, capsys, "--type", "left", "--type", "right", **two)
    assert said == "gpumerge: --type is given twice, as 'left' and as 'right'; leave one --type out\n"
    monkeypatch.setenv("GPUMERGE_JOIN_FIELD_SEPARATOR", ",")
    assert joined(tmp_path, "-t;", "--type", "anti", **two) == b"2;y\n"
    monkeypatch.setenv("GPUMERGE_JOIN_FIELD_SEPARATOR", ";")
    assert joined(tmp_path, **two) == b"1;x;z\n"


@pytest.mark.parametrize("memory", ["64K", "64M"])
@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_the_report_counts_what_is_written(
    kind: str, memory: str, tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    for end in ("", "\n"):
        for name in "ab":
            keys = sorted(f"{chance.randrange(400):04}" for _ in range(3000))
            (tmp_path / name).write_text("h\n" + "\n".join(f"{key} {'x' * 30}" for key in keys) + end)
        out, told = tmp_path / "out", tmp_path / "told.json"
        words = [str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(out), "--report", str(told), "-S", memory]
        assert door.invoke(["join", *words, "--header", "--type", kind, "--threads", "2"]) == 0
        lines = out.read_bytes().count(b"\n") - 1
        report = json.loads(told.read_text())
        assert (report["items"], report["joined"], report["dropped"]) == (6000, lines, 0)
        assert capsys.readouterr().err.startswith(f"joined 6,000 items to {lines:,}, ")
    assert door.invoke(["join", *words, "--header", "--type", kind, "--verbose"]) == 0
    assert f"{lines:,} item" in capsys.readouterr().err
    assert door.invoke(["merge", str(tmp_path / "a"), "-q", "--header=1", "-o", str(out), "--report", str(told)]) == 0
    assert json.loads(told.read_text())["joined"] is None


def _rows(chance: random.Random, keys: int, count: int, name: str) -> list[list[str]]:
    texts = ["x", "", "two, of it", 'a "quote"', "é", "new\nline"]
    numbers = sorted(chance.randrange(keys) for _ in range(count))
    return [[f"{name}{at}", str(number), chance.choice(texts)] for at, number in enumerate(numbers)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("newlines", [False, True])
def test_csv_by_columns_of_other_names(newlines: bool, end: str, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    written, files = [], []
    for name, count in (("left", 300), ("right", 200)):
        rows = _rows(chance, 250, count, name)
        rows = rows if newlines else [[field.replace("\n", " ") for field in row] for row in rows]
        text = io.StringIO()
        csv.writer(text, lineterminator=end).writerows([[name, f"id of {name}", "text"], *rows])
        written.append(text.getvalue().encode())
        files.append(rows)
    a, b = written
    options = ["--csv", "-1", "id of left", "-2", "id of right", "-n", "-S", "64K"]
    found = list(csv.reader(io.StringIO(joined(tmp_path, *options, a=a, b=b).decode(), newline="")))
    pairs = [[x[1], x[0], x[2], y[0], y[2]] for x in files[0] for y in files[1] if x[1] == y[1]]
    assert found == [["id of left", "left", "text", "right", "text_2"], *pairs]


def test_quoted_fields_stay_as_they_are(tmp_path: Path) -> None:
    a, b = b'k,"the ""name"""\n1,"x, y"\n"2",z\n', b'"w",k\n"q",1\n5,2\n'
    found = joined(tmp_path, "--csv", "-j", "k", a=a, b=b)
    assert found == b'k,"the ""name""","w"\n1,"x, y","q"\n"2",z,5\n'


@pytest.mark.one_in(2)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_a_group_larger_than_the_memory_of_its_product(threads: str, tmp_path: Path) -> None:
    """The product is 60 times as large as what a chunk may hold; its parts go out one by one."""
    a = b"".join(b"k a%d\n" % number for number in range(1500)) + b"z 1\n"
    b = b"a 0\n" + b"".join(b"k b%d\n" % number for number in range(1500))
    found = joined(tmp_path, "-a1", "-S", "64K", "--threads", threads, a=a, b=b)
    pairs = [b"k a%d b%d" % (x, y) for x in range(1500) for y in range(1500)]
    assert found.split(b"\n") == [*pairs, b"z 1", b""]


@pytest.mark.parametrize("options", [[], ["-o", "0,2.2,1.2", "-e", "none"], ["--type", "semi"], ["--type", "anti"]])
@pytest.mark.parametrize("counts", [(3, 60_000), (60_000, 3)])
def test_groups_of_equals_beyond_the_memory(counts: tuple[int, int], options: list[str], tmp_path: Path) -> None:
    """Lines of both files have the key k and take more than all chunks may hold; other keys lie around them."""
    sides = [
        [b"a 0", *(b"k %s%d some bytes to fill the memory" % (name, at) for at in range(count)), b"%s 1" % last]
        for name, count, last in zip((b"a", b"b"), counts, (b"m", b"z"), strict=True)
    ]
    found = joined(tmp_path, "-S", "1M", *options, a=b"\n".join(sides[0]), b=b"\n".join(sides[1]))
    a, b = (side[1:-1] for side in sides)
    ends = [x[2:] for x in b]
    if "semi" in options:
        expected = [b"a 0", *a]
    elif "anti" in options:
        expected = [b"m 1"]
    elif options:
        expected = [b"a 0 0", *(b" ".join([b"k", y.split()[0], x.split()[1]]) for x in a for y in ends)]
    else:
        expected = [b"a 0 0", *(b"%s %s" % (x, y) for x in a for y in ends)]
    assert found.split(b"\n")[:-1] == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["-j", "1,2n"], b"a 9 x A\na 10 y B\nb 1 z C\n"),
        (["-1", "1,2:n", "-2", "1,2"], b"a 9 x A\na 10 y B\nb 1 z C\n"),
        (["-j", "1,2n", "-o", "2.3,0"], b"A a 9\nB a 10\nC b 1\n"),
        (["-j", "1,2n", "-o", "auto", "-a", "1", "-e", "-"], b"a 9 x A\na 10 y B\nb 1 z C\nb 2 w -\n"),
    ],
)
def test_keys_of_several_fields(options: list[str], expected: bytes, tmp_path: Path) -> None:
    a, b = b"a 9 x\na 10 y\nb 1 z\nb 2 w\n", b"a 9.0 A\na 10 B\nb 1 C\n"
    assert joined(tmp_path, *options, a=a, b=b) == expected


@pytest.mark.parametrize("kind", JOIN_TYPES)
def test_keys_of_several_columns_in_other_places(kind: str, tmp_path: Path, seed: int) -> None:
    """A key is (city, number falling): a quoted one equals one without quotes, and chunks are small."""
    chance = random.Random(seed)
    sides: list[list[tuple[str, int]]] = []
    for _ in range(2):
        keys = [(chance.choice(["Ulm, old", "Bonn", "", "Rom"]), chance.randrange(40)) for _ in range(400)]
        sides.append(sorted(keys, key=lambda key: (key[0], -key[1])))
    a = [[f"a{at}", city, str(number)] for at, (city, number) in enumerate(sides[0])]
    b = [[f"{number}.0", f"b{at}", city] for at, (city, number) in enumerate(sides[1])]
    texts = []
    for head, rows, quoting in (
        (["x", "city", "n"], a, csv.QUOTE_MINIMAL), (["sum", "y", "town"], b, csv.QUOTE_NONNUMERIC),
    ):  # fmt: skip
        text = io.StringIO()
        csv.writer(text, lineterminator="\n", quoting=quoting).writerows([head, *rows])
        texts.append(text.getvalue().encode())
    options = ["--csv", "-1", "city,n:nr", "-2", "town,sum", "--type", kind]
    found = list(csv.reader(io.StringIO(joined(tmp_path, *options, a=texts[0], b=texts[1]).decode(), newline="")))
    shows = JOIN_TYPES[kind]
    rest = [""] * bool(shows & (_PAIRS | _ONLY_B))
    expected: list[list[str]] = []
    for key in sorted({*sides[0], *sides[1]}, key=lambda key: (key[0], -key[1])):
        some_a = [row for row, own in zip(a, sides[0], strict=True) if own == key]
        some_b = [row for row, own in zip(b, sides[1], strict=True) if own == key]
        if shows & _PAIRS:
            expected += [[x[1], x[2], x[0], y[1]] for x in some_a for y in some_b]
        if shows & (_PAIRED_A if some_b else _ONLY_A):
            expected += [[x[1], x[2], x[0], *rest] for x in some_a]
        if shows & _ONLY_B and not some_a:
            expected += [[y[2], y[0], "", y[1]] for y in some_b]
    assert found[0] == ["city", "n", "x"] + ["y"] * len(rest)
    assert found[1:] == expected


@pytest.mark.parametrize("options", [["-t,"], [], ["--csv"]])
def test_keys_of_several_fields_across_chunks(options: list[str], tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    gap = "," if options else " "
    sides: list[dict[tuple[str, int], list[str]]] = []
    texts = []
    for number in range(2):
        keys = sorted((chance.choice("xyz"), -chance.randrange(8000)) for _ in range(20_000))
        side: dict[tuple[str, int], list[str]] = {}
        lines = []
        for at, (word, falling) in enumerate(keys):
            side.setdefault((word, falling), []).append(f"t{at}")
            fields = [f"t{at}", word, str(-falling)] if number else [word, f"t{at}", str(-falling)]
            lines.append(gap.join(fields) + "\n")
        sides.append(side)
        texts.append("".join(lines).encode())
    options = [*options, "-1", "1,3nr", "-2", "2,3", "-S", "64K", "--threads", "2"]
    found = joined(tmp_path, *options, a=texts[0], b=texts[1])
    expected = [
        gap.join([word, str(-falling), x, y]) + "\n"
        for word, falling in sorted(sides[0].keys() & sides[1].keys())
        for x in sides[0][word, falling]
        for y in sides[1][word, falling]
    ]
    assert found == "".join(expected).encode()


def test_a_missing_field_behind_a_quoted_one_is_empty(tmp_path: Path) -> None:
    a, b = b'1,"x"\n2,y,k\n', b'"",2\nk,3\n'
    words = ["--csv", "-1", "3", "-2", "1", "-o", "0,1.1,1.2,2.2"]
    assert joined(tmp_path, *words, a=a, b=b) == b',1,"x",2\nk,2,y,3\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-1", "0"], "there is no field 0"),
        (["-j", "name"], "invalid field number 'name'"),
        (["-j", "1:hex,n"], "-j 1:hex,n: n is another kind, or none; a field has one, as 1:hex,2n"),
        (["-j", "1", "-2", "2"], "name different fields"),
        (["-o", "3.1"], "invalid column '3.1'"),
        (
            ["-o", "out.csv"],
            "-o out.csv: -o chooses columns in join, as in coreutils; the output's file is --output out.csv",
        ),
        (["-o", "a$b.csv"], "the output's file is --output 'a$b.csv'"),
        (
            ["-o", "name"],
            "-o: invalid column 'name'; write 0 for the key, FILE.FIELD as 1.2, or auto; --csv takes names",
        ),
        (["-o", "1.1", "--threads", "1", "2.2"], "3 files were named"),
        (["--field", "a", "-j", "1"], "-j and --field both name the key; leave -j or --field out"),
        (["--field", "a", "--on", "b"], "the header has no field 'b'"),
        (["--field", "a:q"], f"use letters from {JOIN_LETTERS}"),
        (["--type", "left", "-a", "1"], "use one of them"),
        (["-a", "3"], "-a"),
        (["-n", "-M"], "incompatible"),
        (["-t", "::::::::"], "longer than 7 bytes"),
        (["--csv", "-j", "other"], "no field 'other'"),
        (["--backend", "gpu"], "CPU alone"),
        (["-1", "1,2", "-2", "1"], "2 fields, and one of B has 1 field"),
        (["-1", "1n", "-2", "1g"], "same letters"),
        (["-j", "1,1"], "twice"),
        (["-j", "1,2k"], "invalid key options 'k'"),
        (["-j", "1,"], "invalid field number ''"),
        (["-j", "1:tme"], "-j 1:tme: there is no kind of key 'tme'; did you mean time? use "),
        (["-1", "1:hexx"], "-1 1:hexx: there is no kind of key 'hexx'; did you mean hex? use "),
        (["-j", "1:hex:size"], "-j 1:hex:size: hex and size are incompatible; give a key one way to compare"),
        (["-t", "", "-j", "1,2"], "a whole line is one field"),
        (["--csv", "-j", "a:q"], f"use letters from {JOIN_LETTERS}"),
        (["--record-size", "8", "-n"], "records, not lines"),
        (["--record-size", "8,9,7"], "two files"),
        (["--record-size", "8", "-e", "256"], "from 0 to 255"),
    ],
)
def test_what_cannot_be(arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(tmp_path, capsys, *arguments, a=b"a\n", b=b"a\n")


def test_it_takes_two_files_of_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert door.invoke(["join", str(tmp_path / "a")]) == 2
    (tmp_path / "a.i32").write_bytes(bytes(8))
    assert door.invoke(["join", str(tmp_path / "a.i32"), str(tmp_path / "a.i32")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


@needs_join
def test_standard_input_and_output_and_an_input_as_the_output(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a 1\nb 2\n")
    (tmp_path / "b").write_bytes(b"b 3\n")
    command = [sys.executable, "-m", "gpumerge_cli", "join", "-q", "-", str(tmp_path / "b")]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(command, input=b"a 1\nb 2\n", capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, b"b 2 3\n")
    assert door.invoke(["join", "-q", str(tmp_path / "a"), str(tmp_path / "b"), "--output", str(tmp_path / "b")]) == 0
    assert (tmp_path / "b").read_bytes() == b"b 2 3\n"


def test_a_job_of_a_batch(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"n,x\n9,1\n10,2\n")
    (tmp_path / "b").write_bytes(b"y,n\n3,10\n")
    (tmp_path / "jobs.toml").write_text(
        '[[job]]\nname = "j"\noperation = "join"\ninputs = ["a", "b"]\noutput = "out.csv"\n'
        'csv = true\nkey = "n"\nnumeric-sort = true\nunpaired = ["1"]\ncolumns = ["auto"]\n'
    )
    assert door.invoke(["batch", "-q", str(tmp_path / "jobs.toml")]) == 0
    assert (tmp_path / "out.csv").read_bytes() == b"n,x,y\n9,1,\n10,2,3\n"


def test_a_job_that_joins_pickles_and_is_cut_between_groups(tmp_path: Path) -> None:
    from gpumerge_cli.engine.inputs import open_inputs
    from gpumerge_cli.engine.job import Job, Operation
    from gpumerge_cli.engine.passes import Pass
    from gpumerge_cli.engine.writers import NullWriter
    from gpumerge_cli.formats.items import Items
    from gpumerge_cli.order.equals import Equals
    from gpumerge_cli.order.joins import Join

    join = Join(fields=((0,), (1,)), separator=b",", between=b",", columns=((0, 0), (2, 0)), filler=b"-")
    names = (str(tmp_path / "a"), str(tmp_path / "b"))
    (tmp_path / "a").write_bytes(b"h,v\n" + b"".join(b"%06d,1\n" % number for number in range(50_000)))
    (tmp_path / "b").write_bytes(b"w,k\n" + b"".join(b"2,%06d\n" % number for number in range(50_000)))
    items = Items(lines=join.rules[0], header_lines=1)
    job = Job(names, items, Operation(equals=Equals.JOIN, join=join))
    again = pickle.loads(pickle.dumps(job))
    assert again == job
    with open_inputs(names, items, alike=False) as inputs:
        planner = Pass.of(again, "merge", inputs, NullWriter()).planner
        chunks = planner.split(planner.whole(), 100_000)
        assert len(chunks) > 5
        for chunk in chunks:
            (_, a), (_, b) = chunk.ranges
            assert a == b  # whole groups lie in one chunk, though the keys lie in different fields


@pytest.mark.parametrize(
    ("words", "head"),
    [
        (["--type", "anti"], "id n"),
        (["--type", "semi"], "id n"),
        (["-v1"], "id n m"),
        (["--type", "anti", "-o", "auto"], "id n m"),
        (["--type", "semi", "-o", "2.2,0"], "m id"),
    ],
)
def test_a_header_names_the_columns_that_are_written(
    words: list[str], head: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").write_text("id n\n1 x\n2 y\n")
    (tmp_path / "b").write_text("id m\n1 z\n")
    assert door.invoke(["join", "-q", "--header", *words, str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    assert capfd.readouterr().out.splitlines()[0] == head


MON, TUE = b"id,name\n0,a\n2,c\n10,d\n", b"id,name\n1,b\n3,d\n11,e\n"


@pytest.mark.parametrize("empty", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_empty_input_whatever_names_its_fields(empty: bytes, tmp_path: Path) -> None:
    for options in (["-j", "id:n"], ["-j", "name,id:n"], ["-1", "id:n", "-2", "key:n"], ["-j", "1:n", "--header"]):
        found = joined(tmp_path, "--csv", "--type", "outer", *options, a=MON, b=empty)
        assert found.removeprefix(b"\xef\xbb\xbf").count(b"\n") == 4
        assert joined(tmp_path, "--csv", *options, a=empty, b=empty) == empty
    found = joined(tmp_path, "--csv", "--type", "outer", "-1", "key", "-2", "id:n", a=empty, b=MON)
    assert found.removeprefix(b"\xef\xbb\xbf") == MON
