"""Ranks of Arrow's strings on a GPU: integers that order as the strings' bytes do. In host memory: string_ranks.py.

Strings are sorted by a word of 8 bytes at a time (see strings.cu), first all of them, then those that are equal so far,
behind the bytes that their group shares. A group ends if its strings are equal, or if it has a single one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.arrays.key_parts import order_of_words

_WORD = 8
_LONGER = _WORD + 1
"""In place of the bytes that are left in a string, if it goes on behind a word."""
_GROUP = np.uint64(16)
"""The distance of groups' numbers where the bytes that are left are added."""


def device_string_ranks(xp: Any, backend: Any, texts: Any) -> Any:
    """The ranks of texts among each other, uint64; equal texts have equal ranks. Waits.

    xp: CuPy. texts: those of column_texts.py, on the current device.
    """
    count, strings = len(texts[1]) - 1, backend.strings()
    ranks = xp.zeros(count, np.uint64)
    if count < 2:
        return ranks
    # Open texts lie in their order so far: by group, each of which has the rank of its first text.
    rows, at = xp.arange(count), xp.zeros(count, np.int64)
    first, behind = xp.zeros(count, np.int64), xp.zeros(count, np.uint8)
    is_first = True
    while len(rows):
        words, left = strings.words(texts, rows, at)
        order = order_of_words(backend, words)
        groups = first.astype(np.uint64) * _GROUP + behind
        if not is_first:  # all texts are one group at first
            order = order[order_of_words(backend, groups[order])]
        rows, at, first, left = rows[order], at[order], first[order], left[order]
        is_first, is_old = False, _begins(xp, [first])
        is_new = _begins(xp, [groups[order], words[order]])
        starts = xp.flatnonzero(is_new)
        number = xp.cumsum(is_new) - 1
        # A group's place among all texts is that of its old group, and its place in this.
        first = first + starts[number] - xp.flatnonzero(is_old)[xp.cumsum(is_old) - 1]
        ranks[rows] = first.astype(np.uint64)
        # Texts of a group that ended here have the same bytes; those that go on share more, or do not.
        ends = xp.append(starts[1:], len(rows))
        turns = xp.cumsum(_differ(xp, left) & ~is_new)
        differs = turns[ends - 1] > turns[starts]
        is_open = (ends - starts > 1) & (differs | (left[starts] == _LONGER))
        kept = xp.flatnonzero(is_open[number])
        rows, at, first, behind = rows[kept], at[kept] + _WORD, first[kept], left[kept]
        if not len(rows):
            break
        # The texts of a group that are equal from here on need no more sorts, and others none until they differ.
        groups = xp.cumsum(_begins(xp, [first])) - 1
        shared, are_equal = strings.shared_prefixes(texts, rows, groups, at, int(groups[-1]) + 1)
        at = at + shared[groups]
        kept = xp.flatnonzero(~are_equal[groups])
        rows, at, first, behind = rows[kept], at[kept], first[kept], behind[kept]
    return ranks


def _begins(xp: Any, keys: list[Any]) -> Any:
    """Whether each item differs from its predecessor in one of some arrays."""
    begins = _differ(xp, keys[0])
    for key in keys[1:]:
        begins |= _differ(xp, key)
    return begins


def _differ(xp: Any, key: Any) -> Any:
    differs = xp.ones(len(key), bool)
    differs[1:] = key[1:] != key[:-1]
    return differs
