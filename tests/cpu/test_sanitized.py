"""The tests of FILES once more, in a Python where sanitizers watch the library."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.native.library import processor_levels
from tests import needs
from tests.cpu import libraries

pytestmark = pytest.mark.thorough

HERE = Path(__file__).parent
FILES = [
    str(HERE / f"test_{name}.py")
    for name in (
        *("keys", "pairs", "rows", "heads", "sets", "cuts", "chunk", "mapping", "joins", "rearranging", "json_values"),
        *("json_joins", "json_types", "seen", "sums", "asof", "sieves", "same_stretches", "csv_marks"),
        "changed_columns",
        "integer_words",
    )
]
LEAST, BEST = processor_levels()[0], processor_levels()[-1]
RUNTIMES = {"address": "libasan.so", "address,undefined": "libasan.so", "thread": "libtsan.so"}
# Of tests that take long under a sanitizer, one of each kind; threads share what these few work on.
FEW = {
    "address": "not skewed and not test_long_lines and not (large_sorts and not int32)"
    " and not (cuts_of_keys and not (120 and (int32 or float64))) and not (few_are_far and not a5000)"
    " and not (plain_search and not (uint8 or float64 or lines)) and not (not_alike and not 5)"
    " and not (loses_its_bytes and not 40) and not (many_runs and FIRST) and not sources_apart",
    "thread": "two_runs or threads or their_place or (many_lines and not few_are_far) or a5000"
    " or (large_sorts and int32)",
}
SHARED = "threads or many or long or their_place or sorts or two_runs"


def preload(sanitizers: str) -> str:
    """The libraries that a program must load first. A sanitizer needs the C++ runtime too, to follow exceptions."""
    compiler = needs.program("g++")
    names = [RUNTIMES[sanitizers], "libstdc++.so"]
    found = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
        ).stdout.strip()
        for name in names
    ]
    if not all(map(os.path.isabs, found)):
        pytest.skip(needs.runtime_of(sanitizers))
    return ":".join(map(os.path.realpath, found))


def passes(sanitizers: str, level: str, *, few: bool) -> None:
    """The tests pass on the library of that level. few: the selection for every day, which says little of a fault."""
    environment = {
        **os.environ,
        "LD_PRELOAD": preload(sanitizers),
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "TSAN_OPTIONS": "report_signal_unsafe=0 exitcode=66",
        "GPUMERGE_TEST_ROUNDS": "2" if few else "6",
        "GPUMERGE_TEST_EXAMPLES": "5" if few else "30",
        "GPUMERGE_TEST_FEW": "1" if few else "",
    }
    environment[libraries.VARIABLE] = str(libraries.sanitized(sanitizers, level, says_why=not few))
    # Without random places, which the thread sanitizer of older compilers does not live with.
    command = [
        needs.program("setarch"),
        "-R",
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-q",
        "-x",
        "-s",
        "-p",
        "no:cacheprovider",
        *FILES,
    ]
    if few or sanitizers == "thread":
        command += ["-k", FEW[sanitizers] if few else SHARED]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=libraries.ROOT)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]


@pytest.mark.parametrize(("sanitizers", "level"), [("address", BEST), ("thread", LEAST)])
def test_a_selection(sanitizers: str, level: str) -> None:
    """One sanitizer watches the best level and the other the least, so both vectors and plain loops are tested."""
    passes(sanitizers, level, few=True)


@pytest.mark.parametrize(
    ("sanitizers", "level"),
    dict.fromkeys([("address,undefined", LEAST), ("address,undefined", BEST), ("thread", BEST)]),
)
def test_everything(sanitizers: str, level: str) -> None:
    """The best level's library holds most units as the level between compiles them."""
    passes(sanitizers, level, few=False)
