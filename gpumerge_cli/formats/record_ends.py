"""Bytes that end records in which newlines are: no input holds them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.order.rules import NUL

_PIECE = 1 << 18
_ENDS = tuple({*range(32), 127, 0xC0, 0xC1, *range(0xF5, 0x100)} - {9, 10, 13})
"""Control bytes, and bytes that UTF-8 never has: no count of items, and no byte order mark, holds them."""


def absent_byte(
    files: Sequence[SeekableInput],
    separator: bytes,
    way_out: str,
    use: str = "to end records with newlines in them",
) -> int:
    """A byte that no file holds, NUL if possible, to end records. separator: it is none of these bytes.

    use: the words for what the byte does. Raises InputError with the way out if the files hold all bytes that may do
    so.
    """
    for choices in ((NUL,), _ENDS):
        left: list[int] = [byte for byte in choices if byte not in separator]
        for data in chain.from_iterable(file.pieces(_PIECE) for file in files):
            left = [byte for byte in left if byte not in data]
            if not left:
                break
        if left:
            return left[0]
    held = "it holds" if len(files) == 1 else "it and the other inputs hold"
    what = f"{held} every control byte and every byte that UTF-8 never has, so none is left {use}"
    raise InputError(what, where=files[0].name, way_out=way_out)
