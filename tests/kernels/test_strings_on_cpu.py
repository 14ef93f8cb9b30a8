"""strings.cu, run on the CPU under sanitizers, blocks at the same time: words of texts, and comparisons with pivots."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pytest
from kernel_shim import Case, Program, Variant

from gpumerge_cli.order.kinds import KeyOrder
from tests.columns import drawn_texts, shared_bytes

THREADS = 64


@dataclass(frozen=True)
class StringKernels(Variant):
    """strings.cu, in blocks of two warps."""

    def source(self) -> tuple[str, str]:
        changes = {"constexpr int STRINGS_THREADS = 256;": f"constexpr int STRINGS_THREADS = {THREADS};"}
        return self.of_file("strings", changes)


VARIANT = StringKernels(KeyOrder("int", 4))


def code(text: bytes, pivot: bytes, at: int, most: int) -> int:
    """See strings.cu."""
    shared = shared_bytes(text[at:], pivot[at:])
    return most if text == pivot else shared if text < pivot else 2 * most - shared


def cases(rng: np.random.Generator, counts: tuple[int, ...]) -> list[Case]:
    """Texts and pivots that share some bytes, ahead of which a search begins, or all of them."""
    found = []
    for count in counts:
        ahead = [bytes(rng.integers(0, 4, int(rng.choice([0, 3, 8, 150])), np.uint8)) for _ in range(1 + count // 4)]
        groups = np.sort(rng.integers(0, len(ahead), count))
        texts = [ahead[group] + text for group, text in zip(groups, drawn_texts(rng, count), strict=True)]
        for one in range(1, count):  # equal neighbours, and beginnings of others
            if groups[one] == groups[one - 1] and rng.random() < 0.4:
                texts[one] = texts[one - 1] + b"\0" * int(rng.integers(0, 3))
        first = np.searchsorted(groups, groups)
        order, at = rng.permutation(count), np.array([len(ahead[group]) for group in groups])
        pivots = np.array([int(rng.integers(first[one], one + 1)) for one in range(count)])
        placed = [b""] * count
        for text, to in zip(texts, order, strict=True):
            placed[to] = text
        edges = [*accumulate(map(len, placed), initial=0)]
        told = np.concatenate([edges, order, order[pivots], at]).astype(np.int64).tobytes()
        rests = [text[begin:] for text, begin in zip(texts, at, strict=True)]
        words = np.array([int.from_bytes(rest[:8].ljust(8, b"\0"), "big") for rest in rests], np.uint64).tobytes()
        left, most = bytes(min(len(rest), 9) for rest in rests), max(map(len, texts)) + 1
        codes = [code(text, texts[pivot], begin, most) for text, pivot, begin in zip(texts, pivots, at, strict=True)]
        for expected, tile in ((words + left, 0), (np.array(codes, np.int64).tobytes(), most)):
            found.append(
                Case(
                    0, "sort", b"".join(placed), told, expected, count, count, tile=tile,
                    block=int(rng.integers(1, 4)), blocks=int(rng.integers(1, 5)),
                    skews=(int(rng.integers(0, 8)), 0, 0),
                )
            )  # fmt: skip
    return found


@pytest.mark.parametrize("sanitizer", ["address", pytest.param("thread", marks=pytest.mark.thorough)])
def test_words_and_comparisons(
    sanitizer: str, tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    program = Program([VARIANT], sanitizer, tmp_path_factory.mktemp("strings"))
    status, output = program.run(cases(rng, (1, 2, 31, 33, 64, 65, 300)))
    assert status == 0, output
