"""--sum and --counted by the command line: messages, other outputs, ranges, jobs, and the system's programs."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from tests.needs import program
from tests.seeds import given_or_random_seed

_BYTES = {**os.environ, "LC_ALL": "C"}


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("id,n,m\na,1,\na,2,0.5\nb,3,\n")
    Path("b.csv").write_text("id,n,m\na,4,1.25\nc,,\nc,,\n")
    Path("a.txt").write_text("1 x\n2 x\n3 y\n")
    Path("c.txt").write_text("      1 a\n      2 b c\n")


def merged(*words: str) -> str:
    assert invoke(["merge", "-q", *words, "-o", "out"]) == 0, words
    return Path("out").read_text()


def test_the_first_and_the_last_of_equal_rows() -> None:
    assert merged("--field=id", "--sum=n,m", "a.csv", "b.csv") == "id,n,m\na,7,1.75\nb,3,\nc,,\n"
    words = ["--field=id", "--sum", "n", "--unique=last", "a.csv", "b.csv"]
    assert merged(*words) == "id,n,m\na,7,1.25\nb,3,\nc,,\n"


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (
            "a,1\nb,x\n",
            "--csv -k1,1 --sum 2",
            "in:2: --sum 2: 'x' is not a number; write it as 1234.5 or -1e3, or leave ",
        ),
        ('a,1\nb,"1,000"\n', "--csv -k1,1 --sum 2", "in:2: --sum 2: '1,000' is not a number; "),
        ("id,n\na,1\nb,1_0\n", "--field id --sum n", "in:3: --sum n: '1_0' is not a number; "),
        ("1 x\n2\n", "-k1,1 --sum 2", "in:1: --sum 2: 'x' is not a number; "),
        (
            "1 2\n2\n",
            "-k1,1 --sum 2",
            "in:2: --sum 2: it has no such column; check the number of the column and -t, or ",
        ),
        ("1;2\n2\n", "-t; -k1,1 --sum 2", "in:2: --sum 2: it has no such column; "),
        ("a,1\na,1e99999\n", "-t, -k1,1 --sum 2", "in:2: --sum 2: '1e99999' is a number of more than 10,000 digits; "),
        (
            "a 1\n",
            "--sum 2",
            "--sum 2: items compare as a whole, so equal ones have equal columns; name the key that equal",
        ),
        ("a 1\n", "-k2 --sum 3", "--sum 3: the column is a part of the key; name a column that is not a key"),
        ("a 1\n", "-k1,1 --sum n", "--sum n: there is no such column; count columns from 1, as 2"),
        ("id,n\na,1\n", "--field id --sum nn", "--sum nn: there is no such column; did you mean n? use id, n"),
        ("id,n\na,1\n", "--field id --sum 2,n", "--sum 'n': the column is named twice; name it once"),
        ("a 1\n", "-k1,1 --sum=", "--sum : a column has no name; write --sum NAME, or a number"),
        ('{"k":1,"n":"5"}\n', "--format jsonl --field k --sum n", "in:1: --sum n: '\"5\"' is not a number; "),
        ('{"k":1,"n":[]}\n', "--format jsonl --field k --sum n", "in:1: --sum n: '[' is not a number; "),
        ('{"k":1}\n', "--format jsonl --field k --sum k", "--sum k: the column is a part of the key; "),
        (
            '{"k":1,"n":{"a":1}}\n',
            "--format jsonl --field k --sum n,n.a",
            "--sum n.a: it lies within n, which is summed",
        ),
        (
            "  1 a\nb\n",
            "--counted",
            "in:2: --counted: 'b' does not begin with a count and a blank; count its lines first",
        ),
        ("  1 a\n", "--counted --count", "--counted and --count cannot be combined; use one of the two"),
        ("  1 a\n", "--counted --sum 1", "--counted sums the counts of lines, and --sum columns; use one of the two"),
        ("  1 a\n", "--counted --csv", "--counted: the files hold CSV; leave it out, or sum a column by --sum"),
        ("  1 a\n", "--counted -z", "-z: --counted is for lines that end in newlines; leave -z out"),
        ("  1 b\n  1 a\n", "--counted", "in:2: disorder: 'a' comes after 'b' (line 1); sort it first"),
    ],
)
def test_errors(text: str, words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(text)
    for command in ("merge", "sort"):
        if command == "sort" and "disorder" in said:
            continue
        assert invoke([command, "-q", *words.split(" "), "in", "-o", "out"]) == 2
        written = capsys.readouterr().err
        assert f"gpumerge: {said}" in written
        assert written.count("\n") == 1
        assert not Path("out").exists()


def test_a_member_that_the_kept_line_lacks() -> None:
    Path("a.jsonl").write_text('{"k":1}\n{"k":1,"n":2,"in":{"x":1}}\n{"k":2,"n":null}\n{ }\n')
    assert merged("--field=k", "--sum=n", "a.jsonl") == '{"k":1,"n":2}\n{"k":2,"n":null}\n{ }\n'
    Path("b.jsonl").write_text('{ }\n{"n":1e2,"m":1}\n{"n":0.5}\n')
    assert merged("--field=k", "--sum=n,m", "b.jsonl") == '{ "n":100.5,"m":1}\n'


def test_a_member_within_an_object_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text('{"k":1}\n{"k":1,"in":{"x":1}}\n')
    assert invoke(["merge", "-q", "--field=k", "--sum=in.x", "a.jsonl", "-o", "out"]) == 2
    assert "a.jsonl: --sum in.x: it has no such column; " in capsys.readouterr().err


def test_other_outputs() -> None:
    words = ["merge", "-q", "--field=id", "--sum=n", "a.csv", "b.csv"]
    assert invoke([*words, "-o", "out.csv.gz"]) == 0
    assert gzip.decompress(Path("out.csv.gz").read_bytes()) == b"id,n,m\na,7,\nb,3,\nc,,\n"
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    assert invoke([*words, "-o", "out.parquet"]) == 0
    assert parquet.read_table("out.parquet").column("n").to_pylist() == ["7", "3", ""]


def test_a_range_of_keys() -> None:
    assert merged("--field=id", "--sum=n", "--from=b", "a.csv", "b.csv") == "id,n,m\nb,3,\nc,,\n"
    assert merged("--field=id", "--sum=n", "--to=b", "a.csv", "b.csv") == "id,n,m\na,7,\n"


def test_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", "sort", "-k2,2", "--sum=1"],
        input=b"3 y\n1 x\n2 x\n",
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"3 x\n3 y\n"


def test_jobs_of_a_batch() -> None:
    Path("jobs.toml").write_text(
        '[[job]]\noperation = "merge"\ninputs = ["a.csv", "b.csv"]\nfield = ["id"]\n'
        'sum = ["n", "m"]\noutput = "out.csv"\n'
        '[[job]]\noperation = "sort"\ninputs = ["c.txt", "c.txt"]\ncounted = true\noutput = "counted.txt"\n'
    )
    assert invoke(["batch", "-q", "jobs.toml"]) == 0
    assert Path("out.csv").read_text() == "id,n,m\na,7,1.75\nb,3,\nc,,\n"
    assert Path("counted.txt").read_text() == "      2 a\n      4 b c\n"


def test_carriage_returns_and_blanks_stay() -> None:
    Path("r.txt").write_bytes(b"x, 1 \r\nx,2\r\n")
    assert invoke(["merge", "-q", "-t,", "-k1,1", "--sum=2", "r.txt", "-o", "out"]) == 0
    assert Path("out").read_bytes() == b"x, 3 \r\n"


def test_numbers_as_keys() -> None:
    Path("n.txt").write_text("2 x 1\n02 y 5\n10 z 7\n")
    assert merged("-k1n", "--sum=3", "n.txt") == "2 x 6\n10 z 7\n"


@pytest.mark.thorough
def test_a_group_larger_than_the_memory() -> None:
    """Of 27 MB in one group, of which a chunk holds little."""
    line = b"1.25 " + b"k" * 20 + b" %d\n"
    with open("large.txt", "wb") as file:
        for at in range(800_000):
            file.write(line % at)
    for command in ("merge", "sort"):
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, command, "-q", "-S4M", "-k2,2", "--sum=1", "large.txt", "-o", "out"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert Path("out").read_text() == f"{Decimal('1.25') * 800_000} {'k' * 20} 0\n"
        assert int(done.stdout) < 90 << 20


_MEASURED = """
import sys
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.resources import peak_memory
assert invoke(sys.argv[1:]) == 0
print(peak_memory())
"""


def test_counts_of_parts_are_those_of_the_whole() -> None:
    """uniq -c of parts, merged, is uniq -c of the merge."""
    sort, uniq = program("sort"), program("uniq")
    chance = random.Random(given_or_random_seed())
    words = [f"{chance.choice(['a', 'b b', ' c', 'é'])}{chance.randrange(900)}" for _ in range(20_000)]
    parts = []
    for at in range(3):
        text = "".join(f"{word}\n" for word in chance.choices(words, k=9000)).encode()
        parts.append(text)
        ordered = subprocess.run([sort], input=text, env=_BYTES, capture_output=True, check=True).stdout
        counted = subprocess.run([uniq, "-c"], input=ordered, env=_BYTES, capture_output=True, check=True).stdout
        Path(f"{at}").write_bytes(counted)
        Path(f"{at}.shuffled").write_bytes(
            b"".join(chance.sample(lines := counted.splitlines(keepends=True), len(lines)))
        )
    whole = subprocess.run([sort], input=b"".join(parts), env=_BYTES, capture_output=True, check=True).stdout
    expected = subprocess.run([uniq, "-c"], input=whole, env=_BYTES, capture_output=True, check=True).stdout
    assert merged("--counted", "0", "1", "2").encode() == expected
    assert invoke(["sort", "-q", "--counted", "0.shuffled", "1.shuffled", "2.shuffled", "-o", "out"]) == 0
    assert Path("out").read_bytes() == expected


def test_sums_are_those_of_awk() -> None:
    awk, sort = program("awk"), program("sort")
    chance = random.Random(given_or_random_seed())
    text = "".join(f"k{chance.randrange(300)}\t{chance.randrange(-9999, 9999)}\n" for _ in range(30_000))
    script = '{ s[$1] += $2 } END { for (k in s) printf "%s\\t%d\\n", k, s[k] }'
    sums = subprocess.run([awk, script], input=text, text=True, capture_output=True, check=True).stdout
    expected = subprocess.run([sort], input=sums, text=True, env=_BYTES, capture_output=True, check=True).stdout
    Path("in").write_text(text)
    assert invoke(["sort", "-q", "-t\t", "-k1,1", "--sum=2", "in", "-o", "out"]) == 0
    assert Path("out").read_text() == expected


def test_counted_lines_by_a_key_and_with_a_header() -> None:
    Path("h").write_text("count name\n   2 x 1\n   1 y 1\n")
    assert merged("--counted", "--header=1", "-k1,1", "h", "h") == "count name\n      4 x 1\n      2 y 1\n"
    Path("k").write_text("3 b 1\n4 a 1\n5 c 2\n")
    assert merged("--counted", "-k2,2", "k") == "      7 b 1\n      5 c 2\n"
    assert invoke(["sort", "-q", "--counted", "-r", "k", "-o", "out"]) == 0
    assert Path("out").read_text() == "      5 c 2\n      3 b 1\n      4 a 1\n"


def test_lines_that_hold_all_bytes_that_text_may_lack(capsys: pytest.CaptureFixture[str]) -> None:
    Path("all").write_bytes(b"1 " + bytes({*range(256)} - {10}) + b"\n")
    assert invoke(["merge", "--counted", "all"]) == 2
    told = "all: it holds every control byte and every byte that UTF-8 never has, so none is left to end the copy of"
    assert told in capsys.readouterr().err


def _with_marks(draw: random.Random, number: Decimal, thousands: str, decimal: str) -> str:
    whole, point, fraction = f"{abs(number):f}".partition(".")
    if thousands and draw.random() < 0.7:
        whole = f"{int(whole):,}".replace(",", thousands)
    exponent = draw.choice(["", "", "", "e0", "E+00"])
    return "-" * (number < 0) + whole + point.replace(".", decimal) + fraction + exponent


@pytest.mark.parametrize("form", ["--csv -t;", "-t;", "", "--csv -t; --quotes none"])
def test_marks_of_numbers(form: str) -> None:
    seed = given_or_random_seed()
    draw = random.Random(seed)
    for _ in range(8):
        thousands, decimal = draw.choice([(".", ","), (",", "."), ("", ","), ("'", "."), ("_", "|"), (",", "")])
        sums: dict[str, Decimal] = {}
        counts: dict[str, int] = {}
        lines = []
        for key in sorted(draw.choice("abc") for _ in range(draw.choice([1, 5, 60]))):
            number = Decimal(draw.randrange(-(10 ** draw.choice([1, 5, 20])), 10**7)).scaleb(-draw.choice([0, 0, 1, 3]))
            text = _with_marks(draw, number, thousands, decimal or ".")
            quoted = form == "--csv -t;" and draw.random() < 0.5
            lines.append((key, f'"{text}"' if quoted else text))
            sums[key] = sums.get(key, Decimal(0)) + number
            counts[key] = counts.get(key, 0) + 1
        between = ";" if form else " "
        Path("in").write_text("".join(f"{key}{between}{text}\n" for key, text in lines))
        options = [
            *form.split(),
            *["--thousands", thousands] * bool(thousands),
            *["--decimal", decimal] * bool(decimal),
        ]
        found = merged(*options, "-k1,1", "--sum", "2", "in").splitlines()
        first = {}
        for key, text in lines:
            first.setdefault(key, text)
        for (key, total), line in zip(sums.items(), found, strict=True):
            text = f"{total:f}".replace(".", decimal or ".") if counts[key] > 1 else first[key]
            has_quotes = counts[key] > 1 and first[key].startswith('"')
            assert line == f"{key}{between}" + (f'"{text}"' if has_quotes else text), (seed, options)


@pytest.mark.parametrize(
    ("text", "words", "told"),
    [
        (
            "a;1.5\n",
            "--decimal , --sum 2",
            "in:1: --sum 2: '1.5' is not a number; write it as 1234,5 or -1e3",
        ),
        ("a;1,5.5\n", "--decimal , --thousands . --sum 2", "'1,5.5' is not a number; write it as 1234,5"),
        ("a;1,234\n", "--thousands _ --sum 2", "'1,234' is not a number; write it as 1234.5"),
        ("a;1__0\n", "--thousands _ --sum 2", "'1__0' is not a number"),
        ("a;_1\n", "--thousands _ --sum 2", "'_1' is not a number"),
        (
            "a;1\n",
            "--decimal ; --sum 2",
            "--decimal ';': the byte separates fields, too",
        ),
        ("a;1\n", "--thousands . --sum 2", "--thousands and the fraction have the same separator '.'"),
        ("a;1\n", "--decimal x --sum 2", "--decimal: invalid separator 'x'"),
        ("a;1\n", "--decimal , --unique", "--decimal: no key is a number; compare by n, h or g"),
        ("a;1\n", "--null-values x --sum 2", "--null-values is for keys, and --sum reads numbers"),
    ],
)
def test_marks_that_are_refused(text: str, words: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in").write_text(text)
    assert invoke(["merge", "-t;", "-k1,1", *words.split(), "in", "-o", "out"]) == 2
    assert told in capsys.readouterr().err
    assert not Path("out").exists()
