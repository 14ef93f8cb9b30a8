"""Compressed files, by the suffix of their names."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import IO, Any, Protocol

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.errors import GpumergeError, InputError, OutputError, UsageError, input_error
from gpumerge_cli.formats.codecs import CODECS, COLUMN_COMPRESSIONS, COMPRESSIONS, UNCOMPRESSED, Codec, Reader
from gpumerge_cli.patterns import pattern
from gpumerge_cli.urls import shown

_ROTATED = pattern(r"(?<=\.log)[.-][0-9][0-9._-]*\Z", re.IGNORECASE)
"""A number or a date behind the suffix of a log, as in app.log.12 and app.log-20240103."""


class Writable(Protocol):
    """Takes bytes in order."""

    def write(self, data: Any, /) -> int:
        """Take all of the data, and say how many bytes that was."""


@lru_cache(maxsize=64)  # each name is asked for ten times
def compression_of(name: str) -> str:
    """The suffix of the compression of `name`, in lower case; "" if it is not compressed."""
    suffix = os.path.splitext(shown(name))[1].lower()
    return suffix if suffix in CODECS else ""


def inner_name(name: str) -> str:
    """`name` without the suffix of its compression: what its content would be called."""
    name = shown(name)
    return name[: len(name) - len(compression_of(name))]


@lru_cache(maxsize=64)
def suffix_of(name: str) -> str:
    """The last suffix of a file's name, in lower case, with its dot.

    The suffix of a compression is aside, and so is the number or date of a rotated log.
    """
    return os.path.splitext(_ROTATED.sub("", inner_name(name)))[1].lower()


def open_reader(stream: IO[bytes], name: str) -> Reader:
    """The content of the compressed `stream`, to be read in order.

    Raises UsageError if the library is missing, and for invalid data an error that `damaged` takes, as reading does.
    """
    codec = CODECS[compression_of(name)]
    reader = codec.reader(stream)
    start = stream.read(max(1, len(codec.magic)))
    stream.seek(0)
    if not start:
        raise EOFError
    if not start.startswith(codec.magic):
        raise ValueError("it does not begin as such data do")
    return reader


def unpacked(name: str) -> Generator[bytes, None, None]:
    """The content of the compressed file `name` in pieces, decompressed as they are asked for.

    Raises InputError, UsageError.
    """
    try:
        with open(name, "rb") as raw, contextlib.closing(open_reader(raw, name)) as plain:
            while piece := plain.read(1 << 20):
                yield piece
    except GpumergeError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise input_error(error, name) from None
        raise damaged(error, name) from None


def unpack(raw: IO[bytes], out: Writable, name: str, size: int, progress: Callable[[float], None]) -> None:
    """Write the content of the compressed stream `raw`, of `size` bytes, to `out`. Raises InputError, UsageError.

    progress: called with the share of the stream that was gone through, again and again.
    """
    try:
        with contextlib.closing(open_reader(raw, name)) as plain:
            gone = 0
            while data := plain.read(1 << 20):
                out.write(data)
                gone, before = raw.tell(), gone
                progress((gone - before) / max(1, size))
    except Exception as error:
        if isinstance(error, GpumergeError) or (isinstance(error, OSError) and error.errno):
            raise
        raise damaged(error, name) from None


def damaged(error: Exception, name: str) -> InputError:
    """The InputError for what a reader that `opened` gave has raised on the data of `name`."""
    kind = CODECS[compression_of(name)].name
    if isinstance(error, EOFError):
        what = f"the {kind} data end too soon, or something else follows them"
        return InputError(what, where=name, way_out="the file is truncated or damaged")
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(f"not readable as {kind} data ({reason})", where=name, way_out="check the file, or its suffix")


def output_codec(name: str, wanted: str | None = None, *, plain: bool = False) -> Codec | None:
    """The codec of the output `name`; None if it is not compressed.

    wanted: the value of --compression; None goes by the suffix, which must not contradict it. plain: the suffix says
    nothing. Compressions of a table's columns alone are None, too. Raises OutputError, UsageError.
    """
    named = CODECS.get(compression_of(name))
    if wanted is None:
        return None if plain else named
    found = next((codec for codec in CODECS.values() if codec.option == wanted), None)
    if found is None and wanted in COLUMN_COMPRESSIONS and named is None:
        return None
    if found is None and wanted != UNCOMPRESSED:
        raise UsageError(f"--compression {wanted}: no such compression", way_out=f"use {', '.join(COMPRESSIONS)}")
    if named is None or named is found or (found is not None and found.general == named.suffix):
        return found
    if found is None and plain:
        return None
    raise OutputError(
        f"its suffix means {named.name} data, --compression says {wanted}",
        where=shown(name),
        way_out=f"name it {inner_name(name)}{'' if found is None else found.suffix}",
    )


class FileEnd:
    """Bytes behind all chunks of an output. See formats.sink.Footer."""

    def __init__(self, end: bytes) -> None:
        self._end = end

    def note(self, start: int, data: Bytes) -> None:
        """It says nothing about them."""

    def made(self) -> bytes:
        return self._end
