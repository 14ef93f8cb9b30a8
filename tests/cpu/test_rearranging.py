"""Records of CSV with other columns, by the library, against a plain program."""

from __future__ import annotations

import random

import pytest

from gpumerge_cli.native.rearranging import Rearranged, Rearranger
from gpumerge_cli.order.key_kinds import TEXT_PADDING

SHORT = [b"", b"a", b"bc", b"d" * 30, b"e" * 33, b"f" * 64, b"g" * 200]
FIELDS = [*SHORT, b'"h"', b'"i,j;;k"', b'"l""m"', b'"n\no"', b'p"q']


def text_of(data: bytes) -> bytearray:
    return bytearray(data + b"\n,;" * (TEXT_PADDING // 3 + 1))


def run(rearrange: Rearranger, data: bytes, room: int, *, ends: bool = True) -> tuple[bytes, list[Rearranged]]:
    """All that comes of `data`, with so much room at once."""
    text, out, start, found, made = text_of(data), bytearray(room), 0, [], b""
    while start < len(data):
        found.append(rearrange(text, start, len(data), out, ends=ends))
        made += out[: found[-1].made]
        start += found[-1].taken
        if found[-1].fault or not found[-1].taken:
            break
    return made, found


@pytest.mark.parametrize("separator", [b",", b";;"])
def test_random_records(seed: int, separator: bytes) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        fields = draw.randrange(1, 7)
        places = [place for place in draw.sample(range(fields), fields) if draw.random() < 0.7] or [0]
        if draw.random() < 0.4:
            places = list(range(fields))
        for _ in range(draw.randrange(3)):
            places.insert(draw.choice([len(places), draw.randrange(len(places) + 1)]), -1)
        short = [one for one in FIELDS if separator not in one or one.startswith(b'"')]
        choices = draw.choice([SHORT, short])
        records = [
            [draw.choice(choices) for _ in range(draw.choice([fields, fields, draw.randrange(1, fields + 1)]))]
            for _ in range(draw.randrange(20))
        ]
        end = draw.choice([b"\n", b"\r\n"])
        data = b"".join(separator.join(record) + end for record in records)
        lacks_end = bool(records) and records[-1] != [b""] and draw.random() < 0.3
        expected = b""
        for record in records:
            row = separator.join(record[place] if 0 <= place < len(record) else b"" for place in places)
            expected += (row or b'""') + end
        if lacks_end:
            data = data.removesuffix(end)
            expected = expected.removesuffix(end) + b"\n"
        made, found = run(Rearranger(places, fields, separator), data, draw.choice([3000, 1 << 16]))
        assert made == expected
        assert sum(one.records for one in found) == len(records)
        assert any(one.special for one in found) == any(special in data for special in (b'"', b"\r"))


@pytest.mark.parametrize(
    ("data", "fault", "records"),
    [
        (b"a,b\nc,d,e\n", "surplus field", 1),
        (b'a,b\nc,"d"e\n', "text behind quote", 1),
        (b'a,b\n"c,d\n', "open quote", 1),
        (b"x" * 70 + b",b\n" + b"y" * 70 + b",c," + b"z" * 70 + b"\n", "surplus field", 1),
    ],
)
def test_faults(data: bytes, fault: str, records: int) -> None:
    for places in ([0, 1, -1], [1, 0]):
        _, found = run(Rearranger(places, 2, b","), data, 1000)
        assert (found[-1].fault, found[-1].records) == (fault, records)


def test_records_that_go_on_are_left() -> None:
    for data in (b"a,b\nc,d", b'a,b\n"c\nd', b'a,b\nc,"d"', b"a,b\n" + b"c" * 100):
        made, found = run(Rearranger([0, 1, -1], 2, b","), data, 1000, ends=False)
        assert (made, found[0].taken, found[-1].fault) == (b"a,b,\n", 4, "")


def test_quotes_as_text_and_backslashes() -> None:
    assert run(Rearranger([1, 0], 2, b",", b""), b'"a,b"\n', 1000)[0] == b'b","a\n'
    by_escapes = Rearranger([1, 0], 2, b",", escape=b"\\")
    assert run(by_escapes, b'"a\\",",b\n', 1000)[0] == b'b,"a\\","\n'
    assert run(by_escapes, b"a\\\r\nb,c\r\n", 1000)[0] == b"c,a\\\r\nb\r\n"
    assert run(by_escapes, b"a\\\\\r\nb,c\n", 1000)[0] == b",a\\\\\r\nc,b\n"
