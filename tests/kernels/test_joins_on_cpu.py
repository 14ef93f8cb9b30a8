"""join_runs.cu, run on the CPU under the address sanitizer: runs and outputs of any alignment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from kernel_shim import Case, Program, Variant, digest

from gpumerge_cli.backends.gpu.joining import MAX_RUNS
from gpumerge_cli.backends.gpu.source import flatten
from gpumerge_cli.order.kinds import KeyOrder

STRETCH = 160
"""Bytes of a block's stretch here, so that short runs take several blocks."""


@dataclass(frozen=True)
class Joins(Variant):
    """join_runs.cu with blocks of eight threads."""

    def source(self) -> tuple[str, str]:
        text = flatten("join_runs.cu").replace('extern "C"', "")
        for name, usual, here in (
            ("#define BLOCK_SIZE ", "JOINING_THREADS", "8"),
            ("STRETCH = ", "32768", str(STRETCH)),
        ):
            assert name + usual in text
            text = text.replace(name + usual, name + here)
        name = f"joins_{digest([text])}"
        return f'namespace {name} {{\n{text}\n#include "joins.inl"\n}}\n#undef BLOCK_SIZE\n', name


def case(random: np.random.Generator, lengths: list[int]) -> Case:
    """Runs of so many bytes, each an allocation that ends with it."""
    texts = [random.bytes(length) for length in lengths]
    skews = [int(skew) for skew in random.integers(0, 16, len(lengths))]
    table = np.array([*skews, *lengths], np.int64).tobytes()
    both = b"".join(texts)
    return Case(
        0, "sort", table, both, both, len(lengths), len(both), blocks=1 + (15 + len(both)) // STRETCH,
        skews=(0, 0, int(random.integers(0, 16))),
    )  # fmt: skip


def test_runs_of_any_alignment(tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator) -> None:
    program = Program([Joins(KeyOrder("int", 4))], "address", tmp_path_factory.mktemp("joins"))
    cases = [case(rng, [length]) for length in (1, 15, 16, 17, 33, 64, 159, 160, 161, 1000)]
    for most in (3, 40, 300):
        for count in (2, 7, MAX_RUNS):
            cases.append(case(rng, [int(length) for length in rng.integers(1, most + 1, count)]))
    cases += [case(rng, [int(length)]) for length in rng.integers(30, 90, 40)]
    status, output = program.run(cases)
    assert status == 0, output
