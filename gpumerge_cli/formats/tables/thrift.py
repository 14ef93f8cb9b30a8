"""Thrift's compact protocol, as Parquet uses it: a struct as a dict of its fields, read and written with equal bytes.

No library that is widely used reads a struct without its definition and writes it back, fields that are newer than the
library included; pyarrow's metadata can be read and joined, but its offsets cannot be moved.

All functions are safe on damaged bytes: they raise DamagedError, and take memory in proportion to what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, ParamSpec, TypeVar

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
"""The types of fields. A field that is true has another type than one that is false."""
_DEEPEST = 24
"""The most structs and lists within each other. Parquet's footers have eight."""
_MOST_VALUES = 4_000_000
"""The most values of a tree, which takes about 100 bytes for each. A row group has about 50 a column."""
_INTEGERS = frozenset((I16, I32, I64))
_LARGEST = (1 << 64) - 1
_Read = TypeVar("_Read")
_Arguments = ParamSpec("_Arguments")


class DamagedError(Exception):
    """Bytes that are no struct of Thrift's compact protocol."""


class Field(NamedTuple):
    """A field of a struct."""

    type: int
    value: Any
    """bool for TRUE and FALSE, int for integers, bytes for DOUBLE, BINARY and UUID as they are encoded, ListValue for
    LIST and SET, MapValue for MAP, Struct for STRUCT. Encoded stands for any of them."""


Struct = dict[int, Field]
"""The fields of a struct by their ids, in the order of the bytes."""


class ListValue(NamedTuple):
    """A list or a set."""

    type: int
    """That of all items. ListValue of type TRUE or FALSE are integers of one byte."""
    values: list[Any]


class MapValue(NamedTuple):
    """A map."""

    key_type: int
    value_type: int
    values: list[tuple[Any, Any]]


class Encoded(bytes):
    """A value that is encoded already."""


def read(data: bytes) -> Struct:
    """The struct that all of `data` encodes. Raises DamagedError."""
    reader = _Reader(data)
    found = reader.guarded(reader.struct, 0)
    if reader.at != len(data):
        raise DamagedError("bytes follow its end")
    return found


def fields(data: bytes) -> Iterator[tuple[int, Field]]:
    """The ids and fields of the struct that all of `data` encodes, one at a time; lists, structs and maps as Encoded.

    Raises DamagedError.
    """
    reader, last = _Reader(data), 0
    while True:
        header = reader.guarded(reader.header, last)
        if header is None:
            break
        last, type = header
        start = reader.at
        if type in (LIST, SET, MAP, STRUCT):
            reader.guarded(reader.skip, type, 0)
            yield last, Field(type, Encoded(data[start : reader.at]))
        else:
            yield last, Field(type, type == TRUE if type <= FALSE else reader.guarded(reader.value, type, 0))
    if reader.at != len(data):
        raise DamagedError("bytes follow its end")


def structs(data: bytes) -> Iterator[bytes]:
    """The encoded structs of a list that all of `data` encodes, one at a time. Raises DamagedError."""
    reader = _Reader(data)
    count, type = reader.guarded(reader.list_header)
    if type != STRUCT and count:
        raise DamagedError("its items are not structs")
    for _ in range(count):
        start = reader.at
        reader.guarded(reader.skip, STRUCT, 0)
        yield data[start : reader.at]
    if reader.at != len(data):
        raise DamagedError("bytes follow its end")


def struct_length(data: bytes) -> int:
    """The bytes of the struct at the start of `data`. Raises DamagedError."""
    reader = _Reader(data)
    reader.guarded(reader.skip, STRUCT, 0)
    return reader.at


def written(struct: Mapping[int, Field]) -> bytes:
    """The bytes of a struct."""
    out = bytearray()
    _write_struct(struct, out)
    return bytes(out)


def list_of(structs: list[bytes]) -> Encoded:
    """A list of encoded structs."""
    out = bytearray()
    _write_list_header(STRUCT, len(structs), out)
    return Encoded(b"".join([out, *structs]))


class _Reader:
    """Reads values from `data`, from byte `at` on. Its methods may raise IndexError at the end of the bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self._left = _MOST_VALUES

    def guarded(self, read: Callable[_Arguments, _Read], *args: _Arguments.args, **named: _Arguments.kwargs) -> _Read:
        """Return the result of `read`. Raises DamagedError."""
        try:
            return read(*args, **named)
        except IndexError:
            raise DamagedError("it ends too soon") from None

    def varint(self) -> int:
        data, at = self.data, self.at
        found = data[at]
        at += 1
        if found >= 0x80:
            found &= 0x7F
            shift = 7
            while True:
                byte = data[at]
                at += 1
                found |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
                if shift > 63:
                    raise DamagedError("an integer is longer than 64 bits")
            if found > _LARGEST:
                raise DamagedError("an integer is longer than 64 bits")
        self.at = at
        return found

    def header(self, last: int) -> tuple[int, int] | None:
        """The id and type of the field behind the one with the id `last`; None at the end of the struct."""
        byte = self.data[self.at]
        self.at += 1
        if not byte:
            return None
        type = byte & 0xF
        if not TRUE <= type <= UUID:
            raise DamagedError(f"there is no type {type}")
        if delta := byte >> 4:
            return last + delta, type
        code = self.varint()
        found = (code >> 1) ^ -(code & 1)
        if not -(1 << 15) <= found < 1 << 15:
            raise DamagedError(f"there is no field {found}")
        return found, type

    def list_header(self) -> tuple[int, int]:
        """The number of items of a list, and their type."""
        byte = self.data[self.at]
        self.at += 1
        count, type = byte >> 4, byte & 0xF
        if count == 15:
            count = self.varint()
        if not TRUE <= type <= UUID and count:
            raise DamagedError(f"there is no type {type}")
        self._check(count)
        return count, type

    def map_header(self) -> tuple[int, int, int]:
        """The number of pairs of a map, and the types of keys and values."""
        count = self.varint()
        if not count:
            return 0, 0, 0
        self._check(count)
        types = self.data[self.at]
        self.at += 1
        return count, types >> 4, types & 0xF

    def _check(self, count: int) -> None:
        # Each item takes a byte at least.
        if count > len(self.data) - self.at:
            raise DamagedError("it ends too soon")

    def struct(self, depth: int) -> Struct:
        self._count(depth)
        found: Struct = {}
        last = 0
        while (header := self.header(last)) is not None:
            last, type = header
            if last in found:
                raise DamagedError(f"field {last} is there twice")
            found[last] = Field(type, type == TRUE if type <= FALSE else self.value(type, depth))
        return found

    def value(self, type: int, depth: int) -> Any:
        self._count(depth)
        if type in _INTEGERS:
            code = self.varint()
            return (code >> 1) ^ -(code & 1)
        if type == BINARY:
            return self._taken(self.varint())
        if type == STRUCT:
            return self.struct(depth + 1)
        if type in (LIST, SET):
            count, of = self.list_header()
            value = self.value
            return ListValue(of, [value(of, depth + 1) for _ in range(count)])
        if type in (TRUE, FALSE, BYTE):
            return self._taken(1)[0]
        if type == MAP:
            count, key, other = self.map_header()
            return MapValue(
                key, other, [(self.value(key, depth + 1), self.value(other, depth + 1)) for _ in range(count)]
            )
        if type == DOUBLE:
            return self._taken(8)
        if type == UUID:
            return self._taken(16)
        raise DamagedError(f"there is no type {type}")

    def skip(self, type: int, depth: int) -> None:
        """Go behind a value."""
        if depth > _DEEPEST:
            raise DamagedError("its structs are too deep")
        if type in _INTEGERS:
            self.varint()
        elif type == BINARY:
            self._pass(self.varint())
        elif type == STRUCT:
            last = 0
            while (header := self.header(last)) is not None:
                last, inner = header
                if inner > FALSE:
                    self.skip(inner, depth + 1)
        elif type in (LIST, SET):
            count, of = self.list_header()
            for _ in range(count):
                self.skip(of, depth + 1)
        elif type == MAP:
            count, key, other = self.map_header()
            for _ in range(count):
                self.skip(key, depth + 1)
                self.skip(other, depth + 1)
        else:
            sizes = {TRUE: 1, FALSE: 1, BYTE: 1, DOUBLE: 8, UUID: 16}
            if type not in sizes:
                raise DamagedError(f"there is no type {type}")
            self._pass(sizes[type])

    def _count(self, depth: int) -> None:
        self._left -= 1
        if depth > _DEEPEST:
            raise DamagedError("its structs are too deep")
        if self._left < 0:
            raise DamagedError(f"it has more than {_MOST_VALUES:,} values")

    def _taken(self, size: int) -> bytes:
        start = self.at
        self._pass(size)
        return self.data[start : self.at]

    def _pass(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise DamagedError("it ends too soon")
        self.at += size


def _write_struct(struct: Mapping[int, Field], out: bytearray) -> None:
    last = 0
    for id, (type, value) in struct.items():
        if 0 < id - last <= 15:
            out.append((id - last) << 4 | type)
        else:
            out.append(type)
            _write_integer(id, out)
        last = id
        if type > FALSE:
            _write_value(type, value, out)
    out.append(0)


def _write_value(type: int, value: Any, out: bytearray) -> None:
    if isinstance(value, Encoded):
        out += value
    elif type in _INTEGERS:
        _write_integer(value, out)
    elif type == BINARY:
        _write_varint(len(value), out)
        out += value
    elif type == STRUCT:
        _write_struct(value, out)
    elif type in (LIST, SET):
        _write_list_header(value.type, len(value.values), out)
        for one in value.values:
            _write_value(value.type, one, out)
    elif type in (TRUE, FALSE, BYTE):
        out.append(value)
    elif type == MAP:
        _write_varint(len(value.values), out)
        if value.values:
            out.append(value.key_type << 4 | value.value_type)
        for key, other in value.values:
            _write_value(value.key_type, key, out)
            _write_value(value.value_type, other, out)
    else:
        out += value


def _write_list_header(type: int, count: int, out: bytearray) -> None:
    if count < 15:
        out.append(count << 4 | type)
    else:
        out.append(0xF0 | type)
        _write_varint(count, out)


def _write_integer(value: int, out: bytearray) -> None:
    _write_varint(value << 1 if value >= 0 else (-value << 1) - 1, out)


def _write_varint(value: int, out: bytearray) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
