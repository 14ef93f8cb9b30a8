"""--header-prefix and --headers: headers of any number of lines, those of several files, and their union."""

from __future__ import annotations

import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.header_union import HeaderLine, union_of
from gpumerge_cli.errors import InputError
from tests import needs

A = "##fileformat=VCFv4.2\n##source=a\n##contig=<ID=1>\n##contig=<ID=3>\n#CHROM\tPOS\tID\n1\t5\ta\n3\t2\tb\n"
B = (
    "##fileformat=VCFv4.3\n##source=b\n##contig=<ID=1>\n##contig=<ID=2>\n##contig=<ID=3>\n"
    '##INFO=<ID=DP,Description="say ""no"", ID=x">\n#CHROM\tPOS\tID\n1\t4\tc\n2\t9\td\n'
)
RECORDS = "1\t4\tc\n1\t5\ta\n2\t9\td\n3\t2\tb\n"
UNION = (
    "##fileformat=VCFv4.3\n##source=a\n##source=b\n##contig=<ID=1>\n##contig=<ID=2>\n##contig=<ID=3>\n"
    '##INFO=<ID=DP,Description="say ""no"", ID=x">\n#CHROM\tPOS\tID\n'
)
FIRST = A[: A.index("1\t5")]
KEYS = {
    "text": ("--format", "text", "-k", "1,1V", "-k", "2,2n"),
    "csv": ("--csv", "-t", "\\t", "--field", "#CHROM:V,POS:n"),
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.vcf").write_text(A)
    Path("b.vcf").write_text(B)


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("command", [("merge",), ("union",), ("sort", "-s")])
@pytest.mark.parametrize(("rule", "header"), [("first", FIRST), ("union", UNION)])
def test_headers_of_vcf(command: tuple[str, ...], keys: tuple[str, ...], rule: str, header: str) -> None:
    words = [*command, "--header-prefix", "#", "--headers", rule, *keys, "-q", "-o", "o.vcf", "a.vcf", "b.vcf"]
    assert invoke(words) == 0
    assert Path("o.vcf").read_text() == header + RECORDS


@pytest.mark.parametrize(
    ("words", "columns", "first"),
    [
        (["--source"], "#source\tCHROM\tPOS\tID", "b.vcf\t1\t4\tc"),
        (["--count"], "#count\tCHROM\tPOS\tID", "1\t1\t4\tc"),
        (["--count=after"], "#CHROM\tPOS\tID\tcount", "1\t4\tc\t1"),
    ],
)
def test_further_columns_leave_comments_alone(words: list[str], columns: str, first: str) -> None:
    given = ["merge", *words, "--header-prefix", "#", "--headers", "union", *KEYS["csv"], "-q", "-o", "o.vcf"]
    assert invoke([*given, "a.vcf", "b.vcf"]) == 0
    lines = Path("o.vcf").read_text().splitlines()
    assert "\n".join(lines[:8]) == UNION.replace("#CHROM\tPOS\tID\n", columns)
    assert lines[8] == first


def test_headers_in_each_part_and_in_compressed_files() -> None:
    Path("a.vcf.gz").write_bytes(gzip.compress(A.encode()))
    words = ["merge", "--header-prefix", "#", "--headers", "union", *KEYS["text"], "-q", "--parts", "2"]
    assert invoke([*words, "-o", "o{part}.vcf", "a.vcf.gz", "b.vcf"]) == 0
    found = [path.read_text() for path in sorted(Path().glob("o*.vcf"))]
    assert all(text.startswith(UNION) for text in found)
    assert "".join(text.removeprefix(UNION) for text in found) == RECORDS


def test_headers_of_pipes() -> None:
    words = ["merge", "--header-prefix", "#", "--headers", "union", *KEYS["csv"], "-q", "-", "b.vcf"]
    done = subprocess.run(
        [sys.executable, "-m", "gpumerge_cli", *words], input=A, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (UNION + RECORDS, "")


def test_a_header_of_many_blocks_and_lines_behind_it() -> None:
    notes = "".join(f"# note {number} {'x' * (number % 500)}\n" for number in range(3000)) + f"# {'y' * 200_000}\n"
    Path("a.csv").write_text(f"\ufeff{notes}id,v\n2,b\n1,a\n")
    assert invoke(["sort", "--header-prefix", "#", "--field", "id:n", "a.csv", "-o", "o.csv"]) == 2  # no such column
    assert invoke(["sort", "--header-prefix", "#", "--header", "1", "--field", "id:n", "a.csv", "-o", "o.csv"]) == 0
    assert Path("o.csv").read_text() == f"\ufeff{notes}id,v\n1,a\n2,b\n"


@pytest.mark.parametrize("last", ["x\n", "x"])
def test_a_file_of_a_header_alone(last: str) -> None:
    Path("a.txt").write_text(f"#a\n#{last}")
    Path("b.txt").write_text("2\n1\n#c\n")  # behind another line it is no header
    assert invoke(["sort", "--header-prefix", "#", "a.txt", "b.txt", "-o", "o.txt"]) == 0
    assert Path("o.txt").read_text() == "#a\n#x\n#c\n1\n2\n"


def test_quotes_in_a_header_are_no_quotes_of_csv() -> None:
    Path("a.csv").write_text('# "it\'s, not" CSV"\n#id,v\n1,"a\nb"\n')
    Path("b.csv").write_text("#id,v\n0,c\n")
    words = ["merge", "--header-prefix", "#", "--headers", "union", "--csv", "--field", "#id:n", "-q", "-o", "o.csv"]
    assert invoke([*words, "a.csv", "b.csv"]) == 0
    assert Path("o.csv").read_text() == '# "it\'s, not" CSV"\n#id,v\n0,c\n1,"a\nb"\n'


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("##source=b", "##source=a", ":1: its header '##fileformat=VCFv4.3' differs from that of a.vcf, "),
        ("VCFv4.3", "VCFv4.2", ":2: its header '##source=b' differs from that of a.vcf, '##source=a'; give all files "
         "the same header, or add --headers union or --headers first\n"),
    ],
)  # fmt: skip
def test_headers_that_differ(old: str, new: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("b.vcf").write_text(B.replace(old, new))
    assert invoke(["merge", "--header-prefix", "#", *KEYS["text"], "a.vcf", "b.vcf"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: b.vcf" + told)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("#CHROM\tPOS\tID", "#CHROM\tPOS\tNAME",
         "b.vcf:7: its columns '#CHROM\\tPOS\\tNAME' differ from the columns of a.vcf:5, '#CHROM\\tPOS\\tID'; make "
         "them alike, or take the header of the first file with --headers first\n"),
        ("##contig=<ID=1>", "##contig=<ID=1,length=9>",
         "b.vcf:3: it defines contig 1 in another way than a.vcf:3; make them alike"),
    ],
)  # fmt: skip
def test_contradictions(old: str, new: str, told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("b.vcf").write_text(B.replace(old, new))
    words = ["--header-prefix", "#", "--headers", "union", *KEYS["text"], "a.vcf", "b.vcf"]
    assert invoke(["merge", *words]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: " + told)


def test_numbers_of_lines_lead_to_the_prefix(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["merge", "--header", "5", *KEYS["text"], "a.vcf", "b.vcf"]) == 2
    way_out = "if all lines that begin with # are headers, use --header-prefix '#' and --headers union or first"
    assert capfd.readouterr().err.endswith(f"; {way_out}\n")
    assert invoke(["merge", "-q", "--header-prefix", "#", "--headers", "first", *KEYS["text"], "a.vcf", "b.vcf"]) == 0
    assert capfd.readouterr().out == FIRST + RECORDS


def test_long_columns_are_shown_where_they_differ(capfd: pytest.CaptureFixture[str]) -> None:
    fixed = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tNA00001\tNA00002\t"
    for name, text, sample in (("a.vcf", A, "NA00003"), ("b.vcf", B, "NA00004")):
        Path(name).write_text(text.replace("#CHROM\tPOS\tID\n", f"{fixed}{sample}\n"))
    assert invoke(["merge", "--header-prefix", "#", "--headers", "union", *KEYS["text"], "a.vcf", "b.vcf"]) == 2
    told = capfd.readouterr().err
    assert told.startswith("gpumerge: b.vcf:7: its columns ...")
    assert "NA00004' differ from the columns of a.vcf:5, ..." in told
    assert "NA00003'; make them alike" in told


def test_a_check_compares_columns_alone(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["check", "-q", "--header-prefix", "#", *KEYS["csv"], "a.vcf", "b.vcf"]
    assert invoke(words) == 0
    Path("b.vcf").write_text(B.replace("\tID\n", "\tNAME\n"))
    assert invoke(words) == 2
    assert "b.vcf:7: its columns '#CHROM\\tPOS\\tNAME' differ from the columns of a.vcf:5" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--header-prefix", ""],
            "--header-prefix '': every line begins with an empty text; write the text that lines of headers have",
        ),
        (
            ["--header-prefix", "%", "--field", "x"],
            "a.vcf:1: its first line does not begin with %; check --header-prefix",
        ),
        (["--headers", "all"], "--headers: invalid value 'all'"),
    ],
)
def test_refused(words: list[str], told: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["merge", *words, "a.vcf", "b.vcf"]) == 2
    assert told in capfd.readouterr().err


def test_a_file_that_contradicts_itself(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.vcf").write_text(A.replace("##contig=<ID=3>\n", "##contig=<ID=3>\n##contig=<ID=1,length=9>\n"))
    words = ["merge", "-q", "--header-prefix", "#", "--headers", "union", *KEYS["text"]]
    for files in (["a.vcf"], ["a.vcf", "a.vcf"], ["b.vcf", "a.vcf"]):
        assert invoke([*words, *files]) == 2
        assert "a.vcf:5: it defines contig 1 in another way than " in capfd.readouterr().err


def test_definitions_of_sam() -> None:
    first = ["@HD\tVN:1.5", "@SQ\tSN:a\tLN:5", "@RG\tID:x\tSM:1", "@CO\tnote"]
    second = ["@HD\tVN:1.6", "@SQ\tSN:a\tLN:5", "@SQ\tSN:b\tLN:7", "@RG\tID:y", "@PG\tID:x"]
    assert union(first, second) == [*first[:2], second[2], first[2], second[3], second[4], first[3]]
    with pytest.raises(InputError, match="1:2: it defines @SQ a in another way than 0:2"):
        union(first, [second[0], "@SQ\tSN:a\tLN:6"])


def test_contradictions_in_order_are_no_error() -> None:
    assert union(["#a", "#b", "#c", "#d"], ["#c", "#a", "#e", "#d"]) == ["#a", "#b", "#c", "#e", "#d"]


def test_each_header_keeps_its_order(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(200):
        check_order(draw)


def check_order(draw: random.Random) -> None:
    lines = [f"##{at}" for at in range(draw.randrange(1, 12))]
    headers = [[line for line in lines if draw.random() < 0.6] for _ in range(draw.randrange(1, 5))]
    found = union(*headers)
    assert sorted(found) == sorted({line for header in headers for line in header})
    assert all([line for line in found if line in header] == header for header in headers)


def union(*headers: list[str]) -> list[str]:
    given = [
        [HeaderLine(text.encode(), text.encode(), f"{at}:{number}") for number, text in enumerate(header, 1)]
        for at, header in enumerate(headers)
    ]
    return [line.raw.decode() for line in union_of(given, b"\t", has_names=False)]


def test_the_same_references_as_samtools_merge() -> None:
    samtools = needs.program("samtools")
    Path("a.sam").write_text(
        "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:50\n@SQ\tSN:c\tLN:50\nr\t0\ta\t1\t9\t1M\t*\t0\t0\tA\tI\n"
    )
    Path("b.sam").write_text(
        "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:a\tLN:50\n@SQ\tSN:d\tLN:50\ns\t0\ta\t2\t9\t1M\t*\t0\t0\tA\tI\n"
    )
    words = ["merge", "--format", "text", "--header-prefix", "@", "--headers", "union", "-k", "3,3", "-k", "4,4n", "-q"]
    assert invoke([*words, "-o", "o.sam", "a.sam", "b.sam"]) == 0
    subprocess.run([samtools, "merge", "-O", "sam", "--no-PG", "-f", "s.sam", "a.sam", "b.sam"], check=True)
    read = subprocess.run(
        [samtools, "view", "-h", "--no-PG", "o.sam"], capture_output=True, text=True, check=True
    ).stdout
    assert read == Path("o.sam").read_text() == Path("s.sam").read_text()


JOINED = {
    ("-t", "\\t", "--field", "#CHROM"): "##x=1\n#CHROM\tPOS\tA\tPOS_2\tB\n1\t5\ta\t7\tc\n2\t6\tb\t6\td\n",
    ("--csv", "-t", "\\t", "-j", "1,2n"): "##x=1\n#CHROM\tPOS\tA\tB\n2\t6\tb\td\n",
    ("--csv", "-t", "\\t", "--type", "semi"): "##x=1\n#CHROM\tPOS\tA\n1\t5\ta\n2\t6\tb\n",
    ("-t", "\\t", "--field", "#CHROM", "-o", "0,B"): "##x=1\n#CHROM\tB\n1\tc\n2\td\n",
    ("-t", "\\t"): "##x=1\n#CHROM\tPOS\tA\n1\t5\ta\t7\tc\n2\t6\tb\t6\td\n",
    ("-t", "\\t", "-o", "auto"): "##x=1\n#CHROM\tPOS\tA\n1\t5\ta\t7\tc\n2\t6\tb\t6\td\n",
    ("-t", "\\t", "--line-ends", "crlf"): "##x=1\r\n#CHROM\tPOS\tA\r\n1\t5\ta\t7\tc\r\n2\t6\tb\t6\td\r\n",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("words", JOINED, ids=" ".join)
def test_joins_write_the_lines_of_a_and_the_joined_names(words: tuple[str, ...], packed: bool) -> None:
    texts = ["##x=1\n#CHROM\tPOS\tA\n1\t5\ta\n2\t6\tb\n", "##y=1\n##y=2\n#CHROM\tPOS\tB\n1\t7\tc\n2\t6\td\n"]
    names = [f"{name}.vcf{'.gz' * packed}" for name in "ab"]
    for name, text in zip(names, texts, strict=True):
        Path(name).write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert invoke(["join", "-q", "--header-prefix", "#", *words, *names, "--output", "o"]) == 0
    assert Path("o").read_bytes().decode() == JOINED[words]


def test_a_join_with_a_header_behind_the_prefix(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_text('# of a\nid,v\n1,"x\ny"\n3,z\n')
    Path("b.csv").write_text("# of b\n# too\nid,w\n1,p\n2,q\n")
    words = ["join", "-q", "--header-prefix", "#", "--header", "--field", "id"]
    assert invoke([*words, "a.csv", "b.csv"]) == 0
    assert capfd.readouterr().out == '# of a\nid,v,w\n1,"x\ny",p\n'
    Path("b.csv").write_text("# of b\nid,w\n")
    assert invoke([*words, "--type", "left", "a.csv", "b.csv"]) == 0
    assert capfd.readouterr().out == '# of a\nid,v,w\n1,"x\ny",\n3,z,\n'
    Path("b.csv").write_text("# of b\nid,w\n2,p\n1,q\n")
    assert invoke([*words, "a.csv", "b.csv"]) == 2
    way_out = "sort it first: gpumerge sort --header-prefix '#' --header 1 -s --csv --field id"
    assert capfd.readouterr().err.endswith(f"; {way_out}\n")


def test_joined_headers_end_once_and_have_distinct_names(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    Path("a.csv").write_bytes(b'id,v\r\n1,"x\r\n\0"\r\n')  # a NUL, so another byte ends records
    Path("b.csv").write_bytes(b'id,v\r\n1,"y\r\n"\r\n')
    for ends in ([], ["--line-ends", "crlf"]):
        assert invoke(["join", "-q", "--field", "id", *ends, "a.csv", "b.csv"]) == 0
        assert capfdbinary.readouterr().out == b'id,v,v_2\r\n1,"x\r\n\0","y\r\n"\r\n'
    Path("c").write_text("k v\n1 a\n")
    assert invoke(["join", "-q", "--header", "--line-ends", "crlf", "c", "c"]) == 0
    assert capfdbinary.readouterr().out == b"k v v\r\n1 a a\r\n"


def test_an_empty_prefix_of_a_join_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["join", "--header-prefix", "", "a.vcf", "b.vcf"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: --header-prefix '': every line begins with an empty text")
