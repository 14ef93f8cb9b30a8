"""Random columns of texts and of values with nulls, and their plain order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from gpumerge_cli import ColumnArray

Item = Any
DTYPES = ["int8", "int32", "uint64", "int64", "float16", "float64", "bool", "M8[ns]", "m8[s]", "S3", "V11"]
_BEGINNINGS = [b"", b"a", b"\0", b"https://example.org/", b"x" * 41, bytes(range(256))]


def drawn_texts(rng: np.random.Generator, count: int) -> list[bytes]:
    """Texts of few letters, among them NUL, behind few beginnings, which may be long."""
    letters = [b"ab", b"\0a", b"\0", b"abcdefgh\xff"][int(rng.integers(4))]
    beginnings = [_BEGINNINGS[int(each)] for each in rng.integers(0, len(_BEGINNINGS), 2)]
    most = int(rng.choice([1, 3, 9, 30]))
    found = []
    for _ in range(count):
        behind = bytes(rng.choice(list(letters), int(rng.integers(0, most + 1))).astype(np.uint8))
        found.append(beginnings[int(rng.integers(2))] + behind)
    return found


def drawn_items(rng: np.random.Generator, kind: str, count: int, nulls: float) -> list[Item]:
    """Items of a column: bytes for "text", else one-item arrays of the dtype `kind`; None for nulls."""
    found: list[Item]
    if kind == "text":
        found = list(drawn_texts(rng, count))
    else:
        dtype = np.dtype(kind)
        if dtype.kind == "f":
            values = rng.choice(np.array([np.nan, 0.0, -0.0, -1.5, 2.0, np.inf], dtype), count)
        elif dtype.kind in "SV":
            values = rng.choice(np.array([0, 97, 255], np.uint8), (count, dtype.itemsize)).view(dtype)[:, 0]
        elif dtype.kind == "b":
            values = rng.integers(0, 2, count).astype(dtype)
        else:
            bits = rng.choice(np.array([0, 1, 2, 2**63 - 1, 2**63, 2**64 - 1], np.uint64), count)
            values = bits.view(dtype) if dtype.itemsize == 8 else bits.astype(dtype)
        found = [values[at : at + 1] for at in range(count)]
    lacks = rng.random(count) < nulls
    return [None if is_null else item for item, is_null in zip(found, lacks, strict=True)]


def column_of(kind: str, items: list[Item], nulls: Any, rng: np.random.Generator) -> ColumnArray:
    """A column of items; nulls lie over any values, and texts may begin behind others."""
    mask = np.array([item is not None for item in items], np.bool_)
    valid = None if mask.all() else mask
    if kind != "text":
        dtype = np.dtype(kind)
        filled = [np.zeros(1, dtype) if item is None else item for item in items]
        values = np.concatenate([np.empty(0, dtype).view(np.uint8), *(each.view(np.uint8) for each in filled)])
        return ColumnArray(values.view(dtype), None, valid, nulls)
    ahead = b"ahead"[: int(rng.integers(0, 6))]
    texts = [b"null" if item is None else item for item in items]
    ends = np.cumsum([len(ahead), *map(len, texts)])
    data = np.frombuffer(ahead + b"".join(texts) + b"behind", np.uint8)
    return ColumnArray(data, ends.astype(rng.choice(["i4", "i8"])), valid, nulls, binary=True)


def shared_bytes(x: bytes, y: bytes) -> int:
    """The number of bytes with which both texts begin."""
    return next((at for at, (a, b) in enumerate(zip(x, y, strict=False)) if a != b), min(len(x), len(y)))


def plain_key(kind: str, nulls: Any, descending: bool) -> Callable[[Item], tuple[Any, ...]]:
    """The key of an item for Python's sort. Texts that descend are their complements, ended by a larger byte."""

    def key(item: Item) -> tuple[Any, ...]:
        if item is None:
            return (-1 if nulls == "first" else 1, ())
        if kind == "text":
            return (0, (*(-byte for byte in item), 1) if descending else tuple(item))
        if item.dtype.kind in "SV":
            return (0, tuple(-byte for byte in item.tobytes()) if descending else tuple(item.tobytes()))
        if item.dtype.kind in "mM":
            number = int(item.view(np.int64)[0])
            is_last = number == np.iinfo(np.int64).min
        else:
            number = item[0].item()
            is_last = number != number
        place = (int(is_last), 0 if is_last else number)
        return (0, tuple(-each for each in place) if descending else place)

    return key


def items_of(column: ColumnArray) -> list[Any]:
    """The items of a column as hashable objects, None for nulls. NaNs are equal to each other."""
    host = column.on_host()
    if host.offsets is not None:
        ends, data = host.offsets.tolist(), host.values.tobytes()
        found: list[Any] = [data[low:high] for low, high in pairwise(ends)]
    else:
        found = [host.values[at : at + 1].tobytes() for at in range(len(host))]
    mask = [True] * len(host) if host.valid is None else host.valid.tolist()
    return [item if is_valid else None for item, is_valid in zip(found, mask, strict=True)]


def raw_items(items: list[Item]) -> list[Any]:
    """Drawn items as items_of gives those of their column."""
    return [item if item is None or isinstance(item, bytes) else item.tobytes() for item in items]
