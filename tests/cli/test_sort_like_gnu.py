"""gpumerge sort gives what the system's sort gives, whatever the options: a quick run of tests.against_sort."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cli import app as door
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
    if backend.name != "reference":
        assert disagreement(trial, backend.name, tmp_path) == ""


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
    assert door.run(["sort", "--csv", "--header=1", "-k", "größe:n", str(tmp_path / "u.csv")]) == 0
    assert capfdbinary.readouterr().out == "\ufeffname,größe\nb,1\na,2\n".encode()


def test_binary_items_take_the_options_that_mean_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.array([3, -1, 2, 2], np.int32).tofile(tmp_path / "a.i32")
    assert door.run(["sort", "-u", "-r", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32")]) == 0
    assert np.fromfile(tmp_path / "b.i32", np.int32).tolist() == [3, 2, -1]
    assert door.run(["sort", "-m", str(tmp_path / "a.i32"), "-o", str(tmp_path / "b.i32")]) == 2
    assert "a.i32@1: disorder: -1 comes after 3" in capsys.readouterr().err


def test_a_dash_is_a_files_name_to_o(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_bytes(b"b\na\n")
    assert door.run(["sort", "a", "-o", "-"]) == 0
    assert (tmp_path / "-").read_bytes() == b"a\nb\n"


@needs_sort
@pytest.mark.parametrize("arguments", [["-n"], ["-m"], []])
@pytest.mark.parametrize(
    ("name", "out"), [("a.gz", "b.gz"), ("a.txt", "b.zst"), ("a.ZST", "b.npy"), ("a.txt", "b.i32")]
)
def test_names_say_nothing_of_lines(arguments: list[str], name: str, out: str, tmp_path: Path) -> None:
    given = tmp_path / name
    given.write_bytes(b"1\n2\n10\n" if "-m" in arguments else b"2\n10\n1\n")
    assert door.run(["sort", *arguments, str(given), "-o", str(tmp_path / out)]) == 0
    expected = subprocess.run(["sort", *arguments, given], capture_output=True, check=True, env={"LC_ALL": "C"}).stdout
    assert (tmp_path / out).read_bytes() == expected


def test_compressed_files_where_that_is_said(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(b"n\n2\n10\n1\n")
    arguments = ["--compressed", "--csv", "--header=1", "-k", "n:nr", str(tmp_path / "a.gz")]
    assert door.run(["sort", *arguments, "-o", str(tmp_path / "b.gz")]) == 0
    assert gzip.decompress((tmp_path / "b.gz").read_bytes()) == b"n\n10\n2\n1\n"
    assert door.run(["sort", "--compressed", "-c", "-k", "n:nr", "--csv", "--header=1", str(tmp_path / "b.gz")]) == 0
