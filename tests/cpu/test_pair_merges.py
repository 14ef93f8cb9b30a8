"""Merges of keys with values equal stable sorts of pairs: vectors of every size, under sanitizers, on any processor."""

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
KINDS = [(bits, kind, descending) for bits, kind, descending in key_kinds() if bits >= 32 and kind != 5]
ONE_WAY = [kind for at, kind in enumerate(KINDS) if at // 2 % 2 == at % 2]
"""Each width and kind in one of its directions."""
LEVELS = {"avx512f": ("x86-64-v4", 64), "avx2": ("x86-64-v3", 32)}
"""By the flag of a processor: a level, and the bytes of its vectors."""
FORMS = [(kind, kind[0] // 4 if kind in ONE_WAY else (16, 32, 64)[at % 3]) for at, kind in enumerate(KINDS)]
"""Bits, KEY_KIND and DESCENDING of keys, and the bytes of a vector: of two keys, or of many."""
FEW = [((32, 2, 1), 8)]


MORE = [pytest.param(*each, marks=pytest.mark.thorough) for each in FORMS if each not in FEW]


@pytest.mark.parametrize(("kind", "size"), [*FEW, *MORE], ids=str)
def test_vectors_merge_pairs(kind: tuple[int, int, int], size: int, tmp_path: Path) -> None:
    # The compiler makes vectors of this size of what the processor has.
    passes([], kind, size, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("flag", LEVELS)
@pytest.mark.parametrize("kind", ONE_WAY, ids=str)
def test_vectors_of_a_level_merge_pairs(kind: tuple[int, int, int], flag: str, tmp_path: Path) -> None:
    if flag not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this processor has no {flag}")
    level, size = LEVELS[flag]
    passes([f"-march={level}"], kind, size, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ONE_WAY[:3], ids=str)
def test_vectors_of_neon_merge_pairs(kind: tuple[int, int, int], tmp_path: Path) -> None:
    emulator = needs.program("qemu-aarch64")
    zig = Path(needs.library("ziglang").__file__).parent / "zig"
    compiler = [str(zig), "c++", "-target", "aarch64-linux-musl", "-static", "-O2"]
    passes([], kind, 16, tmp_path, compiler, [emulator])


def passes(
    flags: Sequence[str],
    kind: Sequence[int],
    size: int,
    folder: Path,
    compiler: Sequence[str] | None = None,
    runner: Sequence[str] = (),
) -> None:
    """The program for a kind of keys merges without a fault, by default under g++'s sanitizers."""
    program, seed = folder / "merges", given_or_random_seed()
    checked = ["-O1", "-pthread", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    macros = [f"-D{name}={value}" for name, value in zip(("KEY_BITS", "KEY_KIND", "DESCENDING"), kind, strict=True)]
    sources = [str(HERE / "pair_merges.cpp"), *(str(CPU / name) for name in ("keys.cpp", "team.cpp"))]
    command = [*(compiler or [needs.program("g++"), *checked]), "-std=c++17", "-w", *flags, *macros]
    subprocess.run([*command, f"-DPAIR_VECTOR_BYTES={size}", f"-I{CPU}", *sources, "-o", str(program)], check=True)
    found = subprocess.run([*runner, program, str(seed)], capture_output=True, text=True)
    assert found.returncode == 0, (kind, size, seed, found.stdout, found.stderr[-2000:])
    assert int(found.stdout) > 1000
