"""A stable radix sort: of keys, and of rows as pairs of a prefix and a number (see items.py). What is compiled of it.

Only bits that differ count. Of these the top ones are sorted by, as many as tell almost all items apart, a digit at a
time from the lowest (LSD); groups that are equal in them are few and small, or are sorted again by the bits that differ
within. Of large inputs, items are first dealt out to buckets by their top bits (MSD; see sorting.py), so that all else
stays in cache.

`counts` is room for MOST_DIGITS tables of 1 << DIGIT counts, and then for OUTER words.

Sources: Knuth, The Art of Computer Programming 3, 5.2.5; Wassenberg and Sanders, Engineering a Multi-core Radix Sort
(2011), whose write-combining buffers gained nothing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.items import deepen, has_ties, image, load, store, tie_before
from gpumerge_cli.backends.cpu.keys import key_of
from gpumerge_cli.backends.cpu.sorting import DIGIT, MOST_DIGITS, OUTER
from gpumerge_cli.jit import jit, put_word, word_at

# Bits sorted by, beyond those that number the items: 1 in 2 ** (_SPARE_BITS + 1) random items meets an equal one.
_SPARE_BITS = 14
_INSERTION = 12
# A group's sort takes at least 11 of a word's 64 bits, or all that differ: so many groups within groups it has, and one
# more that differs in nothing.
_WITHIN_WORD = 8


@jit
def bit_length(word: Any) -> int:
    """The number of the highest bit that is set, counted from 1; 0 for 0."""
    length = 0
    for step in (32, 16, 8, 4, 2, 1):
        if word >> np.uint64(step):
            word >>= np.uint64(step)
            length += step
    return length + (word != np.uint64(0))


@jit
def differing_bits(items: Any, first: int, last: int, base: int, context: Any) -> Any:
    """The bits in which the image of any of items[first:last] differs from that of item `base`."""
    same = image(load(items, np.uint64(base)), context)
    found = np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        found |= image(load(items, i), context) ^ same
    return found


@jit
def count_digits(items: Any, first: int, last: int, shift: int, bits: int, counts: Any, context: Any) -> None:
    """counts[d] becomes the number of items[first:last] whose image has the `bits` bits d from bit `shift` on."""
    by, mask = np.uint64(shift), (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for digit in range(np.uint64(1) << np.uint64(bits)):
        counts[digit] = 0
    for i in range(np.uint64(first), np.uint64(last)):
        counts[image(load(items, i), context) >> by & mask] += np.uint64(1)


@jit
def deal(items: Any, out: Any, first: int, last: int, shift: int, bits: int, places: Any, context: Any) -> None:
    """Put items[first:last], in this order, to the places in `out` of their digits; places[d] moves on."""
    by, mask = np.uint64(shift), (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(np.uint64(first), np.uint64(last)):
        item = load(items, i)
        digit = image(item, context) >> by & mask
        place = places[digit]
        places[digit] = place + np.uint64(1)
        store(out, place, item)


@jit
def deal_images(images: Any, out: Any, first: int, last: int, shift: int, bits: int, places: Any) -> None:
    """deal of pairs that are made on the way: row i's image, and i."""
    by, mask = np.uint64(shift), (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    for i in range(np.uint64(first), np.uint64(last)):
        word = images[i]
        digit = word >> by & mask
        place = places[digit]
        places[digit] = place + np.uint64(1)
        out[place, np.uint64(0)] = word
        out[place, np.uint64(1)] = i


@jit
def _before(y: Any, x: Any, context: Any) -> bool:
    y_key = image(y, context)
    x_key = image(x, context)
    return y_key < x_key or (y_key == x_key and tie_before(y, x, context))


@jit
def insertion_sort(items: Any, first: int, last: int, context: Any) -> None:
    """Sort items[first:last] in place, stably."""
    for i in range(first + 1, last):
        item = load(items, np.uint64(i))
        k = i
        while k > first:
            ahead = load(items, np.uint64(k - 1))
            if not _before(item, ahead, context):
                break
            store(items, np.uint64(k), ahead)
            k -= 1
        store(items, np.uint64(k), item)


@jit
def _copy(items: Any, out: Any, first: int, last: int) -> None:
    for i in range(np.uint64(first), np.uint64(last)):
        store(out, i, load(items, i))


@jit
def sort_ties(items: Any, other: Any, first: int, last: int, context: Any) -> None:
    """Sort items[first:last] in place by a stable merge sort; other[first:last] is overwritten."""
    run = 8
    for start in range(first, last, run):
        insertion_sort(items, start, min(start + run, last), context)
    while run < last - first:
        for start in range(first, last - run, 2 * run):
            middle = start + run
            stop = min(middle + run, last)
            x = load(items, np.uint64(middle - 1))
            y = load(items, np.uint64(middle))
            if not _before(y, x, context):
                continue
            # A moves away, then both come back in order; what is left of B is in its place already.
            _copy(items, other, start, middle)
            i, j, k = start, middle, start
            x = load(other, np.uint64(i))
            while True:
                if _before(y, x, context):
                    store(items, np.uint64(k), y)
                    k += 1
                    j += 1
                    if j == stop:
                        break
                    y = load(items, np.uint64(j))
                else:
                    store(items, np.uint64(k), x)
                    k += 1
                    i += 1
                    if i == middle:
                        break
                    x = load(other, np.uint64(i))
            while i < middle:
                store(items, np.uint64(k), load(other, np.uint64(i)))
                i += 1
                k += 1
        run *= 2


@jit
def _places_of(counts: Any, bits: int, first: int) -> None:
    """Counts of digits become the places where their items begin."""
    place = np.uint64(first)
    for digit in range(np.uint64(1) << np.uint64(bits)):
        count = counts[digit]
        counts[digit] = place
        place += count


@jit
def _count_all(
    items: Any, first: int, last: int, shift: int, bits: int, top: int, passes: int, counts: Any, context: Any
) -> None:
    """The counts of all digits in one go, in tables of 1 << DIGIT; the last digit has `top` bits."""
    one = np.uint64(1)
    table = one << np.uint64(DIGIT)
    for digit in range(one << np.uint64(bits)):
        for number in range(np.uint64(passes)):
            counts[digit + number * table] = 0
    mask = (one << np.uint64(bits)) - one
    top_mask = (one << np.uint64(top)) - one
    low, step = np.uint64(shift), np.uint64(bits)
    if passes == 1:
        for i in range(np.uint64(first), np.uint64(last)):
            counts[image(load(items, i), context) >> low & top_mask] += one
    elif passes == 2:
        for i in range(np.uint64(first), np.uint64(last)):
            word = image(load(items, i), context) >> low
            counts[word & mask] += one
            counts[table + (word >> step & top_mask)] += one
    else:
        for i in range(np.uint64(first), np.uint64(last)):
            word = image(load(items, i), context) >> low
            counts[word & mask] += one
            counts[table + (word >> step & mask)] += one
            counts[table + table + (word >> (step + step) & top_mask)] += one


@jit
def _sort_by_top(items: Any, other: Any, first: int, last: int, counts: Any, context: Any) -> int:
    """Sort items[first:last] in place by the top bits in which they differ; other[first:last] is overwritten.

    Returns the bit from which on they are in order: what is equal in all bits from there may not be. -1 if all is done,
    -2 if nothing is, for the images are all the same and ties are not.
    """
    differing = differing_bits(items, first, last, first, context)
    height = bit_length(differing)
    if height == 0:
        return -2 if has_ties(context) else -1
    size = bit_length(np.uint64(last - first))
    width = min(DIGIT, max(4, size - 2))
    passes = min(MOST_DIGITS, (min(height, size + _SPARE_BITS) + width - 1) // width)
    total = min(height, size + _SPARE_BITS, passes * width)
    width = (total + passes - 1) // passes
    low = height - total
    top = total - (passes - 1) * width
    _count_all(items, first, last, low, width, top, passes, counts, context)
    moved = False
    for number in range(passes):
        shift = low + number * width
        bits = top if number == passes - 1 else width
        mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
        if differing >> np.uint64(shift) & mask == np.uint64(0):
            continue
        places = counts[number << DIGIT : (number + 1) << DIGIT]
        _places_of(places, bits, first)
        source, target = (other, items) if moved else (items, other)
        deal(source, target, first, last, shift, bits, places, context)
        moved = not moved
    if moved:
        _copy(other, items, first, last)
    return low if low > 0 or has_ties(context) else -1


@jit
def _sort_group(
    items: Any, other: Any, first: int, last: int, depth: int, may_deepen: bool, counts: Any, context: Any
) -> Any:
    """_sort_by_top; where images are all the same, by those that follow. Returns what it does, and the new depth."""
    while True:
        low = _sort_by_top(items, other, first, last, counts, context)
        if low != -2:
            return low, depth
        left = deepen(items, first, last, depth + 1, context) if may_deepen and depth >= 0 else -1
        if left < 0:
            sort_ties(items, other, first, last, context)
            return -1, depth
        depth = depth + 1 if left > 0 else -1


@jit
def sort_piece(items: Any, other: Any, first: int, last: int, depth: int, counts: Any, context: Any) -> None:
    """Sort items[first:last] in place, stably; other[first:last] is overwritten.

    depth: of the words that pairs hold (see items.deepen); -1 if there are no further ones.
    """
    # Groups within groups, outermost first: where each ends, the bit from which on it is in order, its depth. Whatever
    # is done to a group is done at one place, the piece's first group included: what is called at several is compiled
    # as often.
    outer = MOST_DIGITS << DIGIT
    held = outer
    low = 0
    i, j, stop = first, last, last
    while True:
        if j - i > _INSERTION:
            # Where there is no room for deeper groups, comparisons sort this one.
            room = held + 3 * _WITHIN_WORD <= outer + OUTER
            below, deeper = _sort_group(items, other, i, j, depth, room, counts, context)
            if below >= 0:
                counts[held] = np.uint64(stop)
                counts[held + 1] = np.uint64(low)
                counts[held + 2] = np.uint64(depth)
                held += 3
                stop = j
                j = i
                low = below
                depth = deeper
        elif j - i > 1:
            insertion_sort(items, i, j, context)
        i = j
        while i == stop:
            if held == outer:
                return
            held -= 3
            stop = np.int64(counts[held])
            low = np.int64(counts[held + 1])
            depth = np.int64(counts[held + 2])
        by = np.uint64(low)
        key = image(load(items, np.uint64(i)), context) >> by
        j = i + 1
        while j < stop:
            following = image(load(items, np.uint64(j)), context) >> by
            if following == key:
                j += 1
            elif j - i == 1:  # the item is alone, as most are
                key = following
                i = j
                j += 1
            else:
                break


@jit
def sort_pieces(
    items: Any, other: Any, edges: Any, begin: int, end: int, depth: int, counts: Any, context: Any
) -> None:
    """sort_piece for the pieces begin to end between neighbouring `edges`; `other` has room for the largest."""
    for number in range(begin, end):
        first, last = edges[number], edges[number + 1]
        if last - first > 1:
            sort_piece(items[first:last], other, 0, last - first, depth, counts, context)


@jit
def make_pairs(first: int, last: int, pairs: Any, context: Any) -> None:
    """pairs[i] becomes the prefix of row i, and i, for i in first to last."""
    for i in range(np.uint64(first), np.uint64(last)):
        pairs[i, np.uint64(0)] = key_of(np.int64(i), context)
        pairs[i, np.uint64(1)] = i


@jit
def take_numbers(pairs: int, count: int) -> None:
    """Move the numbers of pairs, which lie at this address, to the front of their memory."""
    for i in range(count):
        put_word(pairs + 8 * i, word_at(pairs + 16 * i + 8))


@jit
def make_images(items: Any, first: int, last: int, images: Any, context: Any) -> None:
    """images[i] becomes the image of items[i]."""
    for i in range(np.uint64(first), np.uint64(last)):
        images[i] = image(items[i], context)


@jit
def fill(out: Any, first: int, last: int, edges: Any, digits: int, flip: Any) -> None:
    """out[edges[d]:edges[d + 1]] becomes d ^ flip, as far as first to last reaches; digits: how many d there are."""
    for digit in range(digits):
        start = max(first, edges[digit])
        stop = min(last, edges[digit + 1])
        if start < stop:
            out[start:stop] = out.dtype.type(digit) ^ flip
