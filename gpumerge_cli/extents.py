"""Where bytes lie, for compiled code that reads and writes them itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Extent:
    """Where a source's bytes lie: in a file from byte `start` on, or in memory.

    held: how many of them there are; what the source has beyond them is one line's missing terminator. swap: bytes of a
    key whose byte order is foreign, else 0. memory: an array of bytes; then there is no descriptor.
    """

    descriptor: int
    start: int
    held: int
    swap: int = 0
    memory: Any = None


@dataclass(frozen=True)
class Target:
    """Where a sink's bytes go: to a file, from byte `start` on, by `writers` at a time.

    name: what messages call it. piece: calls end at multiples of so many bytes. swap: as of Extent.
    """

    name: str
    descriptor: int
    start: int
    piece: int
    writers: int
    swap: int = 0
