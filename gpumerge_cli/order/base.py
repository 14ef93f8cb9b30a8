"""The protocol of orders: how items compare, how they lie in memory, and what messages call them.

There are orders of keys that are their own items, of records by one key, of records by several fields, and of lines.
Code that works on items calls the methods of the order. It never tests which kind of order it has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from gpumerge_cli.dataclass import dataclass, field

if TYPE_CHECKING:
    from array import array

    import numpy as np
    from numpy.typing import NDArray

    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.rules import LineOrder

TypeKind = str
"""The kind of a key: one of key_types.TYPES, or bytes or lines."""
Macros = tuple[tuple[str, int | str], ...]
"""Names and values of macros."""
Ways = tuple[bool, bool]
"""Two answers: is the order numeric, descending? They are sort's options -n and -r."""
_OPTIONS = ("-n", "-r")
Bounds = Callable[[int, bytes], tuple[int, int]]
PREFIX_BYTES = 8
"""The bytes of the prefix by which rows compare first."""


@dataclass(frozen=True)
class Meant:
    """An order that a user may have meant instead."""

    order: Order
    way_out: str
    """The way out for the user, if the items are in it."""
    by: int | None = None
    """The key that orders the items differently, and must do so in this order, too; None if that does not matter."""
    leaves_ties: bool = False
    """Whether it is the same order, but leaves items with equal keys as they are."""


def by_another_key(order: Order, other: Order, by: int) -> Meant:
    """The order `other`, in which key `by` compares in another way than in `order`."""
    from shlex import quote  # only for messages: it loads more

    words = [one.key_option(by).split(" ", 1) for one in (other, order)]
    meant, given = (" ".join((option, *map(quote, value))) for option, *value in words)
    return Meant(other, f"the file is in the order of {meant}: use that for {given}", by)


class Of(Protocol):
    """See KeyOrder.of_dtype."""

    def __call__(self, dtype: Dtype | str, *, descending: bool = False) -> Order: ...


class OfRecords(Protocol):
    """See RecordOrder.of_key."""

    def __call__(self, size: int, offset: int, key: Dtype | int, *, descending: bool = False) -> Order: ...


class OfLines(Protocol):
    """See TextOrder.by."""

    def __call__(
        self,
        text: LineOrder | None = None,
        *,
        numeric: bool = False,
        descending: bool = False,
        stable: bool = False,
    ) -> Order: ...


@dataclass(frozen=True)
class OrderLayout:
    """An order as numbers for compiled code. The fields are those of OrderSpec in kernels/cpu/entries.h."""

    kind: int
    """An ItemKind."""
    width: int = 0
    descending: bool = False
    record: int = 0
    offset: int = 0
    key_kind: int = 0
    """An ItemKind."""
    big_endian: bool = False
    terminator: int = 0
    table: array[int] | None = field(default=None, compare=False)
    """LineOrder.table(), or the fields of a key of several. It must outlive every use."""


@dataclass(frozen=True)
class Order(ABC):
    """An order of items."""

    kind: TypeKind
    """One of key_types.TYPES, "bytes" for keys of records that are bytes, or "lines"."""
    width: int = 0
    """The bytes of a key; 0 for lines."""
    descending: bool = False
    """Whether the order is the complement. Lines have this in their rules."""

    of: ClassVar[Of]
    """The order of keys: see KeyOrder.of_dtype."""
    records: ClassVar[OfRecords]
    """The order of records: see RecordOrder.of_key."""
    lines: ClassVar[OfLines]
    """The order of lines: see TextOrder.by."""

    is_rows: ClassVar[bool] = True
    """True if items merge as rows (a prefix and a number each) and are gathered at the end. False for keys."""
    costs_as: ClassVar[Literal["keys", "lines"]] = "keys"
    """The kind of items that the cost model takes these for."""
    in_locales: ClassVar[bool] = True
    """Whether lines can compare as in a locale."""

    @property
    @abstractmethod
    def item_bytes(self) -> int:
        """The bytes of an item; 0 if items have different sizes."""

    @property
    def record(self) -> int:
        """The bytes of the record that holds the key; 0 if items are not records."""
        return 0

    @property
    def text(self) -> LineOrder | None:
        """The rules by which lines compare; None for other items."""
        return None

    def by_rules(self, rules: LineOrder) -> Order:
        """The order of the same lines by other rules. Precondition: `text` is not None."""
        raise TypeError(f"{self.describe()}: items are not lines")

    @property
    def gpu(self) -> bool:
        """Whether a GPU compares such items, too."""
        return self.text is None or self.text.gpu

    @property
    def end(self) -> bytes:
        """The bytes that end every item and do not belong to it; b"" for items of one size."""
        return b""

    @property
    def prefix_bytes(self) -> int:
        """The bytes of a key in the 64-bit prefix of its row. The rest of a longer key decides ties."""
        return min(self.width, PREFIX_BYTES)

    @property
    def prefix_decides(self) -> bool:
        """True if items with equal 64-bit images or prefixes always compare equal."""
        return self.width <= PREFIX_BYTES

    @property
    def is_number(self) -> bool:
        """Whether the key of items of one size is a number, as libraries sort it."""
        return False

    @property
    def checks_values(self) -> bool:
        """Whether keys may be invalid, and an item that has such a key is an error."""
        return False

    @property
    def compared_bytes(self) -> int:
        """The bytes that merges compare first: those of a key, or of the prefix of a row."""
        return PREFIX_BYTES

    @property
    def dtype(self) -> np.dtype[Any]:
        """The native dtype of keys. Keys that are bytes have S and their width."""
        raise self._keyless()

    @property
    def unsigned(self) -> np.dtype[Any]:
        """The unsigned dtype of a number's width, in which key bits are viewed and images are given."""
        raise self._keyless()

    @property
    def flip(self) -> int:
        """The mask that an image is XORed with: the sign bit of signed integers, then all bits if descending.

        For a key that is bytes, the mask is for its first `prefix_bytes` bytes.
        """
        raise self._keyless()

    def keys(self, items: NDArray[np.uint8]) -> NDArray[Any]:
        """The keys of items of one size that lie back to back, as an array of `dtype`. It is a view where it can be."""
        raise self._keyless()

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        """The images of fixed-width keys: the same shape, an unsigned dtype of that width; bytes stay bytes."""
        raise self._keyless()

    def _keyless(self) -> TypeError:
        return TypeError(f"{self.describe()}: items have no key of one size")

    def count(self, nbytes: int) -> int | None:
        """The number of items in so many bytes; None if it takes reading them to know."""
        return nbytes // self.item_bytes

    def sample(self) -> bytes:
        """An item and its end."""
        return bytes(self.item_bytes)

    @abstractmethod
    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        """The items of a run by their numbers, each without its end."""

    @abstractmethod
    def layout(self) -> OrderLayout:
        """The order for compiled code on the host."""

    @abstractmethod
    def macros(self, *, rows: bool) -> Macros:
        """The macros of keys.cuh for code that is compiled for this order. rows: items become rows."""

    @property
    def best_piece(self) -> int:
        """The bytes of items that an output takes best at once; 0 if it does not matter."""
        return 0

    def moves_whole(self, sizes: Sequence[int]) -> bool:
        """True if items can merge as they are, given that records of one of `sizes` bytes can."""
        return False

    def of_prefixes(self) -> Order:
        """An order that compares rows in the same way, the same for as many orders as possible."""
        return self

    @abstractmethod
    def describe(self) -> str:
        """The order in words: "int32", "CSV, by -k 2n,2", "records of 100 bytes, key bytes 0 to 9"."""

    @property
    def item_word(self) -> str:
        """The word for an item that users count, "line" or "record"; "" for items that they do not."""
        return ""

    @property
    def plain_lines(self) -> bool:
        """Whether items are lines as they stand in a file of text."""
        return False

    @property
    def begins_with_number(self) -> bool:
        """True if a key is a number in digits, or a month, at an item's start."""
        return False

    def key_of(self, item: bytes) -> bytes:
        """The part of an item that messages show: bytes that are its key, else all of it."""
        return item

    def number(self, item: bytes, *, short: bool = False) -> str | None:
        """The item's key as text; None if it is bytes. short: floats have six digits at most."""
        return None

    @abstractmethod
    def quoted(self, part: bytes) -> str:
        """A part of a key or a line, within quotes."""

    @property
    def key_count(self) -> int:
        """The keys that an item's text states, one for each field of records and column of rows."""
        return 1

    def by_first(self, count: int) -> Order:
        """The order of the same items by their first keys alone."""
        return self

    def by_key(self) -> Sequence[Order]:
        """For each key that the user named the order by it alone."""
        return ()

    def key_option(self, number: int) -> str:
        """Key `number` of by_key() as a command line has it, "-k 2n" or "--field id:r"."""
        raise IndexError(number)

    def part(self, number: int, item: bytes, bounds: Bounds) -> bytes | None:
        """Key `number` of by_key() within an item, for messages; None if they show the key with the item.

        bounds: finds where a key of a line begins and ends, from its number and the line.
        """
        return None

    @property
    def ways(self) -> Ways:
        """See Ways."""
        return False, self.descending

    @property
    def plain_way(self) -> str:
        """The name of an order without any of the options."""
        return "ascending"

    @abstractmethod
    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        """Orders by other options. keys_equal: all keys of the items that are out of this order are equal."""

    def meant(self, by: int | None) -> Sequence[Meant]:
        """Orders that a user may have meant instead. by: the key of by_key() in which the items differ."""
        return [self._by_options(other) for other in self.others(keys_equal=by is None)]

    def _by_options(self, other: Order) -> Meant:
        named = " ".join(name for name, on in zip(_OPTIONS, other.ways, strict=True) if on)
        changes = [
            f"add {option}" if after else f"leave {option} out"
            for option, before, after in zip(_OPTIONS, self.ways, other.ways, strict=True)
            if before != after
        ]
        return Meant(other, f"the file is in {named or other.plain_way} order: {' and '.join(changes)}")
