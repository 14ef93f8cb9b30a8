"""The order of records of a fixed size by the key that lies somewhere in them: a number, or bytes as memcmp has it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from gpumerge_cli.dataclass import dataclass, field, replace
from gpumerge_cli.errors import UsageError
from gpumerge_cli.order.base import PREFIX_BYTES, Macros, Order, OrderLayout
from gpumerge_cli.order.keys import BYTES_KIND, Equal, KeyOrder, record_macros

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpumerge_cli.order.key_types import Dtype

_FOREIGN: Literal["little", "big"] = "big" if sys.byteorder == "little" else "little"
RECORDS = 3  # ItemKind of kernels/cpu/entries.h


@dataclass(frozen=True)
class RecordOrder(Order):
    """The order of records."""

    size: int = 0
    """The bytes of a record."""
    offset: int = 0
    """The first byte of the key in it."""
    swapped: bool = False
    """Whether the key's bytes are in foreign byte order. Records are never changed."""
    name: str = field(default="", compare=False)
    """The key's field; "" if it was not named."""
    unit: str = ""
    """See KeyOrder."""

    @classmethod
    def of_key(
        cls, size: int, offset: int, key: Dtype | int, *, descending: bool = False,
        name: str = "",
    ) -> RecordOrder:  # fmt: skip
        """The order of records of `size` bytes by the key at `offset`: of a dtype, or so many bytes.

        The byte order of a dtype counts; S and V are bytes. name: of the key's field. Raises UsageError for a dtype
        without an order, and for a key that does not lie within the record.
        """
        if not isinstance(key, int) and key.kind not in "SV":
            number = KeyOrder.of_dtype(key, descending=descending)
            order = cls(number.kind, number.width, descending, size, offset, not key.isnative, name, number.unit)
        else:
            order = cls("bytes", key if isinstance(key, int) else key.itemsize, descending, size, offset, name=name)
        if offset < 0 or order.width < 1 or offset + order.width > size:
            raise UsageError(
                f"a key of {order.width} bytes at byte {offset} is not within a record of {size} bytes",
                way_out="check --key-offset, --key-size and --record-size",
            )
        return order

    @property
    def key(self) -> KeyOrder | None:
        """The order of the keys alone, in native byte order; None for keys that are bytes."""
        return None if self.kind == "bytes" else KeyOrder(self.kind, self.width, self.descending, self.unit)

    @property
    def record(self) -> int:
        return self.size

    @property
    def item_bytes(self) -> int:
        return self.size

    @property
    def big_endian(self) -> bool:
        """True if the most significant byte of the key comes first. It does for bytes. Hosts are little-endian."""
        return self.swapped or self.key is None

    @property
    def dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(f"S{self.width}") if self.key is None else self.key.dtype

    @property
    def unsigned(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(f"uint{8 * self.width}")

    @property
    def flip(self) -> int:
        if self.key is not None:
            return self.key.flip
        return (1 << (8 * self.prefix_bytes)) - 1 if self.descending else 0

    @property
    def is_number(self) -> bool:
        return self.key is not None and self.key.is_number

    @property
    def infinity(self) -> int | None:
        """See Keys."""
        return None if self.key is None else self.key.infinity

    def keys(self, items: NDArray[np.uint8]) -> NDArray[Any]:
        import numpy as np

        stored = self.dtype.newbyteorder() if self.swapped else self.dtype
        count = len(items) // self.size
        place = self.offset if count else 0
        keys = np.ndarray((count,), stored, np.ascontiguousarray(items), place, (self.size,))
        return keys.astype(self.dtype) if self.swapped else keys

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        if self.key is not None:
            return self.key.image(keys)
        import numpy as np

        values = np.ascontiguousarray(keys, self.dtype).view(np.uint8)
        return np.asarray((values ^ np.uint8(255 * self.descending)).view(self.dtype))

    @property
    def made_of(self) -> np.dtype[Any]:
        """The dtype of the numbers that `put` takes. For bytes it is the widest unsigned one that the key holds."""
        import numpy as np

        return np.dtype(f"u{1 << (self.prefix_bytes.bit_length() - 1)}") if self.key is None else self.key.dtype

    def put(self, numbers: NDArray[Any], records: NDArray[np.uint8]) -> None:
        """Write numbers of `made_of` as the keys of as many records, a row each; bytes end in zeros."""
        import numpy as np

        width = self.width
        if self.key is None:
            numbers = numbers.astype(numbers.dtype.newbyteorder(">"))
            records[:, self.offset : self.offset + width] = 0
            width = numbers.dtype.itemsize
        elif self.swapped:
            numbers = numbers.byteswap()
        records[:, self.offset : self.offset + width] = numbers.view(np.uint8).reshape(len(numbers), -1)

    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        return Equal(run, self.size)

    def layout(self) -> OrderLayout:
        code = BYTES_KIND if self.key is None else self.key.code
        return OrderLayout(RECORDS, self.width, self.descending, self.size, self.offset, code, self.big_endian)

    @property
    def field(self) -> tuple[int, ...]:
        """The key as FieldSpec of kernels/cpu/entries.h has it: offset, width, kind, big_endian, descending."""
        layout = self.layout()
        return layout.offset, layout.width, layout.key_kind, int(layout.big_endian), int(layout.descending)

    def macros(self, *, rows: bool) -> Macros:
        return record_macros(self, self.layout(), rows=rows)

    def moves_whole(self, sizes: Sequence[int]) -> bool:
        return self.size in sizes and self.width <= PREFIX_BYTES

    def of_prefixes(self) -> Order:
        return RecordOrder("bytes", 1, size=1) if self.prefix_decides else self

    def describe(self) -> str:
        return f"records of {self.size} bytes, key {self.key_location}"

    @property
    def key_location(self) -> str:
        """The key's place and type in words: "bytes 0 to 9", "big-endian int32 at byte 4, descending"."""
        if self.key is None:
            name = f"bytes {self.offset} to {self.offset + self.width - 1}"
        else:
            order = f"{_FOREIGN}-endian " if self.swapped else ""
            name = f"{order}{self.key.name} at byte {self.offset}"
        return f"{name}, descending" if self.descending else name

    def key_of(self, item: bytes) -> bytes:
        if self.key is not None:
            return item
        key = self._key_of(item)
        return key.rstrip(b"\0") if self.name else key  # zeros fill a field up

    def number(self, item: bytes, *, short: bool = False) -> str | None:
        return None if self.key is None else self.key.number(self._key_of(item), short=short)

    def by_key(self) -> Sequence[Order]:
        return (self,) if self.name else ()

    def key_option(self, number: int) -> str:
        return f"--field {self.name}{':r' if self.descending else ''}"

    def _key_of(self, item: bytes) -> bytes:
        """The key of a record: a number has this machine's byte order."""
        key = item[self.offset : self.offset + self.width]
        return key[::-1] if self.swapped else key

    def quoted(self, part: bytes) -> str:
        return repr(part)[1:]

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        return (replace(self, descending=not self.descending),)
