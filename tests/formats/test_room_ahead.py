"""Room that outputs of unknown size take ahead of their writes, and give back."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.engine.job import Resources
from gpumerge_cli.engine.run import run
from gpumerge_cli.formats import output_file
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.order.equals import Equals
from tests import needs
from tests.jobs_of import merge_job, to

AHEAD = 1 << 20


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[int, int]]:
    """The (start, bytes) of all room that is taken; skips where the file system cannot take it. Amounts are small."""
    found: list[tuple[int, int]] = []
    with open(tmp_path / "probe", "wb") as probe:
        if output_file._libc().fallocate(probe.fileno(), 1, 0, AHEAD):
            pytest.skip(needs.RESERVED_SPACE)
        if os.fstat(probe.fileno()).st_blocks * 512 < AHEAD:
            pytest.skip("needs a file system that takes the space it reserves; set TMPDIR to a folder on ext4 or XFS")
    real = output_file._libc()

    def fallocate(descriptor: int, mode: int, start: int, nbytes: int) -> int:
        assert mode == 1  # the size stays
        found.append((start, nbytes))
        return int(real.fallocate(descriptor, mode, start, nbytes))

    monkeypatch.setattr(output_file, "_libc", lambda: SimpleNamespace(fallocate=fallocate))
    monkeypatch.setattr(output_file, "_AHEAD", AHEAD)
    monkeypatch.setattr(output_file, "_LEAST_AHEAD", AHEAD // 4)
    return found


def some(nbytes: int, seed: int = 1) -> Any:
    return np.frombuffer(np.random.default_rng(seed).bytes(nbytes), np.uint8)


def test_room_is_taken_without_gaps_and_given_back(calls: list[tuple[int, int]], tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.write_bytes(b"before")
    data, made, written = some(9 * AHEAD), OutputFile(str(place), 9 * AHEAD), 0
    while len(calls) < 5:
        made.write_at(written, data[written : written + 10_007])
        written += 10_007
        status = os.fstat(made._made.descriptor)
        assert status.st_size == written
        assert not calls or status.st_blocks * 512 >= sum(calls[-1])
    data = data[:written]
    assert sum(calls[-1]) > len(data) + AHEAD // 2
    made.commit()
    assert place.read_bytes() == data.tobytes()
    assert place.stat().st_blocks * 512 < len(data) + AHEAD // 2
    ends = [start + nbytes for start, nbytes in calls]
    assert [0, *ends[:-1]] == [start for start, _ in calls]


def test_short_outputs_take_none(calls: list[tuple[int, int]], tmp_path: Path) -> None:
    made = OutputFile(str(tmp_path / "out"), AHEAD)
    made.write_at(0, some(AHEAD // 4))
    made.commit()
    assert not calls


@pytest.mark.parametrize("free", [0, 3 * AHEAD, 1 << 60])
def test_a_file_system_that_may_become_full_gives_none(
    free: int, calls: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fstatvfs", lambda descriptor: SimpleNamespace(f_bavail=free // 4096, f_frsize=4096))
    made = OutputFile(str(tmp_path / "out"), 3 * AHEAD)
    made.write_at(0, some(2 * AHEAD))
    made.commit()
    assert bool(calls) == (free == 1 << 60)


def test_room_that_a_failure_has_taken_is_given_back(
    calls: list[tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking = output_file._libc().fallocate

    def fallocate(*asked: int) -> int:
        taking(*asked)
        return -1

    monkeypatch.setattr(output_file, "_libc", lambda: SimpleNamespace(fallocate=fallocate))
    made = OutputFile(str(tmp_path / "out"), AHEAD)
    for start in range(0, AHEAD // 2 + AHEAD // 8, AHEAD // 8):
        made.write_at(start, some(AHEAD // 8))
    made.commit()
    assert len(calls) == 1
    assert sum(calls[0]) >= AHEAD // 2 + AHEAD // 4
    assert (tmp_path / "out").stat().st_blocks * 512 < AHEAD // 2 + AHEAD // 4


def test_an_output_of_known_size_takes_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_file, "_LEAST_AHEAD", 10)
    made = OutputFile(str(tmp_path / "out"), 1000)
    made.reserve(1000)
    if not made._held:
        pytest.skip(needs.RESERVED_SPACE)
    monkeypatch.setattr(output_file, "_libc", lambda: None)  # a call fails
    made.write_at(0, some(1000))
    made.commit()
    assert (tmp_path / "out").stat().st_size == 1000


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EOPNOTSUPP, errno.EINTR])
def test_a_file_system_without_room_ahead(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked once. Whether the bytes fit is for the writes to say."""
    asked: list[int] = []

    def fallocate(*_: Any) -> int:
        asked.append(1)
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(output_file, "_libc", lambda: SimpleNamespace(fallocate=fallocate))
    monkeypatch.setattr(output_file, "_LEAST_AHEAD", 10)
    made, data = OutputFile(str(tmp_path / "out"), 100_000), some(100_000)
    for start in range(0, len(data), 1000):
        made.write_at(start, data[start : start + 1000])
    made.commit()
    assert asked == [1]
    assert (tmp_path / "out").read_bytes() == data.tobytes()


@pytest.mark.one_of_each
@pytest.mark.parametrize("equals", [Equals.INTERSECT, Equals.SYMMETRIC, Equals.FIRST])
@pytest.mark.parametrize("backwards", [False, True])
def test_sets_of_files(equals: Equals, backwards: bool, calls: list[tuple[int, int]], tmp_path: Path) -> None:
    """The output may be an input, and shorter or longer than the file that it replaces."""
    rng = np.random.default_rng(3)
    names = [str(tmp_path / name) for name in "ab"]
    for name in names:
        np.sort(rng.integers(0, 1 << 20, 1 << 19)).astype(np.int32).tofile(name)
    wanted = str(tmp_path / "wanted")
    on = Resources("cpu", threads=2)
    job = merge_job(names, wanted, Items("raw", "int32"), on, equals=equals, memory=1 << 18)
    run(job)
    assert calls
    run(to(job, names[backwards]))
    assert Path(names[backwards]).read_bytes() == Path(wanted).read_bytes()
    assert os.stat(wanted).st_blocks * 512 < os.stat(wanted).st_size + AHEAD // 2
