"""The order of rows of typed columns. An item is the images of a row's keys, and a reference to the row.

If each key has images of one size, items are records: the images one behind the other, or one number, and then the
reference. Else items are lines: each image without NUL and MARK, MARK behind it, the reference and NUL.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.order.base import Bounds, Meant, Order
from gpumerge_cli.order.lines import TextOrder
from gpumerge_cli.order.records import RecordOrder
from gpumerge_cli.order.rules import MARK

REFERENCE_BYTES = 8
"""The bytes of the reference to a row, behind the images in a record."""
_ESCAPES = ((b"\2", b"\2\5"), (b"\1", b"\2\4"), (b"\0", b"\2\3"))  # their order is that of the bytes


class RowKey(Protocol):
    """A column by which rows compare."""

    @property
    def name(self) -> str:
        """The column as --field names it."""

    @property
    def option_text(self) -> str:
        """The key as --field has it."""

    @property
    def width(self) -> int:
        """The bytes of its images; 0 if they have different sizes."""

    @property
    def column(self) -> Any:
        """The column of a table, see formats.tables.key_columns."""

    def shown(self, image: bytes) -> bytes:
        """The value of an image: a text for users, or the bytes of a text."""

    def image(self, word: bytes) -> bytes:
        """The image of the value that a text says. Raises UsageError."""


class RowOrder(Order):
    """The order of rows by keys. Rows with equal keys stay in the order of the inputs."""

    keys_of_rows: tuple[RowKey, ...]
    piece: int
    """The bytes of items that become one group of an output; 0 if that does not matter."""
    stated: bool
    """Whether the files say the keys, and no option does."""
    in_locales: ClassVar[bool] = False

    @abstractmethod
    def images(self, item: bytes) -> list[bytes]:
        """The images of the keys of an item, in the order of the keys."""

    @property
    def key_count(self) -> int:
        return len(self.keys_of_rows)

    def values(self, item: bytes) -> list[bytes]:
        """The keys of an item: texts for users, or the bytes of texts."""
        return [key.shown(image) for key, image in zip(self.keys_of_rows, self.images(item), strict=True)]

    @property
    def best_piece(self) -> int:
        return self.piece

    def describe(self) -> str:
        by = ", ".join(map(self.key_option, range(len(self.keys_of_rows))))
        return f"rows, by {by}{', as the files state' * self.stated}"

    def key_option(self, number: int) -> str:
        return f"--field {self.keys_of_rows[number].option_text}"

    @property
    def item_word(self) -> str:
        return ""

    @property
    def plain_lines(self) -> bool:
        return False

    def key_of(self, item: bytes) -> bytes:
        return item

    def number(self, item: bytes, *, short: bool = False) -> str | None:
        return ", ".join(value.decode("utf-8", "backslashreplace") for value in self.values(item))

    def part(self, number: int, item: bytes, bounds: Bounds) -> bytes | None:
        return None

    def others(self, *, keys_equal: bool) -> Sequence[Order]:
        return ()

    def meant(self, by: int | None) -> Sequence[Meant]:
        return ()


@dataclass(frozen=True)
class FixedRowOrder(RowOrder, RecordOrder):
    """The order of rows whose items are records."""

    keys_of_rows: tuple[RowKey, ...] = ()
    piece: int = 0
    stated: bool = False

    @classmethod
    def by_columns(cls, keys: Sequence[RowKey], *, native: bool = False, piece: int = 0) -> FixedRowOrder:
        """The order by columns, the first one first. native: the image of the only key is a number, not bytes."""
        width = 8 if native else sum(key.width for key in keys)
        return cls(
            "uint" if native else "bytes", width, size=width + REFERENCE_BYTES, keys_of_rows=tuple(keys), piece=piece
        )

    def images(self, item: bytes) -> list[bytes]:
        if self.kind != "bytes":
            return [item[7::-1][8 - self.keys_of_rows[0].width :]]
        found, at = [], self.offset
        for key in self.keys_of_rows:
            found.append(item[at : at + key.width])
            at += key.width
        return found

    def item(self, images: Sequence[bytes]) -> bytes:
        """An item with these images."""
        whole = b"".join(images)
        if self.kind == "bytes":  # the order may be by the first keys of its items
            whole = whole.ljust(self.size - REFERENCE_BYTES, b"\0")
        return (whole.rjust(8, b"\0")[::-1] if self.kind != "bytes" else whole) + bytes(REFERENCE_BYTES)

    def by_first(self, count: int) -> Order:
        keys = self.keys_of_rows[:count]
        width = self.width if self.kind != "bytes" else sum(key.width for key in keys)
        return replace(self, width=width, keys_of_rows=keys)

    def by_key(self) -> Sequence[Order]:
        found, at = [], self.offset
        for key in self.keys_of_rows:
            width = self.width if self.kind != "bytes" else key.width
            found.append(replace(self, width=width, offset=at, keys_of_rows=(key,)))
            at += width
        return found


@dataclass(frozen=True)
class TextRowOrder(RowOrder, TextOrder):
    """The order of rows whose items are lines."""

    keys_of_rows: tuple[RowKey, ...] = ()
    piece: int = 0
    stated: bool = False

    def images(self, item: bytes) -> list[bytes]:
        images = item.split(MARK)
        return [unescaped(images[key.start_field]) for key in self.rules.keys]

    def item(self, images: Sequence[bytes]) -> bytes:
        """An item with these images, without its end."""
        return MARK.join([*map(escaped, images), b""])

    def by_first(self, count: int) -> Order:
        rules = replace(self.rules, keys=self.rules.keys[:count])
        return replace(self, rules=rules, keys_of_rows=self.keys_of_rows[:count])

    def by_key(self) -> Sequence[Order]:
        pairs = zip(self.rules.keys, self.keys_of_rows, strict=True)
        return [replace(self, rules=replace(self.rules, keys=(rule,)), keys_of_rows=(key,)) for rule, key in pairs]


def escaped(data: bytes) -> bytes:
    """Bytes without NUL and MARK that compare as `data` does."""
    for byte, pair in _ESCAPES:
        data = data.replace(byte, pair)
    return data


def unescaped(data: bytes) -> bytes:
    """The bytes of which `escaped` made `data`."""
    for byte, pair in reversed(_ESCAPES):
        data = data.replace(pair, byte)
    return data
