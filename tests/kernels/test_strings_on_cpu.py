"""strings.cu, run on the CPU under sanitizers, blocks at the same time: words of texts, and bytes that they share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import pytest
from kernel_shim import Case, Program, Variant

from gpumerge_cli.order.kinds import KeyOrder
from tests.columns import drawn_texts, shared_bytes

THREADS = 64
_ALL = (1 << 64) - 1


@dataclass(frozen=True)
class StringKernels(Variant):
    """strings.cu, in blocks of two warps."""

    def source(self) -> tuple[str, str]:
        changes = {"constexpr int STRINGS_THREADS = 256;": f"constexpr int STRINGS_THREADS = {THREADS};"}
        return self.of_file("strings", changes)


VARIANT = StringKernels(KeyOrder("int", 4))


def shared(x: bytes, y: bytes, at: int) -> int:
    """The bytes that two texts share from `at` on; _ALL for equal texts."""
    return _ALL if x == y else shared_bytes(x[at:], y[at:])


def cases(rng: np.random.Generator, counts: tuple[int, ...]) -> list[Case]:
    """Groups of texts that share the bytes ahead of where the search begins, or have ended ahead of it."""
    found = []
    for count in counts:
        groups = np.sort(rng.integers(0, max(count // 4, 1), count))
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
        kinds = int(groups[-1]) + 1
        ahead = [bytes(rng.integers(0, 4, int(rng.choice([0, 3, 8, 150])), np.uint8)) for _ in range(kinds)]
        texts = [ahead[group] + text for group, text in zip(groups, drawn_texts(rng, count), strict=True)]
        at = np.array([len(ahead[group]) + 8 * int(group % 3 == 2) for group in groups])
        for group in range(kinds):  # a group that looks behind eight bytes shares these
            if group % 3 == 2:
                members = np.flatnonzero(groups == group)
                for one in members:
                    texts[one] = ahead[group] + (b"12345678" + texts[one] if len(members) > 2 else b"1234567")
        for one in range(1, count):  # equal neighbours, and groups of equals
            if groups[one] == groups[one - 1] and (groups[one] % 4 == 1 or rng.random() < 0.3):
                texts[one] = texts[one - 1]
        order = rng.permutation(count)
        placed = [b""] * count
        for text, to in zip(texts, order, strict=True):
            placed[to] = text
        edges = [*accumulate(map(len, placed), initial=0)]
        told = np.concatenate([edges, order, groups, at]).astype(np.int64).tobytes()
        rests = [text[begin:] for text, begin in zip(texts, at, strict=True)]
        words = np.array([int.from_bytes(rest[:8].ljust(8, b"\0"), "big") for rest in rests], np.uint64).tobytes()
        left = bytes(min(len(rest), 9) for rest in rests)
        least = [_ALL] * kinds
        for i in range(1, count):
            if groups[i] == groups[i - 1]:
                least[groups[i]] = min(least[groups[i]], shared(texts[i - 1], texts[i], int(at[i])))
        for expected, tile in ((words + left, 0), (np.array(least, np.uint64).tobytes(), kinds)):
            found.append(
                Case(
                    0, "sort", b"".join(placed), told, expected, count, count, tile=tile,
                    block=int(rng.integers(1, 4)), blocks=int(rng.integers(1, 5)),
                    skews=(int(rng.integers(0, 8)), 0, 0),
                )
            )  # fmt: skip
    return found


@pytest.mark.parametrize("sanitizer", ["address", pytest.param("thread", marks=pytest.mark.thorough)])
def test_words_and_shared_bytes(
    sanitizer: str, tmp_path_factory: pytest.TempPathFactory, rng: np.random.Generator
) -> None:
    program = Program([VARIANT], sanitizer, tmp_path_factory.mktemp("strings"))
    status, output = program.run(cases(rng, (1, 2, 31, 33, 64, 65, 300)))
    assert status == 0, output
