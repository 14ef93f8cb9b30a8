"""Which format a file has: what the user said, else what its name says."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from gpumerge_cli.errors import InputError, OutputError, UsageError
from gpumerge_cli.formats.base import STDIO, Sink, Source
from gpumerge_cli.formats.compressed import LOOKED_AT, compressor, refuse_binary
from gpumerge_cli.formats.fixed import npy_header, open_npy, open_raw, suffix_of
from gpumerge_cli.formats.input import InputFile
from gpumerge_cli.formats.output import is_terminal, open_output
from gpumerge_cli.formats.records import Key, RecordRequest, item_name, order_of, parse_dtype, record_format
from gpumerge_cli.formats.sink import ItemSink
from gpumerge_cli.formats.text import LineSource
from gpumerge_cli.order import DTYPES
from gpumerge_cli.order.rules import NEWLINE, NUL, LineOrder

RAW_SUFFIXES: dict[str, str] = {f".{name[0]}{''.join(filter(str.isdigit, name))}": name for name in DTYPES}
"""Suffix -> dtype of raw files: ".i32" -> "int32"."""
TEXT_SUFFIXES: tuple[str, ...] = ("", ".txt", ".text", ".csv", ".tsv", ".log", ".lst")
_BINARY = {
    ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Feather", ".orc": "ORC", ".avro": "Avro", ".h5": "HDF5",
    ".hdf5": "HDF5", ".npz": "an archive of arrays", ".zip": "a ZIP archive", ".tar": "a tar archive", ".bz2": "bzip2",
    ".xz": "xz", ".lzma": "LZMA", ".lz4": "LZ4", ".7z": "a 7-Zip archive", ".pkl": "a pickle", ".pickle": "a pickle",
    ".xlsx": "a workbook", ".mat": "MATLAB", ".sqlite": "SQLite", ".pdf": "PDF", ".png": "PNG",
}  # fmt: skip
"""What a suffix says that nothing here writes."""
_WRITINGS = {
    ".json": "JSON", ".jsonl": "JSON", ".html": "HTML", ".xml": "XML", ".md": "Markdown", ".yaml": "YAML",
    ".toml": "TOML",
}  # fmt: skip
"""The same; lines of text may be this."""
_FOREIGN = _BINARY | _WRITINGS


@dataclass(frozen=True)
class Format:
    """A format and, for keys and records, the dtype with its byte order (None: the file's header says it).

    key: what of an item is its key, if anything was said of that. terminator: the byte that ends a line. header_lines:
    lines at the start that are not items. csv: lines are made of CSV's records, see formats.csv. separator: between
    fields. plain: whatever their names say, no files are compressed. shown: makes of whole lines what is written. said:
    options say the format, so names need not.
    """

    name: str
    dtype: np.dtype[Any] | None = None
    key: Key | None = None
    terminator: int = NEWLINE
    header_lines: int = 0
    csv: bool = False
    separator: int | None = None
    plain: bool = False
    shown: Callable[[bytes], bytes] | None = None
    said: bool = field(default=False, compare=False)


def resolve_format(
    name: str,
    format: str | None,
    dtype: str | None,
    *,
    lines: LineOrder | None = None,
    header_lines: int = 0,
    csv: bool = False,
    records: RecordRequest = RecordRequest(),  # noqa: B008 - frozen
) -> Format:
    """The format of the file `name`.

    lines: how lines compare, if that was said: then it is text. Raises UsageError if neither options nor suffix say the
    format, or if they disagree.
    """
    found = _resolved(name, format, dtype, lines, header_lines, csv, records)
    return replace(found, said=format is not None or dtype is not None or records.size is not None)


def _resolved(
    name: str,
    format: str | None,
    dtype: str | None,
    lines: LineOrder | None,
    header_lines: int,
    csv: bool,
    records: RecordRequest,
) -> Format:
    suffix = suffix_of(name) if name != STDIO else ""
    if format not in (None, "raw", "npy", "text"):
        raise UsageError(f"--format {format}: no such format", way_out="use raw, npy or text")
    items, key = record_format(dtype, records)
    text = lines is not None or header_lines > 0 or csv
    if key is not None:
        return _records(name, suffix, format, items, key, records.said or f"--dtype {dtype}", text)
    if dtype is not None and format in (None, "raw"):
        wanted = parse_dtype(dtype)
        if format is None and suffix == ".npy":
            return Format("npy", wanted)
        named = RAW_SUFFIXES.get(suffix)
        if named is not None and np.dtype(named) != wanted.newbyteorder("="):
            raise UsageError(f"{name}: its suffix says {named}, --dtype says {dtype}", way_out="leave one of them out")
        return Format("raw", wanted)
    if format == "npy" or (format is None and suffix == ".npy" and not text):
        return Format("npy", None if dtype is None else parse_dtype(dtype))
    if format in (None, "raw") and suffix in RAW_SUFFIXES and not text:
        return Format("raw", np.dtype(RAW_SUFFIXES[suffix]))
    if format == "raw":
        raise UsageError(f"{name}: raw items need a dtype", way_out="say --dtype, for example --dtype int32")
    if format == "text" or text or (format is None and suffix in TEXT_SUFFIXES):
        if dtype is not None:
            raise UsageError(f"--dtype {dtype}: lines of text have none", way_out="leave it or --format text out")
        if text and (format in ("raw", "npy") or (format is None and (suffix in RAW_SUFFIXES or suffix == ".npy"))):
            raise UsageError(
                f"{name} is binary: how lines compare means nothing to it",
                way_out="leave -n and the like out, or --format text",
            )
        terminator, separator = (NEWLINE, None) if lines is None else (lines.terminator, lines.separator)
        if csv and terminator == NUL:
            raise UsageError("--csv: records end in newlines", way_out="leave -z out")
        return Format("text", None, None, NUL if csv else terminator, header_lines, csv, separator)
    raise UsageError(
        f"{name}: what the suffix {suffix!r} holds is not known",
        way_out="say --format text, or --dtype or --record-size for raw binary items",
    )


def _records(
    name: str, suffix: str, format: str | None, items: np.dtype[Any] | None, key: Key, said: str, text: bool
) -> Format:
    """The format of a file of records, which the option `said` says it is. items: None if a header says it."""
    if text:
        raise UsageError(f"{said} says that the items are records, not lines", way_out="leave -n and the like out")
    if format == "npy" or (format is None and suffix == ".npy"):
        return Format("npy", items, key)
    if format == "text":
        raise UsageError(f"{said}: lines of text have no such key", way_out="leave it or --format text out")
    if items is None and format is None and suffix in TEXT_SUFFIXES:
        raise UsageError(f"{said}: {name} is text, its lines have no such key", way_out=_RECORDS_WAY_OUT)
    if items is None:
        raise UsageError(f"{said}: the size of the records of {name} is not known", way_out=_RECORDS_WAY_OUT)
    if suffix in RAW_SUFFIXES and format is None:
        raise UsageError(
            f"{name}: its suffix says {RAW_SUFFIXES[suffix]}, {said} says records", way_out="leave it out, or rename it"
        )
    return Format("raw", items, key)


_RECORDS_WAY_OUT = "say --record-size, or --dtype with fields, if it holds records"


def open_source(name: str, chosen: Format, told: Callable[[float], None] = lambda share: None) -> Source:
    """Open an input. Raises InputError.

    told: called with the share of the file that was gone through, again and again while it is decompressed or CSV is
    taken apart; where it is both, the shares add up to 2.
    """
    file = InputFile(name, plain=chosen.plain, told=told)
    try:
        if chosen.name == "text":
            if not chosen.said:
                refuse_binary(name, file.read(0, LOOKED_AT), plain=chosen.plain)
            if chosen.csv:
                from gpumerge_cli.formats.csv import as_lines

                file = as_lines(file, chosen.separator, told)
            return LineSource(file, chosen.terminator, chosen.header_lines)
        if chosen.name == "raw":
            assert chosen.dtype is not None
            return open_raw(file, chosen.dtype)
        source = open_npy(file)
        assert source.dtype is not None
        if chosen.dtype is not None and not _same_layout(source.dtype, chosen.dtype):
            raise InputError(
                f"the array holds {item_name(source.dtype)}, the options say {item_name(chosen.dtype)}",
                where=name,
                way_out="leave them to the file's header",
            )
        try:
            order_of(source.dtype, chosen.key)
        except UsageError as error:
            given = chosen.key is not None or source.dtype.kind in "SV"
            what = error.what if given else f"items of type {source.dtype} have no order here"
            raise InputError(what, where=name, way_out=error.way_out) from None
        return source
    except BaseException:
        file.close()
        raise


def _same_layout(there: np.dtype[Any], said: np.dtype[Any]) -> bool:
    if said.kind == "V" and said.names is None:
        return there.kind in "SV" and there.itemsize == said.itemsize
    if said.names is not None or there.kind in "SV":
        return there == said
    return there.newbyteorder("=") == said.newbyteorder("=")


def judge_suffix(name: str, source_format: Format, dtype: np.dtype[Any] | None) -> str:
    """The suffix of an output, "" if it means nothing.

    dtype: of the items, None for lines. Raises OutputError for a name that says something other than that.
    """
    suffix = suffix_of(name) if name != STDIO else ""
    named = name != STDIO and _keeps_bytes(name)
    if dtype is None:
        # A link without a suffix may lead to a binary file, which is then what is replaced.
        suffix = suffix or (suffix_of(os.path.realpath(name)) if named and os.path.islink(name) else "")
        if suffix in RAW_SUFFIXES or suffix == ".npy":
            if source_format.plain and source_format.said:
                return ""
            way_out = "name it .txt" + (", or say --format text" if source_format.plain else "")
            raise OutputError(f"lines of text cannot be written as {suffix}", where=name, way_out=way_out)
        if named and not source_format.plain and not source_format.said and suffix in _BINARY:
            raise OutputError(
                f"its suffix says {_BINARY[suffix]}, the items are lines of text", where=name, way_out="name it .txt"
            )
        return "" if source_format.plain else suffix
    if named and (suffix in _FOREIGN or (not suffix and not source_format.said)):
        told = f"its suffix says {_FOREIGN[suffix]}" if suffix else "a name without a suffix says lines of text"
        own, option = _own_name(source_format, dtype)
        way_out = f"name it {own}" + ("" if suffix else f", or say {option}")
        raise OutputError(f"{told}, the items are {item_name(dtype)}", where=name, way_out=way_out)
    if suffix in RAW_SUFFIXES and np.dtype(RAW_SUFFIXES[suffix]) != dtype.newbyteorder("="):
        raise OutputError(
            f"its suffix says {RAW_SUFFIXES[suffix]}, the items are {item_name(dtype)}", where=name, way_out="rename it"
        )
    if suffix in TEXT_SUFFIXES and suffix:
        raise OutputError(f"{item_name(dtype)} cannot be written as {suffix}", where=name, way_out="name it .npy")
    return suffix


def _keeps_bytes(name: str) -> bool:
    """Whether what is written to `name` can be read from it again, as it cannot from pipes and devices."""
    return (
        os.path.basename(name) != ""
        and not name.startswith(("/dev/", "/proc/"))
        and (os.path.isfile(name) or not os.path.exists(name))
    )


def _own_name(source_format: Format, dtype: np.dtype[Any]) -> tuple[str, str]:
    """The suffix that says what the items of a format are, and the option that does."""
    if source_format.name == "npy":
        return ".npy", "--format npy"
    native = dtype.newbyteorder("=")
    suffix = next((suffix for suffix, one in RAW_SUFFIXES.items() if np.dtype(one) == native), ".bin")
    return suffix, f"--dtype {item_name(dtype)}" if dtype.kind not in "SV" else "--record-size"


def open_sink(
    name: str, source_format: Format, dtype: np.dtype[Any] | None, count: int | None, *, head: bytes = b""
) -> Sink:
    """Open an output for `count` items (None: known only at `commit`) of `dtype` (V, S: records; None: lines).

    head: bytes ahead of all lines.

    Its suffix says the format if it is a known one, else it takes the first input's. Raises OutputError for a suffix
    that contradicts the items, for binary to a terminal, and for a header that would have to be known ahead.
    """
    compress = compressor(name) if name != STDIO and not source_format.plain else None
    suffix = judge_suffix(name, source_format, dtype)
    if dtype is None:
        line_end = source_format.terminator if source_format.csv or source_format.shown is not None else None
        if source_format.csv:
            from gpumerge_cli.formats.csv import plain

            packed = compress
            compress = (lambda data: packed(plain(bytes(data)))) if packed else lambda data: plain(bytes(data))
        elif source_format.shown is not None:
            shown = source_format.shown
            compress = lambda data: shown(bytes(data))  # noqa: E731
        header = (lambda _: head) if head else None
        return ItemSink(open_output(name), header=header, compress=compress, line_end=line_end)
    if is_terminal(name):
        raise OutputError("binary items are not written to a terminal", way_out="use -o FILE or a pipe")
    if suffix in RAW_SUFFIXES and (source_format.dtype is None or source_format.dtype.isnative):
        dtype = dtype.newbyteorder("=")  # what the suffix means, unless --dtype names a byte order
    as_npy = suffix == ".npy" or (suffix not in RAW_SUFFIXES and source_format.name == "npy")
    of_items = partial(npy_header, dtype) if as_npy else None
    output = open_output(name)
    if of_items and count is None and (compress or not output.seekable):
        output.abort()
        raise OutputError(
            "the header of .npy says how many items follow, which --unique knows only at the end",
            where=output.name,
            way_out="write a plain file, or raw items",
        )
    try:
        return ItemSink(output, dtype=dtype, header=of_items, count=count, compress=compress)
    except BaseException:
        output.abort()
        raise
