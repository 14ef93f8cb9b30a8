"""The order of keys: kind, width and direction, and the key image that makes every comparison an unsigned one.

A key image is an unsigned integer that orders as the key does. Comparing images instead of values gives one rule for
all dtypes and keeps float32 subnormals apart on devices that flush them to zero. The order is NumPy's: NaN last (all
NaNs equal), -0.0 equal to 0.0. Descending order is the complement of the image, so NaN comes first there. Ties always
keep input order. Twin of kernels/keys.cuh.

Lines compare as lines.py says. Records of a fixed size compare by the key that lies somewhere in them:
a number, or bytes as memcmp has it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.errors import UsageError
from gpumerge_cli.lines import LineKey, LineOrder

Kind = Literal["int", "uint", "float", "bytes", "lines"]
_KINDS: dict[str, Kind] = {"i": "int", "u": "uint", "f": "float"}
_WIDTHS = {"int": (1, 2, 4, 8), "uint": (1, 2, 4, 8), "float": (2, 4, 8)}
_FOREIGN: Literal["little", "big"] = "big" if sys.byteorder == "little" else "little"
_INFINITY = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}

DTYPES: tuple[str, ...] = tuple(f"{kind}{8 * width}" for kind, widths in _WIDTHS.items() for width in widths)
"""NumPy's names of all key dtypes, int8 to float64."""


@dataclass(frozen=True)
class Order:
    """How items compare.

    kind: "int", "uint" or "float" for keys that are numbers, "bytes" for keys of records that are bytes, "lines".
    width: bytes of a key, 0 for lines. descending: the complement of the order; lines say that in `text`. record: bytes
    of the record that holds the key; 0 if the item is a line or the key itself. offset: where in the record the key
    starts. swapped: its bytes are in foreign byte order; those of records are never changed. text: how lines compare;
    None for all but lines.
    """

    kind: Kind
    width: int = 0
    descending: bool = False
    record: int = 0
    offset: int = 0
    swapped: bool = False
    text: LineOrder | None = None

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
    def lines(
        cls,
        text: LineOrder | None = None,
        *,
        numeric: bool = False,
        descending: bool = False,
        stable: bool = False,
    ) -> Order:
        """The order of lines: `text`; or bytewise, or by leading number, ties then bytewise or left if `stable`."""
        if text is None:
            keys = (LineKey("numeric", reverse=descending),) if numeric else ()
            text = LineOrder(keys, reverse=descending, stable=stable)
        return cls("lines", text=text)

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

    def describe(self) -> str:
        """For reports and messages: "int32", "CSV, by -k 2n,2", "records of 100 bytes, key bytes 0 to 9"."""
        if self.text is not None:
            return self.text.describe()
        if self.kind == "bytes":
            name = f"records of {self.record} bytes, key bytes {self.offset} to {self.offset + self.width - 1}"
        elif self.record:
            order = f" {_FOREIGN}-endian" if self.swapped else ""
            name = f"records of {self.record} bytes, key{order} {self.dtype.name} at byte {self.offset}"
        else:
            name = self.dtype.name
        return f"{name}, descending" if self.descending else name


def _unknown_dtype(name: str) -> UsageError:
    return UsageError(f"{name!r} is no dtype of keys", way_out=f"use one of {', '.join(DTYPES)}")
