"""The types of functions on arrays: type checkers accept every use, and Python runs it."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import gpumerge_cli

ROOT = Path(__file__).parents[2]
USES = "tests/typing/uses.py"
MISUSES = """
import numpy as np
import gpumerge_cli as g

a = np.arange(3)
g.merge(a, unknown=1)  # error
g.union(a, kernel="path")  # error
g.sort(a, check=True)  # error
g.sort(a, counts=True).shape  # error
g.join(a, a, how="cross")  # error
g.merge(a, backend="cuda")  # error
g.sort(a, kernel="fast")  # error
g.sort(a, text="sizes")  # error
g.sort(a, values=a if len(a) else None).shape  # error
g.sort_table(a, by="a", nulls="end")  # error
g.merge_files(["a.npy"])  # error
g.run(g.Job(("a.npy",))).no_such_field  # error
"""


def checked(checker: str, *words: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip(checker, reason=f"{checker} is not installed")
    command = [sys.executable, "-m", checker, *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_accept_every_use(checker: str) -> None:
    done = checked(checker, USES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_type_checkers_refuse_misuses(checker: str, tmp_path: Path) -> None:
    file = tmp_path / "misuses.py"
    file.write_text(MISUSES)
    done = checked(checker, str(file))
    wrong = [number for number, line in enumerate(MISUSES.splitlines(), 1) if line.endswith("# error")]
    for number in wrong:
        assert f"misuses.py:{number}:" in done.stdout, done.stdout + done.stderr


def test_python_runs_every_use() -> None:
    importlib.import_module("tests.typing.uses")


@pytest.mark.parametrize("name", ["union", "intersect", "difference", "symmetric"])
def test_sets_show_their_parameters(name: str) -> None:
    function = getattr(gpumerge_cli, name)
    shown = list(inspect.signature(function).parameters)
    assert shown[:4] == ["arrays", "distinct", "counts", "values"]
    assert set(shown[4:]) == {"key", "descending", "text", "check", "out", "backend", "device", "threads"}
    assert (function.__name__, function.__module__) == (name, "gpumerge_cli.arrays.sets")
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'unique'"):
        function([1], unique=True)
