"""Data that somebody else changes meanwhile may give any result, but no call touches memory beside its arrays."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest

from gpumerge_cli.backends.cpu.library import processor_levels
from tests.cpu import libraries
from tests.cpu.test_sanitized import preload

SORTS = """
import sys, threading
import numpy as np, gpumerge_cli as g

a = np.random.default_rng(0).integers(0, 10**6, 400_000).astype(sys.argv[1])
b = np.where(np.arange(a.size) % 3 == 0, np.nan, 0.0).astype(a.dtype) if a.dtype.kind == "f" else a[::-1].copy()

def write():
    random = np.random.default_rng(1)
    while True:
        at = random.integers(0, a.size, 1000)
        a[at] = b[at] if random.integers(2) else random.integers(-10**9, 10**9, 1000)

threading.Thread(target=write, daemon=True).start()
for _ in range(40):
    g.sort(a)
print("survived")
"""


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_a_sort_of_changing_keys_stays_in_its_arrays(dtype: str) -> None:
    """The number of keys with a digit may change between the count and the move."""
    environment = {**os.environ, "MALLOC_CHECK_": "3"}
    done = subprocess.run(
        [sys.executable, "-c", SORTS, dtype], capture_output=True, text=True, cwd=libraries.ROOT, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "survived\n"), done.stderr[-2000:]


def _survives(seconds: float, environment: dict[str, str]) -> None:
    seed = random.randrange(2**31)
    done = subprocess.run(
        ["setarch", "-R", sys.executable, "-m", "tests.changing", str(seed), str(seconds)],
        capture_output=True,
        text=True,
        cwd=libraries.ROOT,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, f"seed {seed}: exit code {done.returncode}\n{done.stderr[-5000:]}"


def test_public_functions_survive_changing_arrays() -> None:
    _survives(8, {"MALLOC_CHECK_": "3"})


@pytest.mark.thorough
@pytest.mark.parametrize("level", [processor_levels()[0], processor_levels()[-1]])
def test_public_functions_stay_in_their_arrays(level: str) -> None:
    """The address sanitizer watches the library."""
    library = libraries.sanitized("address,undefined", level)
    watching = {"LD_PRELOAD": preload("address,undefined"), "ASAN_OPTIONS": "detect_leaks=0"}
    _survives(60, {**watching, libraries.VARIABLE: str(library)})
