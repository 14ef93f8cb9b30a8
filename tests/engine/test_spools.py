"""Runs of an external sort share few temporary files: they read back as they were written, and leave nothing behind."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from gpumerge_cli.buffers import Bytes
from gpumerge_cli.engine.packing import _BLOCK
from gpumerge_cli.engine.run_files import Spill
from tests.open_files import open_under

ROOT = Path(__file__).parents[2]
DESCRIPTORS = 40


@pytest.mark.thorough
@pytest.mark.parametrize("more", [pytest.param([], marks=pytest.mark.thorough), ["--compress-program=builtin"]])
def test_hundreds_of_runs_within_few_descriptors(tmp_path: Path, seed: int, more: list[str]) -> None:
    numbers = random.Random(seed)
    folders = [tmp_path / "t0", tmp_path / "t1"]
    for folder in folders:
        folder.mkdir()
    (tmp_path / "in").write_text("".join(f"{numbers.randrange(10**9)} {at}\n" for at in range(1_500_000)))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    command = [
        sys.executable,
        "-m",
        "gpumerge_cli",
        "sort",
        "--backend=cpu",
        "-S1M",
        "--parallel=4",
        *more,
        str(tmp_path / "in"),
    ]
    command += [part for folder in folders for part in ("-T", str(folder))]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "out")],
        cwd=ROOT, preexec_fn=limit, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    expected = subprocess.run(
        ["sort", str(tmp_path / "in")], env={**os.environ, "LC_ALL": "C"}, capture_output=True, check=True
    )
    assert (tmp_path / "out").read_bytes() == expected.stdout
    assert [name for folder in folders for name in os.listdir(folder)] == []


def _parts(numbers: random.Random) -> list[bytes]:
    longest = numbers.choice([0, 1, 100, 5000, _BLOCK // 2])
    return [numbers.randbytes(numbers.randint(0, longest)) for _ in range(numbers.randint(0, 5))]


@pytest.mark.parametrize("program", [None, "builtin"])
def test_runs_read_back_as_they_were_written(tmp_path: Path, program: str | None, seed: int) -> None:
    numbers = random.Random(seed)
    folders = [tmp_path / "t0", tmp_path / "t1"]
    for folder in folders:
        folder.mkdir()
    threads = numbers.randint(1, 4)
    spill = Spill([str(folder) for folder in folders], program)
    cases = [(_parts(numbers), numbers.random() < 0.2) for _ in range(60)]

    class BrokenError(Exception):
        pass

    def given(parts: list[bytes], breaks: bool) -> Iterator[Bytes]:
        yield from parts
        if breaks:
            raise BrokenError

    def kept(case: tuple[list[bytes], bool]) -> object:
        with suppress(BrokenError):
            return spill.keep(given(*case))
        return None

    with ThreadPoolExecutor(threads) as pool:
        runs = list(pool.map(kept, cases))
    assert [run is None for run in runs] == [breaks for _, breaks in cases]
    assert len(open_under(tmp_path)) <= threads * len(folders)
    whole = [(run, b"".join(parts)) for run, (parts, _) in zip(runs, cases, strict=True) if run is not None]
    numbers.shuffle(whole)
    for run, data in whole:
        assert run.size == len(data)
        assert run.read_exactly(0, len(data)) == data
        start = numbers.randint(0, len(data))
        stop = numbers.randint(start, len(data))
        out = bytearray(stop - start)
        run.read_into(start, out)
        assert out == data[start:stop]
        assert run.read(start, len(data) + 1) == data[start:]  # not into the next run
        extent = run.extent(start, stop - start)
        if program is None:
            assert os.pread(extent.descriptor, extent.held, extent.start) == data[start:stop]
        run.close()
        run.close()
    assert open_under(tmp_path) == []


def test_a_run_that_fails_gives_its_room_back(tmp_path: Path) -> None:
    spill = Spill([str(tmp_path)], None)

    def broken() -> Iterator[Bytes]:
        yield bytes(1 << 20)
        raise MemoryError

    first = spill.keep([b"first"])
    with pytest.raises(MemoryError):
        spill.keep(broken())
    extent = first.extent(0, first.size)
    assert extent is not None
    assert os.fstat(extent.descriptor).st_size == len(b"first")
    second = spill.keep([b"second"])
    assert (first.read_exactly(0, 5), second.read_exactly(0, 6)) == (b"first", b"second")
    first.close()
    assert len(open_under(tmp_path)) == 1  # the second one is in it as well
    second.close()
    assert open_under(tmp_path) == []


def test_a_run_that_fails_alone_leaves_no_file(tmp_path: Path) -> None:
    spill = Spill([str(tmp_path)], None)

    def broken() -> Iterator[Bytes]:
        yield b"some"
        raise MemoryError

    with pytest.raises(MemoryError):
        spill.keep(broken())
    assert open_under(tmp_path) == []
    last = spill.keep([b"all"])
    assert last.read_exactly(0, 3) == b"all"
    last.close()
    assert open_under(tmp_path) == []


def test_threads_write_at_the_same_time(tmp_path: Path) -> None:
    """Each waits for the other one in the midst of its run, so one file for both would not do."""
    spill, both = Spill([str(tmp_path)], None), threading.Barrier(2, timeout=60)

    def halves(letter: bytes) -> Iterator[Bytes]:
        yield letter
        both.wait()
        yield letter

    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda letter: spill.keep(halves(letter)), [b"a", b"b"]))
    assert [run.read_exactly(0, run.size) for run in runs] == [b"aa", b"bb"]
    for run in runs:
        run.close()
