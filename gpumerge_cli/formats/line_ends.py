"""Lines that end in a carriage return and a newline, beside others: compared without it, and written with one end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import IO, Literal

from gpumerge_cli.formats.input import SeekableInput
from gpumerge_cli.formats.line_source import LineSource
from gpumerge_cli.formats.returns import Returns

LineEnds = Literal["", "first", "lf", "crlf"]
"""The ends of the output's lines: those of the inputs, each as it stands; or those of the first line of all inputs, a
newline, or a carriage return and a newline, while a carriage return ahead of a newline is no part of a line."""
_PIECE = 1 << 20


def written_end(ends: LineEnds, sources: Sequence[LineSource]) -> bytes:
    """The bytes that the output's lines end in. ends: not ""."""
    if ends != "first":
        return b"\r\n" if ends == "crlf" else b"\n"
    for source in sources:
        last = b""
        for data in source.file.pieces(_PIECE):
            at = data.find(b"\n")
            if at >= 0:
                return b"\r\n" if (last + data[:at]).endswith(b"\r") else b"\n"
            last = data[-1:]
    return b"\n"


def without_returns(source: LineSource, progress: Callable[[float], None], *, end: bytes = b"\n") -> LineSource:
    """The source without carriage returns ahead of the ends of its lines; itself if it has none, else it is closed.

    The last line may lack its end.
    """
    if all(len(data) == len(bare) for data, bare in _pieces(source.file, end)):
        return source

    returns = Returns(end, source.file.size - source.held)

    def write(out: IO[bytes]) -> None:
        for data, bare in _pieces(source.file, end):
            out.write(bare)
            returns.note(data, bare)
            progress(len(data) / source.file.size)

    copy = source.copied(write, end[0])
    copy.origin, copy.returns = source.held, returns
    return copy


def with_ends(lines: bytes, *, newline: bytes, end: bytes = b"\n") -> bytes:
    """Lines that end in `end`, with newlines in its place. Newlines within a line stay as they are."""
    return lines.replace(end, newline)


def shown_with(newline: bytes) -> Callable[[bytes], bytes] | None:
    """The function that gives lines these ends; None if they have them."""
    return None if newline == b"\n" else partial(with_ends, newline=newline)


def _pieces(file: SeekableInput, end: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The content in pieces, each with what is left of it without carriage returns ahead of ends of lines."""
    held = b""
    for data in file.pieces(_PIECE):
        data = held + data
        held = b"\r" * data.endswith(b"\r")
        data = data.removesuffix(held)
        yield data, data.replace(b"\r" + end, end)
    if held:
        yield held, b""
