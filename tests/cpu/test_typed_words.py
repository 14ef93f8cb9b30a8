"""Values of typed keys that are read by vectors give the same images as those that are read byte by byte."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cpu.test_text_bodies import PADDING, forms
from tests.random_values import INVALID, RANDOM
from tests.typed_values import class_of

__all__ = ["forms"]
PAGE = mmap.PAGESIZE
READ_ONLY, NO_ACCESS = 1, 0
CHANGES = {
    "hex": b"09aAfFgG/:@`xX \t\r\0\xb1\xff",
    "address": b"0125.:/ \t\ra\0\xb1\xff",
    "size": b"059.kKgiIbBsq+- \t\r\0\x0b\xeb\xff",
}
"""Bytes to put at each place of a value: those that values have, and their neighbours."""


class Pages:
    """Texts that begin where memory begins, or behind which PADDING bytes can be read and no more."""

    def __init__(self, bytes_around: bytes) -> None:
        self._map = mmap.mmap(-1, 3 * PAGE)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._map[:] = bytes_around * (3 * PAGE)
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for page in (0, 2):
            assert protect(ctypes.c_void_p(self._start + page * PAGE), ctypes.c_size_t(PAGE), NO_ACCESS) == 0

    def put(self, text: bytes, at_end: bool) -> tuple[Any, Any]:
        """Address and size of a text."""
        place = 2 * PAGE - PADDING - len(text) if at_end else PAGE
        self._map[place : place + len(text)] = text
        return ctypes.c_void_p(self._start + place), ctypes.c_int64(len(text))


def values(kind: str, chance: Random) -> Iterator[bytes]:
    """Values at the edges of what vectors read, and near them."""
    if kind == "hex":
        for count in (*range(1, 20), 31, 32, 33, 64, 300):
            digits = "".join(chance.choices("0123456789abcdefABCDEF", k=count))
            for ahead in ("", "0x", "0X", "0", "000", "0x00", "0" * 17):
                yield (ahead + digits).encode()
            yield b"0" * count
    elif kind == "address":
        for _ in range(60):
            parts = [str(chance.choice([0, 1, 9, 10, 25, 99, 100, 199, 200, 255, 256, 260, 999])) for _ in range(4)]
            yield ".".join(parts).encode()
        yield from (b"1.2.3", b"1.2.3.4.5", b"1.2.3.", b".1.2.3", b"1..2.3", b"1.2.3.1000", b"1234.5.6.7", b"01.2.3.4")
        yield from (
            b"255.255.255.255",
            b"0.0.0.0",
            b"255.255.255.255:65535",
            b"255.255.255.255/32",
            b"1.2.3.4/",
            b"...",
        )
    else:
        for digits in (1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17):
            for ahead in ("", "-", "0", "+"):
                number = str(
                    chance.choice(
                        [10 ** (digits - 1), 10**digits - 1, chance.randrange(10 ** (digits - 1), 10**digits)]
                    )
                )
                number = number.rstrip("0").ljust(digits, "0") if chance.random() < 0.5 else number
                point = chance.randrange(digits + 1)
                for text in (number, number[:point] + "." + number[point:]):
                    for unit in ("", *(letter + i for letter in "kMGtPEzyRq" for i in ("", "i", "I"))):
                        yield (
                            ahead + text + chance.choice(["", " ", "  "]) + unit + chance.choice(["", "b", "B"])
                        ).encode()
        # Just below and from the number on whose product has a digit more.
        for power, letter in enumerate("kMGTP", 1):
            edge = 10**16 * 1000**power // 1024**power
            for cut in range(1, 16):
                for number in (edge // 10**cut - 1, edge // 10**cut, edge // 10**cut + 1):
                    yield f"{number}{letter}i".encode()
    yield from (RANDOM[kind](chance) for _ in range(200))
    yield from (
        *INVALID,
        b"",
        b" ",
        b"5\0MB",
        b"5k\0",
        b"5\0",
        b"5 bytes",
        b"5 byte",
        b"+5k",
        b"0 k",
        b"0.5k",
        b".5k",
        b"5.k",
        b"5.",
        b"5 .",
    )


def changed(kind: str, text: bytes, chance: Random) -> Iterator[bytes]:
    """The text, with blanks around it, and with one byte changed, put in or taken out at each place."""
    yield text
    yield from (b" " + text, text + b" \t", text + b"\r", b"\t" + text + b" \r")
    for place in range(len(text) + 1):
        byte = bytes([chance.choice(CHANGES[kind])])
        yield text[:place] + byte + text[place + 1 :]
        yield text[:place] + byte + text[place:]
        yield text[:place] + text[place + 1 :]


USUAL = {
    "hex": ["0", "00ff", "DEADBEEF", "0x7f", "0123456789abcdef", " 1a\r"],
    "address": ["10.0.0.1", "0.0.0.0", "255.255.255.255", " 1.2.3.4 "],
    "size": [
        "10 MB",
        "1.5GiB",
        "900k",
        "512",
        "-3.25 kib",
        "1023.99 GiB",
        "12.34TiB",
        "7 b",
        "8Q",
        "12.",
        "999999999999999",
    ],
}


def told(function: Any, table: Any, given: tuple[Any, Any]) -> list[int]:
    found = (ctypes.c_uint64 * 5)()
    function(table.ctypes.data_as(ctypes.c_void_p), *given, found)
    return list(found)


@pytest.mark.parametrize("kind", CHANGES)
def test_images_by_vectors_equal_those_by_bytes(forms: dict[str, Any], kind: str, seed: int) -> None:
    chance = Random(seed)
    key = LineKey(kind, invalid="last")
    table = np.array(LineOrder((key,)).table())
    pages = [Pages(around) for around in (b"\0", b"0", b"9", b"i", b".", b" ", b"\n")]
    valid = 0
    some = list(values(kind, chance))
    for base in some if len(some) < 800 else chance.sample(some, 800):
        for text in changed(kind, base, chance):
            given = chance.choice(pages).put(text, chance.random() < 0.7)
            slow, *fast = (told(library.image, table, given) for library in forms.values())
            assert all(found == slow for found in fast), text
            assert slow[3] == (class_of(key, text) != "value"), text
            valid += not slow[3]
    assert valid > 500


@pytest.mark.parametrize("kind", CHANGES)
def test_vectors_read_the_usual_values(forms: dict[str, Any], kind: str) -> None:
    table = np.array(LineOrder((LineKey(kind, invalid="last"),)).table())
    pages = Pages(b"\n")
    for text in USUAL[kind]:
        given = pages.put(text.encode(), True)
        read = forms["best"].is_read_by_vectors(table.ctypes.data_as(ctypes.c_void_p), *given)
        if read < 0:
            pytest.skip("needs vectors; run it on an x86-64 processor with SSE4.1")
        assert read, text


@pytest.mark.parametrize("kind", CHANGES)
def test_words_of_one_key_equal_those_of_any_keys(forms: dict[str, Any], kind: str, seed: int) -> None:
    chance = Random(seed)
    texts = [text for base in chance.sample(list(values(kind, chance)), 60) for text in changed(kind, base, chance)]
    for number in range(64):
        nulls, invalid = chance.choice(["", "first", "last"]), chance.choice(["", "first", "last"])
        field, quoted = chance.choice([(0, False), (1, False), (1, True)])
        key = LineKey(kind, field, nulls=nulls, invalid=invalid, reverse=chance.random() < 0.5)
        key = replace(key, end_field=field) if field else key
        key = replace(key, null_values=(b"5", b"1.2.3.4")) if number % 8 == 0 else key
        separator = b"," if quoted else chance.choice([None, b","])
        order = LineOrder((key,), separator, chance.random() < 0.5, chance.random() < 0.5, quoted=quoted)
        table = np.array(order.table())
        pages = Pages(chance.choice([b"\0", b"0", b"9", b"i", b"."]))
        for text in chance.sample(texts, 60):
            line = text.replace(b"\n", b"") if field == 0 else b"x," + text + chance.choice([b"", b",y", b" y"])
            line = line.replace(b",", b" ") if separator is None and field else line
            given = pages.put(line, chance.random() < 0.7)
            for name in ("best", "words"):
                own, any_ = (
                    told(function, table, given) for function in (forms[name].own_words, forms[name].any_words)
                )
                assert own == any_, (name, line, order)
