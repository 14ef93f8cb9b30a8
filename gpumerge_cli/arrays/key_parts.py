"""Keys of several parts, and bytes on a GPU: integers that order as they do, on either processor.

Each part has an image, an unsigned number (see order/keys.py) or the bytes themselves; their complement descends. The
images of an item lie behind each other, the most significant byte first, and are read as words of 64 bits. One word is
the image of its item. If there are several, items are sorted by the last word first and then by the others, each time
stably, and an image is the rank that this gives. `xp` is the module of the arrays, NumPy or CuPy.

Source: the least-significant-digit radix sort, Knuth, The Art of Computer Programming 3, 5.2.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from gpumerge_cli.arrays.options import short_repr
from gpumerge_cli.arrays.payload import concatenated
from gpumerge_cli.arrays.plain_items import item_rows
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError
from gpumerge_cli.launch import SortRequest
from gpumerge_cli.order.keys import KeyOrder
from gpumerge_cli.order.kinds import Order

if TYPE_CHECKING:
    from gpumerge_cli.backends.base import Backend

Direction = Literal["ascending", "descending"]
KEY_DIRECTIONS: tuple[Direction, ...] = ("ascending", "descending")
FieldKey = str | tuple[str, Direction]
"""A field, "a.b" for b inside a, by its name, or with its direction; "a:r" descends, too."""
ArrayKey = FieldKey | Sequence[FieldKey]
"""A field of structured arrays, or a list of several, the first one first."""
_WORD = 8
_NAME = "name a field of the arrays' dtype"


@dataclass(frozen=True)
class KeyPart:
    """One of the keys of an item."""

    path: tuple[str, ...]
    """The names that lead to it in records, one inside the other; () if items are keys."""
    offset: int
    """The first of its bytes in an item."""
    dtype: np.dtype[Any]
    """That of a number, bool, date or time span in any byte order, or of bytes: S or V."""
    descending: bool

    @classmethod
    def of(cls, dtype: np.dtype[Any], path: tuple[str, ...], *, descending: bool) -> KeyPart:
        """The part of items of a dtype to which a path of their fields leads."""
        offset = 0
        for name in path:
            fields: Any = dtype.fields
            dtype, offset = fields[name][0], offset + fields[name][1]
        return cls(path, offset, dtype, descending)

    @property
    def alone(self) -> KeyPart:
        """The same key where items are nothing else, in native byte order. Bytes are S."""
        width = self.dtype.itemsize
        dtype = np.dtype(f"S{width}") if self.dtype.kind in "SV" else self.dtype.newbyteorder("=")
        return KeyPart((), 0, dtype, self.descending)

    def image(self, xp: Any, rows: Any) -> Any:
        """The images in items whose bytes are `rows`: uint8, a row each, the most significant byte first."""
        width = self.dtype.itemsize
        found = rows[:, self.offset : self.offset + width]
        if self.dtype.kind in "SV":
            return ~found if self.descending else found
        order = KeyOrder.of_dtype(self.dtype.newbyteorder("="), descending=self.descending)
        # Memory of its own, since a GPU reads no number at any address: a single item is contiguous wherever it lies.
        bits = xp.empty((len(rows), width), np.uint8)
        bits[:] = found if self.dtype.isnative else found[:, ::-1]
        images = order.image_of_bits(bits.reshape(-1).view(order.unsigned))
        return images.view(np.uint8).reshape(len(rows), width)[:, ::-1]


def leaf_parts(dtype: np.dtype[Any], offset: int = 0) -> list[KeyPart]:
    """A part for each number and text in items of a dtype, without padding. Their images tell values apart.

    offset: the first byte of such an item in a larger one. Raises UsageError for complex numbers.
    """
    if dtype.names:
        fields: Any = dtype.fields
        return [part for name in dtype.names for part in leaf_parts(fields[name][0], offset + fields[name][1])]
    if dtype.subdtype is not None:
        one, shape = dtype.subdtype
        return [part for at in range(prod(shape)) for part in leaf_parts(one, offset + at * one.itemsize)]
    if dtype.kind == "c":
        what = "complex numbers in records are not compared on a GPU"
        raise UsageError(what, way_out="give their parts as numbers, or arrays in host memory")
    return [KeyPart((), offset, np.dtype(f"V{dtype.itemsize}") if dtype.kind == "U" else dtype, False)]


def as_field_keys(key: Any) -> list[tuple[str, bool]]:
    """The name of each field of `key`, a list, and whether it descends. Raises UsageError for anything else."""
    if not isinstance(key, Iterable) or isinstance(key, bytes):
        raise UsageError(f"key={short_repr(key)} is not the name of a field", way_out=_NAME)
    found = []
    for one in [key] if _is_directed(key) else key:
        if isinstance(one, str):
            found.append((one, False))
        elif _is_directed(one):
            found.append((one[0], one[1] == "descending"))
        else:
            what = f"key={short_repr(key)}: {short_repr(one)} is not the name of a field"
            raise UsageError(what, way_out='give names, "name:r" or ("name", "descending")')
    if not found:
        raise UsageError(f"key={short_repr(key)} names no field", way_out=_NAME)
    return found


def _is_directed(one: Any) -> TypeGuard[tuple[str, Direction]]:
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str) and one[1] in KEY_DIRECTIONS


def words_of(xp: Any, array: Any, parts: Sequence[KeyPart]) -> list[Any]:
    """The words of each item of an array, uint64: an array for each word, the most significant one first."""
    rows, count = item_rows(array), len(array)
    width = sum(part.dtype.itemsize for part in parts)
    words = -(-width // _WORD)
    padded = xp.zeros((count, words * _WORD), np.uint8)
    if count:
        at = 0
        for part in parts:
            padded[:, at : at + part.dtype.itemsize] = part.image(xp, rows)
            at += part.dtype.itemsize
    turned = xp.ascontiguousarray(padded.reshape(count, words, _WORD)[:, :, ::-1])
    numbers = turned.reshape(-1).view(np.uint64).reshape(count, words)
    return [xp.ascontiguousarray(numbers[:, word]) for word in range(words)]


def key_images(xp: Any, backend: Backend, words: Sequence[list[Any]], threads: int = 1) -> list[Any]:
    """For each array the images of its items, uint64. They order and equal each other as the items of all arrays do.

    words: those of each array, as from words_of. backend: the one in whose memory they lie. threads: of the host, for
    it.
    """
    if len(words[0]) == 1:
        return [one for (one,) in words]
    ranks = _ranks(xp, backend, [concatenated(each) for each in zip(*words, strict=True)], threads)
    ends = accumulate((len(each[0]) for each in words), initial=0)
    return [ranks[low:high] for low, high in pairwise(ends)]


def first_disorder_of_words(xp: Any, words: Sequence[Any]) -> int | None:
    """The index of the first item that goes before its predecessor; None without any. words: see words_of."""
    count = len(words[0])
    is_less, is_equal = xp.zeros(max(count - 1, 0), bool), xp.ones(max(count - 1, 0), bool)
    for word in words:
        here, ahead = word[1:], word[:-1]
        is_less |= is_equal & (here < ahead)
        is_equal &= here == ahead
    return int(is_less.argmax()) + 1 if count > 1 and bool(is_less.any()) else None


def _ranks(xp: Any, backend: Backend, words: Sequence[Any], threads: int) -> Any:
    """The ranks of items among each other by their words, uint64. Equal items have equal ranks."""
    count = len(words[0])
    if not count:
        return words[0]
    order = order_of_words(backend, words[-1], threads)
    for word in reversed(words[:-1]):
        order = order[order_of_words(backend, word[order], threads)]
    is_new = xp.zeros(count, bool)
    for word in words:
        in_order = word[order]
        is_new[1:] |= in_order[1:] != in_order[:-1]
    ranks = xp.empty(count, np.uint64)
    ranks[order] = xp.cumsum(is_new).astype(np.uint64)
    return ranks


def order_of_words(backend: Backend, words: Any, threads: int = 1) -> Any:
    """The stable order of integers that lie in a backend's memory, int64. threads: of the host, for it."""
    order = Order.of(words.dtype)
    return backend.sort_ranks(words, order, backend.resolve_sort(SortRequest(), order, words.nbytes), threads=threads)
