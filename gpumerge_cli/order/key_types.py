"""The types of keys: TYPES lists them all. NumPy is not imported here: help lists types and their suffixes."""

from __future__ import annotations

import sys

from gpumerge_cli.dataclass import dataclass, replace

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from typing import Any, ClassVar

    import numpy as np

TYPES: dict[str, tuple[str, tuple[int, ...], int]] = {
    "int": ("i", (1, 2, 4, 8), 1),
    "uint": ("u", (1, 2, 4, 8), 0),
    "float": ("f", (2, 4, 8), 2),
    "bool": ("b", (1,), 0),
    "datetime": ("M", (8,), 5),
    "timedelta": ("m", (8,), 5),
}
"""By kind: NumPy's letter, widths in bytes, and KEY_KIND of keys.cuh, which is ItemKind of entries.h, too."""


def type_name(kind: str, width: int) -> str:
    """NumPy's name of a key type, without a unit: int32, datetime64, or bool."""
    return kind if kind == "bool" else f"{kind}{8 * width}"


_NUMBERS = {type_name(kind, width): (letter, width)
            for kind, (letter, widths, _) in TYPES.items() if letter in "iuf" for width in widths}  # fmt: skip

DTYPES: tuple[str, ...] = tuple(_NUMBERS)
"""NumPy's names of the dtypes of numbers, int8 to float64."""

SUFFIXES: dict[str, str] = {f".{letter}{8 * width}": name for name, (letter, width) in _NUMBERS.items()}
"""NumPy's names of the dtypes of numbers by the suffix of raw files, ".i32" of "int32"."""

_FOREIGN = ">" if sys.byteorder == "little" else "<"
KIND_OF_LETTER = {letter: kind for kind, (letter, _, _) in TYPES.items()}
"""The kinds in TYPES by NumPy's letters."""


@dataclass(frozen=True)
class ItemType:
    """The type of items in a file, without NumPy, whose dtypes have attributes of the same names."""

    kind: str
    """NumPy's letter of numbers (i, u, f), or S or V for records without fields; those with fields have a dtype."""
    itemsize: int
    """The bytes of an item."""
    isnative: bool = True
    """Whether a number has this machine's byte order."""

    names: ClassVar[None] = None
    fields: ClassVar[None] = None
    subdtype: ClassVar[None] = None
    hasobject: ClassVar[bool] = False

    @classmethod
    def of(cls, name: str) -> ItemType | None:
        """The type of a key in a plain spelling, "int32" or "<i4"; None for any other text."""
        if name in DTYPES:
            return _NAMED[name]
        order, letter = (name[:1], name[1:]) if name[:1] in ("<", ">", "=") else ("=", name)
        kind = KIND_OF_LETTER.get(letter[:1]) if letter[:1] in "iuf" else None
        if kind is None or letter[1:] not in map(str, TYPES[kind][1]):
            return None
        return cls(letter[0], int(letter[1:]), order != _FOREIGN or letter[1:] == "1")

    @property
    def name(self) -> str:
        """NumPy's name, which does not state the byte order."""
        return (
            type_name(KIND_OF_LETTER[self.kind], self.itemsize) if self.kind in KIND_OF_LETTER else str(self.dtype.name)
        )

    def __str__(self) -> str:
        return str(self.dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype. NumPy takes the type itself for it where it wants one."""
        import numpy as np

        found = np.dtype(f"{self.kind}{self.itemsize}")
        return found if self.isnative else found.newbyteorder()

    def newbyteorder(self, _: str = "=") -> ItemType:
        """The type in this machine's byte order."""
        return replace(self, isnative=True)


def of_dtype(dtype: np.dtype[Any]) -> Dtype:
    """The type that equals a dtype; the dtype itself if there is none."""
    if dtype.kind not in "iufSV" or dtype.subdtype is not None or dtype.names is not None:
        return dtype
    return ItemType(dtype.kind, dtype.itemsize, dtype.isnative)


_NAMED = {name: ItemType(letter, width) for name, (letter, width) in _NUMBERS.items()}


if TYPE_CHECKING:
    Dtype = ItemType | np.dtype[Any]
    """The type of items: a dtype only where fields, units or NumPy's other kinds are in it."""
