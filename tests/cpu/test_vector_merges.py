"""Merges of keys by vectors equal merges by items: vectors of every size, under sanitizers, on any processor."""

from __future__ import annotations

import subprocess
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
    bits, kind, descending, size = form
    macros = (f"-DKEY_BITS={bits}", f"-DKEY_KIND={kind}", f"-DDESCENDING={descending}", f"-DVECTOR_BYTES={size}")
    # The compiler makes vectors of this size of what the processor has.
    command = [needs.program("g++"), "-std=c++17", "-O1", "-w", "-pthread", "-fsanitize=address,undefined", *macros]
    command += [
        "-fno-sanitize-recover=all",
        f"-I{CPU}",
        str(HERE / "vector_merges.cpp"),
        "-o",
        str(tmp_path / "merges"),
    ]
    subprocess.run(command, check=True)
    seed = given_or_random_seed()
    found = subprocess.run([tmp_path / "merges", str(seed)], capture_output=True, text=True)
    assert found.returncode == 0, (form, seed, found.stdout, found.stderr[-2000:])
    assert int(found.stdout) > 1000
