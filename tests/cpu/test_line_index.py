"""The index of lines equals a plain loop's, by the vectors of each level, under sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gpumerge_cli.native.library import LEVELS, processor_levels
from tests import needs

HERE = Path(__file__).parent
CPU = HERE.parents[1] / "kernels" / "cpu"
CHECKED = ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.parametrize(
    "level", [*(pytest.param(each, marks=pytest.mark.thorough) for each in LEVELS[:-1]), LEVELS[-1]]
)
def test_the_index_equals_a_plain_loop(level: str, tmp_path: Path, seed: int) -> None:
    if level not in processor_levels():
        pytest.skip(f"needs a processor with the instructions of {level}")
    march = [f"-march={level}"] if level.startswith("x86-64") else []
    passes([needs.program("g++"), *march, *CHECKED], [], tmp_path, seed)


@pytest.mark.thorough
def test_the_index_without_vectors_of_its_own(tmp_path: Path, seed: int) -> None:
    emulator = needs.program("qemu-aarch64")
    zig = Path(needs.library("ziglang").__file__).parent / "zig"
    passes([str(zig), "c++", "-target", "aarch64-linux-musl", "-static", "-O2"], [emulator], tmp_path, seed)


def passes(compiler: list[str], runner: list[str], folder: Path, seed: int) -> None:
    """The program finds nothing wrong."""
    program = folder / "index"
    source = [f"-I{CPU}", str(HERE / "indexed_lines.cpp"), "-o", str(program)]
    subprocess.run([*compiler, "-std=c++17", "-w", *source], check=True)
    found = subprocess.run([*runner, program, str(seed)], capture_output=True, text=True)
    assert found.returncode == 0, (seed, found.stdout, found.stderr[-2000:])
    assert int(found.stdout) > 1000
