"""gpumerge_cli.merge_files, sort_files and check_files do what the commands do."""

from __future__ import annotations

import doctest
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import check_files, merge_files, sort_files
from gpumerge_cli.cli.app import invoke


@pytest.mark.parametrize("function", [merge_files, sort_files, check_files])
def test_examples_of_docstrings_run(
    function: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder().find(function, function.__name__, globs={})
    assert len(test.examples) >= 3
    assert doctest.DocTestRunner().run(test).failed == 0


def command(*words: str) -> None:
    assert invoke(words) == 0


@pytest.mark.parametrize(
    ("operation", "options", "words"),
    [
        ("merge", {}, []),
        ("merge", {"unique": True, "threads": 1}, ["--unique", "--threads=1"]),
        ("merge", {"unique": "last", "threads": 1}, ["--unique=last", "--threads=1"]),
        ("sort", {"only": "singles"}, ["--only=singles"]),
        ("merge", {"unique": False, "check": False, "head": 3}, ["--no-check", "--head=3"]),
        ("merge", {"count_to": "n.u64", "dtype": "int32"}, ["--count-to=n.u64", "--dtype=int32"]),
        ("merge", {"count": None, "reverse": None}, []),
        ("sort", {"reverse": True}, ["-r"]),
        ("sort", {"memory": "1M", "temporary_directory": [Path(".")]}, ["-S1M", "-T."]),
    ],
)
def test_options_are_those_of_the_commands(
    operation: str, options: dict[str, Any], words: list[str], two: np.ndarray[Any, Any]
) -> None:
    function = {"merge": merge_files, "sort": sort_files}[operation]
    report = function((Path("a.i32"), "b.i32"), Path("mine.i32"), **options)
    command(operation, "-q" if operation == "merge" else "--quiet", *words, "-o", "theirs.i32", "a.i32", "b.i32")
    assert Path("mine.i32").read_bytes() == Path("theirs.i32").read_bytes()
    assert isinstance(report, gpumerge_cli.MergeReport)
    assert report.kind == operation
    assert [one.name for one in report.inputs] == ["a.i32", "b.i32"]


def test_keys_in_several_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("day,id\n1,9\n1,10\n")
    Path("b.csv").write_text("day,id\n1,2\n2,1\n")
    merge_files(["a.csv", "b.csv"], "o.csv", field=["day", "id:n"])
    assert Path("o.csv").read_text().split() == ["day,id", "1,2", "1,9", "1,10", "2,1"]
    merge_files("a.csv", "o.csv.gz", field="day,id:n", report="report.json")
    assert json.loads(Path("report.json").read_text())["items"] == 2
    sort_files("o.csv.gz", "o.gz", field="id:nr", compressed=True)
    assert check_files("o.gz", field="id:nr", header=1).items == 2


def test_an_output_may_be_an_input(two: np.ndarray[Any, Any]) -> None:
    merge_files(["a.i32", "b.i32"], "a.i32")
    assert np.fromfile("a.i32", np.int32).tolist() == two.tolist()


def test_disorder_leaves_the_output_as_it_was(two: np.ndarray[Any, Any]) -> None:
    Path("b.i32").write_bytes(np.array([2, 1], np.int32).tobytes())
    for call in (lambda: check_files(["a.i32", "b.i32"]), lambda: merge_files(["a.i32", "b.i32"], "o.i32")):
        with pytest.raises(gpumerge_cli.DisorderError) as error:
            call()
        assert error.value.where == "b.i32@1"
    assert not Path("o.i32").exists()
    with pytest.raises(gpumerge_cli.DisorderError) as error:
        check_files(["a.i32", "b.i32", "c.i32"])
    assert error.value.__notes__ == ["c.i32: no such file or directory; check the name"]


def test_settings_do_not_hold(place: Callable[..., None], two: np.ndarray[Any, Any]) -> None:
    place(user="reverse = true\n", GPUMERGE_UNIQUE="1")
    merge_files(["a.i32", "b.i32"], "o.i32")
    assert np.fromfile("o.i32", np.int32).tolist() == two.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memry": "1G"}, "merge_files has no option memry; did you mean memory? see gpumerge merge --help"),
        ({"files0_from": "x"}, "merge_files has no option files0_from; give a list of names as inputs"),
        ({"verbose": True}, "merge_files has no option verbose"),
        ({"unique": 1}, "unique is true, false, 'first', 'last', not 1"),
        ({"check": 1}, "check is true or false, not 1"),
        ({"field": ["a", True]}, "field takes a value, not a list"),
        ({"memory": "5x"}, "--memory: invalid size '5x'"),
        ({"head": 1, "tail": 1}, "--head and --tail"),
        ({"format": b"text"}, "format takes a value, not b'text'"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str, two: np.ndarray[Any, Any]) -> None:
    with pytest.raises(gpumerge_cli.UsageError) as error:
        merge_files(["a.i32", "b.i32"], "o.i32", **options)
    assert message in str(error.value)
    assert not Path("o.i32").exists()


@pytest.mark.parametrize(
    ("inputs", "output", "message"),
    [
        ([], "o", "inputs names no file"),
        (3, "o", "inputs: int is not a list of names"),
        ([3], "o", "inputs: int is not the name of a file"),
        ("-", "o", "inputs: '-' is not the name of a file"),
        ([b"a"], "o", "inputs: bytes is not the name of a file"),
        ("a.i32", "-", "output: '-' is not the name of a file"),
        ("a.i32", None, "output: NoneType is not the name of a file"),
    ],
)
def test_wrong_names(inputs: Any, output: Any, message: str, two: np.ndarray[Any, Any]) -> None:
    with pytest.raises(gpumerge_cli.UsageError) as error:
        merge_files(inputs, output)
    assert message in str(error.value)


def test_a_file_that_is_not_there(two: np.ndarray[Any, Any]) -> None:
    with pytest.raises(gpumerge_cli.InputError):
        merge_files(["a.i32", "c.i32"], "o.i32")
