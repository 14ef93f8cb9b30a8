"""The types of keys: TYPES is the one list of them. NumPy is not imported here: help lists types and their suffixes."""

from __future__ import annotations

TYPES: dict[str, tuple[str, tuple[int, ...], int]] = {
    "int": ("i", (1, 2, 4, 8), 1),
    "uint": ("u", (1, 2, 4, 8), 0),
    "float": ("f", (2, 4, 8), 2),
}
"""By kind: NumPy's letter, widths in bytes, and KEY_KIND of keys.cuh, which is ItemKind of entries.h, too."""


def type_name(kind: str, width: int) -> str:
    """NumPy's name of a key type: int32, or the kind alone where it has one width, as bool would have."""
    return kind if len(TYPES[kind][1]) == 1 else f"{kind}{8 * width}"


DTYPES: tuple[str, ...] = tuple(type_name(kind, width) for kind, (_, widths, _) in TYPES.items() for width in widths)
"""NumPy's names of all key dtypes, int8 to float64."""

SUFFIXES: dict[str, str] = {
    f".{letter}{8 * width}": type_name(kind, width) for kind, (letter, widths, _) in TYPES.items() for width in widths
}
"""NumPy's names of all key dtypes by the suffix of raw files, ".i32" of "int32"."""
