"""The order of records of a fixed size by several of their fields, one after the other."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.base import PREFIX_BYTES, Macros, Meant, Order, OrderLayout, Ways, by_another_key
from gpumerge_cli.order.keys import Equal
from gpumerge_cli.order.records import RECORDS, RecordOrder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHOWN = 40


@dataclass(frozen=True)
class FieldsOrder(Order):
    """The order of records by their fields: each decides where all before it are equal.

    The key is bytes: the images of all fields, one after the other, the most significant byte first. `width` is the
    number of these bytes.
    """

    parts: tuple[RecordOrder, ...] = ()
    """The order by each field alone, the first one first."""

    @classmethod
    def by(cls, parts: Sequence[RecordOrder]) -> Order:
        """The order of records by these orders, one after the other; of a single one, that order."""
        if len(parts) == 1:
            return parts[0]
        return cls("bytes", sum(part.width for part in parts), parts=tuple(parts))

    @property
    def key_count(self) -> int:
        return len(self.parts)

    def by_first(self, count: int) -> Order:
        return FieldsOrder.by(self.parts[:count])

    @property
    def record(self) -> int:
        return self.parts[0].size

    @property
    def item_bytes(self) -> int:
        return self.record

    @property
    def dtype(self) -> np.dtype[Any]:
        import numpy as np

        return np.dtype(f"S{self.width}")

    @property
    def flip(self) -> int:
        return 0

    def keys(self, items: NDArray[np.uint8]) -> NDArray[Any]:
        import numpy as np

        images = [_most_significant_first(part.image(part.keys(items))) for part in self.parts]
        return np.ascontiguousarray(np.concatenate(images, axis=1)).view(self.dtype).reshape(-1)

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        return keys

    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        return Equal(run, self.record)

    def layout(self) -> OrderLayout:
        fields = [number for part in self.parts for number in part.field]
        return OrderLayout(RECORDS, self.width, record=self.record, table=array("q", [len(self.parts), *fields]))

    def macros(self, *, rows: bool) -> Macros:
        fields = ",".join("{" + ",".join(map(str, part.field)) + "}" for part in self.parts)
        return (
            ("ROWS", int(rows)),
            ("KEY_BITS", 64),
            ("RECORD_SIZE", self.record),
            ("KEY_SIZE", self.width),
            ("KEY_FIELDS", fields),
        )

    def of_prefixes(self) -> Order:
        return RecordOrder("bytes", 1, size=1) if self.width <= PREFIX_BYTES else self

    def describe(self) -> str:
        return f"records of {self.record} bytes, by {', '.join(part.key_location for part in self.parts)}"

    def by_key(self) -> Sequence[Order]:
        return self.parts

    def key_option(self, number: int) -> str:
        return self.parts[number].key_option(0)

    def number(self, item: bytes, *, short: bool = False) -> str | None:
        fields = []
        for part in self.parts:
            key = part.key_of(item)
            cut = part.quoted(key[:_SHOWN]) + "..." * (len(key) > _SHOWN)
            fields.append(f"{part.name} {part.number(item, short=short) or cut}".strip())
        return ", ".join(fields)

    def quoted(self, part: bytes) -> str:
        return repr(part)[1:]

    @property
    def ways(self) -> Ways:
        return False, all(part.descending for part in self.parts)

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        return (replace(self, parts=tuple(replace(part, descending=not part.descending) for part in self.parts)),)

    def meant(self, by: int | None) -> Sequence[Meant]:
        if by is None:
            return ()
        turned = replace(self.parts[by], descending=not self.parts[by].descending)
        other = replace(self, parts=(*self.parts[:by], turned, *self.parts[by + 1 :]))
        return (by_another_key(self, other, by),)


def _most_significant_first(images: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of images, a row each."""
    import numpy as np

    if images.dtype.kind != "S":
        images = images.astype(images.dtype.newbyteorder(">"))
    return np.ascontiguousarray(images).view(np.uint8).reshape(len(images), images.dtype.itemsize)
