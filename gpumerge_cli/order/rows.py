"""The order of rows of typed columns, each turned into a line: the images of its keys, then the row itself.

The image of a value is bytes that compare as the value does, a null after all values. SEPARATOR stands behind each
image and NUL behind the row; inside, `escaped` writes both of them with other bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.base import Bounds, Meant, Order
from gpumerge_cli.order.lines import TextOrder
from gpumerge_cli.order.rules import MARK, NUL, LineKey, LineOrder

_VALUE, _NULL = b"v", b"\xff"
_ESCAPES = ((b"\2", b"\2\5"), (b"\1", b"\2\4"), (b"\0", b"\2\3"))  # their order is that of the bytes
_TOP = 1 << 63
BYTES = "bytes"
"""The type of a column whose values are texts or other bytes, of any length."""


@dataclass(frozen=True)
class RowKey:
    """A column by which rows compare."""

    name: str
    type: str
    """One of "int64", "uint64", "float64" and BYTES."""
    reverse: bool = False


@dataclass(frozen=True)
class RowOrder(TextOrder):
    """The order of such lines by keys. Rows with equal keys stay in the order of the inputs."""

    keys_of_rows: tuple[RowKey, ...] = ()

    @classmethod
    def by_columns(cls, keys: Sequence[RowKey]) -> RowOrder:
        """The order by columns, the first one first."""
        rules = tuple(
            LineKey("bytes", number, end_field=number, reverse=key.reverse, name=key.name)
            for number, key in enumerate(keys)
        )
        order = LineOrder(rules, MARK, stable=True, terminator=NUL)
        return cls("lines", rules=order, keys_of_rows=tuple(keys))

    def describe(self) -> str:
        return f"rows, by {', '.join(key.option_text for key in self.rules.keys)}"

    @property
    def item_word(self) -> str:
        return ""

    @property
    def plain_lines(self) -> bool:
        return False

    def key_of(self, item: bytes) -> bytes:
        return item

    def number(self, item: bytes, *, short: bool = False) -> str | None:
        values = self.values(item)
        return ", ".join(v if isinstance(v, str) else v.decode("utf-8", "backslashreplace") for v in values)

    def values(self, item: bytes) -> list[str | bytes]:
        """The keys of an item: numbers and "null" as text, others as they are."""
        images = item.split(MARK)
        fields = [key.start_field for key in self.rules.keys]
        return [value_of_image(self.keys_of_rows[field].type, unescaped(images[field])) for field in fields]

    def by_key(self) -> Sequence[Order]:
        return [replace(self, rules=replace(self.rules, keys=(key,))) for key in self.rules.keys]

    def part(self, number: int, item: bytes, bounds: Bounds) -> bytes | None:
        return None

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        return ()

    def meant(self, by: int | None) -> Sequence[Meant]:
        return ()


def image_of(type: str, value: Any) -> bytes:
    """The image of a value, None for a null, without escapes. Raises ValueError for a value that is not of the type."""
    if value is None:
        return _NULL
    if type == BYTES:
        return _VALUE + bytes(value)
    if type == "float64":
        number = float(value) + 0.0  # which makes 0.0 of -0.0
        bits = int.from_bytes(struct.pack(">d", number), "big") if number == number else 0x7FF8 << 48
        bits = 2 * _TOP - 1 - bits if bits & _TOP else bits + _TOP
    else:
        bits = int(value) + (_TOP if type == "int64" else 0)
        if not 0 <= bits < 2 * _TOP:
            raise ValueError(f"{value} is not a valid {type}")
    return _VALUE + bits.to_bytes(8, "big")


def value_of_image(type: str, image: bytes) -> str | bytes:
    """The value of an image, "null" for a null; numbers as text."""
    if image[:1] != _VALUE:
        return "null"
    if type == BYTES:
        return image[1:]
    bits = int.from_bytes(image[1:], "big")
    if type == "float64":
        bits = bits - _TOP if bits & _TOP else 2 * _TOP - 1 - bits
        return repr(struct.unpack(">d", bits.to_bytes(8, "big"))[0])
    return str(bits - (_TOP if type == "int64" else 0))


def escaped(data: bytes) -> bytes:
    """Bytes without NUL and SEPARATOR that compare as `data` does."""
    for byte, pair in _ESCAPES:
        data = data.replace(byte, pair)
    return data


def unescaped(data: bytes) -> bytes:
    """The bytes of which `escaped` made `data`."""
    for byte, pair in reversed(_ESCAPES):
        data = data.replace(pair, byte)
    return data
