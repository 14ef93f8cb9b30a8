"""gpumerge sort gives the output of the system's sort for all options: a quick run of tests.against_sort."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cli import app as door
from tests import against_sort
from tests.against_sort import Trial, disagreement, trials
from tests.test_line_keys import EXAMPLES, needs_sort


@needs_sort
@settings(
    max_examples=EXAMPLES // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(trial=trials())
def test_the_same_bytes_and_exit_codes(backend: Backend, trial: Trial, tmp_path: Path) -> None:
    assert disagreement(trial, backend.name, tmp_path) == ""


@needs_sort
def test_long_lines_and_megabytes_too(rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    for size, cases in (("long", 5), ("megabytes", 1)):
        wish = ["--size", size, "--cases", str(cases), "--seed", str(rng.integers(2**32))]
        assert against_sort.main(wish) == 0, capsys.readouterr().out


@pytest.mark.parametrize("disordered", [b"c\na\nb\n", b"b\nb\na"])
def test_merging_what_is_not_sorted_gives_what_sort_gives(disordered: bytes, tmp_path: Path) -> None:
    trial = Trial("merge", (b"-m",), {"f0": disordered, "f1": b"a\nb\nz\n"})
    for more in ((), (b"-u",), (b"-r",)):
        assert disagreement(Trial("merge", trial.arguments + more, trial.files), "cpu", tmp_path) == ""


@pytest.mark.parametrize(
    ("arguments", "given", "expected"),
    [
        (["-gs"], b"0x1p1100\n0x1p1099\n", b"0x1p1099\n0x1p1100\n"),  # beyond a double
        (["-", "-"], b"b\na\n", b"a\nb\n"),  # standard input has an end
        (["--csv", "--header", "1", "-k1,1n"], b"n\n\"10\"\n9\n", b"n\n9\n\"10\"\n"),
    ],
)  # fmt: skip
def test_what_was_once_wrong(arguments: list[str], given: bytes, expected: bytes) -> None:
    done = subprocess.run([sys.executable, "-m", "gpumerge_cli", "sort", *arguments], input=given, capture_output=True)
    assert (done.returncode, done.stdout) == (0, expected)


def test_a_header_names_fields_in_any_letters(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "u.csv").write_bytes("\ufeffname,größe\na,2\nb,1\n".encode())
    assert door.invoke(["sort", "--csv", "--header=1", "-k", "größe:n", str(tmp_path / "u.csv")]) == 0
    assert capfdbinary.readouterr().out == "\ufeffname,größe\nb,1\na,2\n".encode()


def test_binary_items_take_the_options_that_mean_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.array([3, -1, 2, 2], np.int32).tofile(tmp_path / "a.i32")
    assert door.invoke(["sort", "-u", "-r", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32")]) == 0
    assert np.fromfile(tmp_path / "b.i32", np.int32).tolist() == [3, 2, -1]
    assert door.invoke(["sort", "-m", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32")]) == 2
    assert "a.i32@1: disorder: -1 comes after 3" in capsys.readouterr().err


def test_binary_items_have_no_header_and_say_where_they_fall(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.array([1, 3, 2], np.int32).tofile(tmp_path / "a.i32")
    for wrong in (
        "--header=1", "--csv", "--format=csv", "--header-prefix=#", "--record-start=x", "--line-ends=lf",
        "--schema=union",
    ):  # fmt: skip
        assert door.invoke(["sort", "--backend=cpu", "--dtype=int32", wrong, str(tmp_path / "a.i32")]) == 2
        assert f"; leave {wrong.partition('=')[0]} out\n" in capsys.readouterr().err
    assert door.invoke(["sort", "--backend=cpu", "-c", str(tmp_path / "a.i32")]) == 1
    said = capsys.readouterr().err
    assert "a.i32@2" in said
    assert "2" in said.split("a.i32@2", 1)[1]


def test_a_dash_is_a_files_name_to_o(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"b\na\n")
    assert door.invoke(["sort", "a", "-o", "-"]) == 0
    assert (tmp_path / "-").read_bytes() == b"a\nb\n"


@needs_sort
@pytest.mark.parametrize("arguments", [["-n"], ["-m"], []])
@pytest.mark.parametrize(
    ("name", "out"), [("a.gz", "b.gz"), ("a.txt", "b.zst"), ("a.ZST", "b.xz"), ("a.txt", "b.avro")]
)
def test_names_say_nothing_of_lines(arguments: list[str], name: str, out: str, tmp_path: Path) -> None:
    given = tmp_path / name
    given.write_bytes(b"1\n2\n10\n" if "-m" in arguments else b"2\n10\n1\n")
    assert door.invoke(["sort", *arguments, str(given), "-o", str(tmp_path / out)]) == 0
    expected = subprocess.run(["sort", *arguments, given], capture_output=True, check=True, env={"LC_ALL": "C"}).stdout
    assert (tmp_path / out).read_bytes() == expected


def test_compressed_files_where_that_is_said(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"n\n2\n10\n1\n")
    arguments = ["--compressed", "--csv", "--header=1", "-k", "n:nr", str(tmp_path / "a.gz")]
    assert door.invoke(["sort", *arguments, "-o", str(tmp_path / "b.gz")]) == 0
    assert gzip.decompress((tmp_path / "b.gz").read_bytes()) == b"n\n10\n2\n1\n"
    assert door.invoke(["sort", "--compressed", "-c", "-k", "n:nr", "--csv", "--header=1", str(tmp_path / "b.gz")]) == 0


@pytest.mark.parametrize("key", ["2:nr", "n:nr", "2nr,2", "2 n:nr", "2024:nr"])
def test_csv_keys_by_number_and_by_name(key: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    name = {"n:nr": b"n", "2 n:nr": b"2 n"}.get(key, b"n")
    (tmp_path / "a.csv").write_bytes(b'name,%s\n"x, y",9\n"two\nlines","10"\n' % name)
    header = "--header=1"
    if key == "2024:nr":  # a number always counts
        assert door.invoke(["sort", "--csv", header, "-k", key, "-s", str(tmp_path / "a.csv")]) == 0
        assert capfdbinary.readouterr().out == (tmp_path / "a.csv").read_bytes()
        return
    assert door.invoke(["sort", "--csv", header, "-k", key, str(tmp_path / "a.csv")]) == 0
    assert capfdbinary.readouterr().out == b'name,%s\n"two\nlines","10"\n"x, y",9\n' % name
    for command in (["check"], ["merge", "-q"]):
        assert door.invoke([*command, "--csv", header, "-k", key.replace("r", ""), str(tmp_path / "a.csv")]) == 0
        capfdbinary.readouterr()


@pytest.mark.parametrize(
    ("options", "order"),
    [
        (["--header=1", "-k", "v:n"], "CSV, by -k v:n"),
        (["--header=1", "-k", "2:nr", "-k1,1", "-s"], "CSV, by -k 2,2nr -k 1,1, ties left"),
        (["-t;", "-k2,2"], "CSV, by -k 2,2 -t ';'"),
        (["-k1"], "CSV, by -k 1"),
        ([], "CSV, bytewise"),
    ],
)
def test_reports_have_the_order_of_csv_as_it_was_said(
    options: list[str], order: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,v\n")
    files = [str(tmp_path / "a.csv"), "-o", str(tmp_path / "o.csv"), "--report", str(tmp_path / "r.json")]
    ties = [] if "-s" in options else ["--last-resort"]
    for command in (["sort"], ["merge", "--stats", *ties]):
        assert door.invoke([*command, "--csv", *options, *files]) == 0
        assert json.loads((tmp_path / "r.json").read_text())["order"] == order
    assert f", {order} " in " ".join(capsys.readouterr().err.split())  # long lines are broken anywhere


@pytest.mark.parametrize("key", ["2:nr", "n", "1:x", "0:n"])
def test_csv_keys_without_a_header(key: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a.csv").write_bytes(b'b,9\na,"10"\n')
    assert door.invoke(["sort", "--csv", "-k", key, str(tmp_path / "a.csv")]) == (0 if key == "2:nr" else 2)
    assert capfdbinary.readouterr().out == (b'a,"10"\nb,9\n' if key == "2:nr" else b"")


def test_a_list_of_files_may_name_standard_input(tmp_path: Path) -> None:
    """The system's sort takes no - in any list, for the reason that holds where the list comes from standard input."""
    (tmp_path / "a").write_bytes(b"b\nd\n")
    (tmp_path / "list").write_bytes(b"a\0-\0")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    for source, text, code, out in (("list", b"c\na\n", 0, b"a\nb\nc\nd\n"), ("-", b"a\0-\0", 2, b"")):
        command = [sys.executable, "-m", "gpumerge_cli", "sort", f"--files0-from={source}"]
        done = subprocess.run(command, input=text, capture_output=True, cwd=tmp_path, env=environment)
        assert (done.returncode, done.stdout) == (code, out)


@pytest.mark.one_of_each
@pytest.mark.parametrize("options", [[], ["-S", "1M"]], ids=["at once", "in runs"])
@pytest.mark.parametrize("redirection", [">>", "1<>"])
def test_output_may_go_to_the_input_by_redirection(options: list[str], redirection: str, tmp_path: Path) -> None:
    """Everything is read before anything is written, as in GNU sort."""
    lines = [b"%06d\n" % number for number in range(300_000)]
    (tmp_path / "f").write_bytes(b"".join(reversed(lines)))
    program = f'{sys.executable} -m gpumerge_cli sort "$@" f {redirection} f'
    done = subprocess.run(["sh", "-c", program, "sh", *options], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    first = b"".join(reversed(lines)) if redirection == ">>" else b""
    assert (tmp_path / "f").read_bytes() == first + b"".join(lines)


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        (b"name,n\nx,10\ny,9\n", "n:n", b"name,n\ny,9\nx,10\n"),
        (b'\xef\xbb\xbf"first name","n"\r\n"b","1"\r\n"a",2\r\n', "first name", None),
        (b'"na""me",n\nb,1\na,2\n', 'na"me', b'"na""me",n\na,2\nb,1\n'),
        (b'"two\nlines",n\nb,1\na,2\n', "n:nr", b'"two\nlines",n\na,2\nb,1\n'),
    ],
)
def test_a_key_by_name_implies_the_header(
    text: bytes, key: str, expected: bytes | None, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "a.csv").write_bytes(text)
    assert door.invoke(["sort", "--csv", "-k", key, str(tmp_path / "a.csv"), "-o", str(tmp_path / "b.csv")]) == 0
    out = (tmp_path / "b.csv").read_bytes()
    if expected is None:
        head, first, second = text.splitlines(keepends=True)
        expected = head + second + first
    assert out == expected
    for command in (["check"], ["merge", "-q"], ["sort", "-c"]):
        assert door.invoke([*command, "--csv", "-k", key, str(tmp_path / "b.csv")]) == 0
    capfdbinary.readouterr()


def test_a_tab_may_be_written_as_in_c(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    (tmp_path / "a.tsv").write_bytes(b"a b\t2\nc\t1\n")
    for words in (["sort"], ["sort", "--csv"]):
        assert door.invoke([*words, "-t", r"\t", "-k2,2n", str(tmp_path / "a.tsv")]) == 0
        assert capfdbinary.readouterr().out == b"c\t1\na b\t2\n"
