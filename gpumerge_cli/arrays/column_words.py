"""The words of columns: integers of 64 bits that order as their items do, also nulls. `xp` is NumPy or CuPy.

See key_parts.py for words of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpumerge_cli.arrays.column_texts import checked_starts, joined_texts
from gpumerge_cli.arrays.device_ranks import device_string_ranks
from gpumerge_cli.arrays.interchange import has_nulls, is_cupy
from gpumerge_cli.arrays.key_parts import KeyPart, words_of
from gpumerge_cli.arrays.plain_items import contiguous
from gpumerge_cli.arrays.string_ranks import string_ranks
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.arrays.column_array import ColumnArray

_WORD = 8
_SPARE = np.uint64(8)
"""The bits of a word that say whether an item is a null, where its image leaves them."""
_VALUE, _NULL_LAST = np.uint64(1 << 56), np.uint64(2 << 56)
_MOST_RANK = np.uint64((1 << 56) - 1)


def column_words(
    xp: Any, backend: Any, columns: Sequence[ColumnArray], descending: bool, threads: int
) -> list[list[Any]]:
    """For each column the words of its items, as key_parts.words_of: ascending, with a place for nulls.

    columns: alike; the same key of each array. threads: of the host, for its memory. Raises UsageError for nulls
    without a place, InputError for offsets out of order. Waits for a GPU.
    """
    places = [each.nulls for each in columns if each.nulls is not None]
    has_some = any(each.valid is not None for each in columns)
    for each in columns if not places else ():
        count = 0 if each.valid is None else int((~each.valid).sum())
        if count:
            error = has_nulls("a column", count)
            raise UsageError(
                error.what, way_out='drop or fill them, or give them a place, ColumnArray.of(column, nulls="last")'
            )
    if columns[0].offsets is not None:
        ranks = _string_ranks(xp, backend, columns, threads)
        found, has_room = [[each ^ _MOST_RANK if descending else each] for each in ranks], True
    else:
        found = [_words_of_values(xp, each.values, descending) for each in columns]
        has_room = columns[0].values.dtype.itemsize < _WORD
        if has_room and has_some:
            found = [[word >> _SPARE] for [word] in found]
    if not has_some:
        return found
    null = np.uint64(0) if places and places[0] == "first" else _NULL_LAST
    return [
        _with_nulls(xp, words, each.valid, null, has_room=has_room) for each, words in zip(columns, found, strict=True)
    ]


def _words_of_values(xp: Any, values: Any, descending: bool) -> list[Any]:
    values = contiguous(values) if is_cupy(values) else values
    return words_of(xp, values, [KeyPart.of(values.dtype, (), descending=descending)])


def _with_nulls(xp: Any, words: list[Any], valid: Any, null: np.uint64, *, has_room: bool) -> list[Any]:
    """Words that place nulls at `null`, among values at _VALUE. has_room: the only word leaves its highest byte."""
    places = xp.full(len(words[0]), _VALUE, np.uint64)
    if valid is not None:
        places = xp.where(valid, places, null)
        words = [xp.where(valid, word, np.uint64(0)) for word in words]
    return [places | words[0]] if has_room else [places, *words]


def _string_ranks(xp: Any, backend: Any, columns: Sequence[ColumnArray], threads: int) -> list[Any]:
    """For each column of texts the ranks of its texts among all of them, uint64."""
    if xp is np:
        parts = []
        for number, each in enumerate(columns):
            starts = checked_starts(np, each, number)
            parts.append((starts, np.ascontiguousarray(each.values)))
        return list(string_ranks(parts, threads))
    ranks = device_string_ranks(xp, backend, joined_texts(xp, columns))
    ends = accumulate(map(len, columns), initial=0)
    return [ranks[low:high] for low, high in pairwise(ends)]
