"""Outputs by URL take pieces in any order, of any size, and again: the object is the same. URLs hide what is secret."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats import stored_output
from gpumerge_cli.formats.stored_output import StoredOutput, part_bytes_for
from gpumerge_cli.formats.stores.blocks import BLOCK_BYTES, Blocks
from gpumerge_cli.formats.stores.other_objects import OtherObject, OtherUpload
from gpumerge_cli.urls import is_url, redacted, shown


class _Upload:
    """Keeps its parts. wrong: what is sent out of turn where that matters."""

    def __init__(self, any_order: bool) -> None:
        self.any_order = any_order
        self.parts: dict[int, bytes] = {}
        self.completed = False

    def send(self, number: int, data: bytearray) -> None:
        assert number not in self.parts
        self.parts[number] = bytes(data)

    def arrive(self) -> None:
        pass

    def complete(self) -> None:
        self.completed = True

    def abort(self) -> None:
        self.parts.clear()

    def stop(self) -> None:
        pass


class _Object:
    def __init__(self, upload: _Upload) -> None:
        self._upload = upload

    def upload(self, part_bytes: int) -> _Upload:
        return self._upload


@given(
    st.integers(0, 300), st.lists(st.integers(0, 300)), st.randoms(use_true_random=False), st.integers(1, 64),
    st.booleans(),
)  # fmt: skip
def test_pieces_in_any_order_make_the_object(
    size: int, edges: list[int], chance: np.random.Generator, part: int, any_order: bool
) -> None:
    data = np.arange(size, dtype=np.uint8)
    cuts = sorted({0, size, *(edge for edge in edges if edge < size)})
    pieces = list(pairwise(cuts))
    pieces += [piece for piece in pieces if chance.random() < 0.3]
    chance.shuffle(pieces)  # type: ignore[arg-type]
    upload = _Upload(any_order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_output, "object_of", lambda url, written: _Object(upload))
        patch.setattr(stored_output, "LEAST_PART", part)
        patch.setattr(stored_output, "_UNKNOWN", part)
        output = StoredOutput("s3://bucket/key")
        for low, high in pieces:
            output.write_at(low, data[low:high])
        if any_order and size:
            head = data[: min(size, part)] ^ 255
            output.write_at(0, head)
            data[: len(head)] = head
        output.commit()
    assert upload.completed
    assert b"".join(upload.parts[number] for number in sorted(upload.parts)) == data.tobytes()
    assert {len(one) for number, one in upload.parts.items() if number < len(upload.parts) - 1} <= {part}


def test_a_hole_is_no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    upload = _Upload(True)
    monkeypatch.setattr(stored_output, "object_of", lambda url, written: _Object(upload))
    monkeypatch.setattr(stored_output, "_UNKNOWN", 8)
    for holed in ((0, 3), (8, 16), (3, 5)):
        output = StoredOutput("s3://bucket/key")
        for at in range(24):
            if not holed[0] <= at < holed[1]:
                output.write_at(at, np.zeros(1, np.uint8))
        with pytest.raises(OutputError, match=r"not whole|parts are missing"):
            output.commit()
        output.abort()
        assert not upload.completed


@pytest.mark.parametrize("most", [1, 8 << 20, 10**9, 10**12, 40 * 10**12])
def test_parts_are_few_enough(most: int) -> None:
    size = part_bytes_for("s3://b/k", most)
    assert 5 << 20 <= size <= 5 << 30
    assert most / size < 9_500


def test_what_no_object_holds() -> None:
    with pytest.raises(OutputError, match="s3://b/k: an object holds less than"):
        part_bytes_for("s3://b/k", 10**15)


@given(st.lists(st.tuples(st.integers(0, 5 * BLOCK_BYTES), st.integers(0, 2 * BLOCK_BYTES)), max_size=12))
def test_blocks_give_what_was_read(ranges: list[tuple[int, int]]) -> None:
    data = np.random.default_rng(1).integers(0, 256, 5 * BLOCK_BYTES + 77, np.uint8).tobytes()
    blocks = Blocks(lambda start, stop: data[start:stop], len(data), lambda work: work())
    for start, length in ranges:
        stop = min(len(data), start + length)
        assert blocks.get(start, stop) == data[start:stop]
    blocks.close()
    assert not [key for key in Blocks._kept if key[0] == blocks._id]


def test_who_reads_in_order_has_blocks_read_ahead() -> None:
    reads: list[tuple[int, int]] = []
    size = 100 * BLOCK_BYTES + 5
    blocks = Blocks(lambda start, stop: reads.append((start, stop)) or bytes(stop - start), size, lambda work: work())
    for at in range(0, size, BLOCK_BYTES // 2):
        assert len(blocks.get(at, min(size, at + BLOCK_BYTES // 2))) == min(size - at, BLOCK_BYTES // 2)
    assert [start for start, _ in reads[1:]] == [stop for _, stop in reads[:-1]]  # each byte once, in order
    assert len(reads) < 12
    blocks.close()


def test_readers_of_the_same_blocks_read_them_once() -> None:
    reads: list[tuple[int, int]] = []
    blocks = Blocks(lambda start, stop: reads.append((start, stop)) or bytes(stop - start), 4 * BLOCK_BYTES)
    threads = [
        threading.Thread(target=blocks.get, args=(at, at + 10)) for at in range(0, BLOCK_BYTES - 10, BLOCK_BYTES // 8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reads == [(0, BLOCK_BYTES)]
    blocks.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("s3://bucket/a/b@c.txt", "s3://bucket/a/b@c.txt"),
        ("s3://bucket/a#b.txt", "s3://bucket/a#b.txt"),
        ("https://me:hush@here:8/a.txt?sig=hush#hush", "https://here:8/a.txt"),
        ("HTTP://me@here", "HTTP://here"),
        ("a/b:c.txt", "a/b:c.txt"),
        ("https://here?sig=hush", "https://here"),
    ],
)
def test_shown(url: str, told: str) -> None:
    assert shown(url) == told
    assert redacted(f"the file '{url}' is") == f"the file '{told}' is"
    assert is_url(url) == ("://" in url)


def test_whoever_waits_for_a_part_comes_back_when_the_upload_stops() -> None:
    """A worker that fails leaves a part unsent for ever, and others must not wait for it."""

    class Writer:
        def __enter__(self) -> Writer:
            return self

        def __exit__(self, *args: object) -> None:
            pass

    upload = OtherUpload(Writer(), OtherObject(None, "a"), None)
    threads = [threading.Thread(target=upload.send, args=(number, bytearray(1))) for number in range(1, 30)]
    for thread in threads:
        thread.start()
    upload.stop()
    for thread in threads:
        thread.join(timeout=600)
        assert not thread.is_alive()
    upload.abort()
