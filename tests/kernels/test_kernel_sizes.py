"""The sizes that the host reads in sizes.cuh are those that a compiler finds there."""

from __future__ import annotations

import ast
import random
import subprocess
from pathlib import Path

import pytest

from gpumerge_cli.backends import kernel_sizes
from gpumerge_cli.backends.gpu.source import kernel_directory
from gpumerge_cli.backends.kernel_sizes import formulas, kernel_size
from tests import needs


def test_they_are_a_compilers(tmp_path: Path, seed: int) -> None:
    compiler = needs.program("g++")
    chance, checks = random.Random(seed), []
    for name, found in formulas().items():
        for _ in range(5):
            given = [chance.randint(1, 1000) for _ in found.parameters]
            call = f"{name}({', '.join(map(str, given))})" if given else name
            checks.append(f"static_assert({call} == {kernel_size(name, *given)});")
    source = tmp_path / "sizes.cpp"
    source.write_text(
        "\n".join(["#define __device__", f'#include "{kernel_directory() / "gpu" / "sizes.cuh"}"', *checks])
    )
    subprocess.run([compiler, "-std=c++17", "-fsyntax-only", str(source)], check=True)


def test_every_line_is_of_a_known_form() -> None:
    text = (kernel_directory() / "gpu" / "sizes.cuh").read_text("utf-8")
    assert text.count("constexpr") == len(formulas()) > 10


def test_other_names_are_refused() -> None:
    with pytest.raises(KeyError, match="NOTHING"):
        kernel_size("NOTHING")


@pytest.mark.parametrize("text", ["2 ** 3", "1 if 2 else 3", "'text'", "WARP.real", "(1, 2)", "kernel_size(*[1])"])
def test_other_forms_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = kernel_sizes.Formula((), ast.parse(text, mode="eval").body)
    monkeypatch.setattr(kernel_sizes, "formulas", lambda: formulas() | {"ODD": odd})
    with pytest.raises((ValueError, KeyError)):
        kernel_size("ODD")
