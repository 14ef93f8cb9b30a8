"""The names that `import gpumerge_cli` offers."""

from __future__ import annotations

import doctest
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli import errors

FUNCTIONS = ("argsort", "asof_join", "diff", "is_sorted", "join", "merge", "rank", "rank_of", "sort", "topk", "union")


def test_dir_shows_what_a_star_imports() -> None:
    assert dir(gpumerge_cli) == sorted(gpumerge_cli.__all__)
    found: dict[str, object] = {}
    exec("from gpumerge_cli import *", found)
    del found["__builtins__"]
    assert sorted(found) == dir(gpumerge_cli)
    assert all(found[name] is getattr(gpumerge_cli, name) for name in found)


def test_all_errors_are_public() -> None:
    tree = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert tree <= set(dir(gpumerge_cli))
    assert gpumerge_cli.UsageError is errors.UsageError


def test_public_names_say_what_they_are() -> None:
    assert all(getattr(gpumerge_cli, name).__doc__ for name in dir(gpumerge_cli) if name != "__version__")


def test_no_other_name() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'mergesort'"):
        gpumerge_cli.mergesort  # noqa: B018


def test_looking_around_loads_nothing() -> None:
    code = "import gpumerge_cli, sys; dir(gpumerge_cli); gpumerge_cli.UsageError; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_of_docstrings_run(name: str) -> None:
    function = getattr(gpumerge_cli, name)
    test = doctest.DocTestFinder().find(function, name, globs={})[0]
    assert len(test.examples) >= 2
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0
    for heading in ("Parameters\n", "Raises\n"):
        assert heading in (function.__doc__ or "")


def test_every_function_has_an_example() -> None:
    functions = [name for name in dir(gpumerge_cli) if isinstance(getattr(gpumerge_cli, name), FunctionType)]
    assert {"merge", "run", "unique"} < set(functions)
    find = doctest.DocTestFinder().find
    assert [name for name in functions if not find(getattr(gpumerge_cli, name), name, globs={})[0].examples] == []


@pytest.mark.parametrize("name", ["argtopk", "difference", "intersect", "run", "symmetric", "unique"])
def test_other_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestFinder().find(getattr(gpumerge_cli, name), name, globs={})[0]
    assert doctest.DocTestRunner().run(test).failed == 0


def test_examples_of_keys_run() -> None:
    [test] = doctest.DocTestFinder().find(gpumerge_cli.TextKey, "TextKey", globs={})[:1]
    runner = doctest.DocTestRunner()
    assert runner.run(test) == (0, 3)


def test_python_does_jobs_as_the_command_line_does(tmp_path: Path) -> None:
    names = ("Destination", "Items", "Job", "Operation", "Resources")
    place, items, job, operation, resources = (getattr(gpumerge_cli, name) for name in names)
    keys = np.random.default_rng(3).integers(0, 99, 1000, np.int32)
    for number in range(2):
        np.sort(keys[number::2]).tofile(tmp_path / f"{number}.i32")
    inputs = tuple(str(tmp_path / f"{number}.i32") for number in range(2))
    report = gpumerge_cli.run(job(inputs, output=place(str(tmp_path / "o.i32")), resources=resources("cpu")))
    assert report.items == len(keys)
    assert (tmp_path / "o.i32").read_bytes() == np.sort(keys).tobytes()
    gpumerge_cli.run(job(inputs, items(reverse=True), operation("sort"), place(str(tmp_path / "d.i32"))))
    assert (tmp_path / "d.i32").read_bytes() == np.sort(keys)[::-1].tobytes()
    assert gpumerge_cli.run(job((inputs[0],), operation=operation("check"))).items == len(keys) // 2
    with pytest.raises(gpumerge_cli.DisorderError):
        gpumerge_cli.run(job((str(tmp_path / "d.i32"),), operation=operation("check")))
