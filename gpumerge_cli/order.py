"""The order of keys: kind, width and direction, and the key image that makes every comparison an unsigned one.

A key image is an unsigned integer that orders as the key does. Comparing images instead of values gives one rule for
all dtypes and keeps float32 subnormals apart on devices that flush them to zero. The order is NumPy's: NaN last (all
NaNs equal), -0.0 equal to 0.0. Descending order is the complement of the image, so NaN comes first there. Ties always
keep input order. Twin of kernels/keys.cuh.

Lines compare as GNU sort has it in the C locale: bytewise, or by their leading number (`numeric`), ties then bytewise
or, if the order is `stable`, left as they come. Records of a fixed size compare by the key that lies somewhere in them:
a number, or bytes as memcmp has it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import total_ordering
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import UsageError

Kind = Literal["int", "uint", "float", "bytes", "numeric"]
_KINDS: dict[str, Kind] = {"i": "int", "u": "uint", "f": "float"}
_WIDTHS = {"int": (1, 2, 4, 8), "uint": (1, 2, 4, 8), "float": (2, 4, 8)}
_FOREIGN: Literal["little", "big"] = "big" if sys.byteorder == "little" else "little"
_INFINITY = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}
LONG = 256
"""Lines of more bytes than this need not be held whole in a key."""
_NUMBER = re.compile(rb"[ \t]*(-?)0*([0-9]*)(?:\.([0-9]*))?")

DTYPES: tuple[str, ...] = tuple(f"{kind}{8 * width}" for kind, widths in _WIDTHS.items() for width in widths)
"""NumPy's names of all key dtypes, int8 to float64."""


@dataclass(frozen=True)
class Order:
    """How items compare.

    kind: "int", "uint" or "float" for keys that are numbers, "bytes" for lines and for keys of records that are bytes,
    "numeric" for lines. width: bytes of a key, 0 for lines. descending: the complement of the order. stable: numbers
    that lines begin with are all that counts, so different lines may compare equal (keys and bytes: no difference).
    record: bytes of the record that holds the key; 0 if the item is a line or the key itself. offset: where in the
    record the key starts. swapped: its bytes are in foreign byte order; those of records are never changed.
    """

    kind: Kind
    width: int = 0
    descending: bool = False
    stable: bool = False
    record: int = 0
    offset: int = 0
    swapped: bool = False

    @classmethod
    def of(cls, dtype: np.dtype[Any] | str, *, descending: bool = False) -> Order:
        """The order of a NumPy dtype; byte order is not part of it. Raises UsageError for a dtype without one."""
        try:
            resolved = np.dtype(dtype)
        except (TypeError, ValueError, SyntaxError):  # NumPy's parser has its own ways to fail
            raise _unknown_dtype(str(dtype)) from None
        kind = _KINDS.get(resolved.kind)
        if kind is None or resolved.itemsize not in _WIDTHS[kind]:
            raise _unknown_dtype(str(dtype))
        return cls(kind, resolved.itemsize, descending)

    @classmethod
    def lines(cls, *, numeric: bool = False, descending: bool = False, stable: bool = False) -> Order:
        """The order of text lines: bytewise, or by leading number, ties then bytewise or, if `stable`, not at all."""
        return cls("numeric" if numeric else "bytes", 0, descending, stable and numeric)

    @classmethod
    def records(cls, size: int, offset: int, key: np.dtype[Any] | int, *, descending: bool = False) -> Order:
        """The order of records of `size` bytes by the key at `offset`: of a dtype, or so many bytes.

        Of dtypes the byte order counts; S and V are bytes. Raises UsageError for a dtype without an order, and for a
        key that does not lie within the record.
        """
        if not isinstance(key, int) and key.kind not in "SV":
            order = replace(cls.of(key, descending=descending), record=size, offset=offset, swapped=not key.isnative)
        else:
            width = key if isinstance(key, int) else key.itemsize
            order = cls("bytes", width, descending, record=size, offset=offset)
        if offset < 0 or order.width < 1 or offset + order.width > size:
            raise UsageError(
                f"a key of {order.width} bytes at byte {offset} is not within a record of {size} bytes",
                way_out="check --key-offset, --key-size and --record-size",
            )
        return order

    @property
    def is_lines(self) -> bool:
        """Whether items are lines; otherwise they are of one size."""
        return self.item_bytes == 0

    @property
    def is_rows(self) -> bool:
        """Whether items are merged as rows, a prefix and a number each: lines and records are, keys are not."""
        return self.record > 0 or self.is_lines

    @property
    def item_bytes(self) -> int:
        """Bytes of an item: of a record, or of a key that is its own item; 0 for lines."""
        return self.record or self.width

    @property
    def prefix_bytes(self) -> int:
        """Bytes of a key that fit into the 64-bit prefix of its row; if there are more, ties go to the rest."""
        return min(self.width, 8)

    @property
    def big_endian(self) -> bool:
        """Whether a record's key has its most significant byte first, as bytes have; hosts are little-endian."""
        return self.kind == "bytes" or self.swapped

    @property
    def dtype(self) -> np.dtype[Any]:
        """The native dtype of fixed-width keys; of a record's key that is bytes, S and its width."""
        return np.dtype(f"S{self.width}" if self.kind == "bytes" else f"{self.kind}{8 * self.width}")

    @property
    def unsigned(self) -> np.dtype[Any]:
        """The unsigned dtype of a number's width: what key bits are viewed as, and what the image is."""
        return np.dtype(f"uint{8 * self.width}")

    @property
    def flip(self) -> int:
        """What an image is XORed with: the sign bit of signed integers, then all bits when descending.

        Of a key that is bytes: what the first `prefix_bytes` of it are XORed with.
        """
        sign = 1 << (8 * self.width - 1) if self.kind == "int" else 0
        return sign ^ self._all_ones if self.descending else sign

    @property
    def infinity(self) -> int | None:
        """The bits of +infinity for floats (anything above, sign aside, is NaN); None for integers."""
        if self.kind != "float":
            return None
        return _INFINITY[self.width]

    @property
    def _all_ones(self) -> int:
        return (1 << (8 * self.prefix_bytes)) - 1

    def keys(self, items: NDArray[np.uint8]) -> NDArray[Any]:
        """The keys of items of one size that lie back to back: an array of `dtype`, a view where there is one."""
        stored = self.dtype.newbyteorder() if self.swapped else self.dtype
        count = len(items) // self.item_bytes
        place = self.offset if count else 0
        keys = np.ndarray((count,), stored, np.ascontiguousarray(items), place, (self.item_bytes,))
        return keys.astype(self.dtype) if self.swapped else keys

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        """The images of fixed-width keys: same shape, unsigned dtype of the same width; of bytes, bytes again."""
        if self.kind == "bytes":
            values = np.ascontiguousarray(keys, self.dtype).view(np.uint8)
            return np.asarray((values ^ np.uint8(255 * self.descending)).view(self.dtype))
        bits = np.ascontiguousarray(keys, self.dtype).view(self.unsigned)
        flip = self.unsigned.type(self.flip)
        if self.infinity is None:
            return np.asarray(bits ^ flip)
        sign = self.unsigned.type(1 << (8 * self.width - 1))
        magnitude = bits & ~sign
        image = np.where(bits & sign, sign - magnitude, sign + magnitude)
        image[magnitude > self.unsigned.type(self.infinity)] = self._all_ones
        return np.asarray(image.astype(self.unsigned) ^ flip)

    def key(self, item: bytes, read: Callable[[], bytes] | None = None) -> Any:
        """A Python object that compares as the item does.

        item: a key's native bytes, a record, or a line without newline. read: gives the item again; then the object
        holds no more of a long item than the beginning of its key.
        """
        if self.record:
            item = self._key_bytes(item)
        if self.kind in _WIDTHS:
            return self._image_of(int.from_bytes(item, _FOREIGN if self.swapped else sys.byteorder))
        line: Any = item
        if read is not None and len(item) > LONG:
            line = _LongLine(item[:LONG], (lambda: self._key_bytes(read())) if self.record else read)
        key = line
        if self.kind == "numeric":
            key = _number(item) if self.stable else (_number(item), line)
        return _Reversed(key) if self.descending else key

    def _key_bytes(self, record: bytes) -> bytes:
        return record[self.offset : self.offset + self.width]

    def _image_of(self, bits: int) -> int:
        """`image` of one key's bits, in plain integers: a plan probes keys one at a time."""
        if self.kind == "float":
            sign = 1 << (8 * self.width - 1)
            magnitude = bits & (sign - 1)
            if magnitude > _INFINITY[self.width]:
                bits = self._all_ones
            else:
                bits = sign - magnitude if bits & sign else sign + magnitude
        return bits ^ self.flip

    def describe(self) -> str:
        """For reports and messages: "int32", "lines, numeric, descending", "records of 100 bytes, key bytes 0 to 9"."""
        if self.is_lines:
            name = f"lines, {'bytewise' if self.kind == 'bytes' else self.kind}"
        elif self.kind == "bytes":
            name = f"records of {self.record} bytes, key bytes {self.offset} to {self.offset + self.width - 1}"
        elif self.record:
            order = f" {_FOREIGN}-endian" if self.swapped else ""
            name = f"records of {self.record} bytes, key{order} {self.dtype.name} at byte {self.offset}"
        else:
            name = self.dtype.name
        name += ", descending" if self.descending else ""
        return f"{name}, ties left" if self.stable else name


def _number(line: bytes) -> tuple[Any, ...]:
    """The leading number of a line, of any length, as a tuple that compares exactly; 0 if there is none."""
    found = _NUMBER.match(line)
    assert found is not None
    minus, whole, fraction = found.groups(default=b"")
    magnitude = (len(whole), whole, fraction.rstrip(b"0"))
    if magnitude == (0, b"", b""):
        return (0,)
    return (-1, _Reversed(magnitude)) if minus else (1, magnitude)


@total_ordering
class _Reversed:
    """A key that compares the other way round."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and bool(other.key == self.key)

    def __hash__(self) -> int:
        return hash(self.key)


class _LongLine:
    """A line of more than LONG bytes, of which only the beginning is held; the rest is read to settle ties."""

    __slots__ = ("_begin", "_read")

    def __init__(self, begin: bytes, read: Callable[[], bytes]) -> None:
        self._begin = begin
        self._read = read

    def __lt__(self, other: _LongLine | bytes) -> bool:
        begin = other[:LONG] if isinstance(other, bytes) else other._begin
        if self._begin != begin:
            return self._begin < begin
        return self._read() < (other if isinstance(other, bytes) else other._read())

    def __gt__(self, other: _LongLine | bytes) -> bool:
        if isinstance(other, _LongLine):
            return other < self
        if self._begin != other[:LONG]:
            return self._begin > other[:LONG]
        return self._read() > other


def _unknown_dtype(name: str) -> UsageError:
    return UsageError(f"{name!r} is no dtype of keys", way_out=f"use one of {', '.join(DTYPES)}")
