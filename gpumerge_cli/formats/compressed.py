"""Compressed files: gzip (.gz) and Zstandard (.zst), through libraries that the extra `compressed` brings.

What is written is one member (gzip) or frame (Zstandard) a chunk, so that chunks are compressed independently; every
reader of these formats takes several as one file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from gpumerge_cli.errors import InputError, UsageError
from gpumerge_cli.formats.base import STDIO

_GZIP_LEVEL = 2  # of 0 to 3; it is about as small as zlib's 1
_MAGIC = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd"}  # a frame that is skipped has another
_NAMES = {".gz": "gzip", ".zst": "Zstandard"}
_BEGINNINGS = {
    "gzip": rb"\x1f\x8b\x08",
    "Zstandard": rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18",
    "bzip2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
    "LZMA": rb"\x5d\x00\x00..[\x00\xff]{2}",
    "LZ4": rb"\x04\x22\x4d\x18",
    ".npy": rb"\x93NUMPY",
    "ZIP": rb"PK\x03\x04",
    "Parquet": rb"PAR1[\x00-\x1f]",
    "HDF5": rb"\x89HDF\r\n\x1a\n",
}
"""How files begin that are no text, whatever they are called."""
_COMPRESSED = ("gzip", "Zstandard", "bzip2", "xz", "LZMA", "LZ4")
LOOKED_AT = 16
"""Bytes at a file's start that tell."""


def compression_of(name: str) -> str:
    """The suffix that says how `name` is compressed, in lower case, or ""."""
    suffix = os.path.splitext(name)[1].lower()
    return suffix if suffix in _NAMES else ""


def inner_name(name: str) -> str:
    """`name` without the suffix of its compression: what its content would be called."""
    return name[: len(name) - len(compression_of(name))]


def refuse_binary(name: str, start: bytes, *, plain: bool) -> None:
    """Raise InputError if a file of lines begins with `start` and that is how compressed or other binary files begin.

    plain: as of InputFile.
    """
    kind = next((kind for kind, begins in _BEGINNINGS.items() if re.match(begins, start, re.DOTALL)), "")
    if not kind:
        return
    suffix = next((suffix for suffix, one in _NAMES.items() if one == kind), "")
    if compression_of(name) == suffix != "" and plain:
        way_out = "say --compressed"
    elif kind == ".npy":
        way_out = "say --format npy"
    else:
        way_out = "decompress it first" if kind in _COMPRESSED else "convert it first"
        if suffix and name != STDIO:
            way_out += f", or name it {suffix}" + (" and say --compressed" if plain else "")
    raise InputError(
        f"it holds {kind} data, not lines of text", where=name, way_out=f"{way_out}; --format text takes it as it is"
    )


def opened(stream: IO[bytes], name: str) -> IO[bytes]:
    """What the compressed `stream` holds, to be read in order.

    Raises UsageError if the library is missing, and for other data what `damaged` takes, as reading from it does.
    """
    suffix = compression_of(name)
    library = _gzip() if suffix == ".gz" else _zstd()
    start = stream.read(len(_MAGIC[suffix]))
    stream.seek(0)
    if not start:
        raise EOFError
    if start != _MAGIC[suffix] and suffix == ".gz":
        raise ValueError("it does not begin as such data do")
    reader: Any = library.IGzipFile(fileobj=stream) if suffix == ".gz" else library.ZstdFile(stream)
    return reader  # type: ignore[no-any-return]


def damaged(error: Exception, name: str) -> InputError:
    """The InputError for what a reader that `opened` gave has raised on the data of `name`."""
    kind = _NAMES[compression_of(name)]
    if isinstance(error, EOFError):
        what = f"the {kind} data end too soon, or something else follows them"
        return InputError(what, where=name, way_out="the file is truncated or damaged")
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(f"not readable as {kind} data ({reason})", where=name, way_out="check the file, or its suffix")


def compressor(name: str) -> Callable[[Any], bytes] | None:
    """What compresses a chunk of the output `name`, None if it is not to be compressed. Raises UsageError as opened."""
    suffix = compression_of(name)
    if not suffix:
        return None
    if suffix == ".gz":
        # A time would make the same output other bytes each time.
        return partial(_gzip().compress, compresslevel=_GZIP_LEVEL, mtime=0)
    zstd = _zstd()
    return partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1})


def _gzip() -> Any:
    try:
        from isal import igzip
    except ImportError:
        raise _missing(".gz", "isal") from None
    return igzip


def _zstd() -> Any:
    try:
        from compression import zstd  # Python 3.14 and later
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise _missing(".zst", "backports.zstd") from None
    return zstd


def _missing(suffix: str, library: str) -> UsageError:
    return UsageError(f"{suffix} files need {library}, which is not installed", way_out="install gpumerge[compressed]")
