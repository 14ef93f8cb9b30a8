"""Ranks of Arrow's strings in host memory: integers that order as the strings' bytes do. On a GPU: device_ranks.py.

Strings are sorted by their first 8 bytes as one integer, then those that are equal so far by the next 8, until no two
of them are equal or all have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.arrays.key_parts import order_of_words
from gpumerge_cli.backends.select import host
from gpumerge_cli.engine.resources import cores

StringRanks = NDArray[np.uint64]
Rows = NDArray[np.int64]
_WORD = 8
_LONGER = _WORD + 1
"""In place of the bytes that are left in a string, if it goes on behind a word."""
_GROUP = np.uint64(16)
"""The distance of ranks from each other where the bytes that are left are added."""
_ALL = slice(None)
_OFFSET = np.dtype(np.int64)


HostTexts = tuple[NDArray[np.int64], NDArray[np.uint8]]
"""(offsets, bytes): string i lies in bytes[offsets[i]:offsets[i + 1]], and offsets do not descend."""


def host_texts(array: Any) -> HostTexts:
    """The offsets and the bytes of a LargeBinaryArray of pyarrow. Nulls have any."""
    if not len(array):
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    _, offsets, data = array.buffers()
    edges = np.frombuffer(offsets, _OFFSET, len(array) + 1, _OFFSET.itemsize * array.offset)
    return edges, np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def string_ranks(parts: Sequence[HostTexts], threads: int | None) -> list[StringRanks]:
    """For each part, the ranks of its strings among those of all parts, uint64[rows]; equal strings have equal ranks.

    threads: see gpumerge_cli.sort.
    """
    if not parts:
        return []

    def argsort(numbers: StringRanks) -> Rows:
        rows: Rows = order_of_words(host(), numbers, threads or cores())
        return rows

    texts = _Texts(parts)
    words, left, at = texts.first_words()
    rows = argsort(words)
    ranks = np.empty(texts.rows, np.uint64)
    rows = _ranked(ranks, rows, np.uint64(0), [words[rows]], left)
    while len(rows):  # rows that are equal so far lie together
        at += _WORD
        before = ranks[rows]
        groups = before * _GROUP + left[rows]
        words, left[rows] = texts.words(rows, at)
        order = argsort(words)
        order = order[argsort(groups[order])]
        groups = groups[order]
        older = np.maximum.accumulate(np.where(_begins(before), np.arange(len(rows), dtype=np.uint64), 0))
        rows = _ranked(ranks, rows[order], before - older, [groups, words[order]], left)
    return np.split(ranks, list(accumulate(len(offsets) - 1 for offsets, _ in parts))[:-1])


def _ranked(
    ranks: StringRanks, rows: Rows, first: Any, keys: Sequence[NDArray[np.uint64]], left: NDArray[np.uint64]
) -> Rows:
    """Set the ranks of rows that are sorted by `keys`, and give those rows that are not in their final place.

    first: the rank of the first row, or for each row the difference of its rank and its place among `rows`. left: see
    _Texts.words.
    """
    if not len(rows):
        return rows
    starts = np.flatnonzero(np.logical_or.reduce([_begins(key) for key in keys]))
    sizes = np.diff(starts, append=len(rows))
    ranks[rows] = np.repeat((first if np.ndim(first) == 0 else first[starts]) + starts.astype(np.uint64), sizes)
    here = left[rows]
    most = np.maximum.reduceat(here, starts)
    has_ended = (most < _LONGER) & (most == np.minimum.reduceat(here, starts))
    is_open: NDArray[np.bool_] = np.repeat((sizes > 1) & ~has_ended, sizes)
    return np.compress(is_open, rows)


def _begins(keys: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each key differs from its predecessor."""
    begins = np.ones(len(keys), np.bool_)
    begins[1:] = keys[1:] != keys[:-1]
    return begins


class _Texts:
    """The bytes of all strings one behind the other."""

    def __init__(self, parts: Sequence[HostTexts]) -> None:
        self.rows = sum(len(edges) - 1 for edges, _ in parts)
        starts, lengths, data, size = [], [], [], 0
        for edges, texts in parts:
            first, last = int(edges[0]), int(edges[-1])
            starts.append(edges[:-1] + (size - first))
            lengths.append(np.diff(edges))
            if last > first:
                data.append(texts[first:last])
            size += last - first
        self._starts: Rows = np.concatenate(starts) if starts else np.empty(0, _OFFSET)
        self._lengths: Rows = np.concatenate(lengths) if lengths else np.empty(0, _OFFSET)
        padded = np.concatenate([*data, np.zeros(_WORD, np.uint8)])
        self._words = np.ndarray(size + 1, ">u8", padded.data, strides=(1,))

    def first_words(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], int]:
        """`words` of all rows behind the bytes with which all of them begin, and the number of these bytes."""
        at = 0
        while True:
            words, left = self.words(_ALL, at)
            if not len(words):
                return words, left, at
            differing = int(np.bitwise_or.reduce(words ^ words[0])).bit_length()
            equal = min(_WORD - (differing + 7) // 8, int(left.min()))
            if equal == 0:
                return words, left, at
            at += equal

    def words(self, rows: Rows | slice, at: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(the 8 bytes at `at` in each row as an integer, zeros behind the end; the bytes from there on or _LONGER)."""
        left = np.clip(self._lengths[rows] - at, 0, _LONGER)
        words = self._words[np.where(left > 0, self._starts[rows] + at, 0)].astype(np.uint64)
        bits = (8 * (_WORD - np.minimum(left, _WORD))).astype(np.uint64)
        return np.where(left > 0, (words >> bits) << bits, np.uint64(0)), left.astype(np.uint64)
