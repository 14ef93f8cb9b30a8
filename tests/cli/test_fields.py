"""--field: columns of CSV and the key field of records, by name, in every command that takes an order."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.cli.batch_jobs import commands
from gpumerge_cli.order.key_kinds import LETTERS
from tests.record_fields import in_order, joined, python_key

SALES = b'city,"amount, net",day\n"Rome, Italy",7,2\nOslo,40,1\nOslo,9,3\n'


@pytest.fixture
def sales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_bytes(SALES)
    return tmp_path


@pytest.mark.parametrize(
    ("fields", "days"),
    [
        (["city"], "132"),
        (["city:r"], "213"),
        (["city,day:nr"], "312"),
        (["city", "day:nr"], "312"),
        (["amount, net:n"], "231"),
        (["amount, net"], "123"),
        (["1,3:nr"], "312"),
        (["3:n"], "123"),
        (["3"], "123"),
    ],
)
def test_columns(fields: list[str], days: str, sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They imply --csv, names also --header 1."""
    words = [f"--field={field}" for field in fields]
    header = ["--header=1"] if fields[0][0].isdigit() else []
    assert invoke(["sort", *words, *header, "sales.csv", "-o", "sorted.csv"]) == 0
    lines = Path("sorted.csv").read_bytes().splitlines()
    assert lines[0] == SALES.splitlines()[0]
    assert b"".join(line[-1:] for line in lines[1:]).decode() == days
    for command in ("check", "merge -q", "sort -c", "sort -m"):
        assert invoke([*command.split(), *words, *header, "sorted.csv"]) == 0
        if command.endswith(("-q", "-m")):
            assert capfd.readouterr().out.encode() == Path("sorted.csv").read_bytes()


@pytest.mark.parametrize("command", ["merge", "sort", "check"])
@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("town", "--field town: the header has no field 'town'; use one of city, 'amount, net', day"),
        ("city,town", "--field town: the header has no field 'town'; use one of city, 'amount, net', day"),
        ("city:x", f"--field city:x: invalid key options 'x'; use letters from {LETTERS}"),
        ("0", "--field 0: there is no field 0; count from 1"),
        ("day:gn", "options -gn are incompatible; give a key one way to compare"),
    ],
)
def test_what_is_no_column(
    command: str, field: str, said: str, sales: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke([command, f"--field={field}", "sales.csv"]) == 2
    assert capsys.readouterr().err == f"gpumerge: {said}\n"


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("amount:n,name", "yzx"),
        ("amount:n,name:r", "zyx"),
        ("city:r,amount:n,name", "yzx"),
        ("amount:nr,city", "xyz"),
        ("3:n,name", "yzx"),
        ("amount:n,1:r", "zyx"),
    ],
)
def test_letters_behind_any_field_of_a_list(
    field: str, names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field with letters may stand anywhere among others without any."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("name,city,amount\nx,Bern,7\nz,Bern,6\ny,Bern,6\n")
    assert invoke(["sort", f"--field={field}", "a.csv", "-o", "b.csv"]) == 0
    assert "".join(line[0] for line in Path("b.csv").read_text().splitlines()[1:]) == names
    assert invoke(["merge", "-q", f"--field={field}", "b.csv", "-o", "c.csv"]) == 0
    assert invoke(["check", f"--field={field}", "c.csv"]) == 0


@pytest.mark.parametrize("command", ["sort", "merge -q"])
def test_a_name_implies_the_header(command: str, sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (["--csv", "-k", "day:n"], ["--field=day:n"]):
        assert invoke([*command.split(), *words, "-s", "sales.csv"]) == (0 if command == "sort" else 2)
        out = capfd.readouterr().out
        assert command != "sort" or out.splitlines()[0] == 'city,"amount, net",day'


def test_columns_between_tabs(sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.tsv").write_text("city\tday\nOslo\t3\nRome\t1\n")
    for command in ("sort", "sort -m", "merge -q"):
        assert invoke([*command.split(), "--field", "city", "-t", "\\t", "a.tsv"]) == 0
        assert capfd.readouterr().out == Path("a.tsv").read_text()


def test_a_key_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    items = np.array([(3, 1.5), (1, 2.5), (2, 0.5)], [("id", "<u4"), ("x", "<f8")])
    np.save("a.npy", items)
    for field, order in (("id", [1, 2, 3]), ("id:r", [3, 2, 1]), ("x", [2, 3, 1])):
        assert invoke(["sort", "--field", field, "a.npy", "-o", "s.npy"]) == 0
        assert np.load("s.npy")["id"].tolist() == order
        assert invoke(["check", "--field", field, "s.npy"]) == 0
        assert invoke(["merge", "-q", "--field", field, "s.npy", "-o", "m.npy"]) == 0
        assert np.array_equal(np.load("m.npy"), np.load("s.npy"))


def test_records_are_generated_with_one_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert invoke(["generate", "b.npy", "--field", "id,x", "--dtype=[('id','u4'),('x','f8')]"]) == 2
    told = "gpumerge: --field id,x: records are made with one key; name one field\n"
    assert capsys.readouterr().err == told
    assert not Path("b.npy").exists()


@pytest.mark.parametrize("dtype", [[("id", ">i4"), ("amt", "<f8"), ("city", "S9")], "npy"])
@pytest.mark.parametrize(
    "words",
    [
        "--field=id,amt",
        "--field=city,amt:r",
        "--field city:r --field id",
        "--field=amt,city,id:r",
        "-r --field=id,amt:r",
    ],
)
def test_several_fields_of_records(
    words: str, dtype: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Sorts, merges and checks agree with Python's sort by tuples, whether the file or an option says the dtype."""
    monkeypatch.chdir(tmp_path)
    is_npy = dtype == "npy"
    dtype = np.dtype([("amt", ">f4"), ("id", "<u2"), ("city", "S3")] if is_npy else dtype)
    options = words.split() + ([] if is_npy else ["--format=raw", f"--dtype={dtype.descr}"])
    suffix = "npy" if is_npy else "rec"

    def write(name: str, items: np.ndarray) -> str:
        np.save(f"{name}.npy", items) if is_npy else items.tofile(f"{name}.rec")
        return f"{name}.{suffix}"

    def read(name: str) -> np.ndarray:
        return np.load(f"{name}.npy") if is_npy else np.fromfile(f"{name}.rec", dtype)

    fields = [word for text in words.replace("=", " ").split() if not text.startswith("-") for word in text.split(",")]
    if "-r" in words.split():
        fields = [f"{field.removesuffix(':r')}:r" for field in fields]
    runs = []
    for count in (500, 0, 300):
        run_ = np.zeros(count, dtype)
        run_["id"] = rng.integers(0, 4, count)
        run_["amt"] = rng.choice([np.nan, -0.0, 0.0, 1.5, -2.5, np.inf], count)
        run_["city"] = rng.choice([b"", b"Oslo"[:3], b"a", b"a\0b"], count)
        runs.append(run_)
    expected = in_order(runs, fields).tobytes()
    shuffled = write("all", joined(runs))
    assert invoke(["sort", *options, shuffled, "-o", f"sorted.{suffix}"]) == 0
    assert read("sorted").tobytes() == expected
    names = [write(f"run{number}", in_order([one], fields)) for number, one in enumerate(runs)]
    assert invoke(["merge", "-q", *options, *names, "-o", f"merged.{suffix}"]) == 0
    assert read("merged").tobytes() == expected
    assert invoke(["check", *options, f"merged.{suffix}"]) == 0
    assert invoke(["check", *options, shuffled]) == 1
    assert invoke(["merge", "-q", "--unique", *options, *names, "-o", f"unique.{suffix}"]) == 0
    keys = [python_key(item, fields) for item in read("merged")]
    assert len(read("unique")) == sum(number == 0 or key != keys[number - 1] for number, key in enumerate(keys))


@pytest.mark.parametrize(
    ("items", "field", "told"),
    [
        (
            [("a", 1), ("a", 2), ("a", 0), ("b", 0)],
            "city,id",
            "@2: disorder: city 'a', id 0 comes after city 'a', id 2 by --field id; sort it first",
        ),
        (
            [("a", 2), ("a", 1), ("b", 1), ("b", 0)],
            "city,id",
            "@1: disorder: city 'a', id 1 comes after city 'a', id 2 by --field id; "
            "the file is in the order of --field id:r: use that for --field id",
        ),
        (
            [("a", 1), ("b", 1)],
            "city:r,id",
            "@1: disorder: city 'b', id 1 comes after city 'a', id 1 by --field city:r; "
            "the file is in the order of --field city: use that for --field city:r",
        ),
        ([("a", 1), ("a", 3), ("a", 2)], "id", "@2: disorder: 2 comes after 3 by --field id; sort it first"),
    ],
)
def test_a_disorder_of_records_names_the_field(
    items: list[Any],
    field: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array(items, [("city", "S4"), ("id", "<i4")]))
    for words in (["check"], ["merge", "-o", "b.npy"]):
        assert invoke([*words, f"--field={field}", "--backend=cpu", "a.npy"]) == (1 if words == ["check"] else 2)
        assert capsys.readouterr().err == f"gpumerge: a.npy{told}\n"


@pytest.mark.parametrize(
    ("field", "told"),
    [
        (
            "city,day:n",
            "'Rome,2' comes after 'Rome,10' (record 2), key '2' after '10' by --field day:n; "
            "the file is in the order of --field day: use that for --field day:n",
        ),
        (
            "1,2:n",
            "'Rome,2' comes after 'Rome,10' (record 2), key '2' after '10' by --field 2:n; "
            "the file is in the order of --field 2: use that for --field 2:n",
        ),
    ],
)
def test_a_disorder_by_columns_names_the_field(
    field: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("city,day\nRome,10\nRome,2\n")
    assert invoke(["check", f"--field={field}", "--header=1", "--backend=cpu", "a.csv"]) == 1
    assert capsys.readouterr().err == f"gpumerge: a.csv:3: disorder: {told}\n"


@pytest.mark.parametrize("name", ["a b", "it's", "$x;y"])
def test_the_order_that_is_proposed_can_be_pasted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(f"{name},x\n9,1\n10,2\n")
    np.save("a.npy", np.array([(2, 1), (1, 1)], [(name, "<i4"), ("x", "<i4")]))
    for file, field in (("a.csv", name), ("a.npy", f"{name},x")):
        assert invoke(["check", "--backend=cpu", f"--field={field}", file]) == 1
        proposed = capsys.readouterr().err.partition("is in the order of ")[2].partition(": use that for ")[0]
        assert invoke(["check", "--backend=cpu", *shlex.split(proposed), file]) == 0


@pytest.mark.parametrize(
    ("header", "field", "told"),
    [
        ("a,b", "aa", "--field aa: the header has no field 'aa'; did you mean a? use one of a, b"),
        (
            "amount,city",
            "amuont",
            "--field amuont: the header has no field 'amuont'; did you mean amount? use one of amount, city",
        ),
        (
            '"a,b",a,b',
            "a,b",
            "--field a,b means one field of that name, or 2 fields; "
            "give each field its own --field, or use its number, with --header 1",
        ),
        (
            "a:n,a",
            "a:n",
            "--field a:n means the field 'a:n', or the field 'a' with the letters 'n'; use its number, with --header 1",
        ),
    ],
)
def test_names_that_are_not_there_or_mean_two_things(
    header: str,
    field: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text(f"{header}\n1,2\n")
    assert invoke(["check", f"--field={field}", "a.csv"]) == 2
    assert capsys.readouterr().err == f"gpumerge: {told}\n"


def test_a_header_of_one_column_makes_one_think_of_the_separator(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("city;day\nOslo;1\n")
    assert invoke(["merge", "--field=day", str(tmp_path / "a.csv")]) == 2
    said = "the header has no field 'day'; it has one, 'city;day'; -t says what separates them, as -t ';'"
    assert capsys.readouterr().err == f"gpumerge: --field day: {said}\n"


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("--csv --field a:n -k b", "1z 2x 2y 3w"),
        ("--csv -k b --field a:n", "3w 2x 2y 1z"),
        ("--csv -k 2 --field a:n", "3w 2x 2y 1z"),
        ("--csv --field c --field a:nr -k b", "3w 2x 2y 1z"),
        ("--csv -k c --field a:nr -k b", "3w 2x 2y 1z"),
        ("--csv --field c -k a:n --field b:r", "1z 2y 2x 3w"),
    ],
)
def test_keys_come_in_the_order_of_the_command_line(
    words: str, lines: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a,b,c\n1,z,0\n2,y,0\n2,x,0\n3,w,0\n")
    assert invoke(["sort", *words.split(), "a.csv", "-o", "b.csv"]) == 0
    rows = Path("b.csv").read_text().splitlines()[1:]
    assert [row.replace(",", "")[:2] for row in rows] == lines.split()
    assert invoke(["check", *words.split(), "b.csv"]) == 0
    assert invoke(["merge", "-q", *words.split(), "b.csv", "-o", "c.csv"]) == 0
    assert Path("c.csv").read_bytes() == Path("b.csv").read_bytes()
    assert invoke(["check", *words.replace("--csv", "--csv -k c").split(), "b.csv"]) == 0


def test_keys_whose_order_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Settings and tables of jobs have no order."""
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("a,b\n1,z\n")
    monkeypatch.setenv("GPUMERGE_KEY", "2")
    monkeypatch.setenv("GPUMERGE_FIELD", "a:n")
    assert invoke(["merge", "-q", "a.csv"]) == 2
    told = "-k and --field: the order of these keys is not known; write both on the command line"
    assert told in capsys.readouterr().err
    assert invoke(["merge", "-q", "--field=a:n", "-k2", "a.csv", "-o", "b.csv"]) == 0
    monkeypatch.delenv("GPUMERGE_FIELD")
    assert invoke(["merge", "-q", "--csv", "a.csv", "-o", "b.csv"]) == 0
    monkeypatch.delenv("GPUMERGE_KEY")
    for operation in ("merge", "sort"):
        job = (
            f'[[job]]\noperation = "{operation}"\ninputs = ["a.csv"]\nkey = ["2"]\nfield = ["a:n"]\noutput = "b.csv"\n'
        )
        Path("jobs.toml").write_text(job)
        capsys.readouterr()
        assert invoke(["batch", "jobs.toml"]) == 2
        assert "key and field: the order of these keys is not known" in capsys.readouterr().err


def test_keys_of_the_command_line_and_of_jobs_replace_those_of_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gpumerge.toml").write_text('field = "id:n"\n')
    Path("a.txt").write_text("x 2\ny 10\n")
    Path("a.bed").write_bytes(Path("a.txt").read_bytes())
    for words in (["-k2,2n", "a.txt"], ["-k2,2n", "--format=text", "a.bed"]):
        assert invoke(["merge", "-q", *words, "-o", "b.txt"]) == 0, capsys.readouterr().err
        assert Path("b.txt").read_bytes() == Path("a.txt").read_bytes()
    Path("jobs.toml").write_text('[[job]]\noperation = "merge"\ninputs = ["a.txt"]\nkey = ["2,2n"]\noutput = "c.txt"\n')
    commands.cache_clear()
    assert invoke(["batch", "-q", "jobs.toml"]) == 0, capsys.readouterr().err
    commands.cache_clear()
    assert Path("c.txt").read_bytes() == Path("a.txt").read_bytes()
    Path("gpumerge.toml").unlink()
    monkeypatch.setenv("GPUMERGE_KEY", "1,1")
    Path("a.csv").write_text("a,b\n2,y\n10,x\n")
    assert invoke(["merge", "-q", "--field=a:n", "a.csv", "-o", "b.csv"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    "names", [("empty.csv", "a.csv"), ("a.csv", "empty.csv"), ("empty.csv", "a.csv", "empty2.csv")]
)
def test_names_are_those_of_the_first_header_that_there_is(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in names:
        Path(name).write_text("" if name.startswith("empty") else "id,x\n1,2\n10,1\n")
    for words in (["merge", "-q"], ["sort"], ["merge", "-q", "--csv"]):
        key = ["-k", "id:n"] if "--csv" in words else ["--field=id:n"]
        assert invoke([*words, *key, *names, "-o", "out.csv"]) == 0
        assert Path("out.csv").read_text() == "id,x\n1,2\n10,1\n"


@pytest.mark.parametrize("command", ["merge -q", "sort", "check", "union -q", "merge -q --parts 2"])
@pytest.mark.parametrize(
    "key", ["--field=id", "--field=id:nr,1,name", "--field=a:b", "--csv -k id:n", "-t; --field id"]
)
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_files_that_are_all_empty_have_fields_of_any_name(
    command: str, key: str, mark: bytes, sales: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        Path(name).write_bytes(mark)
    outputs = ["-o", "out{part}.csv"] if "--parts" in command else []
    assert invoke([*command.split(), *key.split(), *outputs, "a.csv", "b.csv"]) == 0, capfd.readouterr().err
    assert capfd.readouterr().out in ("", mark.decode())
    assert [(sales / f"out{part}.csv").read_bytes() for part in ("0", "1") if outputs] == (
        [mark] * 2 if outputs else []
    )


def test_an_empty_device_and_an_empty_compressed_file_have_fields_of_any_name(
    sales: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("a.csv.gz").write_bytes(gzip.compress(b""))
    assert invoke(["merge", "-q", "--field=id", "/dev/null", "a.csv.gz"]) == 0
    assert capfd.readouterr().out == ""
    Path("b.csv").write_text("id\n2\n10\n")
    assert invoke(["merge", "-q", "--field=id:n", "/dev/null", "a.csv.gz", "b.csv"]) == 0
    assert capfd.readouterr().out == "id\n2\n10\n"


def test_ranks_in_files_that_are_all_empty(sales: Path, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.csv").write_bytes(b"")
    assert invoke(["rank", "--field=id", "--split", "2", "a.csv", "a.csv"]) == 0, capfd.readouterr().err


@pytest.mark.parametrize("told", [["--csv"], ["-t", r"\t"], ["--header", "2"]])
def test_options_for_text_make_text_of_any_suffix(
    told: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    lines = b"##x\n#CHROM\tPOS\n1\t5\n2\t3\n"
    (tmp_path / "a.vcf").write_bytes(lines)
    options = [*told, "--field", "#CHROM:V,POS:n", "-t", r"\t", "--header", "2"]
    assert invoke(["merge", "-q", *options, str(tmp_path / "a.vcf"), str(tmp_path / "a.vcf")]) == 0
    assert capfd.readouterr().out.encode() == b"##x\n#CHROM\tPOS\n1\t5\n1\t5\n2\t3\n2\t3\n"


@pytest.mark.parametrize("name", ["a.vcf", "a.bed", "a.csv.bak", "a.log.1", "a.csv.1", "a.2024-01-01", "a.md.old.gz"])
@pytest.mark.parametrize(
    "command", ["merge -q", "check", "union -q", "intersect -q", "rank --range 0:2 -q", "sort --compressed", "sort -c"]
)
def test_named_columns_make_text_of_any_suffix(
    name: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = b"id,v\n2,a\n10,b\n"
    Path(name).write_bytes(gzip.compress(lines) if name.endswith(".gz") and command != "sort -c" else lines)
    assert invoke([*command.split(), "--field", "id:n", name]) == 0, capfd.readouterr().err
    assert capfd.readouterr().out.encode() == (b"" if command in ("check", "sort -c") else lines)
    if command == "union -q":
        assert invoke(["join", "-q", "--field", "id:n", name, name]) == 0
        assert capfd.readouterr().out == "id,v,v_2\n2,a,a\n10,b,b\n"


@pytest.mark.parametrize("command", ["merge", "check", "union", "rank --at 0", "sort"])
def test_bytes_0_make_records_of_an_unknown_suffix(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.rec").write_bytes(bytes(range(64)))
    assert invoke([*command.split(), "--field", "id", str(tmp_path / "a.rec")]) == 2
    assert "use --dtype with their fields, if it holds records" in capfd.readouterr().err


@pytest.mark.parametrize("suffix", [".i32", ".npy", ".f64.gz"])
def test_a_binary_suffix_means_no_columns(suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / f"a{suffix}").write_bytes(b"id\n1\n")
    assert invoke(["merge", "--field", "id", str(tmp_path / f"a{suffix}")]) == 2
    assert "id\n" not in capfd.readouterr().out
