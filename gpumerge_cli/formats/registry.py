"""Files and their formats: an option decides the format of a file, else its name. Sources and sinks of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpumerge_cli.errors import OutputError, UsageError
from gpumerge_cli.formats.base import STDIO, Sink, Source
from gpumerge_cli.formats.beginnings import LOOKED_AT, kind_of_file
from gpumerge_cli.formats.codecs import COLUMN_COMPRESSIONS, COMPRESSIONS
from gpumerge_cli.formats.compressed import FileEnd, compression_of, inner_name, output_codec, suffix_of
from gpumerge_cli.formats.foreign import Foreign, foreign_of, refuse_foreign
from gpumerge_cli.formats.format import Format, Layout, Written
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.kinds.lookup import (
    all_formats,
    dtype_of,
    format_if_named,
    format_named,
    format_of_suffix,
    implied_format,
    is_binary,
    means_table,
)
from gpumerge_cli.formats.naming import open_input
from gpumerge_cli.formats.output import open_output
from gpumerge_cli.formats.output_stream import is_terminal
from gpumerge_cli.formats.record_options import Key, item_name, parse_dtype, record_format
from gpumerge_cli.formats.sink import ItemSink
from gpumerge_cli.order.key_types import ItemType
from gpumerge_cli.urls import shown

if TYPE_CHECKING:
    from gpumerge_cli.formats.conversion import Converted
    from gpumerge_cli.formats.tables.settings import TableSettings
    from gpumerge_cli.formats.tables.table import TableWriter
    from gpumerge_cli.order.key_types import Dtype


def layout_of(name: str, items: Items, number: int = 0) -> Layout:
    """The layout of the file `name`. number: of the file among the inputs.

    Raises UsageError if neither options nor suffix give the format, or if they disagree.
    """
    named = format_if_named(items.format)
    certain, tentative = (named, None) if items.certainty == "named" else (None, named)
    suffix = suffix_of(name) if name != STDIO else ""
    request, dtype = items.records_of[min(number, len(items.others))], items.dtype
    record, key = record_format(dtype, request)
    by_lines = items.lines is not None and (items.lines.asks_for_text or not items.lines.locale)
    text = by_lines or bool(items.line_option) or tentative is not None
    one = certain or format_of_suffix(suffix)
    if one is not None and one is not certain and not one.takes(items):
        one = format_of_suffix("")
    if key is not None:
        one = _of_records(name, certain, one, record, key, request.first_option or f"--dtype {dtype}", text)
        if items.nulls != "last" and one.holds != "rows":
            raise UsageError(f"--nulls {items.nulls}: {shown(name)} holds no nulls", way_out="leave it out")
        return Layout(one, items, number, record, key)
    if dtype is not None and certain is None and (one is None or one.holds not in ("typed", "rows")):
        one = _of_options()  # whatever the name says
    if text and certain is None:
        if is_binary(suffix):
            raise _is_binary(name, items, tentative)
        one = tentative or (one if one is not None and one.holds == "lines" else format_of_suffix(""))
    if one is None:
        refuse_foreign(name, suffix)
        raise UsageError(
            f"{name}: the suffix {suffix!r} names no known format",
            way_out="use --format text, or --dtype or --record-size for raw binary items",
        )
    if one.holds == "lines":
        if dtype is not None:
            asked = f"--format {one.name}" if certain is not None else tentative.option if tentative is not None else ""
            way_out = f"leave it or {asked} out" if asked else "leave it out"
            raise UsageError(f"--dtype {dtype}: lines of text have none", way_out=way_out)
        one.check_items(items)
        if items.schema != "same" and not one.has_schemas:
            what = f"--schema {items.schema}: {shown(name)} is {one.word}, which is not read by names of columns"
            raise UsageError(what, way_out="leave --schema out, or use --csv")
        if items.shown is not None and one.names_in_header:
            what = f"{shown(name)} holds {one.word}, whose keys --debug does not underline"
            raise UsageError(what, way_out="leave --debug out")
        return Layout(one, items, number)
    if text:
        raise _is_binary(name, items, tentative)
    return Layout(one, items, number, _dtype_of(name, one, suffix, dtype))


def refuse_mixed_lines(names: Sequence[str], layouts: Sequence[Layout]) -> None:
    """Raise UsageError if files of lines are of several formats, since one alone orders and writes lines."""
    of_lines = [(name, one.format) for name, one in zip(names, layouts, strict=True) if one.format.holds == "lines"]
    for name, format in of_lines:
        first, its = of_lines[0]
        if format is not its:
            what = f"{shown(name)} holds {format.word}, but {shown(first)} holds {its.word}"
            raise UsageError(what, way_out="convert one of them, or name the --format of all")


def _dtype_of(name: str, one: Format, suffix: str, dtype: str | None) -> Dtype | None:
    """The dtype of the items of a file that are not lines; None if the file states it. dtype: that of options."""
    wanted = None if dtype is None else parse_dtype(dtype)
    if one.holds in ("typed", "rows"):
        return wanted
    named = dtype_of(suffix)
    if wanted is not None and named and not wanted.isnative:
        what = f"{name}: its suffix means {named} in this machine's byte order, --dtype says {dtype}"
        raise UsageError(what, way_out="rename it, or leave --dtype out")
    if wanted is not None and named and ItemType.of(named) != wanted.newbyteorder("="):
        raise UsageError(f"{name}: its suffix means {named}, --dtype says {dtype}", way_out="leave one of them out")
    if wanted is None and not named:
        raise UsageError(f"{name}: {one.name} items need a dtype", way_out="use --dtype, for example --dtype int32")
    return ItemType.of(named) if wanted is None else wanted


def _of_options() -> Format:
    """The format of files that options describe completely."""
    return format_named("raw")


def _is_binary(name: str, items: Items, tentative: Format | None) -> UsageError:
    if tentative is not None or items.line_option:
        option = items.line_option if tentative is None else tentative.option
        return binary_error(name, option)
    what = f"{name} is binary: options that compare lines do not apply"
    return UsageError(what, way_out="leave -n and the like out, or use --format text")


def binary_error(name: str, option: str) -> UsageError:
    """The error for an option of text beside the file `name`, which a suffix or an option says is binary."""
    return UsageError(
        f"{name} is binary: {option} applies to text", way_out=f"leave {option} out, or use --format text"
    )


def _of_records(
    name: str,
    format: Format | None,
    one: Format | None,
    record: Dtype | None,
    key: Key,
    option: str,
    text: bool,
) -> Format:
    """The format of a file of records, which `option` says it is.

    format: the named one. one: that, or the one of the suffix. record: None if a header says its dtype.
    """
    if format is not None and format.holds == "lines":
        raise UsageError(f"{option}: lines of text have no such key", way_out=f"leave it or --format {format.name} out")
    if text:
        raise UsageError(f"{option} says that the items are records, not lines", way_out="leave -n and the like out")
    if one is not None and one.holds in ("typed", "rows"):
        return one
    if record is None and (found := kind_of_file(name)) is not None:
        kind, way_out = found
        raise UsageError(f"{name}: it holds {kind} data, and its suffix does not say so", way_out=way_out)
    if record is None and one is not None and one.holds == "lines":
        raise UsageError(f"{option}: {name} is text, its lines have no such key", way_out=_records_way_out())
    if record is None:
        raise UsageError(f"{option}: the size of the records of {name} is not known", way_out=_records_way_out())
    suffix = suffix_of(name) if name != STDIO else ""
    if dtype_of(suffix) and format is None:
        raise UsageError(
            f"{name}: its suffix means {dtype_of(suffix)}, {option} says records", way_out="leave it out, or rename it"
        )
    return format or _of_options()


def _records_way_out() -> str:
    columns = f"use {implied_format().option}, or another --format, if its lines have columns"
    return f"{columns}; --record-size, or --dtype with fields, if it holds records"


def open_source(
    name: str,
    layout: Layout,
    progress: Callable[[float], None] = lambda share: None,
    *,
    folder: str | None = None,
    memory: int | None = None,
) -> Source:
    """Open an input. Raises InputError.

    progress: called with the share of the file that was gone through, again and again while it is decompressed.
    folder: for a copy, see SeekableInput. memory: see open_input.
    """
    plain, copy = layout.items.plain, layout.copy
    file = open_input(name, plain=plain, progress=progress, folder=folder, copy=copy, memory=memory)
    try:
        if layout.format.holds == "lines":
            layout.format.refuse(name, file.read(0, LOOKED_AT), layout.items)
        return layout.format.open(file, layout, progress)
    except BaseException:
        file.close()
        raise


def checked_suffix(name: str, layout: Layout, dtype: Dtype | None) -> str:
    """The suffix of an output; "" if it has no meaning.

    dtype: of the items, None for lines. Raises OutputError for a name that says something other than that.
    """
    suffix = suffix_of(name) if name != STDIO else ""
    named = name != STDIO and _keeps_bytes(name)
    if compression_of(inner_name(name)) and not layout.items.plain:
        way_out = f"name it {inner_name(name)}"
        raise OutputError("its suffixes say that it is compressed twice", where=name, way_out=way_out)
    if dtype is None:
        # A link without a suffix may lead to a binary file, which is then what is replaced.
        suffix = suffix or (suffix_of(os.path.realpath(name)) if named and os.path.islink(name) else "")
        if is_binary(suffix):
            if layout.items.plain and layout.items.tells_format:
                return ""
            usual = next(filter(None, (*layout.format.suffixes, *layout.format.tables)), ".txt")
            items = "lines of text" if usual == ".txt" else layout.format.word
            way_out = f"name it {usual}" + (", or use --format text" if layout.items.plain else "")
            if (one := format_of_suffix(suffix)) is not None and one.takes_rows:
                way_out = f"name it {usual}, or name their columns by --field"
            raise OutputError(f"{items} cannot be written as {suffix}", where=name, way_out=way_out)
        if layout.format.named_by_path and means_table(suffix):
            usual = next(iter(layout.format.suffixes))
            what = f"{layout.format.word} cannot be written as {suffix}"
            raise OutputError(what, where=name, way_out=f"name it {usual}")
        foreign = foreign_of(suffix)
        is_given = layout.items.plain or layout.items.tells_format
        if named and not is_given and foreign is not None and not foreign.text:
            raise OutputError(
                f"its suffix means {foreign.name}, the items are lines of text", where=name, way_out="name it .txt"
            )
        return "" if layout.items.plain else suffix
    foreign = foreign_of(suffix)
    tells = suffix and format_of_suffix(suffix) is not None
    if named and (foreign is not None or not (tells or layout.items.tells_format)):
        raise _says_otherwise(name, layout, dtype, foreign)
    says = dtype_of(suffix)
    if says and ItemType.of(says) != dtype.newbyteorder("="):
        raise OutputError(f"its suffix means {says}, the items are {item_name(dtype)}", where=name, way_out="rename it")
    one = format_of_suffix(suffix) if suffix else None
    if one is not None and (one.takes_rows or not is_binary(suffix)):
        usual, _ = _usual_name(layout, dtype)
        raise OutputError(f"{item_name(dtype)} cannot be written as {suffix}", where=name, way_out=f"name it {usual}")
    return suffix


def _says_otherwise(name: str, layout: Layout, dtype: Dtype, foreign: Foreign | None) -> OutputError:
    detail = "a name without a suffix means lines of text"
    if suffix_of(name):
        detail = f"its suffix means {'nothing' if foreign is None else foreign.name}"
    usual, option = _usual_name(layout, dtype)
    way_out = f"name it {usual}" + (f", or use {option}" if foreign is None else "")
    return OutputError(f"{detail}, the items are {item_name(dtype)}", where=name, way_out=way_out)


def _keeps_bytes(name: str) -> bool:
    """True if bytes written to `name` can be read from it again. Pipes and devices do not give them back."""
    return (
        os.path.basename(name) != ""
        and not name.startswith(("/dev/", "/proc/"))
        and (os.path.isfile(name) or not os.path.exists(name))
    )


def _usual_name(layout: Layout, dtype: Dtype) -> tuple[str, str]:
    """The suffix for the items of a file, and the option with the same meaning."""
    one = layout.format
    if one.holds == "typed":
        return next(iter(one.suffixes)), f"--format {one.name}"
    native = dtype.newbyteorder("=")
    suffix = next((suffix for suffix, says in one.suffixes.items() if says and ItemType.of(says) == native), ".bin")
    return suffix, f"--dtype {item_name(dtype)}" if dtype.kind not in "SV" else "--record-size"


def open_sink(
    name: str,
    layout: Layout,
    dtype: Dtype | None,
    count: int | None,
    *,
    written: Written = Written(),  # noqa: B008 - frozen
    converted: Converted | None = None,
    line_end: bytes = b"\n",
    head: bytes = b"",
    most: int = 0,
    compression: str | None = None,
) -> Sink:
    """Open an output for `count` items (None: known only at `commit`) of `dtype` (V, S: records; None: lines).

    written: see PreparedSources. converted: the way to rows, if items become some. line_end: ends each line.
    head: bytes ahead of all lines. most: about the bytes of all items, 0 if nobody knows. compression: see
    engine.job.Destination.

    Its suffix names the format if it is a known one, else it takes the first input's. Raises OutputError for a suffix
    that contradicts the items, for binary to a terminal, and for a header that would have to be known ahead.
    """
    end_byte = line_end[0] if line_end else None
    if converted is not None:
        writer = rows_writer(name, layout, converted.rows.schema, converted.settings)
        return converted.sink(open_output(name, most), writer, end_byte)
    if written.rows is not None:
        from gpumerge_cli.formats.tables.sink import RowSink

        writer = rows_writer(name, layout, written.rows.output_schema, written.rows.settings)
        return RowSink(open_output(name, most), written.rows, writer, line_end=end_byte)
    _refuse_column_compression(compression)
    codec = output_codec(name, compression, plain=layout.items.plain)
    compress = None if codec is None else codec.compressor()
    end = b"" if codec is None else codec.end()
    footer = FileEnd(end) if end else None
    suffix = checked_suffix(name, layout, dtype)
    if codec is not None and is_terminal(name):
        raise OutputError(f"{codec.name} data are not written to a terminal", way_out="use --output FILE or a pipe")
    if dtype is None:
        shown, packed = written.shown, compress
        if shown is not None:
            compress = (lambda data: packed(shown(bytes(data)))) if packed else lambda data: shown(bytes(data))
        header = (lambda _: head) if head else None
        taken = None if shown is None else line_end[0]
        return ItemSink(open_output(name, most), header=header, compress=compress, footer=footer, line_end=taken)
    if is_terminal(name):
        raise OutputError("binary items are not written to a terminal", way_out="use --output FILE or a pipe")
    if dtype_of(suffix):
        dtype = dtype.newbyteorder("=")  # the byte order that suffixes mean
    one = format_of_suffix(suffix) if is_binary(suffix) else layout.format
    has_header = one is not None and name != os.devnull and one.header(dtype, 0)  # the device keeps nothing
    of_items = partial(one.header, dtype) if one is not None and has_header else None
    output = open_output(name, most)
    if of_items and count is None and (compress or not output.rewrites):
        output.abort()
        raise OutputError(
            f"the header of {one.name if one else ''} says how many items follow, which is known only at the end",
            where=output.name,
            way_out="write a plain file, or raw items",
        )
    try:
        return ItemSink(output, dtype=dtype, header=of_items, count=count, compress=compress, footer=footer)
    except BaseException:
        output.abort()
        raise


def rows_writer(name: str, layout: Layout, schema: Any, settings: TableSettings) -> TableWriter:
    """The writer of an output of rows, in the format that its suffix names, else in that of the first input.

    Raises OutputError, UsageError.
    """
    from gpumerge_cli.formats.rows import RowFormat

    usual = next(iter(layout.format.suffixes), "")
    suffix = suffix_of(name) if name != STDIO else ""
    text = next(filter(None, (one.text_writer(schema, suffix) for one in all_formats())), None)
    if text is not None:
        return _text_writer(name, text, settings)
    if compression_of(name):
        what = "an output of rows is not compressed as a whole"
        raise OutputError(what, where=name, way_out=f"name it {inner_name(name)}")
    named = format_of_suffix(suffix) if suffix else None
    if named is not None and not isinstance(named, RowFormat):
        raise OutputError(f"rows cannot be written as {suffix}", where=name, way_out=f"name it {usual}")
    if named is None and name != STDIO and _keeps_bytes(name) and not layout.items.tells_format:
        way_out = f"name it {usual}, or use --format {layout.format.name}"
        raise OutputError("its suffix does not name a format of rows", where=name, way_out=way_out)
    if is_terminal(name):
        raise OutputError("rows are not written to a terminal", way_out="use --output FILE or a pipe")
    format = named or layout.format
    assert isinstance(format, RowFormat), "rows come from such a format"
    return format.writer(schema, settings)


def _text_writer(name: str, text: TableWriter, settings: TableSettings) -> TableWriter:
    """The writer of rows as text, compressed as the suffix or --compression says. Raises OutputError, UsageError."""
    from gpumerge_cli.formats.tables.text_writers import CompressedText

    if settings.level is not None or settings.group is not None:
        option = "--compression-level" if settings.level is not None else "--row-group-size"
        raise UsageError(f"{option}: the output is text, not a table", way_out="leave it out")
    _refuse_column_compression(settings.compression)
    codec = output_codec(name, settings.compression)
    return text if codec is None else CompressedText(text, codec.compressor(), codec.end())


def _refuse_column_compression(compression: str | None) -> None:
    """Raise UsageError for a --compression that only columns of tables have."""
    if compression in COLUMN_COMPRESSIONS and compression not in COMPRESSIONS:
        what = f"--compression {compression}: only the columns of tables are compressed so"
        raise UsageError(what, way_out=f"use {', '.join(COMPRESSIONS)}")
