"""MD5 (RFC 1321) of a salt and the bytes of a key that count: the random order. Twin of kernels/digest.cuh."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gpumerge_cli.backends.cpu.fields import folded, next_counting
from gpumerge_cli.jit import byte_at, byte_swap, jit, put_byte, put_word, stack_room, word_at

_SINES = tuple(int(abs(math.sin(turn + 1)) * 2**32) for turn in range(64))
_TURNS = (7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21)
_START = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
_MASK = 0xFFFFFFFF


@jit
def _half_word(address: int) -> int:
    return np.int64(word_at(address) & np.uint64(_MASK))


@jit
def _mixed(state: Any, block: int) -> Any:
    """The state after the 64 bytes at `block`."""
    a, b, c, d = state
    for turn in range(64):
        part = turn >> 4
        if part == 0:
            mixed = (b & c) | (~b & _MASK & d)
            place = turn
        elif part == 1:
            mixed = (d & b) | (~d & _MASK & c)
            place = (5 * turn + 1) & 15
        elif part == 2:
            mixed = b ^ c ^ d
            place = (3 * turn + 5) & 15
        else:
            mixed = c ^ (b | (~d & _MASK))
            place = (7 * turn) & 15
        total = (a + mixed + _SINES[turn] + _half_word(block + 4 * place)) & _MASK
        by = _TURNS[4 * part + (turn & 3)]
        a, d, c = d, c, b
        b = (b + ((total << by | total >> (32 - by)) & _MASK)) & _MASK
    return (state[0] + a) & _MASK, (state[1] + b) & _MASK, (state[2] + c) & _MASK, (state[3] + d) & _MASK


@jit
def digest(salt: int, start: int, stop: int, flags: int) -> Any:
    """The digest of the 16 bytes at `salt` and the key's bytes that count: two words, most significant byte first."""
    block = stack_room(72)  # with what a word that is read at its end takes
    put_word(block, word_at(salt))
    put_word(block + 8, word_at(salt + 8))
    state = (np.int64(_START[0]), np.int64(_START[1]), np.int64(_START[2]), np.int64(_START[3]))
    held = 16
    length = 16
    at = next_counting(start, stop, flags)
    while at < stop:
        put_byte(block + held, folded(byte_at(at), flags))
        held += 1
        length += 1
        if held == 64:
            state = _mixed(state, block)
            held = 0
        at = next_counting(at + 1, stop, flags)
    put_byte(block + held, 128)
    held += 1
    if held > 56:
        while held < 64:
            put_byte(block + held, 0)
            held += 1
        state = _mixed(state, block)
        held = 0
    while held < 56:
        put_byte(block + held, 0)
        held += 1
    put_word(block + 56, np.uint64(8 * length))
    a, b, c, d = _mixed(state, block)
    first = byte_swap(np.uint64(a) | np.uint64(b) << np.uint64(32))
    return first, byte_swap(np.uint64(c) | np.uint64(d) << np.uint64(32))
