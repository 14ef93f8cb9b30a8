"""Values of keys as text, and back: for messages and ranks. A value has the form of images.value_of_line."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from gpumerge_cli.errors import UsageError
from gpumerge_cli.formats.tables.images import ascending_images
from gpumerge_cli.formats.tables.key_columns import KeyColumn, is_text

NULL = b"null"
_EPOCH = "1970-01-01 "


def shown_value(column: KeyColumn, value: bytes | None) -> bytes:
    """The text of a value: bytes as they are, "null" for a null, others as Arrow writes them.

    Durations are numbers of their unit. So are dates and times that Arrow would not read again, as of the year 10000.
    A damaged file may hold a decimal of more digits than its type has.
    """
    if value is None:
        return NULL
    if is_text(column.type) or column.kind:
        return value
    array = _array(column.type, value)
    try:
        text = _text(array)
        if pa.types.is_floating(column.type) or _parsed(column.type, text).equals(array):
            return text.encode()
    except pa.ArrowException:
        pass
    return _number(array).encode()


def value_of_word(column: KeyColumn, word: bytes) -> bytes | None:
    """The value that a text says, None for "null" where values are not texts. Raises UsageError."""
    if is_text(column.type):
        width = column.fixed_bytes
        if width is not None and len(word) != width:
            what = f"{word.decode(errors='replace')!r} has {len(word)} bytes, a value of {column.name} has {width}"
            raise UsageError(what, way_out="write all bytes")
        return word
    if word == NULL:
        return None
    try:
        array = _parsed(column.type, word.decode())
    except (pa.ArrowException, ValueError):
        zero = _text(pa.array([0], pa.uint8()).cast(pa.bool_())) if pa.types.is_boolean(column.type) else ""
        example = zero or _text(_array(column.type, _zero(column)))
        what = f"{word.decode(errors='replace')!r} is not a valid {column.type}"
        raise UsageError(what, way_out=f"write it as {example}") from None
    return ascending_images(column.type, array).tobytes()


def _zero(column: KeyColumn) -> bytes:
    assert column.fixed_bytes is not None
    top = 0 if pa.types.is_unsigned_integer(column.type) else 0x80
    return bytes([top]) + bytes(column.fixed_bytes - 1)


def _array(type: pa.DataType, value: bytes) -> Any:
    """The value as an array of one."""
    bits, size = int.from_bytes(value, "big"), len(value)
    if pa.types.is_boolean(type):
        return pa.array([bits == 1])
    top = 1 << 8 * size - 1
    if pa.types.is_floating(type) and not bits & top:
        bits = (2 * top - 1) ^ bits
    elif not pa.types.is_unsigned_integer(type):
        bits ^= top
    return pa.Array.from_buffers(type, 1, [None, pa.py_buffer(bits.to_bytes(size, "little"))])


def _text(array: Any) -> str:
    if pa.types.is_duration(array.type):
        return _number(array)
    return str(array.cast(pa.string())[0])


def _number(array: Any) -> str:
    """A date, time or duration as a number of its unit, a decimal of too many digits by its power of ten."""
    if pa.types.is_decimal(array.type):
        digits = int.from_bytes(array.buffers()[1][: array.type.byte_width], "little", signed=True)
        return f"{digits}E{-array.type.scale}"
    return str(array.view(pa.int64() if array.type.bit_width > 32 else pa.int32())[0])


def _parsed(type: pa.DataType, text: str) -> Any:
    """The array of one that a text says. Raises ArrowException, and ValueError for integers out of range."""
    types = pa.types
    if types.is_temporal(type) and (types.is_duration(type) or text.removeprefix("-").isdecimal()):
        storage = pa.int64() if type.bit_width > 32 else pa.int32()
        return pa.array([int(text)], storage).view(type)
    if types.is_time(type):
        return pa.array([_EPOCH + text]).cast(pa.timestamp(type.unit)).cast(type)
    return pa.array([text]).cast(type)
