"""gpumerge check: silence, or the first disorder of each file."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.check import check_each
from tests.jobs_of import job_of

_KEYLESS = "name its key with -k, or sort it first, as LC_ALL=C sort does"


def test_files_in_order_are_passed_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 2, 5], np.int16).tofile(tmp_path / "a.i16")
    np.save(tmp_path / "b.npy", np.array([0.0, -0.0, np.inf, np.nan]))
    assert invoke(["check", str(tmp_path / "a.i16")]) == 0
    assert invoke(["check", str(tmp_path / "b.npy")]) == 0
    (tmp_path / "c.txt").write_text("10\n9\n")
    assert invoke(["check", str(tmp_path / "c.txt"), "--threads", "1"]) == 0
    assert invoke(["check", "-rn", str(tmp_path / "c.txt")]) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "options", "place"),
    [
        ("a.i16", [], "a.i16@3: "),
        ("c.txt", [], "c.txt:3: "),
        ("d.txt", ["-n"], "d.txt:2: "),
        ("c.txt", ["-r"], "c.txt:2: "),
    ],
)
def test_disorder_exits_1_and_names_the_place(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, options: list[str], place: str
) -> None:
    np.array([1, 2, 5, 4, 3], np.int16).tofile(tmp_path / "a.i16")
    (tmp_path / "c.txt").write_text("a\nb\na\nb\n")
    (tmp_path / "d.txt").write_text("10\n9\n")
    assert invoke(["check", *options, str(tmp_path / name)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert place in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.i32", "odd.i32", "what.xyz"])
def test_what_cannot_be_checked_exits_2(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "odd.i32").write_bytes(b"12345")
    (tmp_path / "what.xyz").write_bytes(b"1234")
    assert invoke(["check", str(tmp_path / name)]) == 2
    error = capfd.readouterr().err
    assert name in error
    assert error.count("\n") == 1


def test_each_file_is_judged_by_itself(tmp_path: Path) -> None:
    np.arange(3, dtype=np.int32).tofile(tmp_path / "a.i32")
    (tmp_path / "b.txt").write_bytes(b"x\ny\n")
    assert invoke(["check", str(tmp_path / "a.i32"), str(tmp_path / "b.txt")]) == 0


def several(folder: Path) -> list[str]:
    """Two files in order, two that are not, and one that cannot be read as a whole."""
    np.array([1, 2], np.int16).tofile(folder / "a.i16")
    (folder / "b.txt").write_text("b\na\nc\n")
    (folder / "c.txt").write_text("b\nc\n")
    np.array([1, 5, 4, 3], np.int16).tofile(folder / "d.i16")
    (folder / "odd.i16").write_bytes(b"123")
    return [str(folder / name) for name in ("a.i16", "b.txt", "c.txt", "d.i16", "odd.i16")]


def test_every_file_is_looked_at_and_those_in_disorder_are_counted(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    *whole, odd = several(tmp_path)
    assert invoke(["check", *whole]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"gpumerge: {tmp_path}/b.txt:2: disorder: 'a' comes after 'b' (line 1); {_KEYLESS}",
        f"gpumerge: {tmp_path}/d.i16@2: disorder: 4 comes after 5; sort it first",
        "gpumerge: 2 of 4 files are out of order",
    ]
    assert invoke(["check", odd, *whole[:2]]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines[:-1]] == [odd, f"{whole[1]}:2"]
    assert lines[-1] == "gpumerge: 1 of 3 files is out of order, 1 could not be checked"
    assert invoke(["check", odd, whole[0]]) == 2
    assert capfd.readouterr().err.splitlines()[-1] == "gpumerge: 1 of 2 files could not be checked"


@pytest.mark.parametrize("named", [False, True])
def test_a_file_that_cannot_be_read_ends_nothing(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("x,y\n2,1\n1,1\n")
    Path("b.csv").write_text("x,y\n1,1\n1,2\n")
    Path("damaged.csv.gz").write_bytes(gzip.compress(b"x,y\n" * 1000)[:-9])
    Path("folder.csv").mkdir()
    order = ["--field=x:n"] if named else ["--csv", "--header=1", "-k1:n"]
    assert invoke(["check", *order, "damaged.csv.gz", "nofile.csv", "a.csv", "folder.csv", "b.csv"]) == 2
    *told, last = capfd.readouterr().err.splitlines()
    names = ["damaged.csv.gz", "nofile.csv", "a.csv:3", "folder.csv"]
    assert [line.split(": ")[1] for line in told] == names
    assert last == "gpumerge: 1 of 5 files is out of order, 3 could not be checked"
    assert invoke(["check", *order, "nofile.csv"]) == 2
    assert capfd.readouterr().err.startswith("gpumerge: nofile.csv: no such file")


def test_verbose_tells_of_files_in_order_too(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    first, second, third, *_ = several(tmp_path)
    assert invoke(["check", "-v", first, second, third]) == 1
    assert capfd.readouterr().err.splitlines() == [
        f"{first}: in order, 2 items, 4 B",
        f"gpumerge: {second}:2: disorder: 'a' comes after 'b' (line 1); {_KEYLESS}",
        f"{third}: in order, 2 items, 4 B",
        "gpumerge: 1 of 3 files is out of order",
    ]
    assert invoke(["check", "-v", third]) == 0
    assert capfd.readouterr().err == f"{third}: in order, 2 items, 4 B\n"
    assert invoke(["check", "-v", second]) == 1
    assert capfd.readouterr().err.count("\n") == 1


def test_a_header_that_differs_is_told_of_its_own_file_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in (("a", "n,m\n1,2\n"), ("b", "m,n\n1,2\n"), ("c", "n,m\n2,2\n1,2\n")):
        (tmp_path / name).write_text(text)
    names = [str(tmp_path / name) for name in "abc"]
    assert invoke(["check", "--csv", "--header", "1", "-k", "n:n", *names]) == 2
    lines = capfd.readouterr().err.splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        f"{names[1]}:1",
        f"{names[2]}:3",
        "1 of 3 files is out of order, 1 could not be checked",
    ]


@pytest.mark.parametrize("option", ["-u", "--unique"])
def test_equal_items_are_in_disorder_if_unique(option: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 2, 5], np.int16).tofile(tmp_path / "a.i16")
    (tmp_path / "b.txt").write_text("a 1\na 2\nb 2\n")
    (tmp_path / "c.txt").write_text("i\nh\ng\nf\ne\nd\nc\nb\na\n")
    assert invoke(["check", option, str(tmp_path / "a.i16")]) == 1
    assert capfd.readouterr().err == (
        f"gpumerge: {tmp_path}/a.i16@2: disorder: 2 comes after 2, its equal; sort it with -u first\n"
    )
    assert invoke(["check", option, str(tmp_path / "b.txt")]) == 0
    assert invoke(["check", option, "-k1,1", str(tmp_path / "b.txt")]) == 1
    assert "b.txt:2: disorder: 'a 2' comes after 'a 1' (line 1), its equal" in capfd.readouterr().err
    assert invoke(["check", option, str(tmp_path / "c.txt")]) == 1
    assert "add -r" in capfd.readouterr().err
    assert invoke(["check", "-ru", str(tmp_path / "c.txt")]) == 0


def test_a_check_tells_how_far_it_is_and_can_be_ended(tmp_path: Path) -> None:
    for name, count in (("a.i32", 500_000), ("none.i32", 0), ("b.i32", 1_000_000)):
        np.arange(count, dtype=np.int32).tofile(tmp_path / name)
    inputs = tuple(str(tmp_path / name) for name in ("a.i32", "none.i32", "b.i32"))
    told: list[tuple[int, int]] = []

    def check(inputs: tuple[str, ...]) -> None:
        job = job_of("check", inputs, backend="cpu", threads=2, memory=1 << 20)
        list(check_each(job, lambda *far: told.append(far)))

    check(inputs)
    assert {total for _, total in told} == {6_000_000}
    assert len({done for done, _ in told}) > 6
    assert told == sorted(told)
    assert (told[0], told[-1]) == ((0, 6_000_000), (6_000_000, 6_000_000))

    class EndedError(Exception):
        pass

    def end(done: int, total: int) -> None:
        if done > 2_000_000:
            raise EndedError

    with pytest.raises(EndedError):
        list(check_each(job_of("check", inputs, backend="cpu", memory=1 << 20), end))


@pytest.mark.parametrize("command", ["check", "merge"])
@pytest.mark.parametrize(
    ("lines", "options", "told"),
    [
        (
            "x 9\ny 10\n",
            "-k2,2",
            "'y 10' comes after 'x 9' (line 1), key ' 10' after ' 9' by -k 2,2; "
            "the file is in the order of -k 2,2n: use that for -k 2,2",
        ),
        (
            "x 9\ny 10\nz 5\n",
            "-k2,2",
            "'y 10' comes after 'x 9' (line 1), key ' 10' after ' 9' by -k 2,2; sort it first",
        ),
        (
            "a,x,2\nb,x,1\n",
            "-t, -k2,2 -k3n",
            "'b,x,1' comes after 'a,x,2' (line 1), key '1' after '2' by -k 3n; "
            "the file is in the order of -k 3nr: use that for -k 3n",
        ),
        (
            "q,2,b\nz,2,a\nz,2,c\n",
            "--csv -k2",
            "'z,2,a' comes after 'q,2,b' (record 1), key '2,a' after '2,b' by -k 2; sort it first",
        ),
        (
            "z;1\na;2\nb;1\n",
            "--csv -t; -k1 --header 0",
            "'a;2' comes after 'z;1' (record 1), key 'a;2' after 'z;1' by -k 1; sort it first",
        ),
        (
            "z,1\n1,2\n",
            "--csv -k1nr",
            "'1,2' comes after 'z,1' (record 1), key '1' after 'z' by -k 1nr; sort it first",
        ),
        (
            '"q",2\nz,1\nz,2\n',
            "--csv -k2:n",
            "'z,1' comes after '\"q\",2' (record 1), key '1' after '2' by -k 2,2n; sort it first",
        ),
        # No key is a number, so no order of numbers is proposed, which a stable one would hold.
        (
            "a w\nb v\nc x\n",
            "-s -k2,2",
            "'b v' comes after 'a w' (line 1), key ' v' after ' w' by -k 2,2; sort it first",
        ),
        ("2\n1\n", "-n", "'1' comes after '2' (line 1); the file is in -n -r order: add -r"),
        (
            "2 b\n2 a\n3\n",
            "-n --last-resort",
            "'2 a' comes after '2 b' (line 1), with equal keys; "
            "the file is in the order of its keys: leave --last-resort out",
        ),
        (
            "b 1\na 1\nc 2\n",
            "-k2,2 --last-resort",
            "'a 1' comes after 'b 1' (line 1), with equal keys; "
            "the file is in the order of its keys: leave --last-resort out",
        ),
        (
            "b 1\na 1\nc 0\n",
            "-k2,2 --last-resort",
            "'a 1' comes after 'b 1' (line 1), with equal keys; sort it first",
        ),
        (
            "city,amount\nParis,40\nOslo,7\nRome,5\n",
            "",
            "'Paris,40' comes after 'city,amount' (line 1); "
            "if line 1 is a header, add --header 1 or --field NAME; else sort it first",
        ),
        (
            "b 7\na 5\nc 6\n",
            "--field 4 --last-resort",
            "'a 5' comes after 'b 7' (record 1), with empty keys; check -t and the number of the field",
        ),
        (
            f"{'m' * 60}2\n{'m' * 60}1\n",
            "-d",
            "...'mmmmmmmmmm1' comes after ...'mmmmmmmmmm2' (line 1); sort it first",
        ),
    ],
)
def test_a_disorder_by_a_key_shows_the_key(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str, lines: str, options: str, told: str
) -> None:
    (tmp_path / "a").write_text(lines)
    where = ["-o", str(tmp_path / "b")] if command == "merge" else []
    assert invoke([command, "--backend=cpu", *options.split(), str(tmp_path / "a"), *where]) == (
        command == "check" or 2
    )
    assert capfd.readouterr().err == f"gpumerge: {tmp_path}/a:2: disorder: {told}\n"


@pytest.mark.parametrize("command", ["check", "merge"])
def test_a_disorder_of_records_shows_their_keys(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    key = b"k" * 50
    (tmp_path / "a.rec").write_bytes(b"z" + key + b"2" + b"a" + key + b"1" + b"b" + key + b"3")
    options = ["--record-size=52", "--key-offset=1", "--key-size=51", str(tmp_path / "a.rec"), "--backend=cpu"]
    assert invoke([command, *options, *(["-o", str(tmp_path / "b.rec")] if command == "merge" else [])]) != 0
    told = "...'kkkkkkkkkk1' comes after ...'kkkkkkkkkk2'; sort it first"
    assert capfd.readouterr().err == f"gpumerge: {tmp_path}/a.rec@1: disorder: {told}\n"


def test_stats_say_what_each_file_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("1\n2\n")
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    for option in ("-v", "--verbose", "--stats"):
        assert invoke(["check", option, *files]) == 0
        told = capsys.readouterr()
        assert (told.out, told.err) == ("", "".join(f"{file}: in order, 2 items, 4 B\n" for file in files))


def test_a_check_takes_one_gpu(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_text("a\nb\n")
    assert invoke(["check", "--device", "0,1", str(tmp_path / "a.txt")]) == 2
    assert capfd.readouterr().err == "gpumerge: --device 0,1: a check uses one GPU; name one\n"
