"""Compressed inputs that are read where their blocks lie: BGZF, and Zstandard by frames."""

from __future__ import annotations

import gzip
import logging
import os
import random
import shlex
import struct
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.backends.base import Backend
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import InputError
from gpumerge_cli.formats import blocked_input, zstd_frames
from gpumerge_cli.formats import input as inputs
from gpumerge_cli.formats.block_index import LARGEST_BLOCK
from gpumerge_cli.formats.blocked_input import BlockedInput
from gpumerge_cli.formats.naming import open_input
from tests import needs
from tests.bgzf import EOF_BLOCK, block, blocks_of, in_blocks
from tests.formats.test_compressed import without_extra, zstd
from tests.jobs_of import job_of, merge_job, sort_job
from tests.open_files import open_under
from tests.oracles import items_of

Write = Callable[[str, Any], str]


@pytest.fixture
def no_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """A temporary copy of an input is a failure."""

    def refuse(*_: Any) -> None:
        raise AssertionError("an input was copied")

    monkeypatch.setattr(inputs, "new_spool", refuse)


def frames(data: bytes, ends: list[int], *, table: bool = False) -> bytes:
    """Frames of Zstandard that state their content, or leave that to a seek table."""
    zstd = needs.zstandard()
    places = [0, *ends, len(data)]
    options = {zstd.CompressionParameter.content_size_flag: int(not table)}
    parts = [data[low:high] for low, high in pairwise(places)]
    packed = [zstd.compress(part, options=options) for part in parts]
    if not table:
        return b"".join(packed) + struct.pack("<II", 0x184D2A53, 3) + b"abc"
    rows = b"".join(struct.pack("<II", len(one), len(part)) for one, part in zip(packed, parts, strict=True))
    seek = rows + struct.pack("<IBI", len(parts), 0, 0x8F92EAB1)
    return b"".join(packed) + struct.pack("<II", 0x184D2A5E, len(seek)) + seek


PACKERS: dict[str, tuple[str, Callable[[bytes, list[int]], bytes]]] = {
    "BGZF": (".bgz", in_blocks),
    "BGZF as gzip": (".gz", in_blocks),
    "Zstandard": (".zst", frames),
    "Zstandard with a table": (".zst", lambda data, ends: frames(data, ends, table=True)),
}


def opened(name: str) -> BlockedInput:
    file = open_input(name)
    assert isinstance(file, BlockedInput)
    return file


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize("way", PACKERS)
@pytest.mark.parametrize("extra", [True, False])
def test_any_bytes_of_blocks_that_are_cut_anywhere(
    write: Write, tmp_path: Path, seed: int, way: str, extra: bool, monkeypatch: pytest.MonkeyPatch, no_copies: None
) -> None:
    chance = random.Random(seed)
    if not extra and way.startswith("BGZF"):
        without_extra(monkeypatch)
    suffix, pack = PACKERS[way]
    for _ in range(8):
        data = chance.choice([chance.randbytes, bytes])(chance.choice([1, 100, 200_000, 400_000]))
        most = 65_280 if way.startswith("BGZF") else 200_000
        ends = sorted({*range(most, len(data), most), *(chance.randrange(len(data) + 1) for _ in range(9))})
        ends += [ends[-1]] * chance.randrange(3)  # blocks that hold nothing
        file = opened(write(f"x{suffix}", pack(data, sorted(ends))))
        assert file.size == len(data)
        for _ in range(40):
            start = chance.randrange(len(data) + 1)
            count = chance.choice([1, 4096, len(data)])
            assert file.read(start, count) == data[start : start + count]
            out = bytearray(min(count, len(data) - start))
            file.read_into(start, out)
            assert out == data[start : start + count]
        assert b"".join(file.pieces(30_000)) == data
        file.check_unchanged()
        file.close()
        file.close()
    assert not open_under(tmp_path)
    assert BlockedInput._taken == BlockedInput._kept_bytes == 0


@pytest.mark.one_in(2)
@pytest.mark.parametrize("way", PACKERS)
def test_every_command_reads_them_without_a_copy(
    write: Write, tmp_path: Path, seed: int, way: str, small_chunks: None, no_copies: None
) -> None:
    chance = random.Random(seed)
    suffix, pack = PACKERS[way]
    runs = [sorted(b"%08d\n" % chance.randrange(10**5) for _ in range(20_000)) for _ in range(3)]
    names = []
    for number, lines in enumerate(runs):
        data = b"".join(lines)[:-1]  # the last line has no end
        cuts = sorted({*range(60_000, len(data), 60_000), *(chance.randrange(len(data)) for _ in range(20))})
        names.append(write(f"{number}.txt{suffix}", pack(data, cuts)))
    on = Resources("cpu", threads=3, memory=4 << 20)
    out, expected = tmp_path / "out.txt", b"".join(sorted(chain(*runs)))
    report: Any = run(merge_job(names, str(out), resources=on))
    assert out.read_bytes() == expected
    assert report.stage("decompress").nbytes == 0
    run(sort_job(names, str(out), resources=on, always_spill=True))
    assert out.read_bytes() == expected
    run(job_of("check", names, resources=on))
    wrong = write(f"wrong.txt{suffix}", pack(b"2\n1\n", [1]))
    with pytest.raises(InputError, match=f"wrong.txt{suffix}:2"):
        run(merge_job([wrong, *names], str(out), resources=on))


def test_numbers(backend: Backend, small_chunks: None, write: Write, tmp_path: Path, rng: np.random.Generator) -> None:
    runs = [np.sort(rng.integers(-99, 99, 9000)) for _ in range(3)]
    names = [write(f"{at}.i64.bgz", in_blocks(run.tobytes(), [3, 77, 20_000])) for at, run in enumerate(runs)]
    run(merge_job(names, str(tmp_path / "o.i64.bgz"), resources=Resources(backend.name)))  # type: ignore[arg-type]
    contents = [content for _, content in blocks_of((tmp_path / "o.i64.bgz").read_bytes())]
    assert contents.pop() == b""
    assert b"".join(contents) == np.sort(np.concatenate(runs)).tobytes()


@pytest.mark.parametrize("content", [b"", b"x\n"])
def test_few_bytes(write: Write, content: bytes) -> None:
    name = write("x.bgz", in_blocks(content))
    file = opened(name)
    assert file.read(0, 99) == content
    assert file.size == len(content)
    file.close()


def test_a_file_without_its_end_is_read_with_a_warning(write: Write, caplog: pytest.LogCaptureFixture) -> None:
    name = write("x.txt.gz", in_blocks(b"1\n2\n", end=b""))
    for _ in range(2):
        with caplog.at_level(logging.WARNING, "gpumerge"):
            file = opened(name)
        assert file.read(0, 9) == b"1\n2\n"
        file.close()
    (record,) = caplog.records
    assert record.getMessage() == (
        f"gpumerge: {name}: warning: the last BGZF block is not the empty one that ends a whole file; the file may be "
        "truncated"
    )


def test_a_great_many_small_blocks(write: Write) -> None:
    data = bytes(range(256)) * 40
    name = write("x.bgz", b"".join(block(data[at : at + 1]) + block(b"") for at in range(len(data))) + EOF_BLOCK)
    file = opened(name)
    assert len(file._index.starts) < 5
    assert b"".join(file.pieces(777)) == data
    file.close()


def test_blocks_that_hold_nothing_are_not_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two megabytes of them, and a frame of five that is to be skipped."""
    large = random.Random(1).randbytes(60_000)
    data = block(b"1\n") + block(b"") * 60_000 + block(large) + block(b"") * 9000 + EOF_BLOCK
    files = [opened(write("x.bgz", data))]
    if zstd is not None:
        skipped = struct.pack("<II", 0x184D2A5F, 5 << 20) + bytes(5 << 20)
        files.append(opened(write("x.zst", frames(b"1\n", []) + skipped + frames(large, []) + skipped)))
    for file in files:
        reads: list[int] = []
        read = file._file.read

        def reading(position: int, count: int, read: Any = read, reads: list[int] = reads) -> bytes:
            reads.append(count)
            return read(position, count)

        monkeypatch.setattr(file._file, "read", reading)
        assert file.read_exactly(0, file.size) == b"1\n" + large
        assert file.read(1, 9) == (b"1\n" + large)[1:10]
        assert max(reads) <= 2 << 20
        file.close()


@pytest.mark.parametrize("suffix", [".bgz", ".zst"])
def test_little_is_unpacked_at_once(write: Write, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred megabytes of zeros, in a hundred kilobytes."""
    ends = list(range(65_280, 100 << 20, 65_280))
    whole = block(bytes(65_280)) * (len(ends) + 1) + EOF_BLOCK if suffix == ".bgz" else frames(bytes(100 << 20), ends)
    file = opened(write(f"x{suffix}", whole))
    unpacked, largest = BlockedInput._unpacked, 0

    def unpacking(self: BlockedInput, number: int, until: int) -> list[bytes]:
        nonlocal largest
        found = unpacked(self, number, until)
        largest = max(largest, sum(map(len, found)))
        return found

    monkeypatch.setattr(BlockedInput, "_unpacked", unpacking)
    file.read_into(0, bytearray(file.size))
    assert 1 << 20 < largest <= 4 << 20
    file.close()


def test_a_frame_of_many_empty_pieces_is_copied(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.zstandard()
    monkeypatch.setattr(zstd_frames, "LARGEST_PACKED", 40_000)
    data = b"\x28\xb5\x2f\xfd\x20\x03" + bytes(3) * 15_000 + b"\x19\0\0abc"
    file = open_input(write("x.zst", data))
    assert not isinstance(file, BlockedInput)
    assert file.read(0, 9) == b"abc"
    file.close()


def test_an_input_that_nobody_closed_gives_no_other_one_its_content(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_kept", OrderedDict()), ("_kept_bytes", 0), ("_taken", 0)):
        monkeypatch.setattr(BlockedInput, name, value)
    for number in range(50):
        file = opened(write("x.bgz", in_blocks(b"%03d\n" % number)))
        assert file.read(0, 9) == b"%03d\n" % number
        file._file.close()
        del file


def test_other_fields_may_stand_ahead_of_the_size(write: Write) -> None:
    name = write("x.gz", block(b"1\n", extra=b"XY\x03\0abc") + block(b"2\n") + EOF_BLOCK)
    file = opened(name)
    assert file.read(0, 9) == b"1\n2\n"
    file.close()


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(b"1\n2\n", mtime=0),
        in_blocks(b"1\n") + gzip.compress(b"2\n", mtime=0),
        in_blocks(b"1\n2\n") + bytes(1000),
        block(b"1\n") + block(b"2\n").replace(b"BC\x02", b"XC\x02"),
    ],
    ids=["gzip", "gzip behind blocks", "zeros behind blocks", "another field"],
)
def test_other_members_of_gzip_make_a_stream_of_all(write: Write, data: bytes) -> None:
    file = open_input(write("x.bgz", data))
    assert not isinstance(file, BlockedInput)
    assert file.read(0, 9) == b"1\n2\n"
    file.close()


def test_a_pipe_is_a_stream(tmp_path: Path) -> None:
    data, pipe = os.urandom(200_000), tmp_path / "x.bgz"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_bytes, args=[in_blocks(data)])
    writing.start()
    file = open_input(str(pipe))
    writing.join()
    assert file.read_exactly(0, file.size) == data
    file.close()


THREE = [block(b"%d\n" % number * 20_000 + bytes(range(256)) + b"\n") for number in (1, 2, 3)]
SECOND, THIRD = len(THREE[0]), len(THREE[0]) + len(THREE[1])


def changed(at: int, to: bytes) -> bytes:
    data = b"".join(THREE) + EOF_BLOCK
    at += len(data) if at < 0 else 0
    return data[:at] + to + data[at + len(to) :]


@pytest.mark.one_in(2)
@pytest.mark.one_of_each
@pytest.mark.parametrize(
    ("data", "at", "what"),
    [
        (changed(SECOND - 8, b"\0\0\0\0"), 0, "its content has another checksum (CRC-32) than it states"),
        (changed(SECOND - 4, b"\1\0\0\0"), 0, "its content has another size than it states"),
        (changed(SECOND - 4, b"\xff\xff\0\0"), 0, "its content has another size than it states"),
        (changed(SECOND - 4, b"\1\0\1\0"), 0, "its header or its end states an impossible size"),
        (changed(SECOND - 1, b"\xff"), 0, "its header or its end states an impossible size"),
        (changed(SECOND + 16, b"\x05\0"), SECOND, "its header or its end states an impossible size"),
        (changed(SECOND + 16, b"\x60\0"), SECOND, "its header or its end states an impossible size"),
        (changed(SECOND + 16, b"\xff\xff"), SECOND, "the file ends inside it"),
        (changed(SECOND, b"\x1e"), SECOND, "no block begins there"),
        (changed(SECOND + 18, b"\xff" * 9), SECOND, "it is not deflate data"),
        ((b"".join(THREE) + EOF_BLOCK)[: THIRD + 17], THIRD, "the file ends inside it"),
        ((b"".join(THREE) + EOF_BLOCK)[: THIRD + 90], THIRD, "the file ends inside it"),
        (b"".join(THREE) + EOF_BLOCK + b"more", THIRD + len(THREE[2]) + 28, "no block begins there"),
    ],
)
@pytest.mark.parametrize("extra", [True, False])
def test_a_damaged_block_is_named(
    write: Write, tmp_path: Path, data: bytes, at: int, what: str, extra: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not extra:
        without_extra(monkeypatch)
    names = [write("x.txt.gz", data), write("y.txt", b"1\n")]
    with pytest.raises(InputError) as caught:
        run(merge_job(names, str(tmp_path / "out"), resources=Resources("cpu")))
    assert str(caught.value).startswith(f"{names[0]}: the BGZF block at byte {at} is damaged: {what}")
    assert str(caught.value).endswith("; get the file again")
    assert sorted(os.listdir(tmp_path)) == ["x.txt.gz", "y.txt"]
    assert not open_under(tmp_path)
    assert BlockedInput._taken == BlockedInput._kept_bytes == 0


def test_damage_of_any_byte_is_an_error_or_changes_nothing(write: Write, seed: int) -> None:
    """Fields such as times and the operating system hold nothing that matters."""
    chance = random.Random(seed)
    content = b"".join(b"%d\n" % chance.randrange(99) for _ in range(3000))
    for pack, suffix in ((in_blocks, ".bgz"), (frames, ".zst")):
        whole = pack(content, [100, 3000])
        for _ in range(200):
            at = chance.randrange(len(whole))
            data = whole[:at] + chance.choice([b"", bytes([whole[at] ^ 1 << chance.randrange(8)])]) + whole[at + 1 :]
            name = write(f"x{suffix}", data)
            try:
                file = open_input(name)
            except InputError:
                continue
            try:
                found = file.read_exactly(0, file.size)
            except InputError:
                continue
            finally:
                file.close()
            # Frames here have no checksums: a literal may change.
            assert found == content or (suffix == ".zst" and len(found) == len(content))


@pytest.mark.parametrize("claim", [1 << 21, 1 << 40, (1 << 64) - 1])
def test_a_claim_takes_no_memory(write: Write, claim: int) -> None:
    """A frame of ten bytes that says it holds a lot."""
    zstd = needs.zstandard()
    data = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", claim) + b"\x19\0\0abc"
    assert zstd.decompress(data[:5] + struct.pack("<Q", 3) + data[13:]) == b"abc"
    with pytest.raises(InputError, match=r"another size than it states|not readable as Zstandard"):
        open_input(write("x.zst", data))


def test_large_frames_and_too_many_are_copied(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    large = write("large.zst", frames(bytes(LARGEST_BLOCK + 1), []))
    file = open_input(large)
    assert not isinstance(file, BlockedInput)
    file.close()
    monkeypatch.setattr(blocked_input, "_MOST_KEPT", 250_000)
    names = [write(f"{at}.bgz", in_blocks(bytes(50_000))) for at in range(3)]
    found = [open_input(name) for name in names]
    assert [isinstance(one, BlockedInput) for one in found] == [True, True, False]
    assert [one.read_exactly(0, 50_000) for one in found] == [bytes(50_000)] * 3
    for one in found:
        one.close()


def test_all_inputs_keep_a_share_of_the_memory(write: Write) -> None:
    names = [write(f"{at}.bgz", in_blocks(bytes(50_000))) for at in range(3)]
    found = [open_input(name, memory=8 * 250_000) for name in names]
    assert [isinstance(one, BlockedInput) for one in found] == [True, True, False]
    for one in found:
        one.close()
    data = random.Random(1).randbytes(400_000)
    file = open_input(write("x.bgz", in_blocks(data, list(range(30_000, 400_000, 30_000)))), memory=8 * 150_000)
    for at in range(0, 400_000, 10_000):
        assert file.read(at, 9) == data[at : at + 9]
        assert 0 < BlockedInput._kept_bytes <= 150_000
    file.close()


def test_the_memory_of_a_job_reaches_its_inputs(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def take_room(index: object, memory: int | None) -> bool:
        seen.append(memory)
        return False

    monkeypatch.setattr(BlockedInput, "take_room", take_room)
    name = write("x.bgz", in_blocks(b"1\n2\n"))
    for words in (["merge"], ["sort", "--compressed"], ["union"]):
        assert invoke([*words, "-q", "-S", "16M", name, name, "-o", f"{name}.out"]) == 0
    assert invoke(["check", "-q", "-S", "16M", name]) == 0
    assert set(seen) == {16 << 20}


def test_no_more_is_kept_than_allowed(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocked_input, "_LEAST_KEPT", 150_000)
    data = random.Random(1).randbytes(400_000)
    file = opened(write("x.bgz", in_blocks(data, list(range(30_000, 400_000, 30_000)))))
    for at in [*range(0, 400_000, 10_000), 5, 300_000]:
        assert file.read(at, 9) == data[at : at + 9]
        assert BlockedInput._kept_bytes <= 150_000
    file.close()


@pytest.mark.parametrize("late", [True, False])
def test_a_file_that_changes_is_no_damage(write: Write, late: bool) -> None:
    name = write("x.bgz", in_blocks(b"1\n" * 9000))
    file = opened(name)
    Path(name).write_bytes(Path(name).read_bytes()[:-60] + bytes(61))
    with pytest.raises(InputError, match="the file changed while it was read"):
        _ = file.check_unchanged() if late else file.read_exactly(0, file.size)
    file.close()


def test_threads_share_a_file(write: Write, seed: int) -> None:
    data = random.Random(seed).randbytes(600_000)
    file, wrong = opened(write("x.bgz", in_blocks(data, list(range(50_000, 600_000, 50_000))))), []

    def read(own: random.Random) -> None:
        for _ in range(200):
            at = own.randrange(600_000)
            if file.read(at, 70_000) != data[at : at + 70_000]:
                wrong.append(at)

    threads = [threading.Thread(target=read, args=[random.Random(seed + at)]) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    file.close()


@pytest.mark.parametrize("tool", ["bgzip", "pzstd", "zstd"])
def test_files_of_other_programs(tmp_path: Path, tool: str, seed: int) -> None:
    needs.program(tool)
    chance = random.Random(seed)
    numbers = [chance.randrange(10**6) for _ in range(60_000)]
    data = b"".join(sorted(b"%d\t%d\n" % (number, number * number) for number in numbers))
    suffix = "gz" if tool == "bgzip" else "zst"
    (tmp_path / "x.txt").write_bytes(data)
    with open(tmp_path / f"x.txt.{suffix}", "wb") as out:
        subprocess.run([tool, "-c", "x.txt"], cwd=tmp_path, stdout=out, stderr=subprocess.DEVNULL, check=True)
    run(merge_job([str(tmp_path / f"x.txt.{suffix}")], str(tmp_path / "o.txt"), items_of(), Resources("cpu")))
    assert (tmp_path / "o.txt").read_bytes() == data


def test_few_descriptors(tmp_path: Path, write: Write) -> None:
    """More files than descriptors: each is opened when it is read."""
    names = [write(f"{at}.txt.bgz", in_blocks(b"%03d\n" % at)) for at in range(150)]
    merge = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", "--backend", "cpu", "-o", "out.txt", *names]
    subprocess.run(["bash", "-c", f"ulimit -n 100; exec {shlex.join(merge)}"], cwd=tmp_path, check=True)
    assert (tmp_path / "out.txt").read_bytes() == b"".join(b"%03d\n" % at for at in range(150))
