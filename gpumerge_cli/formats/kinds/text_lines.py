"""Lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpumerge_cli.formats.format import Content, Format, register

if TYPE_CHECKING:
    from gpumerge_cli.formats.input import SeekableInput
    from gpumerge_cli.formats.line_source import LineSource


def _open(file: SeekableInput, content: Content) -> LineSource:
    from gpumerge_cli.formats.line_source import LineSource

    return LineSource(file, content.terminator, content.header_lines, marked=content.csv or not content.plain)


_SUFFIXES = ("", ".txt", ".text", ".csv", ".tsv", ".log", ".lst")
register(Format("text", dict.fromkeys(_SUFFIXES, ""), "lines", _open, about="lines of text"))
