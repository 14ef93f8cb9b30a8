"""The places of bytes in files and memory, for compiled code that reads and writes them itself."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class Extent:
    """The bytes of a source: in a file, from byte `start` on, or in memory.

    held: the number of bytes. A source may be one byte longer: then its last line lacks the terminator. swap: the
    bytes of a key if its byte order is foreign, else 0. memory: an array of bytes, in place of the descriptor.
    """

    descriptor: int
    start: int
    held: int
    swap: int = 0
    memory: Any = None


@dataclass(frozen=True)
class Copy:
    """The decompressed content of an input, in the file at `path`. tag: tells it from that of other states of it."""

    path: str
    tag: str


@dataclass(frozen=True)
class Spot:
    """The place of a sink's bytes for another process: in the file at `path`, which is there, from byte `start` on.

    name: the name in messages. dtype: of the items as the file has them, a numpy.dtype; None for lines. mapped: bytes
    of the file that this machine's processes write faster by a mapping; 0 if they write by calls.
    """

    name: str
    path: str
    start: int
    dtype: Any = None
    mapped: int = 0
    identity: tuple[int, int] | None = None
    """The device and the number of the file, which may have lost its name to another one. Device 0: of any device."""


@dataclass(frozen=True)
class PartsSpot:
    """The place of a sink's bytes for other processes: an object of a store, of which each task sends one part.

    name, dtype: as in Spot. upload: plain data by which any process sends parts (a formats.stores.base.Sendable).
    head: the bytes ahead of all items. part_bytes: bytes that every part has at least, but for the last one.
    """

    name: str
    upload: Any
    head: bytes
    part_bytes: int
    dtype: Any = None


@dataclass(frozen=True)
class Target:
    """The place of a sink's bytes: in a file, from byte `start` on. At most `writers` threads write at a time.

    name: the name in messages. piece: each call ends at a multiple of this number of bytes. swap: as in Extent. memory:
    the address of the file's byte 0 if the file is mapped, else 0.
    """

    name: str
    descriptor: int
    start: int
    piece: int
    writers: int
    swap: int = 0
    memory: int = 0
