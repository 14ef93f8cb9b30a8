"""Locations of bytes in files and memory, for compiled code that reads and writes them itself."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.dataclass import dataclass


@dataclass(frozen=True)
class Extent:
    """The bytes of a source, in a file or in memory."""

    descriptor: int
    """The descriptor of the file."""
    start: int
    """The place of the first byte in the file."""
    held: int
    """The number of bytes. A source may be one byte longer: then its last line lacks the terminator."""
    swap: int = 0
    """The bytes of a key if its byte order is foreign, else 0."""
    memory: Any = None
    """An array of bytes, in place of the descriptor; None for a file."""


@dataclass(frozen=True)
class DecompressedCopy:
    """The decompressed content of an input."""

    path: str
    """The file that holds it."""
    tag: str
    """Identifies this state of the input; other states have other tags."""


@dataclass(frozen=True)
class SinkLocation:
    """The place of a sink's bytes for another process, in an existing file."""

    name: str
    """The name in messages."""
    path: str
    """The file's path."""
    start: int
    """The place of the first byte in the file."""
    dtype: Any = None
    """The numpy.dtype of the items as the file has them; None for lines."""
    mapped: int = 0
    """Bytes of the file that this machine's processes write faster by a mapping; 0 if calls are faster."""
    identity: tuple[int, int] | None = None
    """The device and the inode of the file, whose name another file may have taken since. Device 0: any device."""


@dataclass(frozen=True)
class UploadLocation:
    """The place of a sink's bytes for other processes: an object of a store, of which each task sends one part."""

    name: str
    """The name in messages."""
    upload: Any
    """Plain data by which any process sends parts (a formats.stores.base.Sendable)."""
    head: bytes
    """The bytes ahead of all items."""
    part_bytes: int
    """The least bytes of every part but the last."""
    dtype: Any = None
    """See SinkLocation."""


@dataclass(frozen=True)
class Target:
    """The place of a sink's bytes in a file."""

    name: str
    """The name in messages."""
    descriptor: int
    """The descriptor of the file."""
    start: int
    """The place of the first byte in the file."""
    piece: int
    """Each call ends at a multiple of this number of bytes."""
    writers: int
    """The most threads that write at a time."""
    swap: int = 0
    """The bytes of a key if its byte order is foreign, else 0."""
    memory: int = 0
    """The address of the file's byte 0 if the file is mapped, else 0."""
