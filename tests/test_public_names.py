"""The names that `import gpumerge_cli` offers."""

from __future__ import annotations

import doctest
import subprocess
import sys

import pytest

import gpumerge_cli
from gpumerge_cli import errors

FUNCTIONS = ("argsort", "is_sorted", "join", "merge", "rank", "rank_of", "sort", "union")


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
