"""Sorts in memory by a team of host threads: what runs when; the work itself is in radix.py and kernels.py.

Items are 1-D arrays: of key bits (unsigned), or of kind "rows" the int64 numbers of rows. `context` is that of keys.py.
"""

from __future__ import annotations

import ctypes
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.base import LaunchPolicy, SortPolicy
from gpumerge_cli.backends.cpu.library import LIBRARY
from gpumerge_cli.backends.cpu.merging import Context, merge_pair, merge_tree
from gpumerge_cli.backends.cpu.rows import RECORDS, TAIL
from gpumerge_cli.backends.cpu.team import Team

DIGIT = 11
"""Most bits of a digit: their counts, and a cache line for each bucket, stay in the two innermost caches."""
MOST_DIGITS = 3
OUTER = 3 * 64
"""Words for groups within groups, three for each."""
# A piece and the room that it is sorted with share a core's second cache.
_PIECE_BYTES = 1 << 19
# A larger one is dealt out by all threads.
_MOST_PIECE_BYTES = 1 << 21
# With more buckets, dealing out costs more than the digits that it saves: of 100 M int32, 12 bits were about as fast as
# the 10 that _PIECE_BYTES asks for.
_MOST_BUCKET_BITS = 12
_TASKS_A_THREAD = 8
_SAMPLE = 1024
# Counts of a digit this wide fit the second cache; below so many items, the counts cost more than they save.
_COUNTED = {"u1": 1 << 8, "u2": 1 << 16}
_ALL = (1 << 64) - 1
_WORD = 8


def sort_items(
    kind: str, items: NDArray[Any], out: NDArray[Any], context: Context, policy: SortPolicy, team: Team
) -> None:
    """Sort `items`, keys, into `out`, stably; the two share no memory, and the items stay as they are."""
    if policy.algorithm == "radix":
        _radix_sort(kind, items, out, context, team)
    else:
        _sort_by_merges(kind, items, out, context, policy, team)


def sort_rows(count: int, context: Context, policy: SortPolicy, team: Team) -> NDArray[np.int64]:
    """The numbers of `count` rows in the order of the rows, stably."""
    if policy.algorithm != "radix":
        numbers = np.empty(count, np.int64)
        _sort_by_merges("rows", np.arange(count), numbers, context, policy, team)
        return numbers
    if 2 * _WORD * count > _MOST_PIECE_BYTES:
        pairs = np.empty((count, 2), np.uint64)
        images = np.ctypeslib.as_array(ctypes.cast(context[0], ctypes.POINTER(ctypes.c_uint64)), (count,))
        _sort_wide("rows", images, pairs, context, team)
    else:
        pairs = _make_pairs(count, context, team)
        _sort_pieces("rows", pairs, [0, count], context, team)
    # In place, since memory that was never used before costs more than to move what lies in some that was.
    LIBRARY.function("take_numbers-rows")(pairs.ctypes.data, count)
    return pairs.reshape(-1)[:count].view(np.int64)


def _sort_by_merges(
    kind: str, items: NDArray[Any], out: NDArray[Any], context: Context, policy: SortPolicy, team: Team
) -> None:
    if policy.algorithm == "recursive":
        out[:] = items
        with Team(1) as alone:
            _merge_sort(kind, out, np.empty_like(out), context, policy.launch, alone)
    else:
        _by_levels(kind, items, out, context, policy, team)


def make_images(kind: str, items: NDArray[Any], context: Context, team: Team) -> NDArray[np.uint64]:
    """The key images of an array of keys, in 64 bits."""
    images = np.empty(len(items), np.uint64)
    calls = [(items.ctypes.data, a, b, images.ctypes.data, *context) for a, b in team.pieces(len(items))]
    team.run(LIBRARY.function(f"make_images-{kind}"), calls)
    return images


def _make_pairs(count: int, context: Context, team: Team) -> NDArray[np.uint64]:
    pairs = np.empty((count, 2), np.uint64)
    calls = [(a, b, pairs.ctypes.data, *context) for a, b in team.pieces(count)]
    team.run(LIBRARY.function("make_pairs-rows"), calls)
    return pairs


def _radix_sort(kind: str, items: NDArray[Any], out: NDArray[Any], context: Context, team: Team) -> None:
    if len(items) >= _COUNTED.get(kind, len(items) + 1):
        _sort_by_counts(kind, items, out, context, team)
    elif items.nbytes > _MOST_PIECE_BYTES:
        _sort_wide(kind, items, out, context, team)
    else:
        out[:] = items
        _sort_pieces(kind, out, [0, len(out)], context, team)


def _sort_by_counts(kind: str, items: NDArray[Any], out: NDArray[Any], context: Context, team: Team) -> None:
    """Of keys with few values, how often each occurs says all."""
    values = _COUNTED[kind]
    counts = _count_digits(kind, items, 0, values.bit_length() - 1, context, team)
    edges = np.zeros(values + 1, np.int64)
    np.cumsum(counts.sum(axis=0), out=edges[1:])
    fill = LIBRARY.function(f"fill-{kind}")
    calls = [(out.ctypes.data, a, b, edges.ctypes.data, values, *context) for a, b in team.pieces(len(out))]
    team.run(fill, calls)


def _count_digits(
    kind: str, items: NDArray[Any], shift: int, bits: int, context: Context, team: Team
) -> NDArray[np.int64]:
    """How often each digit occurs: a row for each of the team's pieces of the items."""
    pieces = team.pieces(len(items))
    counts = np.empty((len(pieces), 1 << bits), np.int64)
    calls = [
        (items.ctypes.data, a, b, shift, bits, counts[number].ctypes.data, *context)
        for number, (a, b) in enumerate(pieces)
    ]
    team.run(LIBRARY.function(f"count_digits-{kind}"), calls)
    return counts


def _height(kind: str, items: NDArray[Any], context: Context, team: Team) -> int:
    """The highest bit in which images of the items differ, counted from 1; 0 if they are all the same."""
    differing = LIBRARY.function(f"differing_bits-{kind}")
    some = np.ascontiguousarray(items[:: max(1, len(items) // _SAMPLE)])
    height = (differing(some.ctypes.data, 0, len(some), *context) & _ALL).bit_length()
    if height == (64 if kind == "rows" else 8 * items.itemsize):
        return height
    found = team.run(differing, [(items.ctypes.data, a, b, *context) for a, b in team.pieces(len(items))])
    return max((word & _ALL).bit_length() for word in found)


def _sort_wide(kind: str, items: NDArray[Any], out: NDArray[Any], context: Context, team: Team, depth: int = 0) -> None:
    """Sort more items than a piece should have into `out`: deal them out, then sort pieces.

    Rows are pairs here, which hold their words at `depth`; see radix.sort_piece. The items may be overwritten by those.
    To begin with, rows may be their images alone.
    """
    images = kind == "rows" and items.ndim == 1
    its = ("u8", (0, 0, 0, 0)) if images else (kind, context)
    height = _height(its[0], items, its[1], team)
    if height == 0 and images:
        items = _make_pairs(len(items), context, team)
    if height == 0 and _has_ties(kind, context):
        left = -1
        if depth >= 0:
            calls = [(items.ctypes.data, a, b, depth + 1, *context) for a, b in team.pieces(len(items))]
            left = max(team.run(LIBRARY.function(f"deepen-{kind}"), calls))
        if left >= 0:
            _sort_wide(kind, items, out, context, team, depth + 1 if left else -1)
            return
        np.copyto(out, items)
        _sort_ties(out, context, team)
        return
    if height == 0:
        np.copyto(out, items)
        return
    bits = min(height, _MOST_BUCKET_BITS, (out.nbytes // _PIECE_BYTES).bit_length())
    shift = height - bits
    counts = _count_digits(its[0], items, shift, bits, its[1], team)
    # Bucket by bucket, and in a bucket piece by piece: so the order of the items stays.
    ends = np.cumsum(counts.T).reshape(1 << bits, len(counts))
    edges = [0, *ends[:, -1].tolist()]
    places = np.ascontiguousarray(ends.T - counts)
    deals = [
        (items.ctypes.data, out.ctypes.data, a, b, shift, bits, places[number].ctypes.data, *context)
        for number, (a, b) in enumerate(team.pieces(len(items)))
    ]
    team.run(LIBRARY.function("deal_images-rows" if images else f"deal-{kind}"), deals)
    wide = [bucket for bucket, (a, b) in enumerate(pairwise(edges)) if (b - a) * _bytes_of(out) > _MOST_PIECE_BYTES]
    start = 0
    if shift == 0 and not _has_ties(kind, context):
        return
    for bucket in [*wide, 1 << bits]:
        _sort_pieces(kind, out, edges[start : bucket + 1], context, team, depth)
        start = bucket + 1
    for bucket in wide:
        part = out[edges[bucket] : edges[bucket + 1]]
        _sort_wide(kind, part.copy(), part, context, team, depth)


def _has_ties(kind: str, context: Context) -> bool:
    """Whether items with equal images may differ in order."""
    return kind == "rows" and not (context[3] & RECORDS and context[3] >> TAIL == 0)


def _bytes_of(items: NDArray[Any]) -> int:
    return items.nbytes // len(items)


def _sort_pieces(
    kind: str, items: NDArray[Any], edges: list[int], context: Context, team: Team, depth: int = 0
) -> None:
    """Sort what lies between neighbouring edges, in place, each piece by one thread."""
    if len(edges) < 2 or edges[-1] == edges[0]:
        return
    share = max(1, (edges[-1] - edges[0]) // (_TASKS_A_THREAD * team.size))
    where = np.array(edges, np.int64)
    # The first edge at or behind each multiple of the share.
    marks = np.searchsorted(where, np.arange(edges[0], edges[-1], share)).tolist()
    cuts = sorted({*marks, 0, len(edges) - 1})
    team.run(_sort_some, [(kind, items, where, a, b, depth, context) for a, b in pairwise(cuts)])


def _sort_some(
    kind: str, items: NDArray[Any], edges: NDArray[np.int64], begin: int, end: int, depth: int, context: Context
) -> None:
    most = int(np.max(edges[begin + 1 : end + 1] - edges[begin:end]))
    room = np.empty((most, *items.shape[1:]), items.dtype)
    counts = np.empty((MOST_DIGITS << DIGIT) + OUTER, np.int64)
    sort_pieces = LIBRARY.function(f"sort_pieces-{kind}")
    where = items.ctypes.data, room.ctypes.data, edges.ctypes.data
    sort_pieces(*where, begin, end, int(edges[end]), depth, counts.ctypes.data, *context)


def _sort_ties(pairs: NDArray[np.uint64], context: Context, team: Team) -> None:
    """Sort pairs of equal prefixes, in place."""
    tile = _PIECE_BYTES // 16
    edges = [*range(0, len(pairs), tile), len(pairs)]
    _sort_pieces("rows", pairs, edges, context, team, -1)
    numbers = np.ascontiguousarray(pairs[:, 1]).view(np.int64)
    # The order of rows asks for prefixes first, by number; that of the merge is theirs.
    launch = LaunchPolicy("path", 1, 1 << 14, 1 << 16)
    merged = merge_tree(
        "rows", [numbers[a:b] for a, b in pairwise(edges)], np.empty_like(numbers), [None, None], context, launch, team
    )
    pairs[:, 1] = merged.view(np.uint64)


def _by_levels(
    kind: str, items: NDArray[Any], out: NDArray[Any], context: Context, policy: SortPolicy, team: Team
) -> None:
    """Tiles sorted in cache, then pairs of runs merged level by level between two arrays."""
    count = len(out)
    levels = max(0, -(-count // policy.tile) - 1).bit_length()
    spare = np.empty_like(out)
    source, target = (spare, out) if levels % 2 else (out, spare)
    source[:] = items
    if policy.tile > 1:
        _sort_tiles(kind, source, policy.tile, context, team)
    width = policy.tile
    for _ in range(levels):
        _merge_level(kind, source, target, width, context, policy, team)
        source, target = target, source
        width *= 2


def _sort_tiles(kind: str, items: NDArray[Any], tile: int, context: Context, team: Team) -> None:
    edges = [*range(0, len(items), tile), len(items)]
    if kind != "rows":
        _sort_pieces(kind, items, edges, context, team)
        return
    pairs = _make_pairs(len(items), context, team)  # before any sort, places are numbers
    _sort_pieces(kind, pairs, edges, context, team)
    items[:] = pairs[:, 1]


def _merge_level(
    kind: str, source: NDArray[Any], target: NDArray[Any], width: int, context: Context, policy: SortPolicy, team: Team
) -> None:
    """Merge pairs of neighbouring runs of `width` items; all threads share the level."""
    launch = policy.launch
    merge_level = LIBRARY.function(f"level_{launch.kernel}-{kind}")
    count = len(source)
    pieces = team.pieces(count)
    if policy.algorithm == "iterative":  # a pair is one thread's
        pairs = -(-count // (2 * width))
        share = -(-pairs // team.size) * 2 * width
        pieces = [(a, min(a + share, count)) for a in range(0, count, share)]
    shape = (launch.block_size, launch.items_per_thread, launch.tile_size, launch.tile_load == "exact")
    room = 2 * launch.tile_size if launch.kernel in ("tiled", "circular") else 0
    scratch = np.empty((len(pieces), room), source.dtype)
    calls = [
        (source.ctypes.data, target.ctypes.data, count, width, a, b, *context, *shape, scratch[number].ctypes.data)
        for number, (a, b) in enumerate(pieces)
    ]
    team.run(merge_level, calls)


def _merge_sort(
    kind: str, items: NDArray[Any], spare: NDArray[Any], context: Context, launch: LaunchPolicy, team: Team
) -> None:
    """The textbook's: halves by themselves, then one merge."""
    if len(items) < 2:
        return
    middle = len(items) // 2
    for half in (slice(0, middle), slice(middle, len(items))):
        _merge_sort(kind, items[half], spare[half], context, launch, team)
    spare[:] = items
    merge_pair(kind, spare[:middle], spare[middle:], items, context, launch, team)
