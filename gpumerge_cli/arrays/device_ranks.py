"""Ranks of Arrow's strings on a GPU: integers that order as the strings' bytes do. In host memory: string_ranks.py.

Strings are sorted by a word of 8 bytes, first all of them, then those that are equal so far, their group. In between,
the strings of a group are compared with one of them, any one, and sorted by the bytes that they share with it (see
strings.cu). Those that equal it have their place then, and others go on behind the bytes that they share.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.arrays.key_parts import order_of_words

_WORD = 8
_LONGER = _WORD + 1
"""In place of the bytes that are left in a string, if it goes on behind a word."""
_MIXED = 0x9E3779B97F4A7C15
"""A multiplier that spreads numbers over 64 bits, so that no order of strings has a bad pivot each time."""
_BITS = np.uint64(33)
_MOST = 1 << 64


def device_string_ranks(xp: Any, backend: Any, texts: Any) -> Any:
    """The ranks of texts among each other, uint64; equal texts have equal ranks. Waits.

    xp: CuPy. texts: those of column_texts.py, on the current device.
    """
    count, strings = len(texts[1]) - 1, backend.strings()
    ranks = xp.zeros(count, np.uint64)
    if count < 2:
        return ranks
    most = int((texts[1][1:] - texts[1][:-1]).max()) + 1
    # Open texts lie in their order so far: by group, each of which has the rank of its first text.
    rows, at, first = xp.arange(count), xp.zeros(count, np.int64), xp.zeros(count, np.int64)
    turn = 0
    while len(rows):
        words, left = strings.words(texts, rows, at)
        order = order_of_words(backend, words)
        if turn:  # all texts are one group at first
            order = order[order_of_words(backend, first[order].astype(np.uint64))]
        rows, at, left, old = rows[order], at[order], left[order], first[order]
        groups = _Groups(xp, [old, words[order]])
        first = groups.first(old)
        ranks[rows] = first.astype(np.uint64)
        # Texts of a group that have ended with as many bytes are equal.
        kept = groups.of_several(groups.differ(left) | (left[groups.starts] == _LONGER))
        rows, at, first = rows[kept], at[kept], first[kept]
        if not len(rows):
            break
        groups = _Groups(xp, [first])
        codes = strings.compared(texts, rows, groups.pivots(rows, turn), at, most)
        order = groups.sorted(backend, codes, 2 * most + 1)
        rows, at, codes, old = rows[order], at[order], codes[order], first[order]
        groups = _Groups(xp, [old, codes])
        first = groups.first(old)
        ranks[rows] = first.astype(np.uint64)
        kept = groups.of_several(codes[groups.starts] != most)
        shared = xp.minimum(codes, 2 * most - codes)
        rows, at, first = rows[kept], (at + shared)[kept], first[kept]
        turn += 1
    return ranks


class _Groups:
    """Neighbours in some arrays that are equal in all of them."""

    def __init__(self, xp: Any, keys: list[Any]) -> None:
        self._xp = xp
        begins = _differ(xp, keys[0])
        for key in keys[1:]:
            begins |= _differ(xp, key)
        self._begins = begins
        self.starts = xp.flatnonzero(begins)
        """The index of the first item of each group."""
        self._number = xp.cumsum(begins) - 1
        self._ends = xp.append(self.starts[1:], len(begins))

    def first(self, old: Any) -> Any:
        """For each item the rank of the first one of its group. old: the same of larger groups, which this splits."""
        of_old = _Groups(self._xp, [old])
        return old + self.starts[self._number] - of_old.starts[of_old._number]

    def differ(self, key: Any) -> Any:
        """Whether a group has items that differ in this key."""
        turns = self._xp.cumsum(_differ(self._xp, key) & ~self._begins)
        return turns[self._ends - 1] > turns[self.starts]

    def of_several(self, chosen: Any) -> Any:
        """The indices of all items of chosen groups that have more than one."""
        return self._xp.flatnonzero((chosen & (self._ends - self.starts > 1))[self._number])

    def pivots(self, rows: Any, turn: int) -> Any:
        """For each item one of the rows of its group. turn: chooses others each time."""
        mixed = (self.starts.astype(np.uint64) + np.uint64(turn + 1)) * np.uint64(_MIXED)
        sizes = self._ends - self.starts
        return rows[self.starts + (mixed >> _BITS).astype(np.int64) % sizes][self._number]

    def sorted(self, backend: Any, codes: Any, kinds: int) -> Any:
        """The order of the items by their group and then by their codes, of which there are so many."""
        numbers = self._number.astype(np.uint64)
        if len(self.starts) * kinds < _MOST:
            return order_of_words(backend, numbers * np.uint64(kinds) + codes.astype(np.uint64))
        order = order_of_words(backend, codes.astype(np.uint64))
        return order[order_of_words(backend, numbers[order])]


def _differ(xp: Any, key: Any) -> Any:
    """Whether each item differs from its predecessor; the first one does."""
    differs = xp.ones(len(key), bool)
    differs[1:] = key[1:] != key[:-1]
    return differs
