"""The order of keys that are their own items, and the key image that makes every comparison an unsigned one.

A key image is an unsigned integer that orders as the key does. Comparing images instead of values gives one rule for
all dtypes and keeps float32 subnormals apart on devices that flush them to zero. The order is NumPy's: NaN last (all
NaNs equal), -0.0 equal to 0.0, NaT last. Descending order is the complement of the image, so NaN and NaT come first
there. Ties always keep input order. Twin of kernels/keys.cuh.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import byteorder
from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.base import Macros, Order, OrderLayout
from gpumerge_cli.order.key_types import DTYPES, KIND_OF_LETTER, TYPES, ItemType, type_name

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpumerge_cli.order.key_types import Dtype

BYTES_KIND = 0
"""The KEY_KIND of keys that are bytes: their prefix is an unsigned number."""
_INFINITY = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}


@dataclass(frozen=True)
class KeyOrder(Order):
    """The order of numbers, bools, dates and time spans, each an item."""

    unit: str = ""
    """The unit of dates and time spans, as NumPy's names end: "[ns]", "[25s]"; "" if there is none."""

    is_rows = False

    @classmethod
    def of_dtype(cls, dtype: Dtype | str, *, descending: bool = False) -> KeyOrder:
        """The order of a type; byte order is not part of it. Raises UsageError for a type without one."""
        resolved = ItemType.of(dtype) if isinstance(dtype, str) else dtype
        if not isinstance(resolved, ItemType):
            import numpy as np

            try:
                resolved = np.dtype(dtype)
            except (TypeError, ValueError, SyntaxError):  # NumPy's parser has its own ways to fail
                raise _unknown_dtype(str(dtype)) from None
        kind = KIND_OF_LETTER.get(resolved.kind)
        if kind is None or resolved.itemsize not in TYPES[kind][1]:
            raise _unknown_dtype(str(dtype))
        return cls(kind, resolved.itemsize, descending, resolved.name[len(type_name(kind, resolved.itemsize)) :])

    @property
    def item_bytes(self) -> int:
        return self.width

    @property
    def compared_bytes(self) -> int:
        return self.width

    @property
    def code(self) -> int:
        """KEY_KIND of keys.cuh."""
        return TYPES[self.kind][2]

    @property
    def dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(self.name)

    @property
    def item_type(self) -> Dtype:
        """The type of keys."""
        return ItemType.of(self.name) or self.dtype

    @property
    def name(self) -> str:
        """NumPy's name of the type."""
        return type_name(self.kind, self.width) + self.unit

    @property
    def unsigned(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(f"uint{8 * self.width}")

    @property
    def flip(self) -> int:
        sign = self._sign if self.kind == "int" or self.is_dated else 0
        return sign ^ self._all_ones if self.descending else sign

    @property
    def infinity(self) -> int | None:
        """The bits of +infinity for floats (anything above, sign aside, is NaN); None for integers."""
        return _INFINITY[self.width] if self.kind == "float" else None

    @property
    def alike(self) -> NDArray[Any]:
        """A key of each kind that has keys of other bits compare equal to it: zero and NaN of floats."""
        import numpy as np

        return np.array([] if self.infinity is None else [0.0, np.nan], self.dtype)

    @property
    def is_number(self) -> bool:
        """See Order."""
        return self.kind in ("int", "uint", "float")

    @property
    def is_dated(self) -> bool:
        """Whether keys may be NaT, the least integer, whose image is the largest one."""
        return self.kind in ("datetime", "timedelta")

    @property
    def _sign(self) -> int:
        return 1 << (8 * self.width - 1)

    @property
    def _all_ones(self) -> int:
        return (1 << (8 * self.width)) - 1

    def keys(self, items: NDArray[np.uint8]) -> NDArray[Any]:
        import numpy as np

        count = len(items) // self.width
        return np.ndarray((count,), self.dtype, np.ascontiguousarray(items))

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        import numpy as np

        return np.asarray(self.image_of_bits(np.ascontiguousarray(keys, self.dtype).view(self.unsigned)))

    def image_of_bits(self, bits: Any) -> Any:
        """The images of keys whose bits these are: a new array of NumPy or CuPy, of dtype `unsigned`, as `bits` is."""
        of = self.unsigned.type
        if self.is_dated:
            bits = bits - of(1)
        if self.infinity is None:
            return bits ^ of(self.flip)
        magnitude = bits & of(self._sign - 1)
        negative = self._ones_where(bits >> of(8 * self.width - 1))
        image = ((magnitude ^ negative) - negative) + of(self._sign)
        is_nan = self._ones_where((magnitude > of(self.infinity)).astype(self.unsigned))
        return (image | is_nan) ^ of(self.flip)

    def bits_of_image(self, images: Any) -> Any:
        """The bits of integers, bools, dates and time spans that have these images, of the same dtype."""
        of = self.unsigned.type
        return (images ^ of(self.flip)) + of(self.is_dated)

    def _ones_where(self, ones: Any) -> Any:
        """All bits where an item is 1, none where it is 0."""
        return ~ones + self.unsigned.type(1)

    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        return Equal(run, self.width)

    def layout(self) -> OrderLayout:
        return OrderLayout(self.code, self.width, self.descending)

    def macros(self, *, rows: bool) -> Macros:
        if rows:
            return record_macros(self, OrderLayout(0, record=self.width, key_kind=self.code), rows=True)
        return (("KEY_BITS", 8 * self.width), ("KEY_KIND", self.code), ("DESCENDING", int(self.descending)))

    def moves_whole(self, sizes: Sequence[int]) -> bool:
        return True

    def describe(self) -> str:
        return f"{self.name}, descending" if self.descending else self.name

    def number(self, item: bytes, *, short: bool = False) -> str | None:
        if self.kind in ("int", "uint"):
            return str(int.from_bytes(item[: self.width], byteorder, signed=self.kind == "int"))
        import numpy as np

        key = self.keys(np.frombuffer(item, np.uint8))[0]
        return str(key) if self.infinity is None or not short else f"{key:.6g}"

    def quoted(self, part: bytes) -> str:
        return repr(part)[1:]

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        return (replace(self, descending=not self.descending),)


class Equal(Sequence[bytes]):
    """The items of a run, all of one size."""

    def __init__(self, run: NDArray[np.uint8], size: int) -> None:
        self._run = run
        self._size = size

    def __len__(self) -> int:
        return len(self._run) // self._size

    def __getitem__(self, number: Any) -> Any:
        return self._run[number * self._size : (number + 1) * self._size].tobytes()


def record_macros(order: Order, layout: OrderLayout, *, rows: bool) -> Macros:
    """The macros of items that hold their key, whether they move as rows or as they are."""
    return (
        ("ROWS", int(rows)),
        ("KEY_BITS", 64 if rows or order.width > 4 else 32),
        ("KEY_KIND", layout.key_kind),
        ("DESCENDING", int(order.descending)),
        ("RECORD_SIZE", layout.record),
        ("KEY_OFFSET", layout.offset),
        ("KEY_SIZE", order.width),
        ("KEY_BIG_ENDIAN", int(layout.big_endian)),
    )


def _unknown_dtype(name: str) -> UsageError:
    others = "bool, datetime64[UNIT] or timedelta64[UNIT]"
    return UsageError(f"{name!r} is not a dtype of keys", way_out=f"use one of {', '.join(DTYPES)}, {others}")
