"""The outlets of a cluster's workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.cluster.writers import RangeWriter, UploadWriter
from gpumerge_cli.dataclass import dataclass, field
from gpumerge_cli.engine.task import Position
from gpumerge_cli.errors import DeviceMemoryError
from gpumerge_cli.extents import UploadLocation
from gpumerge_cli.measure import Span


@dataclass
class _Merged:
    """The result of a piece, in two parts. fails: the device runs out of memory between them."""

    fails: bool
    counts: list[int] = field(default_factory=list)
    dropped: int = 0
    merged_bytes: int = 6
    spans: list[Span] = field(default_factory=list)

    def outputs(self) -> Iterator[Bytes]:
        yield memoryview(b"abc")
        if self.fails:
            raise DeviceMemoryError("the device is out of memory", way_out="close others")
        yield memoryview(b"def")


def _of_file(place: Position) -> tuple[RangeWriter, Callable[[], bytes]]:
    written = bytearray(8)

    def write_at(offset: int, data: Bytes) -> None:
        written[offset : offset + len(data)] = data

    sink: Any = SimpleNamespace(target=None, line_end=None, encode=lambda piece: piece, write_at=write_at)
    return RangeWriter([sink], planned=False), lambda: bytes(written[place.offset :])


def _of_store(place: Position) -> tuple[RangeWriter, Callable[[], bytes]]:
    sent: list[bytes] = []

    def send(number: int, data: Bytes) -> str:
        sent.append(bytes(data))
        return "tag"

    writer = UploadWriter([UploadLocation("object", SimpleNamespace(send=send), b"", 1)])

    def end() -> bytes:
        assert writer.end(place) == "tag"
        return sent[0]

    return writer, end


@pytest.mark.parametrize("made", [_of_file, _of_store])
def test_a_piece_that_is_made_again_is_put_once(
    made: Callable[[Position], tuple[RangeWriter, Callable[[], bytes]]],
) -> None:
    place = Position(0, 2)
    writer, content = made(place)
    writer.begin(place)
    with pytest.raises(DeviceMemoryError):
        writer.put(0, place, _Merged(fails=True), last=True)
    assert writer.put(0, place, _Merged(fails=False), last=True) == 6
    assert content() == b"abcdef"
