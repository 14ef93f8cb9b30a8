"""What an order says of items: how they compare, how they lie in memory, and what messages call them.

Three orders say it: of keys that are their own items, of records that hold a key, and of lines. Whoever works on items
asks the order for what it needs, not for which of the three it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpumerge_cli.order.rules import LineOrder

Kind = Literal["int", "uint", "float", "bytes", "lines"]
Macros = tuple[tuple[str, int | str], ...]
"""Names and values of macros."""
Ways = tuple[bool, bool, bool]
"""Whether an order is numeric, descending, and stable, as sort's options -n, -r and -s have it."""
_OPTIONS = ("-n", "-r", "-s")
Bounds = Callable[[int, bytes], tuple[int, int]]
PREFIX_BYTES = 8
"""Bytes of the prefix by which rows compare first."""


class Meant(NamedTuple):
    """An order that a user may have meant instead, and what to do if the items are in it.

    by: the key that told the items apart, and must do so in this order, too; None if that does not matter. leaves_ties:
    it is the same order but that it leaves items with equal keys as they are.
    """

    order: Order
    told: str
    by: int | None = None
    leaves_ties: bool = False


class Of(Protocol):
    """See Keys.of."""

    def __call__(self, dtype: np.dtype[Any] | str, *, descending: bool = False) -> Order: ...


class OfRecords(Protocol):
    """See Records.of."""

    def __call__(self, size: int, offset: int, key: np.dtype[Any] | int, *, descending: bool = False) -> Order: ...


class OfLines(Protocol):
    """See Lines.of."""

    def __call__(
        self,
        text: LineOrder | None = None,
        *,
        numeric: bool = False,
        descending: bool = False,
        stable: bool = False,
    ) -> Order: ...


@dataclass(frozen=True)
class Layout:
    """An order as the numbers that compiled code reads: OrderSpec of kernels/cpu/entries.h, by its names.

    kind, key_kind: an ItemKind. table: LineOrder.table(), or the fields of a key of several; it must outlive every use.
    """

    kind: int
    width: int = 0
    descending: bool = False
    record: int = 0
    offset: int = 0
    key_kind: int = 0
    big_endian: bool = False
    terminator: int = 0
    table: NDArray[np.int64] | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Order(ABC):
    """How items compare.

    kind: "int", "uint" or "float" for keys that are numbers, "bytes" for keys of records that are bytes, "lines".
    width: bytes of a key, 0 for lines. descending: the complement of the order; lines say that in `text`.
    """

    kind: Kind
    width: int = 0
    descending: bool = False

    of: ClassVar[Of]
    """The order of keys: see Keys.of."""
    records: ClassVar[OfRecords]
    """The order of records: see Records.of."""
    lines: ClassVar[OfLines]
    """The order of lines: see Lines.of."""

    is_rows: ClassVar[bool] = True
    """Whether items are merged as rows, a prefix and a number each, and gathered at the end; keys are not."""
    costs_as: ClassVar[Literal["keys", "lines"]] = "keys"
    """What the cost model counts the items as."""

    @property
    @abstractmethod
    def item_bytes(self) -> int:
        """Bytes of an item; 0 where they are of many sizes."""

    @property
    def record(self) -> int:
        """Bytes of the record that holds the key; 0 if there is none."""
        return 0

    @property
    def text(self) -> LineOrder | None:
        """How lines compare; None for all but lines."""
        return None

    @property
    def end(self) -> bytes:
        """What ends every item, and is no part of it."""
        return b""

    @property
    def prefix_bytes(self) -> int:
        """Bytes of a key that fit into the 64-bit prefix of its row; if there are more, ties go to the rest."""
        return min(self.width, PREFIX_BYTES)

    @property
    def prefix_decides(self) -> bool:
        """Whether 64-bit images or prefixes of items never tie but where the items compare equal."""
        return self.width <= PREFIX_BYTES

    @property
    def compared_bytes(self) -> int:
        """Bytes that merges compare first: a key, or the prefix of a row."""
        return PREFIX_BYTES

    @property
    def dtype(self) -> np.dtype[Any]:
        """The native dtype of keys; of keys that are bytes, S and their width."""
        raise self._keyless()

    @property
    def unsigned(self) -> np.dtype[Any]:
        """The unsigned dtype of a number's width: what key bits are viewed as, and what the image is."""
        raise self._keyless()

    @property
    def flip(self) -> int:
        """What an image is XORed with: the sign bit of signed integers, then all bits when descending.

        Of a key that is bytes: what the first `prefix_bytes` of it are XORed with.
        """
        raise self._keyless()

    def keys(self, items: NDArray[np.uint8]) -> NDArray[Any]:
        """The keys of items of one size that lie back to back: an array of `dtype`, a view where there is one."""
        raise self._keyless()

    def image(self, keys: NDArray[Any]) -> NDArray[Any]:
        """The images of fixed-width keys: same shape, unsigned dtype of the same width; of bytes, bytes again."""
        raise self._keyless()

    def _keyless(self) -> TypeError:
        return TypeError(f"{self.describe()}: items have no key of one size")

    def count(self, nbytes: int) -> int | None:
        """How many items so many bytes hold; None where only reading them tells."""
        return nbytes // self.item_bytes

    def sample(self) -> bytes:
        """An item, with what ends it."""
        return bytes(self.item_bytes)

    @abstractmethod
    def items(self, run: NDArray[np.uint8]) -> Sequence[bytes]:
        """The items of a run by their numbers, each without what ends it."""

    @abstractmethod
    def layout(self) -> Layout:
        """The order for compiled code on the host."""

    @abstractmethod
    def macros(self, *, rows: bool) -> Macros:
        """The order for code that is compiled for it: the macros of keys.cuh. rows: whether rows are made of items."""

    def moves_whole(self, sizes: Sequence[int]) -> bool:
        """Whether items themselves can be merged, where records of one of `sizes` bytes can."""
        return False

    def of_prefixes(self) -> Order:
        """The same order, as far as who compares and moves rows can tell."""
        return self

    @abstractmethod
    def describe(self) -> str:
        """For reports and messages: "int32", "CSV, by -k 2n,2", "records of 100 bytes, key bytes 0 to 9"."""

    @property
    def item_word(self) -> str:
        """The word for an item that users count, "line" or "record"; "" for items that they do not."""
        return ""

    @property
    def begins_with_number(self) -> bool:
        """Whether a key is a number in digits, or a month, at an item's start."""
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

    def by_key(self) -> Sequence[Order]:
        """For each key that the user named the order by it alone."""
        return ()

    def key_said(self, number: int) -> str:
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
        return False, self.descending, False

    @property
    def plain_way(self) -> str:
        """The name of an order without any of the options."""
        return "ascending"

    @abstractmethod
    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        """Orders by other options. keys_equal: no key tells apart the items that are out of this order."""

    def meant(self, by: int | None) -> Sequence[Meant]:
        """Orders that a user may have meant instead. by: the key of by_key() that tells items apart, if one does."""
        return [self._by_options(other) for other in self.others(keys_equal=by is None)]

    def _by_options(self, other: Order) -> Meant:
        named = " ".join(name for name, on in zip(_OPTIONS, other.ways, strict=True) if on)
        changes = [
            f"add {option}" if after else f"leave {option} out"
            for option, before, after in zip(_OPTIONS, self.ways, other.ways, strict=True)
            if before != after
        ]
        return Meant(other, f"the file is in {named or other.plain_way} order: {' and '.join(changes)}")
