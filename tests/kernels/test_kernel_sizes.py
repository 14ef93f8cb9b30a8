"""The sizes that the host reads in sizes.cuh are those that a compiler finds there."""

from __future__ import annotations

import random
import re
import subprocess
from inspect import signature
from pathlib import Path

import pytest

from gpumerge_cli.backends.gpu.source import kernel_directory
from gpumerge_cli.backends.kernel_sizes import kernel_size, sizes
from gpumerge_cli.backends.limits import MAX_BLOCK, VECTOR
from gpumerge_cli.backends.variants.rung4_path import CHAINS
from tests import needs


def test_they_are_a_compilers(tmp_path: Path, seed: int) -> None:
    compiler = needs.program("g++")
    chance, checks = random.Random(seed), []
    for name, found in sizes().items():
        for _ in range(5):
            given = [chance.randint(1, 4000) for _ in signature(found).parameters] if callable(found) else []
            call = f"{name}({', '.join(map(str, given))})" if given else name
            checks.append(f"static_assert({call} == {kernel_size(name, *given)});")
    source = tmp_path / "sizes.cpp"
    source.write_text(
        "\n".join(["#define __device__", f'#include "{kernel_directory() / "gpu" / "sizes.cuh"}"', *checks])
    )
    subprocess.run([compiler, "-std=c++17", "-fsyntax-only", str(source)], check=True)


def test_every_line_is_of_a_known_form() -> None:
    text = (kernel_directory() / "gpu" / "sizes.cuh").read_text("utf-8")
    assert text.count("constexpr") == len(sizes()) > 10


def test_other_names_are_refused() -> None:
    with pytest.raises(KeyError, match="NOTHING"):
        kernel_size("NOTHING")


def test_one_vector_is_known_ahead() -> None:
    assert kernel_size("VECTOR") == VECTOR


@pytest.mark.parametrize(
    ("header", "name", "value"), [("corank.cuh", "MAX_BLOCK_SIZE", MAX_BLOCK), ("cpu/keys_path.hpp", "CHAINS", CHAINS)]
)
def test_sizes_of_the_cpu_are_its_kernels(header: str, name: str, value: int) -> None:
    text = (kernel_directory() / header).read_text("utf-8")
    assert re.findall(rf"constexpr int {name} = (\d+);", text) == [str(value)]
