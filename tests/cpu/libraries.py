"""The library that these tests hold: the one that the program runs, or one that sanitizers watch."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from gpumerge_cli.native import library as loader

ROOT = Path(__file__).parents[2]
VARIABLE = "GPUMERGE_TEST_LIBRARY"


def path() -> Path:
    """The library that VARIABLE names, or the installed one."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    folder = Path(loader.__file__).parents[1] / "lib"
    return folder / f"gpumerge-{loader.chosen_level(folder)}.so"


def sanitized(sanitizers: str, level: str, *, says_why: bool = True) -> Path:
    """The whole library of that level, built by g++ with these sanitizers; units that did not change are kept.

    says_why: reports name lines of the sources, for which the compiler takes longer.
    """
    folder = ROOT / "build" / "cpu" / (sanitizers.partition(",")[0] + "-quick" * (not says_why))
    # The address sanitizer finds null pointers, too, and compiles faster than a check of each.
    # Og compiles faster than O1, and the tests take as long.
    flags = f"-Og -fsanitize={sanitizers} -fno-sanitize=null -fno-sanitize-recover=all"
    flags += " -g1" * says_why
    flags += " -Wno-unknown-pragmas -Werror"
    command = [sys.executable, ROOT / "kernels" / "build_library.py", "--levels", level]
    command += ["--out", folder / level, "--objects", folder / "objects"]
    environment = {**os.environ, "CXX": "g++", "CXXFLAGS": flags}
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:  # another process of the tests may want the same library
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return Path(done.stdout.strip())
