"""An external sort that fails prints one clear line, keeps the old output, and leaves no temporary file."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cli import app as door
from gpumerge_cli.engine import local_sorts, run_files, spool
from gpumerge_cli.native.chunks import CpuChunkWorker
from gpumerge_cli.native.sources import Sources
from tests.open_files import open_under

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "gpumerge_cli", "sort", "--backend=cpu", "-S1M"]
COUNT = 1_000_000
MOMENTS = int(os.environ.get("GPUMERGE_TEST_MOMENTS", "2"))
EARLIER = b"earlier"


class Place:
    """An input, an output that is there already, two folders for temporary files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = [folder / "t0", folder / "t1"]
        for one in self.temporary:
            one.mkdir()
        self.input, self.output = folder / "a.i64", folder / "b.i64"
        self.keys = np.random.default_rng(1).integers(0, 1 << 62, COUNT)
        self.keys.tofile(self.input)
        self.output.write_bytes(EARLIER)

    @property
    def arguments(self) -> list[str]:
        folders = [part for one in self.temporary for part in ("-T", str(one))]
        return [*folders, str(self.input), "-o", str(self.output)]

    def assert_untouched(self) -> None:
        assert self.output.read_bytes() == EARLIER
        assert self.beside() == []

    def beside(self) -> list[str]:
        """The files that are left in temporary folders, and beside the output."""
        known = {"a.i64", "b.i64", "t0", "t1"}
        here = [name for name in os.listdir(self.folder) if name not in known]
        return here + [name for one in self.temporary for name in os.listdir(one)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def small(place: Place) -> Iterator[Path]:
    """The second folder for temporary files, on a file system of 2 MB."""
    folder = place.temporary[1]
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs to mount a small file system; run it as root, outside of a container")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=False)


def run(*arguments: str, **keywords: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60, **keywords
    )


def test_folders_without_room_are_found_out_first(place: Place, small: Path) -> None:
    done = run("-T", str(small), str(place.input), "-o", str(place.output))
    assert done.returncode == 2
    assert done.stderr == (
        f"gpumerge: {small}: 8.00 MB of temporary files do not fit into the 2.10 MB that are free; "
        "name another folder with -T, or compress them with --compress-program\n"
    )
    place.assert_untouched()


@pytest.mark.thorough
def test_a_folder_fills_up_in_the_midst(place: Place, small: Path) -> None:
    for more in ([], ["--compress-program=builtin"]):  # packed, it may fit, so that is tried
        done = run(*more, *place.arguments)
        assert done.returncode == 2
        assert done.stderr == f"gpumerge: {small}: no space left on device; free some space or write elsewhere\n"
        place.assert_untouched()


class _FullAfter:
    """The module os. Its pwrite fails after some number of calls."""

    def __init__(self, calls: int, number: int) -> None:
        self._left = calls
        self._number = number

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        self._left -= 1
        if self._left == 0:
            os.pwrite(descriptor, data[: len(data) // 2], position)  # some of it still fits
        if self._left <= 0:
            raise OSError(self._number, os.strerror(self._number))
        return os.pwrite(descriptor, data, position)


@pytest.mark.one_in(3)
@pytest.mark.one_of_each
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
@pytest.mark.parametrize("calls", [1, 2, 7])
@pytest.mark.parametrize("more", [[], ["--compress-program=builtin"]])
def test_any_write_of_a_run_fails(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: list[str],
    calls: int,
    number: int,
) -> None:
    monkeypatch.setattr(local_sorts, "LEAST_PIECE", 64 << 10)
    monkeypatch.setattr(spool, "os", _FullAfter(calls, number))
    assert door.invoke(["sort", "--backend=cpu", "-S1M", *more, *place.arguments]) == 2
    stderr = capsys.readouterr().err
    assert stderr.count("\n") == 1
    assert os.strerror(number).lower() in stderr.lower()
    assert str(place.folder) in stderr
    place.assert_untouched()
    assert not open_under(place.folder)


def test_the_disk_of_the_output_is_full(place: Place) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))

    done = run(*place.arguments, preexec_fn=limit)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"gpumerge: {place.output}: file too large; ")
    place.assert_untouched()


def test_an_error_while_runs_are_merged(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Temporary files that are cut short, as by a failing disk."""
    spilled: list[run_files.SpilledFile] = []
    keep, work, calls = run_files.SpilledFile.__init__, CpuChunkWorker.run, iter(range(1 << 30))

    def kept(self: run_files.SpilledFile, *arguments: Any) -> None:
        keep(self, *arguments)
        spilled.append(self)

    def fail(self: CpuChunkWorker, *arguments: Any) -> None:
        if next(calls) == 3:
            for file in spilled:
                os.ftruncate(file._spool.descriptor, 0)
        work(self, *arguments)

    monkeypatch.setattr(run_files.SpilledFile, "__init__", kept)
    monkeypatch.setattr(CpuChunkWorker, "run", fail)
    assert door.invoke(["sort", "--backend=cpu", "-S1M", *place.arguments]) == 2
    assert len(spilled) > 1
    assert capsys.readouterr().err.endswith("a temporary file has become shorter\n")
    place.assert_untouched()


@pytest.mark.one_in(3)
@pytest.mark.one_of_each
@pytest.mark.parametrize("more", [[], ["--compress-program=builtin"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_is_stopped_at_random_moments(place: Place, number: signal.Signals, more: list[str], seed: int) -> None:
    moments = random.Random(seed)
    command = [*COMMAND, *more, *place.arguments]
    whole = np.sort(place.keys).tobytes()
    longest = 1.0
    for _ in range(MOMENTS):
        start = time.monotonic()
        with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as sort:
            try:
                sort.wait(timeout=longest * moments.uniform(0.3, 1.0))
            except subprocess.TimeoutExpired:
                sort.send_signal(number)
            assert sort.stderr is not None
            stderr = sort.stderr.read()
        found = place.output.read_bytes()
        assert [name for one in place.temporary for name in os.listdir(one)] == []
        if sort.returncode == 0:
            longest = min(longest, time.monotonic() - start)
            assert found == whole
        elif sort.returncode == 128 + number:
            assert stderr == "gpumerge: interrupted; no output was written\n"
            place.assert_untouched()
        else:  # killed, if not before the program could take charge of its signals
            assert sort.returncode == -number
            assert found in (EARLIER, whole)
            assert len(place.beside()) <= (number == signal.SIGKILL)
        place.output.write_bytes(EARLIER)
    if place.beside():
        assert door.invoke(["sort", "--backend=cpu", *place.arguments]) == 0
        assert place.output.read_bytes() == whole
        assert place.beside() == []


def test_no_signal_can_come_where_compiled_code_calls_python(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Signals come to the main thread, and what they raise in a callback is lost: then bytes would be missing."""
    readers = set()
    read = Sources._read

    def watched(self: Sources, *arguments: int) -> int:
        readers.add(threading.current_thread())
        return read(self, *arguments)

    monkeypatch.setattr(Sources, "_read", watched)
    command = ["sort", "--backend=cpu", "-S1M", "--compress-program=builtin", "--parallel=1", *place.arguments]
    assert door.invoke(command) == 0, capsys.readouterr().err
    assert readers
    assert threading.main_thread() not in readers


@pytest.mark.parametrize("everyone", [True, False])
def test_a_program_that_packs_is_stopped_with_the_sort(place: Place, everyone: bool) -> None:
    """Ctrl-C in a terminal reaches all processes; `kill` reaches the sort alone, which ends the program itself.

    The program would not end in the time of a test run, so nothing here depends on time.
    """
    slow = place.folder / "t0" / ".." / "slow"
    begun = place.folder / "begun"
    slow.write_text(f"#!/bin/sh\ntouch {begun}\nexec sleep 3600\n")
    slow.chmod(0o755)
    command = [*COMMAND, f"--compress-program={slow}", *place.arguments]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True) as sort:
        try:
            while not begun.exists():
                assert sort.poll() is None
                time.sleep(0.01)
            (os.killpg if everyone else os.kill)(sort.pid, signal.SIGINT)
            _, stderr = sort.communicate(timeout=120)
        finally:
            if sort.poll() is None:
                os.killpg(sort.pid, signal.SIGKILL)
    slow.unlink()
    begun.unlink()
    assert (sort.returncode, stderr) == (130, "gpumerge: interrupted; no output was written\n")
    place.assert_untouched()


@pytest.mark.thorough
def test_a_signal_while_nobody_reads(tmp_path: Path) -> None:
    """A sort at once, whose threads write to a full pipe, ends all the same: of files, too, that do not stay open."""
    (tmp_path / "a").write_text("".join(f"{number}\n" for number in range(20_000)))
    command = [*COMMAND, "--parallel=1", "-S1G", *[str(tmp_path / "a")] * 60]
    few = ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", *command]
    with subprocess.Popen(few, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sort:
        assert sort.stdout is not None
        sort.stdout.read(10)
        time.sleep(1)
        sort.send_signal(signal.SIGINT)
        try:
            assert sort.wait(timeout=60) == 130
        finally:
            sort.kill()
