"""The first bytes of a file: they identify data that are not text, and text whose order may surprise."""

from __future__ import annotations

import os
import re
from functools import lru_cache

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.base import STDIO
from gpumerge_cli.formats.codecs import CODECS
from gpumerge_cli.formats.compressed import compression_of, suffix_of
from gpumerge_cli.formats.foreign import CONTROL, FOREIGN_FORMATS, JSON, begins_json
from gpumerge_cli.formats.format import FORMATS, Format
from gpumerge_cli.formats.line_source import BOM
from gpumerge_cli.order.kinds import Order

LOOKED_AT = 512
"""The bytes at a file's start that are examined."""
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
"""The byte order marks of texts of two and of four bytes a unit."""
_MANY = 4  # at least one byte of so many is 0


def refuse_binary(name: str, start: bytes, *, plain: bool) -> None:
    """Raise InputError if `start`, the first bytes of a file of lines, is how compressed or other binary files begin.

    plain: as of SeekableInput.
    """
    found = _kind(start, name, plain=plain)
    if found is not None:
        kind, way_out = found
        way_out += "; --format text takes it as it is"
        raise InputError(f"it holds {kind} data, not lines of text", where=name, way_out=way_out)


def refuse_wide(name: str, start: bytes, *, in_fields: bool) -> None:
    """Raise InputError if a text that begins with `start` has units of several bytes.

    Lines that end at a byte would break such text, even where they are not moved: each file has a mark, and a newline
    is half a unit. in_fields: no mark is needed, since lines could not be taken apart into fields anyway.
    """
    wide = wide_encoding(start)
    if wide and (in_fields or start.startswith(_WIDE_MARKS)):
        way_out = f"convert it first, for example with iconv -f {wide} -t UTF-8"
        way_out += "" if in_fields else "; --format text takes it as it is"
        raise InputError(f"it holds {wide} text, whose lines cannot be split by bytes", where=name, way_out=way_out)


def refuse_records(name: str, start: bytes) -> None:
    """Raise InputError if bytes 0 are in `start`, the beginning of a file that only named fields say is CSV.

    Text whose suffix says that it is text may hold some behind its first line.
    """
    first = start.partition(b"\n")[0]
    suffix = suffix_of(name)
    is_named = suffix != "" and any(one.holds == "lines" and suffix in one.suffixes for one in FORMATS.values())
    is_text = is_named and bool(first.strip()) and b"\0" not in first
    if b"\0" in start and not is_text:
        raise InputError(
            "it holds bytes 0, so it is not CSV, and the type of its records is not known",
            where=name,
            way_out="use --dtype with their fields, if it holds records",
        )


def refuse_json(name: str, start: bytes) -> None:
    """Raise InputError if `start` is how JSON begins, in a file that only named fields say is CSV."""
    if re.match(rb'(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*"', start):
        what = f"it holds {JSON.name}, not CSV"
        raise InputError(what, where=name, way_out=JSON.way_out_for(name))


def refuse_others(name: str, start: bytes, own: Format, *, plain: bool) -> None:
    """Raise InputError if `start`, the first bytes of a file that is read as the format `own`, belong to another one.

    Formats with the same `word` read each other's files. plain: as of SeekableInput.
    """
    if not start:
        raise InputError("it is empty: it has no schema", where=name, way_out="leave it out")
    if any(_begins(start, one.begins) for one in FORMATS.values() if one.word == own.word):
        return
    found = _kind(start, name, plain=plain)
    if found is not None:
        kind, way_out = found
        raise InputError(f"it holds {kind} data, not {own.word}", where=name, way_out=way_out)
    if CONTROL.search(start):
        return
    if begins_json(start):
        way_out = "use --format jsonl, if each line is a value"
        raise InputError(f"it holds {JSON.name}, not {own.word}", where=name, way_out=way_out)
    way_out = "use --format csv, or --format text"
    raise InputError(f"it holds text, not {own.word}", where=name, way_out=way_out)


def kind_of_file(name: str) -> tuple[str, str] | None:
    """(the kind of data that a file holds, the way out); None for text, pipes, and files that cannot be read."""
    if not os.path.isfile(name):
        return None
    try:
        with open(name, "rb") as file:
            start = file.read(LOOKED_AT)
    except OSError:
        return None
    if not CONTROL.search(start) and begins_json(start):
        return JSON.name, "use --format jsonl, or the suffix .jsonl, if each line is a value"
    found = _kind(start, name, plain=False)
    if found is None:
        return None
    kind, way_out = found
    return kind, f"{way_out}, or the suffix {kind}" if kind.startswith(".") else way_out


def _kind(start: bytes, name: str, *, plain: bool) -> tuple[str, str] | None:
    """(the kind of data that begin so, the way out); None for text."""
    of_ours = (*(codec.begins for codec in CODECS.values()), *(one.begins for one in FORMATS.values()))
    known = (*of_ours, *(foreign.begins for foreign in FOREIGN_FORMATS))
    if _any_of(tuple(filter(None, known))).match(start) is None:
        return None
    for codec in CODECS.values():
        if _begins(start, codec.begins):
            own = CODECS.get(compression_of(name))
            if plain and own is not None and _begins(start, own.begins):
                return codec.name, "use --compressed"
            rename = f", or name it {codec.suffix}" + (" and use --compressed" if plain else "")
            return codec.name, "decompress it first" + (rename if name != STDIO else "")
    for format in FORMATS.values():
        if format.holds != "lines" and _begins(start, format.begins):
            return next(iter(format.suffixes)), f"use --format {format.name}"
    for foreign in FOREIGN_FORMATS:
        if _begins(start, foreign.begins):
            return foreign.name, foreign.way_out_for(name)
    return None


@lru_cache(maxsize=4)
def _any_of(patterns: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """One pattern for all of these, since most files begin as none of them."""
    return re.compile(b"|".join(b"(?:%b)" % one for one in patterns), re.DOTALL)


def _begins(start: bytes, pattern: bytes) -> bool:
    return pattern != b"" and re.match(pattern, start, re.DOTALL) is not None


def doubt_of(start: bytes, order: Order, header_lines: int, *, plain: bool = True) -> str:
    """A likely surprise in lines of text that begin with `start`, and the way out; "" if there is none.

    plain: a byte order mark counts as a part of the first line.
    """
    wide = wide_text(start, order)
    if wide:
        return (
            f"it looks like {wide} text, and lines compare by their bytes; "
            f"convert it first, for example with iconv -f {wide} -t UTF-8"
        )
    if plain and start.startswith(BOM) and order.begins_with_number and not header_lines:
        return (
            "a UTF-8 byte order mark stands before the first line's number and hides it; "
            "remove it, for example with tail -c +4"
        )
    return ""


def wide_text(start: bytes, order: Order) -> str:
    """The encoding of lines that begin with `start` and have units of several bytes; "" for others.

    Where lines end in NUL, zeros at every other place mean nothing.
    """
    wide = wide_encoding(start)
    return wide if order.end != b"\0" or start[:1] in (b"\xff", b"\xfe") else ""


def wide_encoding(start: bytes) -> str:
    """The name of the encoding if units of several bytes begin a text; "" for others."""
    if start.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        return "UTF-32"
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16"
    # Without a mark, zeros stand at every other place.
    evens, odds = start[0::2].count(0), start[1::2].count(0)
    if min(evens, odds) > 0 or evens + odds <= len(start) // _MANY:
        return ""
    return "UTF-16BE" if evens else "UTF-16LE"
