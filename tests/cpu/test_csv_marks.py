"""The quotes of CSV as the library finds them, against words of NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpumerge_cli.formats.csv_quotes import CsvShape
from gpumerge_cli.native.csv_marks import WORD_OF_MARKS, CsvMarks
from tests.csv_words import WordMarks

ALPHABETS = [b'"a,;\n\r', b'"",\n', b"a,\n", b"aaaaaaa,;\n", b'aaaaaaaaaaaaaaaaaaaa",;\n', b"aaaa\r\n,;"]
FIELDS = [b"", b"a", b'"b"', b'"c,d;;"', b'"e""f"', b'"g\nh"', b"i" * 70, b'"' + b"j" * 70 + b'"', b'"\r"']


def random_text(draw: random.Random, separator: bytes) -> bytes:
    if draw.random() < 0.5:
        alphabet = draw.choice(ALPHABETS)
        return bytes(draw.choices(alphabet, k=draw.randrange(400)))
    fields = draw.choice([FIELDS, FIELDS[:3], FIELDS[1:2]])
    ends = draw.choice([[b"\n"], [b"\r\n"], [b"\n", b"\r\n"]])
    records = (separator.join(draw.choices(fields, k=3)) + draw.choice(ends) for _ in range(draw.randrange(60)))
    text = b"".join(records)
    return text if draw.random() < 0.7 else text[: draw.randrange(len(text) + 1)]


def check(draw: random.Random, separator: bytes) -> None:
    text = random_text(draw, separator)
    text += b"\n" * (-len(text) % WORD_OF_MARKS)
    words, marks = WordMarks(separator), CsvMarks(separator)
    end = draw.choice([-1, 0, 1])
    at = 0
    while at < len(text):
        count = min(len(text) - at, draw.choice([1, 2, 5]) * WORD_OF_MARKS)
        block = np.frombuffer(text, np.uint8, count, at).copy()
        expected = block.copy()
        found = words.ends(block)
        if end >= 0:
            expected[np.unpackbits(found.view(np.uint8), bitorder="little").view(np.bool_)] = end
        piece = bytearray(block)
        marks.take(piece, count, end)
        assert piece == expected.tobytes(), (text, separator, end)
        assert marks.proper == words.shape.proper, (text, separator)
        at += count
        if not marks.proper:
            return
        shape = CsvShape(marks.proper, marks.lines, marks.doubled)
        assert (shape, marks.inside) == (words.shape, words.inside), (text, separator)


@pytest.mark.parametrize("separator", [b",", b";;", b",;,", b"a,"])
def test_random_texts(seed: int, separator: bytes) -> None:
    draw = random.Random(seed)
    for _ in range(400):
        check(draw, separator)


@pytest.mark.thorough
@pytest.mark.parametrize("separator", [b",", b";", b";;", b",;,", b"aba", b"aaaaaaa"])
def test_many_random_texts(seed: int, separator: bytes) -> None:
    draw = random.Random(seed)
    for _ in range(5_000):
        check(draw, separator)
