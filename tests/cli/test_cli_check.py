"""gpumerge check: silence, or the first disorder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cli.app import run
from gpumerge_cli.engine.check import check_files
from gpumerge_cli.engine.request import BackendRequest, ItemRequest


def test_files_in_order_are_passed_in_silence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 2, 5], np.int16).tofile(tmp_path / "a.i16")
    np.save(tmp_path / "b.npy", np.array([0.0, -0.0, np.inf, np.nan]))
    assert run(["check", str(tmp_path / "a.i16")]) == 0
    assert run(["check", str(tmp_path / "b.npy")]) == 0
    (tmp_path / "c.txt").write_text("10\n9\n")
    assert run(["check", str(tmp_path / "c.txt"), "--threads", "1"]) == 0
    assert run(["check", "-rn", str(tmp_path / "c.txt")]) == 0
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
    assert run(["check", *options, str(tmp_path / name)]) == 1
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gpumerge: ")
    assert place in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("name", ["missing.i32", "odd.i32", "what.xyz"])
def test_what_cannot_be_checked_exits_2(tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / "odd.i32").write_bytes(b"12345")
    (tmp_path / "what.xyz").write_bytes(b"1234")
    assert run(["check", str(tmp_path / name)]) == 2
    error = capfd.readouterr().err
    assert name in error
    assert error.count("\n") == 1


def test_each_file_is_judged_by_itself(tmp_path: Path) -> None:
    np.arange(3, dtype=np.int32).tofile(tmp_path / "a.i32")
    (tmp_path / "b.txt").write_bytes(b"x\ny\n")
    assert run(["check", str(tmp_path / "a.i32"), str(tmp_path / "b.txt")]) == 0


@pytest.mark.parametrize("option", ["-u", "--unique"])
def test_equal_items_are_in_disorder_if_unique(option: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.array([1, 2, 2, 5], np.int16).tofile(tmp_path / "a.i16")
    (tmp_path / "b.txt").write_text("a 1\na 2\nb 2\n")
    (tmp_path / "c.txt").write_text("b\na\n")
    assert run(["check", option, str(tmp_path / "a.i16")]) == 1
    assert capfd.readouterr().err == (
        f"gpumerge: {tmp_path}/a.i16@2: disorder: 2 comes after 2, its equal; sort it with -u first\n"
    )
    assert run(["check", option, str(tmp_path / "b.txt")]) == 0
    assert run(["check", option, "-k1,1", str(tmp_path / "b.txt")]) == 1
    assert "b.txt:2: disorder: 'a 2' comes after 'a 1', its equal" in capfd.readouterr().err
    assert run(["check", option, str(tmp_path / "c.txt")]) == 1
    assert "add -r" in capfd.readouterr().err
    assert run(["check", "-ru", str(tmp_path / "c.txt")]) == 0


def test_a_check_tells_how_far_it_is_and_can_be_ended(tmp_path: Path) -> None:
    for name, count in (("a.i32", 500_000), ("none.i32", 0), ("b.i32", 1_000_000)):
        np.arange(count, dtype=np.int32).tofile(tmp_path / name)
    inputs = tuple(str(tmp_path / name) for name in ("a.i32", "none.i32", "b.i32"))
    told: list[tuple[int, int]] = []

    def check(inputs: tuple[str, ...]) -> None:
        on = BackendRequest("cpu", threads=2)
        check_files(inputs, ItemRequest(), on, memory=1 << 20, advance=lambda *far: told.append(far))

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
        check_files(inputs, ItemRequest(), BackendRequest("cpu"), memory=1 << 20, advance=end)


@pytest.mark.parametrize("command", ["check", "merge"])
@pytest.mark.parametrize(
    ("lines", "options", "told"),
    [
        ("x 9\ny 10\n", "-k2,2", "'y 10' comes after 'x 9', ' 10' after ' 9' by -k 2,2; sort it first"),
        ("a,x,2\nb,x,1\n", "-t, -k2,2 -k3n", "'b,x,1' comes after 'a,x,2', '1' after '2' by -k 3n; sort it first"),
        ("q,2,b\nz,2,a\n", "--csv -k2", "'z,2,a' comes after 'q,2,b', '2,a' after '2,b' by -k 2; sort it first"),
        ("z;1\na;2\n", "--csv -t; -k1", "'a;2' comes after 'z;1', 'a;2' after 'z;1' by -k 1; sort it first"),
        ("z,1\n1,2\n", "--csv -k1nr", "'1,2' comes after 'z,1', '1' after 'z' by -k 1nr; sort it first"),
        ('"q",2\nz,1\n', "--csv -k2:n", "'z,1' comes after '\"q\",2', '1' after '2' by -k 2n,2; sort it first"),
        ("2\n1\n", "-n", "'1' comes after '2'; the file is in -n -r order: add -r"),
        ("2 b\n2 a\n3\n", "-n", "'2 a' comes after '2 b', with equal keys; the file is in -n -s order: add -s"),
        ("b 1\na 1\nc 2\n", "-k2,2", "'a 1' comes after 'b 1', with equal keys; the file is in -s order: add -s"),
        ("b 1\na 1\nc 0\n", "-k2,2", "'a 1' comes after 'b 1', with equal keys; sort it first"),
        (f"{'m' * 60}2\n{'m' * 60}1\n", "-d", "...'mmmmmmmmmm1' comes after ...'mmmmmmmmmm2'; sort it first"),
    ],
)
def test_a_disorder_by_a_key_shows_the_key(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str, lines: str, options: str, told: str
) -> None:
    (tmp_path / "a").write_text(lines)
    where = ["-o", str(tmp_path / "b")] if command == "merge" else []
    assert run([command, "--backend=cpu", *options.split(), str(tmp_path / "a"), *where]) == (command == "check" or 2)
    assert capfd.readouterr().err == f"gpumerge: {tmp_path}/a:2: disorder: {told}\n"


@pytest.mark.parametrize("command", ["check", "merge"])
def test_a_disorder_of_records_shows_their_keys(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    key = b"k" * 50
    (tmp_path / "a.rec").write_bytes(b"z" + key + b"2" + b"a" + key + b"1" + b"b" + key + b"3")
    options = ["--record-size=52", "--key-offset=1", "--key-size=51", str(tmp_path / "a.rec"), "--backend=cpu"]
    assert run([command, *options, *(["-o", str(tmp_path / "b.rec")] if command == "merge" else [])]) != 0
    told = "...'kkkkkkkkkk1' comes after ...'kkkkkkkkkk2'; sort it first"
    assert capfd.readouterr().err == f"gpumerge: {tmp_path}/a.rec@1: disorder: {told}\n"
