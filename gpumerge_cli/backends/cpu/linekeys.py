"""Lines by their keys: prefixes, and the comparison that settles ties. Twin of kernels/lines.cuh.

`table` is the address of an order's words, `key` that of a key's (see lines.py). Texts lie between two addresses.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.digest import digest
from gpumerge_cli.backends.cpu.fields import folded, key_bounds, next_counting, table_word
from gpumerge_cli.backends.cpu.general import compare_general, general_image
from gpumerge_cli.backends.cpu.numbers import (
    compare_human,
    compare_numbers,
    human_image,
    is_blank,
    is_exact,
    number_image,
)
from gpumerge_cli.backends.cpu.text import compare_bytes, first_word, line_start
from gpumerge_cli.backends.cpu.version import compare_versions, version_image
from gpumerge_cli.jit import byte_at, byte_swap, jit, put_word, word_at
from gpumerge_cli.lines import (
    COMPARISONS,
    DICTIONARY,
    FOLD,
    FOLLOWING_WORD,
    KEY_REVERSE,
    KEY_WORDS,
    PRINTABLE,
    REVERSE,
    STABLE,
    TABLE_HEAD,
)

_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_TWOS = np.uint64(0x0202020202020202)
_HIGH = np.uint64(0x8080808080808080)
_BYTES = COMPARISONS.index("bytes")
_NUMERIC = COMPARISONS.index("numeric")
_HUMAN = COMPARISONS.index("human")
_GENERAL = COMPARISONS.index("general")
_MONTH = COMPARISONS.index("month")
_VERSION = COMPARISONS.index("version")
_RANDOM = COMPARISONS.index("random")
_TRANSLATED = FOLD | DICTIONARY | PRINTABLE
_MONTHS = tuple(
    ord(name[0]) << 16 | ord(name[1]) << 8 | ord(name[2])
    for name in ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
)


@jit
def key_at(table: int, number: int) -> int:
    """The address of a key's words."""
    return table + 8 * (TABLE_HEAD + KEY_WORDS * number)


@jit
def _month(start: int, stop: int) -> int:
    """1 to 12, 0 for none."""
    while start < stop and is_blank(byte_at(start)):
        start += 1
    if stop - start < 3:
        return 0
    name = folded(byte_at(start), FOLD) << 16 | folded(byte_at(start + 1), FOLD) << 8 | folded(byte_at(start + 2), FOLD)
    found = 0
    for number in range(12):
        if name == _MONTHS[number]:
            found = number + 1
    return found


@jit
def _image(compare: int, start: int, stop: int, flags: int, table: int) -> Any:
    """The 64-bit image of a key that is compared neither by bytes nor as a month."""
    if compare == _NUMERIC:
        return number_image(start, stop)
    if compare == _HUMAN:
        return human_image(start, stop, flags & FOLD != 0)
    if compare == _GENERAL:
        return general_image(start, stop)
    if compare == _VERSION:
        return version_image(start, stop, flags)
    return digest(table + 32, start, stop, flags)[0]


@jit
def _filled(prefix: Any, room: int, byte: int) -> Any:
    """A prefix of two words with a byte more at the front of its last `room` bits; room >= 8."""
    high, low = prefix
    if room > 64:
        return high | np.uint64(byte) << np.uint64(room - 72), low
    return high, low | np.uint64(byte) << np.uint64(room - 8)


@jit
def _filled_word(prefix: Any, room: int, word: Any) -> Any:
    """The same with the bytes of a word, as many as there is room for."""
    high, low = prefix
    if room == 128:
        return word, low
    if room > 64:
        return high | word >> np.uint64(128 - room), low | word << np.uint64(room - 64)
    return high, low | (word >> np.uint64(64 - room) if room > 0 else np.uint64(0))


@jit
def _fill_text(prefix: Any, room: int, start: int, stop: int, flags: int) -> Any:
    """(prefix, room, whether it holds all of the key) after a key that is compared by bytes.

    0 and 1 take two bytes, 0 ends it.
    """
    turned = 255 if flags & KEY_REVERSE else 0
    while not flags & _TRANSLATED and start < stop and room > 0:
        word = word_at(start)
        taken = min(8, stop - start)
        kept = _ALL if taken == 8 else (np.uint64(1) << np.uint64(8 * taken)) - np.uint64(1)
        # Whether a byte is 0 or 1: subtracting 2 from each borrows. A mark too many sends it the long way.
        if (word - _TWOS) & ~word & _HIGH & kept:
            break
        image = byte_swap((word ^ _ALL if turned else word) & kept)
        prefix = _filled_word(prefix, room, image)
        room -= 8 * taken
        start += taken
    room = max(room, 0)
    at = next_counting(start, stop, flags)
    while at < stop and room > 0:
        byte = folded(byte_at(at), flags)
        if byte < 2:
            prefix = _filled(prefix, room, 1 ^ turned)
            room -= 8
            byte += 1
        if room > 0:
            prefix = _filled(prefix, room, byte ^ turned)
            room -= 8
        at = next_counting(at + 1, stop, flags)
    if room > 0:
        return _filled(prefix, room, turned), room - 8, True
    return prefix, room, False


@jit
def key_prefix(table: int, start: int, stop: int) -> Any:
    """The first two words of a line's image: its keys' images one after the other, then its bytes.

    What follows a key that an image does not tell wholly is zeros. The third result says whether they tell all keys.
    """
    prefix = (np.uint64(0), np.uint64(0))
    room = 128
    separator = table_word(table, 2)
    keys = table_word(table, 1)
    for number in range(keys):
        told = True
        key = key_at(table, number)
        compare = table_word(key, 0)
        flags = table_word(key, 5)
        begin, end = key_bounds(key, separator, start, stop)
        if compare == _BYTES:
            prefix, room, told = _fill_text(prefix, room, begin, end, flags)
        elif compare == _MONTH:
            prefix = _filled(prefix, room, _month(begin, end) ^ (255 if flags & KEY_REVERSE else 0))
            room -= 8
        else:
            image = _image(compare, begin, end, flags, table)
            prefix = _filled_word(prefix, room, ~image if flags & KEY_REVERSE else image)
            room -= 64
            if room < 0 or compare != _NUMERIC or not is_exact(image):
                return prefix[0], prefix[1], False
        if room <= 0:
            return prefix[0], prefix[1], told and number == keys - 1
    order = table_word(table, 0)
    if not order & STABLE:
        while room > 0:
            # A line that has ended goes on as zeros.
            word = first_word(start, stop) if start < stop else np.uint64(0)
            prefix = _filled_word(prefix, room, ~word if order & REVERSE else word)
            room -= 64
            start += 8
    return prefix[0], prefix[1], True


@jit
def _compare_translated(a: int, a_stop: int, b: int, b_stop: int, flags: int) -> int:
    a = next_counting(a, a_stop, flags)
    b = next_counting(b, b_stop, flags)
    while a < a_stop and b < b_stop:
        difference = folded(byte_at(a), flags) - folded(byte_at(b), flags)
        if difference != 0:
            return difference
        a = next_counting(a + 1, a_stop, flags)
        b = next_counting(b + 1, b_stop, flags)
    return (a < a_stop) - (b < b_stop)


@jit
def _compare_random(a: int, a_stop: int, b: int, b_stop: int, flags: int, table: int) -> int:
    as_text = _compare_translated(a, a_stop, b, b_stop, flags)
    if as_text == 0:
        return 0
    x, x_rest = digest(table + 32, a, a_stop, flags)
    y, y_rest = digest(table + 32, b, b_stop, flags)
    if x != y:
        return -1 if x < y else 1
    if x_rest != y_rest:
        return -1 if x_rest < y_rest else 1
    return as_text


@jit
def _compare_key(key: int, table: int, a: int, a_stop: int, b: int, b_stop: int) -> int:
    compare = table_word(key, 0)
    flags = table_word(key, 5)
    separator = table_word(table, 2)
    x, x_stop = key_bounds(key, separator, a, a_stop)
    y, y_stop = key_bounds(key, separator, b, b_stop)
    if compare == _NUMERIC:
        result = compare_numbers(x, x_stop, y, y_stop)
    elif compare == _HUMAN:
        result = compare_human(x, x_stop, y, y_stop, flags & FOLD != 0)
    elif compare == _GENERAL:
        result = compare_general(x, x_stop, y, y_stop)
    elif compare == _MONTH:
        result = _month(x, x_stop) - _month(y, y_stop)
    elif compare == _VERSION:
        result = compare_versions(x, x_stop, y, y_stop, flags)
    elif compare == _RANDOM:
        result = _compare_random(x, x_stop, y, y_stop, flags, table)
    elif flags & _TRANSLATED:
        result = _compare_translated(x, x_stop, y, y_stop, flags)
    else:
        result = compare_bytes(x, x_stop, y, y_stop)
    return -result if flags & KEY_REVERSE else result


@jit
def compare_last_resort(text: int, starts: int, y: int, x: int, table: int) -> int:
    """compare_keyed of lines that are equal in all keys."""
    flags = table_word(table, 0)
    if flags & STABLE:
        return 0
    a = text + line_start(starts, y)
    b = text + line_start(starts, x)
    a_stop = text + line_start(starts, y + 1) - 1
    result = compare_bytes(a, a_stop, b, text + line_start(starts, x + 1) - 1)
    return -result if flags & REVERSE else result


@jit
def compare_keyed(text: int, starts: int, y: int, x: int, table: int) -> int:
    """Negative, zero or positive, as line y and line x compare by their keys, then, unless stable, by their bytes."""
    a = text + line_start(starts, y)
    a_stop = text + line_start(starts, y + 1) - 1
    b = text + line_start(starts, x)
    b_stop = text + line_start(starts, x + 1) - 1
    for number in range(table_word(table, 1)):
        result = _compare_key(key_at(table, number), table, a, a_stop, b, b_stop)
        if result != 0:
            return result
    return compare_last_resort(text, starts, y, x, table)


@jit
def make_key_prefixes(text: int, starts: int, first: int, last: int, table: int, prefixes: Any) -> int:
    """make_prefixes of text.py, for any keys; the words that follow the prefixes go where the table says.

    Returns 1 if lines whose two words are equal are equal in all keys, else 0.
    """
    following = table_word(table, FOLLOWING_WORD)
    all_told = True
    for line in range(first, last):
        stop = text + line_start(starts, line + 1) - 1
        high, low, told = key_prefix(table, text + line_start(starts, line), stop)
        prefixes[line] = high
        put_word(following + 8 * line, low)
        all_told &= told
    return np.int64(all_told)
