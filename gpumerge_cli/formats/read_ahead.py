"""Pipes and other inputs that can be read only once, and whose beginnings are read before they are opened.

A beginning is kept with the descriptor that gave it. SeekableInput starts with it, so no byte is lost.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import IO

_PIECE = 1 << 16  # what a pipe holds


class ReadAhead:
    """The beginning of an open pipe, terminal or device.

    descriptor: where it goes on; whoever takes this closes it.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._pieces: list[bytes] = []
        self._ended = False

    def pieces(self) -> Iterator[bytes]:
        """The content from its start, in pieces, as it comes. Raises OSError."""
        yield from self._pieces
        while not self._ended:
            piece = os.read(self.descriptor, _PIECE)
            if piece:
                self._pieces.append(piece)
                yield piece
            else:
                self._ended = True  # a terminal would ask again

    def copy(self, out: IO[bytes]) -> None:
        """Write all of the content to `out`, and keep nothing. Raises OSError."""
        while self._pieces:
            out.write(self._pieces.pop(0))
        while not self._ended and (piece := os.read(self.descriptor, 1 << 20)):
            out.write(piece)


_begun: dict[str, ReadAhead] = {}
"""By name: those that no reader has taken."""


def begun(name: str, open_descriptor: Callable[[], int]) -> ReadAhead:
    """The kept beginning of the input `name`, which is opened if it was not. Raises what `open_descriptor` does."""
    if name not in _begun:
        _begun[name] = ReadAhead(open_descriptor())
    return _begun[name]


def take(name: str) -> ReadAhead | None:
    """The kept beginning of the input `name`, for its only reader from now on; None if nothing was read of it."""
    return _begun.pop(name, None)
