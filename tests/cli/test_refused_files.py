"""Files with another content than a command expects are refused in one line, before anything is written."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tarfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli import app as door

CPU = ("--backend", "cpu")
PACKED = {
    "gzip": gzip.compress(b"2\n1\n"),
    "bzip2": bz2.compress(b"2\n1\n"),
    "xz": lzma.compress(b"2\n1\n"),
    "LZMA": lzma.compress(b"2\n1\n", format=lzma.FORMAT_ALONE),
    "LZ4": b"\x04\x22\x4d\x18\x64\x40\xa7",
    "Zstandard": b"\x28\xb5\x2f\xfd\x04\x08\x11\x00\x001\n",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.array([1, 2, 300], np.int32).tofile("x.i32")
    np.save("n.npy", np.array([3, 1, 2]))
    Path("text.txt").write_bytes(b"b\na\n")
    Path("l.gz").write_bytes(PACKED["gzip"])
    Path("p.csv").write_bytes(b"id,v\n1,y\n2,x\n")
    Path("q.csv").write_bytes(b"v,id\nw,3\nz,4\n")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The line that refuses the command line `words`. No file may have changed."""
    before = contents(Path())
    assert door.invoke([words[0], *CPU, *words[1:]]) == 2, words
    assert contents(Path()) == before
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("gpumerge: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize("option", ["-n", "-g", "-h", "-M", "-V", "-b", "-d", "-f", "-i", "-k1,1", "-t,", "-z", "-k2n"])
@pytest.mark.parametrize("name", ["x.i32", "n.npy"])
@pytest.mark.parametrize("mode", [[], ["-m"], ["-u"]])
def test_binary_files_are_not_sorted_as_lines(
    option: str, name: str, mode: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(["sort", *mode, option, name, "-o", name], capsys)
    assert f"{name} is binary: options that compare lines do not apply; " in told
    assert "--format text" in told


@pytest.mark.parametrize("files", [["text.txt", "x.i32"], ["x.i32", "text.txt"], ["n.npy", "p.csv"]])
@pytest.mark.parametrize("option", [[], ["-r"], ["-u"], ["-n"], ["-m"]])
def test_text_and_binary_files_do_not_mix(
    files: list[str], option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(["sort", *option, *files, "-o", files[0]], capsys)
    assert "is binary" in told or "holds lines of text; convert one" in told or "holds lines of text, but" in told


@pytest.mark.parametrize("kind", sorted(PACKED))
def test_compressed_data_are_no_lines(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("l.txt").write_bytes(PACKED[kind])
    for words in (["sort", "-n", "l.txt", "-o", "l.txt"], ["merge", "l.txt", "-o", "o.txt"], ["check", "l.txt"]):
        told = refused(words, capsys)
        assert f"l.txt: it holds {kind} data, not lines of text; decompress it first" in told
    assert f"it holds {kind} data" in refused(["sort", "--csv", "--header", "1", "-k", "id:n", "l.txt"], capsys)
    assert door.invoke(["sort", "--format", "text", *CPU, "l.txt", "-o", "o.txt"]) == 0


def test_gzip_files_that_sort_was_not_told_of(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["sort", "-n", "l.gz", "-o", "l.gz"], ["sort", "-c", "l.gz"], ["sort", "-m", "l.gz", "text.txt"]):
        assert "l.gz: it holds gzip data, not lines of text; use --compressed" in refused(words, capsys)


def test_compressed_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with open("l.gz") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert "-: it holds gzip data, not lines of text; decompress it first" in refused(["sort"], capsys)


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("ZIP", b"PK\3\4\x14\0"),
        ("Avro", b"Obj\x01"),
        ("HDF5", b"\x89HDF\r\n\x1a\n"),
        (".npy", b"\x93NUMPY\1\0v\0{"),
    ],
)
def test_other_binary_data_are_no_lines(kind: str, start: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    Path("l.dat").write_bytes(start + b"a\nb\n")
    assert f"l.dat: it holds {kind} data, not lines of text" in refused(["sort", "l.dat", "-o", "l.dat"], capsys)
    Path("l").write_bytes(start + b"a\nb\n")
    assert f"l: it holds {kind} data, not lines of text" in refused(["merge", "l", "-o", "l"], capsys)


def test_a_tar_archive_in_a_compressed_file_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.log").write_text("b\na\n")
    with tarfile.open("t.tar.gz", "w:gz") as archive:
        archive.add("a.log")
    Path("t.gz").write_bytes(Path("t.tar.gz").read_bytes())
    for words in (["sort", "--compressed", "t.tar.gz"], ["sort", "--compressed", "t.gz"], ["check", "-n", "t.gz"]):
        assert "it holds a tar archive data, not lines of text; unpack it first" in refused(words, capsys)


@pytest.mark.parametrize("command", ["sort", "merge"])
@pytest.mark.parametrize("target", ["x.i32", "n.npy"])
def test_a_link_does_not_hide_what_it_replaces(command: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link").symlink_to(target)
    Path("text.txt").write_bytes(b"a\nb\n")
    told = refused([command, "text.txt", "-o", "link"], capsys)
    assert f"link: lines of text cannot be written as {Path(target).suffix}" in told
    refused([command, "link", "-o", "link"], capsys)


@pytest.mark.parametrize("command", ["sort", "merge", "check"])
def test_a_name_that_two_fields_have_is_no_key(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("d.csv").write_bytes(b"id,v,id\n2,x,1\n")
    told = refused([command, "--csv", "--header", "1", "-k", "id:n", "d.csv"], capsys)
    assert "-k id:n: the header has id more than once; use its number, with --header 1" in told


@pytest.mark.parametrize("start", [b"BZh9 bus", b"\x1f\x8b", b"(\xb5", b"\xfd7zX", b"\x1f\x8b\nx", b"PAR1,2", b"PKzip"])
def test_lines_that_only_begin_a_little_like_that(start: bytes) -> None:
    Path("l").write_bytes(start + b"\na\n")
    assert door.invoke(["sort", *CPU, "l", "-o", "o"]) == 0
    assert sorted(Path("o").read_bytes().split(b"\n")) == sorted((start + b"\na\n").split(b"\n"))


@pytest.mark.parametrize(
    "words",
    [
        ["sort", "--csv", "--header", "1", "-k", "id:n", "p.csv", "q.csv", "-o", "o.csv"],
        ["sort", "-m", "--csv", "--header", "1", "-k", "id:n", "p.csv", "q.csv"],
        ["merge", "--csv", "--header", "1", "-k", "id:n", "p.csv", "q.csv", "-o", "p.csv"],
        ["sort", "--csv", "--header", "1", "-k", "2", "p.csv", "q.csv"],
        ["merge", "--header", "1", "p.csv", "q.csv"],
        ["sort", "--header", "1", "text.txt", "p.csv", "q.csv"],
    ],
)
def test_headers_that_differ(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(words, capsys)
    if "text.txt" in words:
        assert "p.csv:1: its header 'id,v' differs from that of text.txt, 'b'" in told
    else:
        assert "q.csv:1: its header 'v,id' differs from that of p.csv, 'id,v'" in told


@pytest.mark.parametrize("header", [b"id,v\r\n", b'"id","v"\n', b"\xef\xbb\xbfid,v\n", b""])
def test_headers_that_say_the_same(header: bytes) -> None:
    rows = b"0,a\r\n" if b"\r" in header else b"0,a\n"
    Path("q.csv").write_bytes(header + rows if header else b"")
    words = ["sort", *CPU, "--csv", "--header", "1", "-k", "id:n", "p.csv", "q.csv", "-o", "o.csv"]
    assert door.invoke(words) == 0
    assert Path("o.csv").read_bytes() == b"id,v\n" + (rows if header else b"") + b"1,y\n2,x\n"


@pytest.mark.parametrize("command", ["merge", "sort"])
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["x.i32", "-o", "o.avro"], "o.avro: its suffix means Avro, the items are int32; name it .i32"),
        (["x.i32", "-o", "o.JSON"], "o.JSON: its suffix means JSON, the items are int32; name it .i32"),
        (["x.i32", "-o", "o.pkl"], "o.pkl: its suffix means a pickle, the items are int32; name it .i32"),
        (["x.i32", "-o", "o.md"], "o.md: its suffix means Markdown, the items are int32; name it .i32"),
        (
            ["x.i32", "-o", "o"],
            "o: a name without a suffix means lines of text, the items are int32; name it .i32, or ",
        ),
        (
            ["n.npy", "-o", "o"],
            "o: a name without a suffix means lines of text, the items are int64; name it .npy, or ",
        ),
        (["n.npy", "-o", "o.gz"], "o.gz: a name without a suffix means lines of text"),
        (["n.npy", "-o", "o.csv"], "o.csv: int64 cannot be written as .csv; name it .npy"),
        *[
            (["x.i32", "-o", f"o{suffix}"], f"o{suffix}: int32 cannot be written as {suffix}; name it .i32")
            for suffix in (".parquet", ".arrow", ".arrows", ".feather", ".jsonl")
        ],
        (["n.npy", "-o", "o.parquet"], "o.parquet: int64 cannot be written as .parquet; name it .npy"),
        (["x.i32", "-o", "o.txt"], "o.txt: int32 cannot be written as .txt; name it .i32"),
        (["text.txt", "-o", "o.npy"], "o.npy: lines of text cannot be written as .npy; name it .txt"),
        (["text.txt", "-o", "o.i32"], "o.i32: lines of text cannot be written as .i32; name it .txt"),
    ],
)
def test_outputs_whose_names_say_something_else(
    command: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save("n.npy", np.array([1, 2, 3]))
    Path("text.txt").write_bytes(b"a\nb\n")
    assert told in refused([command, *words], capsys)


@pytest.mark.parametrize("name", ["o.i32.gz.xz", "o.gz.gz", "o.txt.bz2.gz"])
@pytest.mark.parametrize("command", [["merge"], ["sort", "--compressed"]])
def test_outputs_are_compressed_once(name: str, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.txt").write_bytes(b"a\nb\n")
    told = refused([*command, "x.i32" if "i32" in name else "text.txt", "-o", name], capsys)
    assert f"{name}: its suffixes say that it is compressed twice; name it {name.rpartition('.')[0]}" in told


def test_lines_are_merged_to_no_name_that_says_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.txt").write_bytes(b"a\nb\n")
    told = refused(["merge", "text.txt", "-o", "o.xlsx"], capsys)
    assert "o.xlsx: its suffix means a workbook, the items are lines of text; name it .txt" in told


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "npy", "n.npy", "-o", "o.dat"],
        ["text.txt", "-o", "o.md"],
        ["--format", "npy", "n.npy", "-o", "o"],
        ["--dtype", "int32", "x.i32", "-o", "o"],
        ["x.i32", "-o", "/dev/null"],
        ["--format", "text", "x.i32", "-o", "x.i32"],
        ["text.txt", "-o", "o.jsonl"],
    ],
)
def test_outputs_that_options_or_their_kind_speak_for(words: list[str]) -> None:
    assert door.invoke(["sort", *CPU, *words]) == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        *(
            (
                f"{command} a.i32 {option} {options}",
                f"a.i32 is binary: {option} applies to text; leave {option} out, or use --format text",
            )
            for command, option, options in (
                *product(
                    ("merge", "check", "sort", "sort -c", "rank --at 0"),
                    ("--csv",),
                    ("", "-k a", "-k 1,1", "--field a"),
                ),
                *product(("merge", "check", "sort", "sort -c", "rank --at 0"), ("--header",), ("1",)),
                *product(("join a.i32",), ("--csv",), ("", "-j a", "--field a")),
            )
        ),
        *(
            (
                f"{command} --field a {option}",
                "a.i32 is binary: --field does not name columns of it; "
                "leave --header, -t and --format text out, or rename it if it is text",
            )
            for command, option in (
                *product(("merge a.i32", "sort a.i32", "check a.i32"), ("--format text", "--header 1", "-t ,")),
                ("join a.i32 a.i32", "--format text"),
            )
        ),
        *(
            (f"{command} {option} -z", "records of CSV end in newlines; leave -z out")
            for command in ("merge good.csv", "sort good.csv", "join good.csv good.csv")
            for option in ("--field word", "--format csv", "--csv")
        ),
        *(
            (
                f"generate new.dat {option}",
                f"{option.split()[0]}: the type of the records is not known; "
                "add --dtype, with its fields for --field, as --dtype u4,f8; or --record-size",
            )
            for option in ("--field id", "--key-size 4")
        ),
        *(
            (
                f"{command} a.dat",
                "a.dat: it holds bytes 0, so it is not CSV, and the type of its records is not known; "
                "use --dtype with their fields, if it holds records",
            )
            for command in ("sort --field pos.x,name", "sort --field 2", "check --format text --field k")
        ),
        *(
            (
                f"{command} {name}",
                f"{name}: it holds bytes 0, so it is not CSV, and the type of its records is not known; "
                "use --dtype with their fields, if it holds records",
            )
            for command, name in (
                ("sort --field word good.csv", "a.dat"),
                ("merge --field word good.csv", "packed.csv.gz"),
                ("sort --compressed --field 2", "packed.csv.gz"),
            )
        ),
        (
            "sort --csv --field 2 a.dat",
            "a.dat:1: a record holds a byte 0 or 1, which CSV with such quotes or keys "
            "cannot hold here; leave --csv and --field out, or clean it",
        ),
        (
            "generate z.avro",
            "z.avro: its suffix means Avro, which gpumerge does not write; "
            "end the name in .i32, .npy or .txt, or use --format or --dtype",
        ),
    ],
)
def test_the_way_out_is_about_what_was_asked(
    words: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.i32").write_bytes(bytes(4))
    Path("a.dat").write_bytes(np.arange(99).tobytes())
    Path("good.csv").write_text("word,number\na,1\n")
    Path("packed.csv.gz").write_bytes(gzip.compress(Path("a.dat").read_bytes()))
    assert door.invoke(words.split()) == 2
    assert capsys.readouterr().err == f"gpumerge: {told}\n"


def test_an_output_that_cannot_be_written_is_named_ahead_of_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("packed.txt").write_bytes(PACKED["gzip"])
    for name in ("text.txt", "packed.txt", "l.gz"):
        assert door.invoke(["merge", name, name, "-o", "nowhere/out.txt"]) == 2
        assert capsys.readouterr().err == "gpumerge: nowhere/out.txt: no such file or directory; check the name\n"
