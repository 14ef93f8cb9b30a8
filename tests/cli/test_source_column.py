"""--source: the name of its file ahead of each line, against plain Python."""

from __future__ import annotations

import csv
import gzip
import io
import os
import random
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke

Named = tuple[str, bytes]
"""The name of an input, and one of its lines without its end."""
WORDS = [b"", b"a", b"b", b"ab", b"b\tc", b"x" * 40, b"y" * 1500, "\u00e9".encode()]
NAMES = ["a.txt", "b b.txt", "long-" + "n" * 100 + ".txt", "d", "e.txt", "f.txt", "g", "h", "i", "j", "k"]


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def whole(line: bytes) -> bytes:
    return line


def number(line: bytes) -> int:
    return int(line.split()[0])


def made(chance: random.Random, key: Callable[[bytes], object] | None = None) -> dict[str, list[bytes]]:
    """Files of random lines, sorted by a key if there is one. Some are empty, or lack their last newline."""
    files = {}
    for name in NAMES[: chance.choice([1, 2, 3, 9, 11])]:
        lines = [b"%d %s" % (chance.randrange(50), chance.choice(WORDS)) for _ in range(chance.choice([0, 1, 40, 900]))]
        files[name] = lines if key is None else sorted(lines, key=key)  # type: ignore[arg-type]
        Path(name).write_bytes(
            b"\n".join(lines if key is None else files[name]) + b"\n" * bool(lines and chance.random() < 0.8)
        )
    return files


def named(files: dict[str, list[bytes]], key: Callable[[bytes], object]) -> list[Named]:
    """The items of all files in order, with the names of their files."""
    return sorted(((name, line) for name, lines in files.items() for line in lines), key=lambda one: key(one[1]))  # type: ignore[arg-type, return-value]


def text(items: Sequence[Named], form: bytes = b"%s\t%s\n") -> bytes:
    return b"".join(form % (os.fsencode(name), line) for name, line in items)


def run(*words: str) -> bytes:
    assert invoke([*words, "-o", "out"]) == 0
    return Path("out").read_bytes()


@pytest.mark.parametrize("keys", [[], ["-k1,1n"]], ids=["lines", "keys"])
def test_merges_and_sorts(keys: list[str], seed: int) -> None:
    key: Callable[[bytes], object] = number if keys else whole
    down = ["-k1,1nr"] if keys else ["-r"]
    for round_number in range(6):
        chance = random.Random(f"{seed} {round_number}")
        files = made(chance, key)
        expected = named(files, key)
        memory = chance.choice([[], ["-S", "32K"]])
        assert run("merge", "-q", "--source", *memory, *keys, *files) == text(expected)
        head = chance.randrange(30)
        assert run("merge", "-q", "--source", f"--head={head}", *keys, *files) == text(expected[:head])
        assert run("merge", "-q", "--source", f"--tail={head}", *keys, *files) == text(
            expected[max(0, len(expected) - head) :]
        )
        first = [next(group) for _, group in groupby(expected, lambda one: key(one[1]))]
        assert run("merge", "-q", "--source", "--unique", *keys, *files) == text(first)
        groups = [list(group) for _, group in groupby(expected, lambda one: key(one[1]))]
        counted = b"".join(b"%7d " % len(group) + text(group[:1]) for group in groups)
        assert run("merge", "-q", "--source", "--count", *keys, *files) == counted
        counted = b"".join(text(group[:1], b"%s\t%s") + b"\t%d\n" % len(group) for group in groups)
        assert run("merge", "-q", "--source", "--count=after", *keys, *files) == counted
        assert run("merge", "-q", "--source", "--count-to", "counts.u64", *keys, *files) == text(first)
        files = made(chance)
        expected = named(files, key)
        for memory in ([], ["-S", "64K"], ["-S", "64K", "--compress-program", "builtin"]):
            assert run("sort", "-s", "--source", *memory, *keys, *files) == text(expected)
        assert run("sort", "-s", "--source", *down, *files) == text(descending(named(files, lambda line: 0), key))


def descending(items: Sequence[Named], key: Callable[[bytes], object]) -> list[Named]:
    """The items in descending order; equal ones stay as they are."""
    turned = list(reversed(items))
    return sorted(turned, key=lambda one: key(one[1]))[::-1]  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("command", ["union", "intersect", "difference", "symmetric", "compare"])
def test_sets(command: str, seed: int) -> None:
    """A set of lines with their names is the set of lines, and each has the name of a file that holds it."""
    chance = random.Random(f"{seed} {command}")
    a = sorted(b"%d" % chance.randrange(60) for _ in range(300))
    b = sorted(b"%d" % chance.randrange(60) for _ in range(200))
    Path("a").write_bytes(b"".join(line + b"\n" for line in a))
    Path("b").write_bytes(b"".join(line + b"\n" for line in b))
    pairs = {line: (a.count(line), b.count(line)) for line in sorted({*a, *b})}
    expected = b""
    for line, (of_a, of_b) in pairs.items():
        both = min(of_a, of_b)
        ahead, behind = b"a\t%s\n" % line, b"b\t%s\n" % line
        if command == "compare":
            expected += (b"\t\t" + ahead) * both + ahead * (of_a - both) + (b"\t" + behind) * (of_b - both)
        else:
            expected += ahead * (both if command in ("union", "intersect") else 0)
            expected += ahead * (of_a - both if command != "intersect" else 0)
            expected += behind * (of_b - both if command in ("union", "symmetric") else 0)
    options = [] if command == "compare" else ["-q"]
    assert run(command, *options, "--source", "a", "b") == expected


def test_comparisons_with_one_column() -> None:
    Path("a").write_bytes(b"1\n2\n")
    Path("b").write_bytes(b"2\n3\n")
    assert run("compare", "-12", "--source", "a", "b") == b"a\t2\n"
    assert run("compare", "-23", "--source", "a", "b") == b"a\t1\n"
    assert run("compare", "-13", "--source", "a", "b") == b"b\t3\n"


FIELDS = {
    "plain": ["a", "b c", "", "d"],
    "quoted": ["a,b", "b", 'c"d', ""],
    "newlines": ["a\nb", "b", "c,\r\nd", 'e"f'],
}


@pytest.mark.parametrize("title", ["source", "file", 'a,"b', " c"])
@pytest.mark.parametrize("kind", FIELDS)
def test_records_of_csv(kind: str, title: str, seed: int) -> None:
    chance, names = random.Random(f"{seed} {kind}"), ["a.csv", "b,c.csv", 'd"e.csv', "f\ng.csv"]
    everything = []
    for name in names:
        records = [[str(chance.randrange(9)), chance.choice(FIELDS[kind])] for _ in range(chance.choice([1, 50]))]
        everything += [[name, *record] for record in records]
        told = io.StringIO()
        csv.writer(told, lineterminator="\n").writerows([["id", "text"], *records])
        Path(name).write_text(told.getvalue(), newline="")
    option = "--source" if title == "source" else f"--source={title}"
    for field, place in (("id:n", 1), ("text", 2)):
        expected = [
            [title, "id", "text"],
            *sorted(everything, key=lambda row: int(row[1]) if place == 1 else row[2].encode()),
        ]
        for memory in ([], ["-S", "64K"]):
            assert invoke(["sort", "-s", option, *memory, "--csv", "--field", field, *names, "-o", "out"]) == 0
            found = list(csv.reader(io.StringIO(Path("out").read_bytes().decode(), newline=""), strict=True))
            assert found == expected


def test_a_key_of_several_fields_of_csv() -> None:
    """Records are copied with their fields then."""
    Path("a.csv").write_text('x,1\n"b,c",2\n')
    assert run("sort", "--csv", "-k1,2", "--source", "a.csv") == b'a.csv,"b,c",2\na.csv,x,1\n'


def test_headers_of_csv() -> None:
    Path("a.csv").write_bytes(b"\xef\xbb\xbfsource,file\n1,2\n")
    assert run("merge", "-q", "--field=file", "--source", "a.csv") == b"\xef\xbb\xbfsource_2,source,file\na.csv,1,2\n"
    assert run("merge", "-q", "--csv", "--header=2", "-k1", "--source", "a.csv").endswith(b",source,file\nsource,1,2\n")
    Path("b.csv").write_bytes(b"n;m\n1;2\n")
    assert run("merge", "-q", "--csv", "-t;", "--header=1", "-k1", "--source", "b.csv") == b"source;n;m\nb.csv;1;2\n"
    assert run("merge", "-q", "--csv", "-t;", "-k1", "--source", "--count", "b.csv", "b.csv", "--header=1") == (
        b"count;source;n;m\n2;b.csv;1;2\n"
    )


def test_headers_of_lines() -> None:
    Path("a.tsv").write_bytes(b"# from a\nid\tname\n2\tb\n")
    Path("b.tsv").write_bytes(b"# from a\nid\tname\n1\ta\n")
    expected = b"# from a\nfile\tid\tname\nb.tsv\t1\ta\na.tsv\t2\tb\n"
    assert run("merge", "-q", "--header=2", "-t\t", "-k1,1n", "--source=file", "a.tsv", "b.tsv") == expected


def test_titles_in_dialects(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text("id\n1\n")
    words = ["merge", "-q", "--field=id", "a.csv"]
    assert run(*words, '--source=a"b', "--quotes=none") == b'a"b,id\na.csv,1\n'
    assert run(*words, "--source=a\\b,", "--quotes=backslash") == b'"a\\\\b,",id\na.csv,1\n'
    assert invoke([*words, "--source=a,b", "--quotes=none"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: --source=a,b: the name of a column cannot hold ',' here; ")


@pytest.mark.parametrize("keys", [["--format=text"], ["--csv", "-t\t"]], ids=["lines", "csv"])
def test_a_line_of_columns_keeps_its_prefix(keys: list[str]) -> None:
    header = "\ufeff##x=a\tb\n"
    Path("a.vcf").write_text(f"{header}#CHROM\tPOS\n1\t5\n")
    words = ["merge", "-q", "--header-prefix=#", *keys, "-k2,2n"]
    once = run(*words, "--source=file", "a.vcf")
    assert once.decode() == f"{header}#file\tCHROM\tPOS\na.vcf\t1\t5\n"
    Path("again.vcf").write_bytes(once)
    assert run(*words, "again.vcf") == once


def test_other_last_lines_of_headers_stay() -> None:
    Path("a.sam").write_text("@HD\tVN:1.6\n@CO\tnote\nr\t0\ta\n")
    Path("b.vcf").write_text("##x=1\n##y=a\tb\n1\t5\n")
    for name, prefix in (("a.sam", "@"), ("b.vcf", "#")):
        *header, line = Path(name).read_text().splitlines()
        told = run("merge", "-q", "--format=text", f"--header-prefix={prefix}", "--source", name).decode()
        assert told.splitlines() == [*header, f"{name}\t{line}"]


def test_names_are_those_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    Path("in/a.gz").write_bytes(gzip.compress(b"a\nb\n"))
    Path("c").write_bytes(b"c\n")
    assert run("merge", "-q", "--source", "./in/a.gz", str(tmp_path / "c")) == b"./in/a.gz\ta\n./in/a.gz\tb\n" + (
        os.fsencode(tmp_path / "c") + b"\tc\n"
    )


def test_lines_that_end_in_nul() -> None:
    Path("a\nb").write_bytes(b"2\x001\x00")
    assert run("sort", "-z", "--source", "a\nb") == b"a\nb\t1\x00a\nb\t2\x00"


def test_parts() -> None:
    for name in "ab":
        Path(name).write_bytes(b"".join(b"%05d\n" % number for number in range(2000)))
    expected = run("merge", "-q", "--source", "a", "b")
    for words in (["merge", "-q"], ["sort"]):
        assert invoke([*words, "--source", "a", "b", "--parts=3", "-o", "part.{part}"]) == 0
        assert b"".join(Path(f"part.{part}").read_bytes() for part in range(3)) == expected


def test_outputs_that_are_compressed_or_inputs() -> None:
    Path("a").write_bytes(b"1\n")
    assert invoke(["merge", "-q", "--source", "a", "-o", "out.gz"]) == 0
    assert gzip.decompress(Path("out.gz").read_bytes()) == b"a\t1\n"
    assert invoke(["sort", "--source", "a", "-o", "a"]) == 0
    assert Path("a").read_bytes() == b"a\t1\n"


def test_jobs_of_a_batch() -> None:
    Path("a").write_bytes(b"2\n1\n")
    Path("jobs.toml").write_text(
        '[[job]]\noperation = "sort"\ninputs = ["a"]\nsource = true\noutput = "x"\n'
        '[[job]]\noperation = "sort"\ninputs = ["a"]\nsource = "source"\noutput = "y"\n'
    )
    assert invoke(["batch", "-q", "jobs.toml"]) == 0
    assert Path("x").read_bytes() == Path("y").read_bytes() == b"a\t1\na\t2\n"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["merge", "a\tb"], "--source: the name 'a\\tb' holds '\\t', which the output uses between names or lines; "),
        (["merge", "a\nb"], "--source: the name 'a\\nb' holds '\\n', which the output uses between names or lines; "),
        (["merge", "n.i32"], "n.i32: --source has no place in this file, which is binary; "),
        (["merge", "--backend=gpu", "a"], "columns of sources are made by the CPU alone; leave --backend gpu out"),
        (["merge", "--plan", "a"], "--plan writes no items, and --source writes names beside items; "),
        (["merge", "--source=", "a"], "--source= names no column; write --source alone, or --source=NAME"),
        (["merge", "--source=f", "a"], "--source=f: the files have no header, which would name the column; "),
        (["sort", "-c", "a"], "--source: a check writes nothing; "),
        (["sort", "-m", "unsorted"], "unsorted:2: disorder: "),
    ],
)  # fmt: skip
def test_what_does_not_go_with_it(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name, data in {"a": b"1\n", "a\tb": b"", "a\nb": b"1\n", "n.i32": bytes(4), "unsorted": b"2\n1\n"}.items():
        Path(name).write_bytes(data)
    output = [] if words[1] in ("-c", "--plan") else ["-o", "out"]
    option = [] if words[1].startswith("--source") else ["--source"]
    assert invoke([words[0], *option, *words[1:], *output]) != 0
    assert capsys.readouterr().err.startswith(f"gpumerge: {told}")
