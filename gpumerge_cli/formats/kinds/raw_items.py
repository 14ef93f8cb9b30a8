"""Raw binary files: nothing but items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.errors import InputError
from gpumerge_cli.formats.format import Content, Format, register
from gpumerge_cli.order.key_types import SUFFIXES

if TYPE_CHECKING:
    from gpumerge_cli.formats.fixed_source import FixedSource
    from gpumerge_cli.formats.input import SeekableInput


def _open(file: SeekableInput, content: Content) -> FixedSource:
    from gpumerge_cli.formats.fixed_source import FixedSource

    dtype = content.dtype
    assert dtype is not None
    over = file.size % dtype.itemsize
    if over:
        of, option = (dtype.name, "--dtype") if dtype.kind != "V" else ("a record", "the record's size")
        raise InputError(
            f"{file.size} bytes are no multiple of {dtype.itemsize}, the size of {of}: {over} left over",
            where=file.name,
            way_out=f"check {option}, or whether the file is whole",
        )
    return FixedSource(file, dtype, 0, file.size)


register(Format("raw", SUFFIXES, "said", _open, about="raw"))
