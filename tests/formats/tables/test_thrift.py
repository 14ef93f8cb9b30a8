"""Thrift's compact protocol: structs are read and written with equal bytes, and damaged bytes are refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gpumerge_cli.formats.tables import thrift
from gpumerge_cli.formats.tables.thrift import (
    BINARY,
    BYTE,
    DOUBLE,
    FALSE,
    I16,
    I32,
    I64,
    LIST,
    MAP,
    SET,
    STRUCT,
    TRUE,
    UUID,
    DamagedError,
    Encoded,
    Field,
    ListValue,
    MapValue,
    Struct,
)  # fmt: skip

TYPES = (TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID)


def drawn_value(rng: random.Random, type: int, depth: int) -> Any:
    bits = {I16: 15, I32: 31, I64: 63}.get(type)
    if bits:
        return rng.choice([0, -1, (1 << bits) - 1, -(1 << bits), rng.randrange(-200, 200)])
    if type in (DOUBLE, UUID):
        return rng.randbytes(8 if type == DOUBLE else 16)
    if type == BINARY:
        return rng.randbytes(rng.choice([0, 1, 14, 15, 200]))
    if type == STRUCT:
        return drawn_struct(rng, depth + 1)
    inner = rng.choice(TYPES if depth < 5 else (TRUE, BYTE, I32, BINARY))
    count = rng.choice([0, 1, 3, 14, 15, 130]) if inner < LIST else rng.randrange(3)
    if type in (LIST, SET):
        return ListValue(inner, [drawn_value(rng, inner, depth + 1) for _ in range(count)])
    if type == MAP:
        pairs = [(drawn_value(rng, I32, depth + 1), drawn_value(rng, inner, depth + 1)) for _ in range(count)]
        return MapValue(I32 if pairs else 0, inner if pairs else 0, pairs)
    return rng.choice([1, 2])


def drawn_struct(rng: random.Random, depth: int = 0) -> Struct:
    found: Struct = {}
    ids = rng.sample([*range(1, 40), 300, 32767, -1, -32768], rng.randrange(6))
    for id in ids if rng.random() < 0.5 else sorted(ids):
        type = rng.choice(TYPES if depth < 5 else (TRUE, FALSE, I64, BINARY))
        found[id] = Field(type, type == TRUE if type in (TRUE, FALSE) else drawn_value(rng, type, depth))
    return found


def test_structs_come_back(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        made = drawn_struct(rng)
        data = thrift.written(made)
        assert thrift.read(data) == made
        assert thrift.written(thrift.read(data)) == data
        shallow = dict(thrift.fields(data))
        assert thrift.written(shallow) == data
        assert thrift.struct_length(data + b"rest") == len(data)


def test_structs_of_a_list() -> None:
    made = [thrift.written({1: Field(I32, number)}) for number in range(20)]
    data = thrift.list_of(made)
    assert list(thrift.structs(data)) == made
    assert thrift.read(thrift.written({3: Field(LIST, data)}))[3].value.values[19] == {1: Field(I32, 19)}
    assert list(thrift.structs(thrift.list_of([]))) == []


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends too soon"),
        (b"\x15", "ends too soon"),
        (b"\x15\x80\x80", "ends too soon"),
        (b"\x15\x02\x00\x00", "bytes follow"),
        (b"\x16" + b"\xff" * 9 + b"\x01\x00", ""),
        (b"\x16" + b"\xff" * 9 + b"\x7f\x00", "64 bits"),
        (b"\x16" + b"\xff" * 20 + b"\x01\x00", "64 bits"),
        (b"\x18\xff\xff\xff\xff\x07abc\x00", "ends too soon"),
        (b"\x19\xfc\xff\xff\xff\xff\x07\x00", "ends too soon"),
        (b"\x1b\xff\xff\xff\xff\x07\x55\x00", "ends too soon"),
        (b"\x1e\x00", "no type 14"),
        (b"\x19\x1f\x00\x00", "no type 15"),
        (b"\x1b\x01\x0f\x00\x00\x00", "no type 0"),
        (b"\x05\xff\xff\x7f\x00\x00", "no field"),
        (b"\x15\x02\x05\x02\x02\x00", "twice"),
        (b"\x1c" * 5000 + b"\x00" * 5001, "too deep"),
        (b"\x19" + b"\x19" * 5000 + b"\x00" * 5000, "too deep"),
    ],
)
def test_damaged_structs(data: bytes, why: str) -> None:
    if not why:
        assert thrift.read(data)[1].value == -(1 << 63)
        return
    with pytest.raises(DamagedError, match=why):
        thrift.read(data)


def test_bytes_that_are_no_list_of_structs() -> None:
    with pytest.raises(DamagedError, match="not structs"):
        list(thrift.structs(b"\x15\x02"))
    with pytest.raises(DamagedError, match="bytes follow"):
        list(thrift.structs(b"\x0c\x00"))


def test_a_tree_has_limited_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thrift, "_MOST_VALUES", 100)
    with pytest.raises(DamagedError, match="more than 100 values"):
        thrift.read(thrift.written({1: Field(LIST, ListValue(BYTE, [0] * 200))}))


def test_damaged_bytes_never_crash(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(300):
        data = bytearray(thrift.written(drawn_struct(rng)))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        for read in (thrift.read, lambda data: dict(thrift.fields(data)), thrift.struct_length):
            try:
                read(bytes(data))
            except DamagedError:
                continue


def test_encoded_values_are_written_as_they_are() -> None:
    struct = thrift.written({1: Field(I32, 5)})
    assert thrift.written({2: Field(STRUCT, Encoded(struct))}) == thrift.written(
        {2: Field(STRUCT, thrift.read(struct))}
    )
