"""Random Arrow arrays of every type that has an order, and what Python says of their order."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

UNITS = ("s", "ms", "us", "ns")
INTEGERS = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
)  # fmt: skip
FLOATS = (pa.float16(), pa.float32(), pa.float64())
DECIMALS = (pa.decimal32(7, 2), pa.decimal64(15, -3), pa.decimal128(38, 10), pa.decimal256(60, 0))
TIMES = (
    pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
    *(pa.timestamp(unit) for unit in UNITS), *(pa.timestamp(unit, "Europe/Berlin") for unit in UNITS),
    *(pa.duration(unit) for unit in UNITS),
)  # fmt: skip
TEXTS = (pa.string(), pa.large_string(), pa.string_view())
BINARIES = (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(3), pa.binary(8), pa.binary(16), pa.binary(40))
PLAIN = (*INTEGERS, *FLOATS, *DECIMALS, pa.bool_(), *TIMES, *TEXTS, *BINARIES)
TYPES = (
    *PLAIN, pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.int32(), pa.int64()),
    pa.dictionary(pa.uint16(), pa.float32()), pa.dictionary(pa.int16(), pa.timestamp("us")), pa.null(), pa.uuid(),
    pa.run_end_encoded(pa.int32(), pa.int16()),
)  # fmt: skip
_DAY_MS = 86_400_000
_WORDS = ("", "\0", "a", "a\0b", "\1", "\2", "a\2", "ab", "apple", "Apple", "é", "😀", "\uffff", "\x7f")


def drawn_array(rng: random.Random, type: pa.DataType, rows: int, *, nulls: float = 0.2) -> pa.Array:
    """An array with many equal values and with the extreme ones. It may begin in the midst of its buffers."""
    ahead = rng.choice([0, 0, 1, 9])
    some = [_value(rng, type) for _ in range(max(1, rows // 2))]
    values = [None if rng.random() < nulls else rng.choice(some) for _ in range(rows + ahead)]
    return _array(type, values)[ahead:]


def order_keys(array: Any, *, reverse: bool = False, nulls: str = "last") -> list[Any]:
    """What Python's sort compares in place of the values."""
    made = []
    for value in _comparable(array):
        if value is None:
            made.append((0 if nulls == "first" else 2, 0))
        else:
            made.append((1, Backwards(value) if reverse else value))
    return made


class Backwards:
    """A value that compares the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Backwards) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Backwards) and bool(self.value == other.value)


def _comparable(array: Any) -> list[Any]:
    """The values as Python compares them: instants and times as integers, NaN above all numbers."""
    type = array.type
    if isinstance(type, pa.BaseExtensionType):
        return _comparable(array.storage)
    if pa.types.is_run_end_encoded(type):
        return [item.as_py() for item in array]
    if pa.types.is_dictionary(type):
        return _comparable(array.dictionary_decode())
    if pa.types.is_temporal(type):
        return array.view(pa.int32() if type.bit_width == 32 else pa.int64()).to_pylist()
    values = array.to_pylist()
    if pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type):
        return [None if value is None else value.encode() for value in values]
    if pa.types.is_floating(type):
        return [None if value is None else (value != value, 0 if value != value else float(value)) for value in values]
    return list(values)


def _array(type: pa.DataType, values: list[Any]) -> pa.Array:
    if isinstance(type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type, _array(type.storage_type, values))
    if pa.types.is_run_end_encoded(type):
        import pyarrow.compute as pc

        return pc.run_end_encode(_array(type.value_type, values), run_end_type=type.run_end_type)
    if pa.types.is_dictionary(type):
        return _array(type.value_type, values).dictionary_encode().cast(type)
    if pa.types.is_temporal(type):
        return pa.array(values, pa.int32() if type.bit_width == 32 else pa.int64()).view(type)
    if pa.types.is_floating(type):
        letter, mask = {16: ("e", "H"), 32: ("f", "I"), 64: ("d", "Q")}[type.bit_width]
        bits = [struct.unpack(f"<{mask}", value)[0] if isinstance(value, bytes) else value for value in values]
        bits = [
            value
            if value is None or isinstance(value, int)
            else struct.unpack(f"<{mask}", struct.pack(letter, value))[0]
            for value in bits
        ]
        storage = {16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[type.bit_width]
        return pa.array(bits, storage).view(type)
    return pa.array(values, type)


def _value(rng: random.Random, type: pa.DataType) -> Any:
    types = pa.types
    if types.is_null(type):
        return None
    if isinstance(type, pa.BaseExtensionType):
        return _value(rng, type.storage_type)
    if types.is_dictionary(type) or types.is_run_end_encoded(type):
        return _value(rng, type.value_type)
    if types.is_boolean(type):
        return rng.random() < 0.5
    if types.is_floating(type):
        size = type.bit_width // 8
        return rng.choice([0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan, rng.randbytes(size), b"\xff" * size])
    if types.is_decimal(type):
        most = 10**type.precision - 1
        digits = rng.choice([0, 1, -1, most, -most, rng.randint(-most, most)])
        sign, figures, _ = Decimal(digits).as_tuple()
        return Decimal((sign, figures, -type.scale))
    if types.is_date64(type):
        return _DAY_MS * rng.choice([0, -1, 106_751_991_167, rng.randrange(-900_000, 900_000)])
    if types.is_time(type):
        return rng.randrange(86_400 * 1000 ** UNITS.index(type.unit))
    if types.is_integer(type) or types.is_temporal(type):
        low = 0 if types.is_unsigned_integer(type) else -(1 << type.bit_width - 1)
        high = low + (1 << type.bit_width) - 1
        return rng.choice([low, low + 1, high, 0, rng.randint(low, high), rng.randint(max(low, -100), 100)])
    if type in TEXTS:
        return rng.choice([*_WORDS, rng.choice(_WORDS) + rng.choice(_WORDS)])
    size = type.byte_width if types.is_fixed_size_binary(type) else rng.randrange(12)
    return rng.choice([rng.randbytes(size), bytes(size), b"\xff" * size, bytes(rng.choices(range(4), k=size))])


def positions(rows: np.ndarray[Any, Any]) -> list[int]:
    """The stable order of rows of bytes, of integers, or of values of a list."""
    listed = [bytes(row) for row in rows] if getattr(rows, "ndim", 1) == 2 else list(rows)
    return sorted(range(len(listed)), key=listed.__getitem__)
