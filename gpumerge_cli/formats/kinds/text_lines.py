"""Lines of text."""

from __future__ import annotations

from gpumerge_cli.formats.format import Content, Format, register
from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.line_source import LineSource


def _open(file: SeekableInput, content: Content) -> LineSource:
    return LineSource(file, content.terminator, content.header_lines)


register(Format("text", dict.fromkeys(("", ".txt", ".text", ".csv", ".tsv", ".log", ".lst"), ""), "lines", _open))
