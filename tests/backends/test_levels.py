"""Part of the suite once more at the least level, in a process of its own: processors take the best they have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.backends import select as backends_select
from gpumerge_cli.native import library

ROOT = Path(__file__).parents[2]
LEAST = library.LEVELS[0]
# Keys and lines, of two runs and many, by every kernel; rows by keys and numbers, sorted by every way there is.
PARTS = (
    "test_levels.py::test_the_level_is_the_one_that_is_forced",
    "test_merge.py::test_many_runs",
    "test_merge.py::test_lines_equal_a_stable_sort",
    "test_merge.py::test_default_shapes_on_larger_runs",
    "test_merge.py::test_first_disorder_of_lines",
    "test_records.py",
    "test_sort.py::test_many_lines_by_keys[cpu--k2,2n -t,]",
    "test_sort.py::test_many_rows_by_parts",
)


@pytest.mark.skipif(library.VARIABLE not in os.environ, reason="needs a forced level; set GPUMERGE_CPU_LEVEL")
def test_the_level_is_the_one_that_is_forced() -> None:
    assert backends_select.host().info().details["level"] == os.environ[library.VARIABLE]


@pytest.mark.skipif(library.VARIABLE in os.environ, reason="needs the choice of the level; unset GPUMERGE_CPU_LEVEL")
@pytest.mark.parametrize("parts", [PARTS[:2], pytest.param(PARTS, marks=pytest.mark.thorough)], ids=["few", "all"])
def test_the_least_level_merges_and_sorts(parts: tuple[str, ...]) -> None:
    folder = ROOT / "gpumerge_cli" / "lib"
    if not (folder / f"gpumerge-{LEAST}.so").exists():
        pytest.skip(f"needs the library of {LEAST}; run python kernels/build_library.py")
    if library.processor_levels() in ((), (LEAST,)):
        pytest.skip(f"needs a processor with more than {LEAST}, at which all tests run here")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-m",
        "not gpu and not thorough",
    ]
    done = subprocess.run(
        [*command, *(f"tests/backends/{part}" for part in parts)],
        cwd=ROOT,
        env={**os.environ, library.VARIABLE: LEAST},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
