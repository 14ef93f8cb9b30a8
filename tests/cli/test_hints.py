"""A hint says only what was verified on all inputs."""

from __future__ import annotations

import gzip
import random
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli import app
from tests.fuzz_hints import misled


def _told(capfd: pytest.CaptureFixture[str], tmp_path: Path, files: dict[str, bytes], *options: str) -> str:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name in files]
    assert app.invoke(["merge", "-q", "--backend", "cpu", *options, *names, "-o", str(tmp_path / "out")]) == 2
    return capfd.readouterr().err


def test_a_table_is_named_by_its_header(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {"mon.csv": b"id,name\n0,a\n2,c\n", "tue.csv": b"id,name\n1,b\n3,d\n"}
    assert _told(capfd, tmp_path, files).endswith("line 1 is a header: use --field id:n\n")
    tabs = {name.replace("csv", "tsv"): data.replace(b",", b"\t") for name, data in files.items()}
    assert _told(capfd, tmp_path, tabs).endswith(r"line 1 is a header: use --field id:n -t '\t'" + "\n")
    assert app.invoke(["merge", "-q", "--field", "id:n", "-t", r"\t", *(str(tmp_path / name) for name in tabs)]) == 0
    assert capfd.readouterr().out == "id\tname\n0\ta\n1\tb\n2\tc\n3\td\n"


def test_a_table_is_sorted_and_merged_by_the_same_options(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, tmp_path, {"a.tsv": b"id\tname\n3\ta\n2\tb\n", "b.tsv": b"id\tname\n1\tb\n"})
    wanted = r"sort each file by gpumerge sort --field NAME -t '\t', and use --field NAME -t '\t'"
    assert told.endswith(f"line 1 is a header: {wanted}\n")


def test_one_file_does_not_show_a_header(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, tmp_path, {"a.csv": b"Sun;ab;cd\nSat;85;46\nThu;33;33\n"})
    assert " line 1 is a header" not in told.replace("if line 1 is a header", "")


@pytest.mark.parametrize("options", ["", "-t, -k1,1n", "-n"])
def test_records_with_newlines_are_taken_for_csv(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: str
) -> None:
    files = {"a.csv": b'id,note\n1,"a\nb"\n3,"x"\n'}
    told = _told(capfd, tmp_path, files, *options.split())
    assert told.endswith("; if it is CSV, whose quotes enclose ends of lines, add --csv; else sort it first\n")
    told = _told(capfd, tmp_path, files, "--csv")
    assert told.endswith("; if line 1 is a header, add --header 1 or --field NAME; else sort it first\n")


HEADED = {"mon.csv": b"id,name\n0,a\n2,c\n10,d\n", "tue.csv": b"id,name\n1,b\n3,d\n11,e\n", "wed.csv": b""}
HEADED_TSV = {f"{name[:3]}.tsv": re.sub(rb"(?m)^(.*),(.*)$", rb"\2\t\1", data) for name, data in HEADED.items()}


def _warned(caplog: pytest.LogCaptureFixture, tmp_path: Path, files: dict[str, bytes], options: str) -> str:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name in files]
    caplog.clear()
    assert app.invoke(["merge", "-q", "--backend", "cpu", *options.split(), *names, "-o", str(tmp_path / "out")]) == 0
    return "".join(f"{message}\n" for message in caplog.messages)


@pytest.mark.parametrize(
    "options", ["--csv -k1:n", "--csv -k1n", "--field 1:n", "-t, -k1,1n", "-t, -k1n", "-n", "-g", "--csv -k1:h"]
)
def test_a_header_that_is_merged_as_data_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: str
) -> None:
    told = _warned(caplog, tmp_path, HEADED, options)
    assert "mon.csv (and 1 more): warning: " in told
    assert " 1, 'id,name', has no number in its key, but the " in told
    assert told.endswith("s after it do; if it is a header, add --header 1\n")
    assert told.count("\n") == 1
    marked = {name: b"\xef\xbb\xbf" + data for name, data in HEADED.items()}
    assert "add --header 1" in _warned(caplog, tmp_path, marked, options)
    assert _warned(caplog, tmp_path, HEADED, f"{options} --header 1") == ""
    lines = (tmp_path / "out").read_bytes().splitlines()
    assert lines == [b"id,name", b"0,a", b"1,b", b"2,c", b"3,d", b"10,d", b"11,e"]


def test_a_header_of_tabs_or_of_many_columns_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert "add --header 1" in _warned(caplog, tmp_path, HEADED_TSV, "-k2n")
    wide = b"id," + b",".join(b"column%d" % n for n in range(200))
    files = {name: data.replace(b"id", wide) for name, data in HEADED.items()}
    assert "add --header 1" in _warned(caplog, tmp_path, files, "--csv -k1:n")


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"a": b"x\n1\n", "b": b"1\n2\n"}, "-n"),
        ({"a": b"x\nz\n1\n"}, "-n"),
        ({"a": b"x\n", "b": b"x\n"}, "-n"),
        ({"a": b"\n1\n2\n", "b": b"\n1\n"}, "-n"),
        ({"a": b"1\n2\n", "b": b"1\n"}, "-n"),
        ({"a": b"id\nx\n"}, ""),
    ],
)
def test_lines_like_others_are_no_header(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, files: dict[str, bytes], options: str
) -> None:
    assert "--header" not in _warned(caplog, tmp_path, files, options)


@pytest.mark.parametrize(
    "data",
    [
        (b"id,name\n0,a\n2,c\n", b"id,town\n1,b\n3,d\n"),
        (b"id,name\n0,a\n2,c\n", b"id,name\r\n1,b\r\n3,d\r\n"),
        (b"id,name\n0,a\n2,c\n", b"\xef\xbb\xbfid,name\n1,b\n3,d\n"),
    ],
)
@pytest.mark.parametrize("options", ["-t, -k1,1n", "--csv -k1:n"])
def test_headers_that_differ_are_told_where_keys_are_numbers(
    data: tuple[bytes, bytes], options: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = dict(zip(("a.csv", "b.csv"), data, strict=True))
    told = _warned(caplog, tmp_path, files, options)
    assert "a.csv (and 1 more): warning: " in told
    assert told.endswith("'id,name', has no number in its key, but the records after it do; if it is a header, add "
                         "--header 1\n".replace("records", "lines" if "-t" in options else "records"))  # fmt: skip


@pytest.mark.parametrize("options", ["-t, -n", "--csv -j1:n", "--csv -j1"])
def test_a_join_tells_of_headers(options: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Where keys are texts, the headers go out as one."""
    for name, data in {"a.csv": b"id,name\n0,a\n2,c\n", "b.csv": b"id,town\n0,b\n3,d\n"}.items():
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    words = ["join", "-q", *options.split(), *names, "--output", str(tmp_path / "out")]
    assert app.invoke(words) == (2 if options == "--csv -j1" else 0)
    told = "".join(caplog.messages)
    assert told.endswith("do; if it is a header, add --header") is (options != "--csv -j1")
    caplog.clear()
    assert app.invoke([*words, "--header"]) == 0
    assert caplog.messages == []
    assert b"".join((tmp_path / "out").read_bytes().split()).endswith(b"town0,a,b")


@pytest.mark.parametrize(
    ("head", "lines", "options"),
    [
        (b"Name,Age", (b"ada,36\nbob,41\n", b"carl,50\n"), ""),
        (b"Name,Age", (b"ada,36\nbob,41\n", b"carl,50\n"), "--csv -k1"),
        (b"Name,Age1", (b"ada,36\nbob,41\n", b"carl,50\n"), "-t, -k1,1"),
        (b'"id","v"', (b"1,2\n3,4\n", b"2,2\n"), "--csv"),
        (b"#chrom\tstart", (b"chr1\t10\nchr2\t5\n", b"chr1\t7\n"), "--format text -k1,1"),
    ],
)
@pytest.mark.parametrize("command", ["merge", "union", "difference", "rank"])
def test_a_header_that_is_in_order_is_told(
    command: str,
    head: bytes,
    lines: tuple[bytes, bytes],
    options: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for name, its in zip(names, lines, strict=True):
        Path(name).write_bytes(head + b"\n" + its)
    words = [command, *options.split(), *names, "-o", str(tmp_path / "out")]
    words += ["--at", "0"] if command == "rank" else ["-q"]
    assert app.invoke(words) == 0
    assert [message.rpartition(", is like ")[2] for message in caplog.messages] == [
        f"a header of the {word}s after it, and counts as one of them; if it is one, add --header 1"
        for word in ("record" if "--csv" in options else "line",)
    ]
    caplog.clear()
    assert app.invoke([*words, "--header", "1"]) == 0
    assert caplog.messages == []


@pytest.mark.parametrize("command", ["merge", "union", "check", "join"])
@pytest.mark.parametrize("name", ["addr1", "sha256"])
def test_digits_in_a_name_leave_a_header_a_header(
    command: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = {"a.csv": f"id,{name}\n10,x\n21,y\n35,z\n", "b.csv": f"id,{name}\n12,p\n21,q\n"}
    for file, data in files.items():
        (tmp_path / file).write_text(data)
    names = [str(tmp_path / file) for file in files]
    for options in ("-t, -k1,1", "--csv -k1") if command != "join" else ("-t,", "--csv"):
        app.invoke([command, *options.split(), *names])
        told = "if line 1 is a header, add --header; else sort it first"
        assert (told if command == "join" else "; line 1 is a header: add --header 1\n") in capfd.readouterr().err
    if command != "join":
        app.invoke([command, *names])
        assert "use --field " in capfd.readouterr().err


def test_a_header_behind_which_the_disorder_lies(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, tmp_path, {"a.txt": b"Name,Age\nada,36\nbob,41\nabe,5\n"}, "-t,", "-k1,1")
    assert told.endswith("; if line 1 is a header, add --header 1 or --field NAME; else sort it first\n")


def test_columns_of_compare_get_no_hint_that_it_refuses(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    for number, name in enumerate(names):
        Path(name).write_text(f"id,n\n1,a\n{number + 3},b\n")
    assert app.invoke(["compare", *names]) == 2
    assert capfd.readouterr().err.endswith("; line 1 is a header: add --header 1\n")
    assert app.invoke(["compare", "--header", "1", *names]) == 0
    assert capfd.readouterr().out == "id,n\n\t\t1,a\n3,b\n\t4,b\n"


def test_files_of_different_columns_are_for_a_join(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, tmp_path, {"a.csv": b"id,n\n1,a\n", "b.csv": b"id,town\n1,b\n"}, "--field", "id:n")
    way_out = "add --schema union or intersect, or join them by a key with gpumerge join"
    assert told.endswith(f"; give all files the same columns and header, {way_out}\n")


def test_exponents_that_do_not_count_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    files = {"a.csv": b"id,x\n3,0.5\n2,1e-05\n1,2e-06\n", "b.csv": b"id,x\n4,0.7\n"}
    told = "its keys have exponents, as 1e-05 has, which n does not read; compare by g in place of n\n"
    assert _warned(caplog, tmp_path, files, "--field x:n").endswith(f"a.csv: warning: {told}")
    files = {"a.csv": b"id,x\n1,2e-06\n2,1e-05\n3,0.5\n", "b.csv": b"id,x\n4,0.7\n"}
    assert _warned(caplog, tmp_path, files, "--field x:g") == ""
    assert _warned(caplog, tmp_path, {"a.csv": b"id\n1\n2e5\n"}, "--field id:n") == ""


def test_a_numeric_field_is_in_reverse_by_its_own_letter(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {"a.csv": b"id,name\n10,d\n2,c\n0,a\n", "b.csv": b"id,name\n11,e\n3,d\n1,b\n"}
    assert _told(capfd, tmp_path, files, "-r").endswith("line 1 is a header: use --field id:nr\n")


def test_words_in_the_first_line_are_no_header(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {"p.csv": b"smith,john\nadams,amy\nbaker,bob\n", "q.csv": b"smith,john\nclark,carl\n"}
    assert "--field" not in _told(capfd, tmp_path, files)


LOG = b'10.0.0.%d - - [30/Sep/2025:10:00:%02d +0000] "GET /"\n'


@pytest.mark.parametrize(
    "lines",
    [
        [b"1700000000.%d\n" % n for n in (5, 25, 9, 11, 3, 4, 6, 7, 8, 12)],
        [b"9,5\n", b"10,3\n", b"10,25\n"],
        [b"t=9.5\n", b"t=10.3\n"],
        [b"Thu Jan %d\n" % n for n in range(5, 15)],
        [b"20250101T1000%02d\n" % (59 - n) for n in range(10)],
        [b"b\n", b"a\n"],
    ],
)
def test_no_order_is_proposed_for_times_fractions_and_few_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], lines: list[bytes]
) -> None:
    assert " add -" not in _told(capfd, tmp_path, {"a": b"".join(lines)})


@pytest.mark.parametrize(
    ("files", "options"),
    [
        ({"a": b"754\n728\n72\n", "b": b"-4\n-219\n", "c": b"1\n"}, "-k1,1d"),
        ({"a": b"987\n6969\n", "b": b"4021\n20946\n"}, "-k1,1d"),
        ({"a": b"2019-W4\n2019-W10\n2020-W1\n"}, ""),
        ({"a": b"59s\n1m3s\n2m5s\n3m9s\n12m1s\n"}, "-n"),
        ({"a": b"".join(b"%d %s\n" % (n, u) for n, u in ((500, b"B"), (64, b"kB"), (3, b"MB")))}, ""),
        ({"a": b"5%\n7%\n10%\n"}, ""),
        ({"a": b"x 897 B\ny 606 kB\nz 394 MB\n"}, "-k2,2"),
        ({"a": b"x 9 Jan\ny 8 Feb\nz 7 Mar\n"}, "-k2,2"),
        ({"a": b"2019-9\n2019-10\n2019-100\n"}, "-r"),
    ],
)
def test_no_order_is_proposed_that_numbers_have_by_chance(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], files: dict[str, bytes], options: str
) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    names = [str(tmp_path / name) for name in files]
    app.invoke(["merge", "-q", "--backend", "cpu", *options.split(), *names, "-o", str(tmp_path / "out")])
    told = capfd.readouterr().err
    assert " add -" not in told
    assert "use that for" not in told


@pytest.mark.parametrize("options", [[], ["-k1,1"]])
def test_lines_too_long_to_be_sampled_are_in_no_known_order(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str]
) -> None:
    files = {"a": b"".join(b"%d\n" % n for n in range(1, 200))}
    assert " -n" in _told(capfd, tmp_path, files, *options) or "1,1n" in _told(capfd, tmp_path, files, *options)
    told = _told(capfd, tmp_path, {**files, "b": b"9 %s\n8 %s\n" % (b"x" * (1 << 17), b"y" * (1 << 17))}, *options)
    assert " add -" not in told
    assert "use that for" not in told


def test_a_key_of_words_becomes_no_number(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = b"".join(b"a %s\n" % word for word in (b"x", b"w", b"v", b"u", b"t", b"s", b"r", b"q", b"p"))
    assert _told(capfd, tmp_path, {"a": words}, "-k2,2d").endswith("the order of -k 2,2dr: use that for -k 2,2d\n")


def test_a_join_asks_whether_there_is_a_header(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,y\n10,k\n3,l\n")
    assert app.invoke(["join", "-t", ",", str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]) == 2
    assert "if line 1 is a header, add --header; else sort it first" in capfd.readouterr().err


def test_a_mark_must_go_before_a_file_is_sorted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {"k.txt": b"kiwi\n", "w.txt": b"\xef\xbb\xbfbanana\napple\nzoo\n"}
    assert "remove its byte order mark" in _told(capfd, tmp_path, files)


@pytest.mark.parametrize(
    "files",
    [
        {"a.log": b"2024-01-01T00:00:01Z a\n2024-01-01T00:00:01.5Z b\n", "b.log": b"2024-01-01T00:00:01.25Z x\n"},
        {"a.log": b"".join(LOG % (20 - n, n) for n in range(12))},
    ],
)
def test_times_and_no_other_order_are_proposed_for_timestamps(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], files: dict[str, bytes]
) -> None:
    assert _told(capfd, tmp_path, files).endswith("; the file is in the order of its times: add --time\n")


def test_an_order_that_another_input_lacks_is_not_proposed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert " add " not in _told(capfd, tmp_path, {"a": b"c\nb\n", "b": b"a\nb\n"})
    letters = b"\n".join(sorted((b"%c" % n for n in b"abcdefghijk"), reverse=True)) + b"\n"
    assert "add -r" in _told(capfd, tmp_path, {"a": letters, "b": letters[2:]})
    assert "add -r" not in _told(capfd, tmp_path, {"a": letters, "b": letters})  # both may begin with a header


def test_utf_16_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for encoding, name in (
        ("utf-16", "UTF-16"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-32", "UTF-32"),
    ):
        told = _told(capfd, tmp_path, {"a": "b9\nb10\nb8\nb7\na1\n".encode(encoding)})
        assert name in told
        assert f"convert it first, for example with iconv -f {name} " in told


def test_letters_between_nul_bytes_are_no_utf_16(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = _told(capfd, tmp_path, {"a": b"b\0a\0c\0"}, "-z")
    assert "UTF-16" not in told
    assert told.endswith("sort it first, as LC_ALL=C sort does\n")


def test_no_stable_order_is_proposed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "-s" not in _told(capfd, tmp_path, {"a": b"b 1\na 1\nc 2\n"}, "-k2,2", "--last-resort")


def test_hints_that_are_followed_mislead_nobody() -> None:
    seed = random.randrange(1 << 30)
    print(f"seed {seed}")
    assert [told for told in map(misled, range(seed, seed + 60)) if told] == []


@pytest.mark.parametrize(
    ("dtype", "options", "first", "second"),
    [
        ("<i4", ["--dtype", "<i4"], range(9, 0, -1), range(9)),
        (">i4", ["--dtype", ">i4"], range(9, 0, -1), range(9)),
        (">i4", ["--record-size", "4"], range(9, 0, -1), range(9)),
        ("<i4", ["--dtype", "i4,i4", "--field", "f1"], range(40, 0, -1), range(40)),
    ],
)
def test_an_order_of_records_is_proposed_if_all_inputs_have_it(
    dtype: str, options: list[str], first: range, second: range, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    falling, rising = (np.asarray(numbers, dtype).tobytes() for numbers in (first, second))
    assert "add -r" not in _told(capfd, tmp_path, {"a": falling, "b": rising}, *options)
    assert "add -r" not in _told(capfd, tmp_path, {"b": rising, "a": falling}, *options)
    assert "add -r" in _told(capfd, tmp_path, {"a": falling, "b": falling}, *options)


@pytest.mark.parametrize("seed", [974659525, 974662654])
def test_lines_of_headers_and_sizes_with_units_show_no_order(seed: int) -> None:
    assert misled(seed) == ""


NUMBERS, WORDS = b"9\n10\n11\n", b"10\n11\n9\n"


@pytest.mark.parametrize(
    ("others", "proposed"),
    [
        ({}, True), ({"b.txt": NUMBERS}, True), ({"b.txt": b""}, True), ({"b.txt": WORDS}, False),
        ({"b.txt": NUMBERS, "c.txt": WORDS}, False), ({"b.txt.gz": gzip.compress(NUMBERS)}, False),
        ({f"{number}.txt": NUMBERS for number in range(17)}, False),
    ],
)  # fmt: skip
def test_a_check_proposes_an_order_if_all_inputs_have_it(
    others: dict[str, bytes], proposed: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = {"a.txt": NUMBERS} | others
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    for names in (list(files), list(files)[::-1]):
        assert app.invoke(["check", "-q", *(str(tmp_path / name) for name in names)]) == 1
        (told,) = (line for line in capfd.readouterr().err.splitlines() if "a.txt:2: disorder: '10' comes" in line)
        assert told.endswith("; the file is in -n order: add -n") == proposed


def test_a_check_of_a_pipe_that_is_read_already_proposes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(NUMBERS)
    words = [sys.executable, "-m", "gpumerge_cli", "check", "-", str(tmp_path / "a.txt")]
    done = subprocess.run(words, input=NUMBERS, cwd=Path(__file__).parents[2], capture_output=True, check=False)
    assert done.returncode == 1
    first, second, _ = done.stderr.splitlines()
    assert first.startswith(b"gpumerge: -:2: ")
    assert first.endswith(b"; the file is in -n order: add -n")
    assert b"/a.txt:2: " in second
    assert b"add -n" not in second


def test_a_check_warns_once_of_a_file_that_is_looked_at_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.txt").write_bytes(b"x 9\nx 10\n")
    (tmp_path / "b.txt").write_bytes(b"x a\nx b\n")
    assert app.invoke(["check", "-k", "2,2nr", "-q", *(str(tmp_path / name) for name in ("a.txt", "b.txt"))]) == 1
    (told,) = [record.getMessage() for record in caplog.records]
    assert "b.txt: warning: its first lines have no number in their keys" in told


@pytest.mark.parametrize("name", ["txt", "csv"])
@pytest.mark.parametrize(
    ("first", "second", "options", "told"),
    [
        ("id,name\n0,a\n2,c\n", "id,name\n1,b\n3,d\n", "", "line 1 is a header: use --field id:n"),
        ("id;name\n0;a\n2;c\n", "id;name\n1;b\n3;d\n", "", "line 1 is a header: use --field id:n -t ';'"),
        ("id,name\n0,a\n2,c\n", "id,name\n1,b\n3,d\n", "-t, -k1,1", "line 1 is a header: add --header 1"),
        (
            "id,name\n0,a\n2,c\n",
            "id,name\n1,b\n3,d\n",
            "--csv -k1,1n --last-resort",
            "line 1 is a header: add --header 1",
        ),
        ("id,name\n0,a\n2,c\n", "id,name\n1,b\n3,d\n", "--csv", "line 1 is a header: add --header 1"),
        ("id,9\nb,10\na,11\n", "id,9\nd,10\nc,11\n", "-t, -k2,2r", "sort it first"),
    ],
)
def test_no_option_has_a_common_header_merged_as_data(
    first: str, second: str, options: str, told: str, name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = {f"a.{name}": first.encode(), f"b.{name}": second.encode()}
    assert _told(capfd, tmp_path, files, *options.split()).endswith(f"; {told}\n")
    hint = re.search(r"(--field \S+|--header 1)(?: -t '(.)')?$", told)
    if hint is not None:
        words = [*options.split(), *hint[1].split(), *(["-t", hint[2]] if hint[2] else [])]
        names = [str(tmp_path / file) for file in files]
        assert app.invoke(["merge", "-q", *words, *names]) == 0
        header, *lines = capfd.readouterr().out.splitlines()
        assert header == first.splitlines()[0]
        assert lines == sorted([*first.splitlines()[1:], *second.splitlines()[1:]])


def test_leaving_the_last_resort_out_is_not_proposed_beside_a_header(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = {"a.csv": b"Name,id\n43K,20\n36K,20\n30K,30\n", "b.csv": b"Name,id\n45K,10\n53K,20\n"}
    told = _told(capfd, tmp_path, files, "-t,", "-k2,2n", "--last-resort")
    assert "leave --last-resort out" not in told


def test_any_column_names_the_order_of_a_long_table(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    shuffled = [7, 1, 9, 3, 8, 2, 6, 4, 5, 0]
    rows = [f"{name},{10 * number + 5}\n" for number, name in enumerate(shuffled)]
    files = {
        "a.csv": f"name,amount\n{''.join(rows[::2])}".encode(),
        "b.csv": f"name,amount\n{''.join(rows[1::2])}".encode(),
    }
    assert _told(capfd, tmp_path, files).endswith("line 1 is a header: use --field amount:n\n")
    names = [str(tmp_path / name) for name in files]
    assert app.invoke(["merge", "-q", "--field", "amount:n", *names]) == 0
    assert capfd.readouterr().out == f"name,amount\n{''.join(rows)}"
