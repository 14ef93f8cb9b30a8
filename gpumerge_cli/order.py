"""The order of keys: kind, width and direction, and the key image that makes every comparison an unsigned one.

A key image is an unsigned integer that orders as the key does. Comparing images instead of values gives one rule for
all dtypes and keeps float32 subnormals apart on devices that flush them to zero. The order is NumPy's: NaN last (all
NaNs equal), -0.0 equal to 0.0. Descending order is the complement of the image, so NaN comes first there. Ties always
keep input order. Twin of kernels/keys.cuh.

Lines compare as GNU sort has it in the C locale: bytewise, or by their leading number (`numeric`), ties then bytewise
or, if the order is `stable`, left as they come.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import UsageError

Kind = Literal["int", "uint", "float", "bytes", "numeric"]
_KINDS: dict[str, Kind] = {"i": "int", "u": "uint", "f": "float"}
_WIDTHS = {"int": (1, 2, 4, 8), "uint": (1, 2, 4, 8), "float": (2, 4, 8)}
_INFINITY = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}
LONG = 256
"""Lines of more bytes than this need not be held whole in a key."""
_NUMBER = re.compile(rb"[ \t]*(-?)0*([0-9]*)(?:\.([0-9]*))?")

DTYPES: tuple[str, ...] = tuple(f"{kind}{8 * width}" for kind, widths in _WIDTHS.items() for width in widths)
"""NumPy's names of all key dtypes, int8 to float64."""


@dataclass(frozen=True)
class Order:
    """How items compare.

    kind: "int", "uint" or "float" for fixed-width keys that are their own item, "bytes" or "numeric" for lines.
    width: bytes of a fixed-width key, 0 for lines. descending: the complement of the order. stable: numbers that lines
    begin with are all that counts, so different lines may compare equal (keys and bytes: no difference).
    """

    kind: Kind
    width: int = 0
    descending: bool = False
    stable: bool = False

    @classmethod
    def of(cls, dtype: np.dtype[Any] | str, *, descending: bool = False) -> Order:
        """The order of a NumPy dtype; byte order is not part of it. Raises UsageError for a dtype without one."""
        try:
            resolved = np.dtype(dtype)
        except TypeError:
            raise _unknown_dtype(str(dtype)) from None
        kind = _KINDS.get(resolved.kind)
        if kind is None or resolved.itemsize not in _WIDTHS[kind]:
            raise _unknown_dtype(str(dtype))
        return cls(kind, resolved.itemsize, descending)

    @classmethod
    def lines(cls, *, numeric: bool = False, descending: bool = False, stable: bool = False) -> Order:
        """The order of text lines: bytewise, or by leading number, ties then bytewise or, if `stable`, not at all."""
        return cls("numeric" if numeric else "bytes", 0, descending, stable and numeric)

    @property
    def is_lines(self) -> bool:
        """Whether items are lines; otherwise they are keys of `width` bytes."""
        return self.width == 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """The native dtype of fixed-width keys."""
        return np.dtype(f"{self.kind}{8 * self.width}")

    @property
    def unsigned(self) -> np.dtype[Any]:
        """The unsigned dtype of the key's width: what key bits are viewed as, and what the image is."""
        return np.dtype(f"uint{8 * self.width}")

    @property
    def flip(self) -> int:
        """What the image is XORed with: the sign bit of signed integers, then all bits when descending."""
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
        return (1 << (8 * self.width)) - 1

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        """The images of fixed-width keys: same shape, unsigned dtype of the same width."""
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
        """A Python object that compares as the item does: `item` is a key's native bytes, or a line without newline.

        read: gives the item again; then the object holds no more of a line than its beginning.
        """
        if not self.is_lines:
            return self._image_of(int.from_bytes(item, sys.byteorder))
        line: Any = item if read is None else _LongLine(item[:LONG], read)
        key = line
        if self.kind == "numeric":
            key = _number(item) if self.stable else (_number(item), line)
        return _Reversed(key) if self.descending else key

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
        """For reports and messages: "int32", "lines, numeric, descending"."""
        name = (
            f"{self.kind}{8 * self.width}"
            if self.width
            else f"lines, {'bytewise' if self.kind == 'bytes' else self.kind}"
        )
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
