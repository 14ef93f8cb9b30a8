"""Prefixes of lines that hold only what differs: which bits they keep. What is compiled of it is in packed.py.

Digits differ in 4 bits of 8, a column of dates in fewer. Of a line's first words - of a plain one WORDS behind the
lines' common start, else the two of its image - the first 64 bits that differ at all reach further than the first word,
and order as the words do.

A packing is PACKING_WORDS words: how many of a line's words it takes; for each word the bits that stay, and how many
those are; for each word the bits that move right by 1, 2, 4 ... places.

Source: Warren, Hacker's Delight (2nd edition), 7-4, "Compress, or Generalized Extract".
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

WORDS, STEPS = 3, 6
LONGER, ZEROS = 1, 2
"""What differing_words finds of lines besides: bytes behind the words; zeros, which look as if the line had ended."""
KEPT, WIDTHS, MOVES = 1, 1 + WORDS, 1 + 2 * WORDS
PACKING_WORDS = MOVES + WORDS * STEPS
_MOST_BITS = {"lines": 48, "images": 56}
_EVERY = (1 << 64) - 1


def is_worth_it(of: Literal["lines", "images"], masks: NDArray[np.uint64]) -> bool:
    """Whether prefixes that keep only the bits of `masks`, one for each word, reach far enough beyond the first.

    of: what the words are of. To look at lines again costs more than to look at images.
    """
    return int(masks[0]).bit_count() <= _MOST_BITS[of]


def packing_of(masks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The packing that keeps the bits of `masks`."""
    kept = masks.tolist()
    widths = [mask.bit_count() for mask in kept]
    words = next((word for word in range(1, WORDS) if sum(widths[:word]) >= 64), WORDS)
    return np.array([words, *kept, *widths, *(move for mask in kept for move in _moves(mask))], np.uint64)


def tells_all(found: int, packing: NDArray[np.uint64]) -> bool:
    """Whether lines with equal prefixes are equal. found: what differing_words found of them."""
    return found == 0 and int(packing[WIDTHS:MOVES].sum()) <= 64


def _moves(mask: int) -> list[int]:
    """Which of a word's bits move right by 1, by 2, by 4 ... places, one after the other, to close the gaps."""
    moves = []
    gaps = ~mask << 1 & _EVERY
    for step in range(STEPS):
        odd = gaps  # becomes the bits with an odd number of gaps on their right
        for shift in range(STEPS):
            odd ^= odd << (1 << shift) & _EVERY
        move = odd & mask
        moves.append(move)
        mask = mask ^ move | move >> (1 << step)
        gaps &= ~odd
    return moves
