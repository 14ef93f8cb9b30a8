"""Records from the command line: the outputs, and the message for each contradiction."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.compare.key_shapes import SHAPES
from tests.oracles import merged_records

ROOT = Path(__file__).parents[2]
SORT_BENCHMARK = ["--record-size", "100", "--key-size", "10"]
STRUCTURED = "[('id','>u4'),('x','f8'),('name','S5')]"


def generate(*arguments: object) -> None:
    assert invoke(["generate", *map(str, arguments)]) == 0


def records_of(path: Path, size: int) -> list[bytes]:
    data = path.read_bytes()
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_the_sort_benchmarks_records(tmp_path: Path, shape: str, reverse: bool) -> None:
    a, b, out = (tmp_path / name for name in ("a.dat", "b.dat", "out.dat"))
    options = [*SORT_BENCHMARK, *(["-r"] if reverse else [])]
    generate(a, b, "--count", 2000, "--shape", shape, *options)
    assert invoke(["check", *options, str(a), str(b)]) == 0
    assert invoke(["merge", *options, str(a), str(b), "-o", str(out), "-q"]) == 0
    both = records_of(a, 100) + records_of(b, 100)
    assert len(set(both)) == 4000
    assert records_of(out, 100) == merged_records(both, 0, 10, descending=reverse)
    assert invoke(["check", *options, str(out)]) == 0


def test_through_standard_input_and_output(tmp_path: Path) -> None:
    a, b = tmp_path / "a.dat", tmp_path / "b.dat"
    generate(a, b, "--count", 500, *SORT_BENCHMARK)
    command = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", *SORT_BENCHMARK, str(a), "-"]
    done = subprocess.run(command, cwd=ROOT, input=b.read_bytes(), capture_output=True, timeout=60, check=True)
    assert done.stderr == b""
    assert done.stdout == b"".join(merged_records(records_of(a, 100) + records_of(b, 100), 0, 10))


@pytest.mark.parametrize("key", ["id", "x", "name"])
@pytest.mark.parametrize("suffix", [".npy", ".dat"])
def test_structured_records(tmp_path: Path, key: str, suffix: str) -> None:
    a, b, out = (str(tmp_path / f"{name}{suffix}") for name in ("a", "b", "out"))
    said = ["--field", key] if suffix == ".npy" else ["--dtype", STRUCTURED, "--field", key]
    generate(a, b, "--count", 300, "--dtype", STRUCTURED, "--field", key)
    assert invoke(["merge", *said, a, b, "-o", out, "-q"]) == 0
    assert invoke(["check", *said, out]) == 0
    dtype = np.dtype([("id", ">u4"), ("x", "f8"), ("name", "S5")])
    result = np.load(out) if suffix == ".npy" else np.fromfile(out, dtype)
    assert result.dtype == dtype
    assert len(result) == 600
    keys = result[key]
    assert (keys[1:] >= keys[:-1]).all()


@pytest.mark.parametrize("dtype", ["int16", ">u4", "float64", ">f2"])
def test_numbers_anywhere_in_a_record(tmp_path: Path, dtype: str) -> None:
    a, b, out = (tmp_path / name for name in ("a.rec", "b.rec", "out.rec"))
    options = ["--record-size", "19", "--key-offset", "5", "--dtype", dtype]
    generate(a, b, "--count", 400, *options)
    assert invoke(["merge", *options, str(a), str(b), "-o", str(out), "-q"]) == 0
    expected = merged_records(records_of(a, 19) + records_of(b, 19), 5, np.dtype(dtype))
    assert records_of(out, 19) == expected
    keys = [record[5 : 5 + np.dtype(dtype).itemsize] for record in expected]
    assert len(set(keys)) > 300


def test_the_same_seed_makes_the_same_records(tmp_path: Path) -> None:
    a, b, c = (tmp_path / name for name in ("a.rec", "b.rec", "c.rec"))
    generate(a, "--count", 100, *SORT_BENCHMARK, "--shuffled")
    generate(b, "--count", 100, *SORT_BENCHMARK, "--shuffled")
    generate(c, "--count", 100, *SORT_BENCHMARK, "--shuffled", "--seed", 1)
    assert a.read_bytes() == b.read_bytes() != c.read_bytes()
    assert invoke(["check", *SORT_BENCHMARK, str(a)]) == 1


def test_plan_report_and_compare(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    a, b = str(tmp_path / "a.dat"), str(tmp_path / "b.dat")
    generate(a, b, "--count", 3000, *SORT_BENCHMARK)
    assert invoke(["merge", a, b, *SORT_BENCHMARK, "--plan", "-S", "64k"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["nbytes"] == 600_000
    assert len(told["chunks"]) > 4
    assert all(edge % 100 == 0 for chunk in told["chunks"] for ends in chunk["ranges"] for edge in ends)
    report = tmp_path / "report.json"
    assert invoke(["merge", a, b, *SORT_BENCHMARK, "-o", str(tmp_path / "out.dat"), "-q", "--report", str(report)]) == 0
    told = json.loads(report.read_text())
    assert (told["items"], told["order"]) == (6000, "records of 100 bytes, key bytes 0 to 9")
    arguments = ["merge", a, b, *SORT_BENCHMARK, "--compare", "--repeat", "1", "-q", "--backend", "cpu"]
    assert invoke([*arguments, "--report", str(report)]) == 0
    assert all(row["right"] for row in json.loads(report.read_text())["rows"])


def test_check_names_the_record(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.rec").write_bytes(b"bb1aa2ab3aa4")
    assert invoke(["check", "--record-size", "3", "--key-offset", "0", "--key-size", "1", str(tmp_path / "a.rec")]) == 1
    assert capfd.readouterr().err == f"gpumerge: {tmp_path}/a.rec@1: disorder: 'a' comes after 'b'; {_TO_R}\n"
    assert invoke(["check", "--record-size", "3", "--key-size", "2", "--key-offset", "1", str(tmp_path / "a.rec")]) == 1
    assert "a.rec@1: disorder: 'a2' comes after 'b1'; sort it first" in capfd.readouterr().err
    assert invoke(["check", "--record-size", "3", "--key-offset", "2", str(tmp_path / "a.rec")]) == 0


_TO_R = "the file is in -r order: add -r"
WHOLE = (
    "use --csv, or another --format, if its lines have columns; --record-size, or --dtype with fields, if it holds "
    "records"
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "a.dat --record-size 7",
            "a.dat: 100 bytes are not a multiple of 7, the size of a record: 2 left over; check the record's size, or "
            "whether the file is whole",
        ),
        (
            "a.dat --record-size 10 --key-offset 8 --key-size 3",
            "a key of 3 bytes at byte 8 is not within a record of 10 bytes; check --key-offset, --key-size and "
            "--record-size",
        ),
        (
            "a.dat --record-size 10 --key-offset 4 --dtype int64",
            "a key of 8 bytes at byte 4 is not within a record of 10 bytes; check --key-offset, --key-size and "
            "--record-size",
        ),
        (
            "a.dat --record-size 10 --dtype int64 --key-size 4",
            "--key-size 4: a key of --dtype int64 has 8 bytes; leave it out",
        ),
        ("a.dat --key-size 4", f"--key-size: the size of the records of a.dat is not known; {WHOLE}"),
        (
            "a.dat --field id",
            "a.dat: it holds bytes 0, so it is not CSV, and the type of its records is not known; use --dtype with "
            "their fields, if it holds records",
        ),
        ("a.dat --format raw --field id", f"--field: the size of the records of a.dat is not known; {WHOLE}"),
        (
            "a.dat --dtype u4,f8 --field f0 --field f1",
            "a.dat: 100 bytes are not a multiple of 12, the size of a record: 4 left over; check the record's size, or "
            "whether the file is whole",
        ),
        ("a.dat --dtype u4,f8 --field f0:n", "--field f0:n: keys of records do not accept 'n'; write NAME or NAME:r"),
        ("a.dat --dtype u4,f8 --field f0,f0", "--field f0,f0: f0 is named twice; name each field once"),
        (
            "a.dat --dtype [('id','u4'),('city','S8')] --field id,ctiy",
            "--field ctiy: records of 12 bytes (id <u4, city |S8) have no field 'ctiy'; did you mean city? "
            "its fields are id, city",
        ),
        (
            "a.dat --dtype=[('a,b','u4'),('a','u4'),('b','u4')] --field a,b",
            "--field a,b means the field 'a,b' or the fields 'a' and 'b'; give each field its own --field",
        ),
        (
            "a.dat --dtype=[('a:r','u4'),('a','u4')] --field a:r",
            "--field a:r means the field 'a', reversed or the field 'a:r'; rename one of them by --dtype",
        ),
        ("a.txt --key-offset 2", f"--key-offset: a.txt is text, its lines have no such key; {WHOLE}"),
        (
            "a.dat --record-size 10 --format text",
            "--record-size: lines of text have no such key; leave it or --format text out",
        ),
        ("a.dat --dtype i4 --format csv", "--dtype i4: lines of text have none; leave it or --format csv out"),
        ("a.txt --dtype i4 --csv", "--dtype i4: lines of text have none; leave it or --csv out"),
        ("a.txt --dtype i4 -n", "--dtype i4: lines of text have none; leave it out"),
        (
            "a.dat --record-size 10 -n",
            "--record-size says that the items are records, not lines; leave -n and the like out",
        ),
        (
            "a.i32 --record-size 10",
            "a.i32: its suffix means int32, --record-size says records; leave it out, or rename it",
        ),
        (
            "a.dat --record-size 12 --dtype u4,f8 --field f0",
            "--record-size 12: --dtype says where the fields of a record lie; leave one of them out",
        ),
        (
            "a.dat --record-size 12 --field f0",
            "--record-size 12: --field says where the key lies; leave one of them out",
        ),
        ("a.dat --dtype int32 --field id", "--field id: --dtype int32 has no fields; leave one of them out"),
        ("a.dat --dtype u4,f8", "records need a key; name one of their fields as the key (--field): f0, f1"),
        (
            "a.dat --dtype u4,f8 --field f2",
            "--field f2: records of 12 bytes (f0 <u4, f1 <f8) have no field 'f2'; its fields are f0, f1",
        ),
        (
            "a.dat --dtype U4,f8 --field f0",
            "--field f0: a field of type <U4 cannot be ordered; "
            "name a field of numbers, bools, dates, time spans or bytes",
        ),
        ("a.dat --dtype 3u4,f8 --field f0", "--field f0: the field is an array of (3,); name a field of one value"),
        (
            "a.dat --dtype O,f8 --field f1",
            "--dtype 'O,f8' is not a dtype of records in a file; use fields of numbers and bytes",
        ),
        (
            "a.dat --dtype x4,f8 --field f1",
            "--dtype 'x4,f8' is not a structured dtype; write for example u4,f8 or \"[('id','<u4'),('x','f8')]\"",
        ),
        ("s.npy", "s.npy: records need a key; name one of their fields as the key (--field): id, x"),
        (
            "s.npy --field y",
            "s.npy: --field y: records of 12 bytes (id <u4, x <f8) have no field 'y'; its fields are id, x",
        ),
        (
            "s.npy --record-size 20",
            "s.npy: the array holds records of 12 bytes (id <u4, x <f8), the options say records of 20 bytes; leave "
            "these options out, since the header has the type",
        ),
        ("k.npy --field id", "k.npy: --field id: the items are float64, not records; leave it out"),
        (
            "s.npy v.npy --key-size 2",
            "v.npy: holds records of 12 bytes, but s.npy holds records of 12 bytes (id <u4, x <f8); convert one of "
            "them: all inputs need one type",
        ),
        (
            "a.dat --record-size 10 -o out.i32",
            "out.i32: its suffix means int32, the items are records of 10 bytes; rename it",
        ),
        (
            "a.dat --record-size 10 -o out.parquet",
            "out.parquet: records of 10 bytes cannot be written as .parquet; name it .bin",
        ),
        ("a.dat --record-size 10 -o out.txt", "out.txt: records of 10 bytes cannot be written as .txt; name it .bin"),
    ],
)
def test_contradictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.dat", "a.txt", "a.i32"):
        Path(name).write_bytes(bytes(100))
    np.save("s.npy", np.zeros(3, [("id", "<u4"), ("x", "<f8")]))
    np.save("v.npy", np.zeros(3, "V12"))
    np.save("k.npy", np.zeros(3))
    before = sorted(os.listdir())
    words = arguments.split()
    assert invoke(["merge", *words, *([] if "-o" in words else ["-o", "out.rec"])]) == 2
    assert capfd.readouterr().err == f"gpumerge: {said}\n"
    assert sorted(os.listdir()) == before
