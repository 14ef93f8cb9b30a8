"""Merges of keys by vectors equal merges by items: vectors of every size, under sanitizers, on any processor."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernels.build_library import key_kinds
from tests import needs
from tests.seeds import given_or_random_seed

HERE = Path(__file__).parent
CPU = HERE.parents[1] / "kernels" / "cpu"
SIZES = (16, 32, 64)
"""The bytes of the vectors that processors have."""
KINDS = key_kinds()
FORMS = [*((*kind, kind[0] // 4) for kind in KINDS), *((*kind, SIZES[at % 3]) for at, kind in enumerate(KINDS))]
"""Bits, KEY_KIND and DESCENDING of keys, and the bytes of a vector: of two keys, or of many."""
FEW = [(32, 1, 0, 8), (16, 2, 1, 32)]


@pytest.mark.parametrize(
    "form", [*FEW, *(pytest.param(each, marks=pytest.mark.thorough) for each in FORMS if each not in FEW)], ids=str
)
def test_vectors_merge_as_items_do(form: tuple[int, int, int, int], tmp_path: Path) -> None:
    # The compiler makes vectors of this size of what the processor has.
    *kind, size = form
    checked = ["-O1", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-DVECTOR_BYTES={size}"]
    passes([needs.program("g++"), *checked], kind, [], tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_vectors_of_neon(kind: tuple[int, int, int], tmp_path: Path) -> None:
    emulator = needs.program("qemu-aarch64")
    zig = Path(needs.library("ziglang").__file__).parent / "zig"
    passes(
        [str(zig), "c++", "-target", "aarch64-linux-musl", "-static", "-O2", "-DVECTOR_BYTES=16"],
        kind,
        [emulator],
        tmp_path,
    )


def passes(compiler: Sequence[str], kind: Sequence[int], runner: Sequence[str], folder: Path) -> None:
    """The program for a kind of keys merges without a fault."""
    program, seed = folder / "merges", given_or_random_seed()
    macros = [f"-D{name}={value}" for name, value in zip(("KEY_BITS", "KEY_KIND", "DESCENDING"), kind, strict=True)]
    source = [f"-I{CPU}", str(HERE / "vector_merges.cpp"), "-o", str(program)]
    subprocess.run([*compiler, "-std=c++17", "-w", *macros, *source], check=True)
    found = subprocess.run([*runner, program, str(seed)], capture_output=True, text=True)
    assert found.returncode == 0, (kind, seed, found.stdout, found.stderr[-2000:])
    assert int(found.stdout) > 1000
