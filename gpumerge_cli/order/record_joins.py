"""The rules of a join of records, and of numbers, which are records that are all key."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.base import Order
from gpumerge_cli.order.differences import Diff
from gpumerge_cli.order.fields import FieldsOrder
from gpumerge_cli.order.joins import ONLY_B, PAIRS, Join, suffix_apart
from gpumerge_cli.order.key_types import ItemType
from gpumerge_cli.order.keys import KeyOrder
from gpumerge_cli.order.records import RecordOrder
from gpumerge_cli.order.row_joins import PayloadJoin

if TYPE_CHECKING:
    import numpy as np

    from gpumerge_cli.order.asof import Asof
    from gpumerge_cli.order.key_types import Dtype


@dataclass(frozen=True)
class RecordJoin:
    """A join of two inputs of records, A and B.

    The output has a record of A, then the rest of B's: its bytes but the key.
    """

    shows: int = PAIRS
    """A sum of PAIRS and the others of joins.py."""
    filler: bytes = b"\0"
    """The byte in place of a missing record."""
    orders: tuple[Order, ...] = ()
    """The orders of A and B, by keys of the same types; () until the inputs are opened."""
    asof: Asof | None = None
    """See Join."""

    columns = None
    between = b"\0"
    most = (0, 0)

    @property
    def compared(self) -> Order:
        """The order of keys: of records that have nothing but the key's fields."""
        parts = parts_of(self.orders[0])
        ends = list(accumulate(part.width for part in parts))
        places = zip(parts, ends, strict=True)
        return FieldsOrder.by([replace(part, size=ends[-1], offset=end - part.width, name="") for part, end in places])

    @property
    def tables(self) -> tuple[array[int], ...]:
        """See Join."""
        return tuple(_table(order) for order in self.orders)

    @property
    def has_rest(self) -> bool:
        """Whether the rest of B's records is written."""
        return bool(self.shows & (PAIRS | ONLY_B))


JoinRules = Join | RecordJoin | PayloadJoin | Diff


def parts_of(order: Order) -> tuple[RecordOrder, ...]:
    """The order by each field of a key of records."""
    if isinstance(order, FieldsOrder):
        return order.parts
    assert isinstance(order, RecordOrder)
    return (order,)


def as_records(order: Order) -> Order:
    """The order of numbers in native byte order as that of records; another one as it is."""
    return (
        RecordOrder.of_key(order.width, 0, order.item_type, descending=order.descending)
        if isinstance(order, KeyOrder)
        else order
    )


def turned_alike(orders: Sequence[Order]) -> tuple[Order, ...]:
    """The orders with each field of the key descending in all of them if it is in one."""
    keys = list(zip(*map(parts_of, orders), strict=True))
    turned = [any(part.descending for part in key) for key in keys]
    return tuple(
        FieldsOrder.by([replace(part, descending=down) for part, down in zip(parts_of(order), turned, strict=True)])
        for order in orders
    )


def joined_type(a: Dtype, b: Dtype, key: Sequence[RecordOrder]) -> Dtype:
    """The type of a record of A and the rest of one of B, whose key has these fields.

    It has the fields of both if both have any. A field of B whose name A has, too, gets a suffix, see suffix_apart.
    """
    taken = sorted((part.offset, part.offset + part.width) for part in key)

    def ahead(offset: int) -> int:
        """The bytes of the rest ahead of a place in B's record."""
        return offset - sum(max(0, min(offset, stop) - start) for start, stop in taken)

    rest = ahead(b.itemsize)
    if rest == 0:
        return a
    size = a.itemsize + rest
    if b.names is None or (a.names is None and a.kind in "SV"):
        return ItemType("V", size)
    import numpy as np

    if a.names is None:
        a = np.dtype([(key[0].name or "key", a)])
    names, formats, offsets = list(a.names or ()), [a[name] for name in a.names or ()], _offsets(a)
    for name, place in zip(b.names, _offsets(b), strict=True):
        left = _without(b[name], place, taken)
        if left is None:
            continue
        names.append(name + suffix_apart(name, names))
        formats.append(left)
        offsets.append(a.itemsize + ahead(place))
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def marked_type(title: str, dtype: Dtype) -> Dtype:
    """The type of records, or numbers, with a byte of text ahead of each.

    It has the fields of a dtype that has any, behind one called `title`.
    """
    dtype = dtype if dtype.kind in "SV" else dtype.newbyteorder("=")
    if dtype.names is None and dtype.kind in "SV":
        return ItemType("V", 1 + dtype.itemsize)
    import numpy as np

    whole = np.dtype(dtype)
    names = list(whole.names or ("value",))
    formats = [whole[name] for name in whole.names or ()] or [whole]
    offsets = [0] if whole.names is None else _offsets(whole)
    title += suffix_apart(title, names)
    return np.dtype(
        {
            "names": [title, *names],
            "formats": ["S1", *formats],
            "offsets": [0, *(1 + place for place in offsets)],
            "itemsize": 1 + dtype.itemsize,
        }
    )


def _without(dtype: np.dtype[Any], place: int, taken: Sequence[tuple[int, int]]) -> np.dtype[Any] | None:
    """A field's dtype without the bytes of the record that are taken; None if nothing is left."""
    inside = [(max(start, place), min(stop, place + dtype.itemsize)) for start, stop in taken]
    gone = sum(max(0, stop - start) for start, stop in inside)
    if gone == 0:
        return dtype
    import numpy as np

    return np.dtype(f"V{dtype.itemsize - gone}") if gone < dtype.itemsize else None


def _offsets(dtype: np.dtype[Any]) -> list[int]:
    assert dtype.fields is not None
    return [dtype.fields[name][1] for name in dtype.names or ()]


def _table(order: Order) -> array[int]:
    parts = parts_of(order)
    fields = (number for part in parts for number in part.field)
    return array("q", [order.item_bytes, len(parts), *fields])
