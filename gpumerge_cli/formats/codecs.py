"""Compressions: their names, the first bytes of their data, their readers and compressors. CODECS lists them all.

gzip, bzip2 and xz need nothing beyond Python's standard library; isal, of the extra `compressed`, is faster at gzip.
Zstandard needs Python 3.14 or that extra. Each chunk is written as members, streams, blocks or frames of its own, so
that chunks are compressed independently; readers of these formats take several as one file. The same chunk gives the
same bytes always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Protocol

from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import UsageError

if TYPE_CHECKING:
    from gpumerge_cli.formats.block_index import BlockCoding

_ISAL_LEVEL = 2  # levels go from 0 to 3; this one makes files about as small as zlib's 1
_ISAL_BLOCK_LEVEL = 1  # a block of 64 KiB becomes as small as by 2, a sixth faster
_ZLIB_LEVEL = 1
_FRAME_BYTES = 1 << 20  # of content: readers that cut files where frames begin unpack one for a few bytes of it
_XZ_PRESET = 1
_XZ_PADDING = 4
_READ_AT_ONCE = 1 << 18


class Reader(Protocol):
    """A compressed stream's content, in order. Damaged data raise the codec's own exceptions."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, b"" at the end. EOFError: the data end too soon, or something else follows them."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class Codec:
    """One compression."""

    name: str
    """Its name in messages."""
    option: str
    """Its name for --compression."""
    suffix: str
    """The suffix of its files."""
    begins: bytes
    """A regular expression for the first bytes of its data."""
    magic: bytes
    """Bytes that its data always begin with; b"" if there are several."""
    reader: Callable[[IO[bytes]], Reader]
    """Makes a reader of a compressed stream. Raises UsageError if its library is missing."""
    compressor: Callable[[], Callable[[Any], bytes]]
    """Makes a function that compresses a chunk. Raises UsageError if its library is missing."""
    end: Callable[[], bytes] = bytes
    """Gives the bytes behind all chunks."""
    blocks: Callable[[], BlockCoding] | None = None
    """Tells how its data are cut into blocks that can be read alone. Raises UsageError if its library is missing."""
    general: str = ""
    """The suffix of the codec whose readers read these data, too."""


class _Streams:
    """A Reader of streams one after the other.

    new: makes a decompressor of one, as bz2 and lzma have them. padded: zeros may follow each, in fours.
    """

    def __init__(self, new: Callable[[], Any], raw: IO[bytes], *, padded: bool = False) -> None:
        self._new = new
        self._raw = raw
        self._padded = padded
        self._one = new()
        self._follows = False  # the stream follows another, and has given no bytes yet

    def read(self, size: int, /) -> bytes:
        """See Reader."""
        while True:
            packed = b""
            if self._one.eof:
                packed = self._behind()
                if not packed:
                    return b""
                self._one, self._follows = self._new(), True
            elif self._one.needs_input:
                packed = self._raw.read(_READ_AT_ONCE)
                if not packed:
                    raise EOFError
            try:
                data: bytes = self._one.decompress(packed, size)
            except Exception:
                if self._follows:
                    raise EOFError from None
                raise
            if data:
                self._follows = False
                return data

    def _behind(self) -> bytes:
        """The bytes behind the stream that has ended, and behind its padding."""
        rest: bytes = self._one.unused_data or self._raw.read(_READ_AT_ONCE)
        zeros = 0
        while self._padded and rest:
            found = rest.lstrip(b"\0")
            zeros += len(rest) - len(found)
            if found:
                rest = found
                break
            rest = self._raw.read(_READ_AT_ONCE)
        if zeros % _XZ_PADDING:
            raise ValueError(f"{zeros} zeros follow a stream, which is not a multiple of {_XZ_PADDING}")
        return rest

    def close(self) -> None:
        """The raw stream stays open."""


def _read_gzip(raw: IO[bytes]) -> Reader:
    try:
        from isal import igzip
    except ImportError:
        with _of_python("gzip"):
            import gzip

            return gzip.GzipFile(fileobj=raw)
    reader: Reader = igzip.IGzipFile(fileobj=raw)
    return reader


def _write_gzip() -> Callable[[Any], bytes]:
    # A time would make the same output other bytes each time.
    try:
        from isal import igzip
    except ImportError:
        with _of_python("gzip"):
            import gzip

            return partial(gzip.compress, compresslevel=_ZLIB_LEVEL, mtime=0)
    return partial(igzip.compress, compresslevel=_ISAL_LEVEL, mtime=0)


def _write_bgzf() -> Callable[[Any], bytes]:
    from gpumerge_cli.formats.bgzf import packer

    return packer(*_zlib_and_level())


def _bgzf_end() -> bytes:
    from gpumerge_cli.formats.bgzf import BGZF_END

    return BGZF_END


def _bgzf_blocks() -> BlockCoding:
    from gpumerge_cli.formats.bgzf import bgzf_blocks

    library, _ = _zlib_and_level()
    return bgzf_blocks(library)


def _zlib_and_level() -> tuple[Any, int]:
    """The fastest module with the functions of zlib, and its level for blocks."""
    try:
        from isal import isal_zlib
    except ImportError:
        with _of_python("zlib"):
            import zlib

            return zlib, _ZLIB_LEVEL
    return isal_zlib, _ISAL_BLOCK_LEVEL


def _read_bzip2(raw: IO[bytes]) -> Reader:
    with _of_python("bz2"):
        import bz2

    return _Streams(bz2.BZ2Decompressor, raw)


def _write_bzip2() -> Callable[[Any], bytes]:
    with _of_python("bz2"):
        import bz2

    return bz2.compress


def _read_xz(raw: IO[bytes]) -> Reader:
    with _of_python("lzma"):
        import lzma

    return _Streams(partial(lzma.LZMADecompressor, lzma.FORMAT_XZ), raw, padded=True)


def _write_xz() -> Callable[[Any], bytes]:
    with _of_python("lzma"):
        import lzma

    return partial(lzma.compress, preset=_XZ_PRESET)


def _read_zstandard(raw: IO[bytes]) -> Reader:
    reader: Reader = _zstandard().ZstdFile(raw)
    return reader


def _write_zstandard() -> Callable[[Any], bytes]:
    zstd = _zstandard()
    compress = partial(zstd.compress, options={zstd.CompressionParameter.checksum_flag: 1})

    def frames(chunk: Any) -> bytes:
        view = memoryview(chunk).cast("B")
        return b"".join(compress(view[at : at + _FRAME_BYTES]) for at in range(0, max(1, len(view)), _FRAME_BYTES))

    return frames


def _zstandard_frames() -> BlockCoding:
    from gpumerge_cli.formats.zstd_frames import zstd_frames

    return zstd_frames(_zstandard())


def _zstandard() -> Any:
    try:
        from compression import zstd  # Python 3.14 and later
    except ImportError:
        try:
            from backports import zstd
        except ImportError:
            raise UsageError(
                ".zst files need backports.zstd, which is not installed", way_out="install gpumerge[compressed]"
            ) from None
    return zstd


@contextmanager
def _of_python(module: str) -> Iterator[None]:
    """Report it if this Python was built without a module."""
    try:
        yield
    except ImportError:
        raise UsageError(
            f"this Python was built without {module}, which such files need", way_out="decompress them first"
        ) from None


CODECS: Mapping[str, Codec] = {
    codec.suffix: codec
    for codec in (
        # It comes ahead of gzip, whose first bytes it has, too.
        Codec(
            "BGZF",
            "bgzf",
            ".bgz",
            rb"\x1f\x8b\x08\x04.{8}BC\x02\x00",
            b"\x1f\x8b",
            _read_gzip,
            _write_bgzf,
            _bgzf_end,
            _bgzf_blocks,
            ".gz",
        ),
        Codec("gzip", "gzip", ".gz", rb"\x1f\x8b\x08", b"\x1f\x8b", _read_gzip, _write_gzip, blocks=_bgzf_blocks),
        # A frame to be skipped may come first, which begins otherwise.
        Codec(
            "Zstandard",
            "zstd",
            ".zst",
            rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18",
            b"",
            _read_zstandard,
            _write_zstandard,
            blocks=_zstandard_frames,
        ),
        Codec("bzip2", "bzip2", ".bz2", rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", b"BZh", _read_bzip2, _write_bzip2),
        Codec("xz", "xz", ".xz", rb"\xfd7zXZ\x00", b"\xfd7zXZ\x00", _read_xz, _write_xz),
    )
}
"""By suffix."""
UNCOMPRESSED = "none"
"""The value of --compression for plain outputs."""
COMPRESSIONS = (*(codec.option for codec in CODECS.values()), UNCOMPRESSED)
"""The values of --compression for outputs that are compressed as a whole."""
COLUMN_COMPRESSIONS = ("zstd", "snappy", "gzip", "lz4", "brotli", UNCOMPRESSED)
"""The values of --compression for tables, whose columns are compressed."""
