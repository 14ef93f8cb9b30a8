"""Data that somebody else changes meanwhile may give any result, but no call touches memory beside its arrays."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import gpumerge_cli
from gpumerge_cli.native.library import processor_levels
from tests import changing
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


@pytest.mark.one_in(3)
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


@pytest.mark.parametrize("seconds", [2, pytest.param(10, marks=pytest.mark.thorough)])
def test_public_functions_survive_changing_arrays(seconds: float) -> None:
    _survives(seconds, {"MALLOC_CHECK_": "3"})


def test_every_public_function_is_called() -> None:
    a = np.arange(8)
    called = {name.partition(" ")[0] for name in changing.calls(a, a, None, *changing.outputs(a, a))}
    others = ("run", "_files", "_table", "_tables")
    public = {name for name in gpumerge_cli.__all__ if name.islower() and not name.startswith("_")}
    of_arrays = {name for name in public if not name.endswith(others)}
    assert called == of_arrays


@contextmanager
def _written(files: list[Path], seed: int) -> Iterator[None]:
    """Bytes of the files move to other places of them meanwhile."""
    stop = threading.Event()

    def write() -> None:
        chance = random.Random(seed)
        opened = [file.open("r+b", buffering=0) for file in files]
        sizes = [file.stat().st_size for file in files]
        while not stop.wait(0.02):
            for file, size in zip(opened, sizes, strict=True):
                count = chance.randrange(1, 20)
                moved = os.pread(file.fileno(), count, chance.randrange(size - count))
                os.pwrite(file.fileno(), moved, chance.randrange(size - len(moved)))
        for file in opened:
            file.close()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join()


@pytest.mark.parametrize(
    ("suffix", "commands"),
    [
        ("txt", ["merge", "sort"]),
        pytest.param("txt", ["sort -m", "union", "merge --count", "join"], marks=pytest.mark.thorough),
        pytest.param("i64", ["merge", "sort", "union --distinct"], marks=pytest.mark.thorough),
    ],
)
def test_commands_survive_changing_files(suffix: str, commands: list[str], tmp_path: Path) -> None:
    """Lines are counted, cut and gathered, and the files are read more than once."""
    seed = random.randrange(2**31)
    numbers = np.random.default_rng(seed)
    files = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    found = [np.sort(numbers.integers(10**6, 10**7, 300_000)) for _ in files]
    for command in commands:
        for file, items in zip(files, found, strict=True):
            lines = "".join(f"{item}\n" for item in items.tolist()).encode()
            file.write_bytes(lines if suffix == "txt" else items.astype("<i8").tobytes())
        out = [] if command == "join" else ["-o", tmp_path / f"out.{suffix}"]
        with _written(files, seed):
            done = subprocess.run(
                [sys.executable, "-m", "gpumerge_cli", *command.split(), "--backend", "cpu", *files, *out]
                if command != "join"
                else [sys.executable, "-m", "gpumerge_cli", command, *files],
                capture_output=True,
                cwd=libraries.ROOT,
            )
        assert done.returncode in (0, 1, 2), f"seed {seed}: {command}: {done.returncode}\n{done.stderr[-2000:]!r}"
        assert b"Traceback" not in done.stderr, f"seed {seed}: {command}\n{done.stderr[-2000:]!r}"


@pytest.mark.thorough
@pytest.mark.parametrize("level", [processor_levels()[0], processor_levels()[-1]])
def test_public_functions_stay_in_their_arrays(level: str) -> None:
    """The address sanitizer watches the library."""
    library = libraries.sanitized("address,undefined", level)
    watching = {"LD_PRELOAD": preload("address,undefined"), "ASAN_OPTIONS": "detect_leaks=0"}
    _survives(60, {**watching, libraries.VARIABLE: str(library)})
