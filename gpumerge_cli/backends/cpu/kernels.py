"""The ladder of merge kernels on the CPU: basic, tiled, circular, path. Twins of kernels/merge_*.cu.

Each merges the output ranks first to last of A and B into out[first:last]; a host thread runs one such long piece, and
the threads of a block are run one after the other. All have one signature:
(a, b, out, first, last, context, block_size, items_per_thread, tile_size, exact, scratch); `scratch` holds two tiles.

Sources: Kirk and Hwu, Programming Massively Parallel Processors, chapter on merge (basic, tiled, circular buffer);
Green, McColl and Bader, GPU Merge Path (2012).
"""

from __future__ import annotations

from typing import Any

from gpumerge_cli.backends.cpu.keys import before, key_of
from gpumerge_cli.jit import jit

# Below this many certain steps, setting up an unchecked loop costs more than checking every step.
_UNCHECKED = 16


@jit
def co_rank(rank: int, a: Any, m: int, b: Any, n: int, context: Any) -> int:
    """How many of the first `rank` outputs of the merge of a[:m] and b[:n] come from a. 0 <= rank <= m + n."""
    low = max(0, rank - n)
    high = min(rank, m)
    while low < high:
        i = (low + high) // 2
        x = a[i]
        y = b[rank - i - 1]
        if before(y, key_of(y, context), x, key_of(x, context), context):
            high = i
        else:
            low = i + 1
    return low


@jit
def merge_sequential(a: Any, i: int, i_stop: int, b: Any, j: int, j_stop: int, out: Any, k: int, context: Any) -> None:
    """Merge a[i:i_stop] and b[j:j_stop] to out[k:], one output a step."""
    while i < i_stop and j < j_stop:
        certain = min(i_stop - i, j_stop - j)
        if certain < _UNCHECKED:
            certain = 1
        for _ in range(certain):
            x = a[i]
            y = b[j]
            take_b = before(y, key_of(y, context), x, key_of(x, context), context)
            out[k] = y if take_b else x
            j += take_b
            i += not take_b
            k += 1
    while i < i_stop:
        out[k] = a[i]
        i += 1
        k += 1
    while j < j_stop:
        out[k] = b[j]
        j += 1
        k += 1


@jit
def merge_basic(
    a: Any, b: Any, out: Any, first: int, last: int, context: Any,
    block: int, items: int, tile: int, exact: bool, scratch: Any,
) -> None:  # fmt: skip
    """A thread co-ranks both ends of its section of `items` outputs and merges it in place."""
    m, n = len(a), len(b)
    items = items if items > 0 else last - first
    for k in range(first, last, max(items, 1)):
        k_stop = min(k + items, last)
        i = co_rank(k, a, m, b, n, context)
        i_stop = co_rank(k_stop, a, m, b, n, context)
        merge_sequential(a, i, i_stop, b, k - i, k_stop - i_stop, out, k, context)


@jit
def _merge_block(
    tile_a: Any, m: int, tile_b: Any, n: int, out: Any, k: int, count: int, block: int, context: Any
) -> int:
    """The first `count` outputs of the merge of two staged slices to out[k:], shared out among `block` threads.

    Returns how many of them came from the first slice.
    """
    items = (count + block - 1) // block
    i = 0
    for start in range(0, count, items):
        stop = min(start + items, count)
        i_stop = co_rank(stop, tile_a, m, tile_b, n, context)
        merge_sequential(tile_a, i, i_stop, tile_b, start - i, stop - i_stop, out, k + start, context)
        i = i_stop
    return i


@jit
def merge_tiled(
    a: Any, b: Any, out: Any, first: int, last: int, context: Any,
    block: int, items: int, tile: int, exact: bool, scratch: Any,
) -> None:  # fmt: skip
    """Stage slices of A and B and merge `tile` outputs from them, round by round.

    Full: up to `tile` items of each input, of which a round consumes `tile` in all. Exact: the slices that the
    co-ranks of the round's two ends name, all of which it consumes.
    """
    i = co_rank(first, a, len(a), b, len(b), context)
    i_end = co_rank(last, a, len(a), b, len(b), context)
    j = first - i
    j_end = last - i_end
    tile_a = scratch[:tile]
    tile_b = scratch[tile : 2 * tile]
    k = first
    while k < last:
        count = min(tile, last - k)
        if exact:
            m = co_rank(count, a[i:i_end], i_end - i, b[j:j_end], j_end - j, context)
            n = count - m
        else:
            m = min(tile, i_end - i)
            n = min(tile, j_end - j)
        tile_a[:m] = a[i : i + m]
        tile_b[:n] = b[j : j + n]
        used = _merge_block(tile_a, m, tile_b, n, out, k, count, block, context)
        i += used
        j += count - used
        k += count


@jit
def _refill(ring: Any, head: int, held: int, source: Any, loaded: int, source_stop: int) -> int:
    """Top the ring up from source[loaded:source_stop]; returns how many items it holds then."""
    tile = len(ring)
    added = min(tile - held, source_stop - loaded)
    for offset in range(added):
        at = head + held + offset
        ring[at - tile if at >= tile else at] = source[loaded + offset]
    return held + added


@jit
def _ring_co_rank(rank: int, a: Any, a_head: int, m: int, b: Any, b_head: int, n: int, context: Any) -> int:
    """co_rank on two rings of equal size whose first items are at the heads."""
    tile = len(a)
    low = max(0, rank - n)
    high = min(rank, m)
    while low < high:
        i = (low + high) // 2
        p = a_head + i
        q = b_head + rank - i - 1
        x = a[p - tile if p >= tile else p]
        y = b[q - tile if q >= tile else q]
        if before(y, key_of(y, context), x, key_of(x, context), context):
            high = i
        else:
            low = i + 1
    return low


@jit
def _merge_rings(
    a: Any, a_head: int, i: int, i_stop: int, b: Any, b_head: int, j: int, j_stop: int, out: Any, k: int, context: Any
) -> None:
    """merge_sequential on two rings; i and j count from the heads."""
    tile = len(a)
    while i < i_stop or j < j_stop:
        p = a_head + i
        q = b_head + j
        x = a[p - tile if p >= tile else p]
        y = b[q - tile if q >= tile else q]
        take_b = i == i_stop or (j < j_stop and before(y, key_of(y, context), x, key_of(x, context), context))
        out[k] = y if take_b else x
        j += take_b
        i += not take_b
        k += 1


@jit
def merge_circular(
    a: Any, b: Any, out: Any, first: int, last: int, context: Any,
    block: int, items: int, tile: int, exact: bool, scratch: Any,
) -> None:  # fmt: skip
    """As merge_tiled with full loads, but what a round leaves stays in a ring, and only what it took is refilled."""
    i = co_rank(first, a, len(a), b, len(b), context)
    i_end = co_rank(last, a, len(a), b, len(b), context)
    j = first - i
    j_end = last - i_end
    ring_a = scratch[:tile]
    ring_b = scratch[tile : 2 * tile]
    a_head = b_head = held_a = held_b = 0
    k = first
    while k < last:
        # Refills start at the loaded position: unread items ahead of it are in the ring already.
        held_a = _refill(ring_a, a_head, held_a, a, i + held_a, i_end)
        held_b = _refill(ring_b, b_head, held_b, b, j + held_b, j_end)
        count = min(tile, last - k)
        share = (count + block - 1) // block
        used = 0
        for start in range(0, count, share):
            stop = min(start + share, count)
            used_stop = _ring_co_rank(stop, ring_a, a_head, held_a, ring_b, b_head, held_b, context)
            _merge_rings(
                ring_a, a_head, used, used_stop, ring_b, b_head, start - used, stop - used_stop, out, k + start, context
            )
            used = used_stop
        i += used
        j += count - used
        a_head = (a_head + used) % tile
        b_head = (b_head + count - used) % tile
        held_a -= used
        held_b -= count - used
        k += count


@jit
def _merge_four(a: Any, b: Any, out: Any, first: int, last: int, i0: int, i4: int, context: Any) -> None:
    """Four equal sections of the merge path in one loop: four independent chains hide each other's latency.

    i0 and i4 are the co-ranks of the output ranks first and last.
    """
    m, n = i4, last - i4
    quarter = (last - first) // 4
    k0, k1, k2, k3 = first, first + quarter, first + 2 * quarter, first + 3 * quarter
    i1 = co_rank(k1, a, m, b, n, context)
    i2 = co_rank(k2, a, m, b, n, context)
    i3 = co_rank(k3, a, m, b, n, context)
    j0, j1, j2, j3 = k0 - i0, k1 - i1, k2 - i2, k3 - i3
    e0, e1, e2, e3 = i1, i2, i3, i4
    f0, f1, f2, f3 = j1, j2, j3, last - i4
    done = 0
    while True:
        certain = min(
            min(min(e0 - i0, f0 - j0), min(e1 - i1, f1 - j1)), min(min(e2 - i2, f2 - j2), min(e3 - i3, f3 - j3))
        )
        if certain < _UNCHECKED:
            break
        for _ in range(certain):
            x, y = a[i0], b[j0]
            take_b = before(y, key_of(y, context), x, key_of(x, context), context)
            out[k0 + done] = y if take_b else x
            j0 += take_b
            i0 += not take_b
            x, y = a[i1], b[j1]
            take_b = before(y, key_of(y, context), x, key_of(x, context), context)
            out[k1 + done] = y if take_b else x
            j1 += take_b
            i1 += not take_b
            x, y = a[i2], b[j2]
            take_b = before(y, key_of(y, context), x, key_of(x, context), context)
            out[k2 + done] = y if take_b else x
            j2 += take_b
            i2 += not take_b
            x, y = a[i3], b[j3]
            take_b = before(y, key_of(y, context), x, key_of(x, context), context)
            out[k3 + done] = y if take_b else x
            j3 += take_b
            i3 += not take_b
            done += 1
    merge_sequential(a, i0, e0, b, j0, f0, out, k0 + done, context)
    merge_sequential(a, i1, e1, b, j1, f1, out, k1 + done, context)
    merge_sequential(a, i2, e2, b, j2, f2, out, k2 + done, context)
    merge_sequential(a, i3, e3, b, j3, f3, out, k3 + done, context)


@jit
def merge_path(
    a: Any, b: Any, out: Any, first: int, last: int, context: Any,
    block: int, items: int, tile: int, exact: bool, scratch: Any,
) -> None:  # fmt: skip
    """Cut the merge path into tiles and run four chains over each."""
    i = co_rank(first, a, len(a), b, len(b), context)
    for k in range(first, last, tile):
        k_stop = min(k + tile, last)
        i_stop = co_rank(k_stop, a, len(a), b, len(b), context)
        _merge_four(a, b, out, k, k_stop, i, i_stop, context)
        i = i_stop


def level_of(kernel: Any) -> Any:
    """What merges pairs of neighbouring runs of `width` items, by a kernel of the ladder: outputs first to last."""

    @jit
    def merge_level(
        items: Any, out: Any, width: int, first: int, last: int, context: Any,
        block: int, share: int, tile: int, exact: bool, scratch: Any,
    ) -> None:  # fmt: skip
        count = len(items)
        for start in range(first - first % (2 * width), last, 2 * width):
            middle = min(start + width, count)
            stop = min(middle + width, count)
            low = max(first, start) - start
            high = min(last, stop) - start
            kernel(
                items[start:middle], items[middle:stop], out[start:stop], low, high, context,
                block, share, tile, exact, scratch,
            )  # fmt: skip

    return merge_level


@jit
def drop_equals(items: Any, ahead: bool, context: Any) -> int:
    """Move the first of equal neighbours to the front of the sorted `items`, in place; returns how many there are.

    ahead: items equal to the first one went out before, so that none of them stays.
    """
    if len(items) == 0:
        return 0
    last = items[0]
    kept = 0 if ahead else 1
    for i in range(1, len(items)):
        x = items[i]
        differs = before(last, key_of(last, context), x, key_of(x, context), context)
        # Before its turn a place is written to without need, and never ahead of what is still to be read.
        items[kept] = x
        kept += differs
        last = x
    return kept


@jit
def first_disorder(items: Any, start: int, stop: int, strict: bool, context: Any) -> int:
    """The first index in [start + 1, stop) whose item sorts before the one ahead of it, or -1.

    strict: or that compares equal to it.
    """
    block = 4096
    for low in range(start + 1, stop, block):
        high = min(low + block, stop)
        here = items[low:high]
        ahead = items[low - 1 : high - 1]
        after, first = (ahead, here) if strict else (here, ahead)
        bad = 0
        # No early exit inside a block, so that it compiles to vector compares.
        for i in range(len(here)):
            bad += before(after[i], key_of(after[i], context), first[i], key_of(first[i], context), context) != strict
        if bad:
            for i in range(len(here)):
                if before(after[i], key_of(after[i], context), first[i], key_of(first[i], context), context) != strict:
                    return low + i
    return -1
