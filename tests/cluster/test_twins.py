"""Tasks that are done twice, in any order, by workers that are lost: without Dask, by a pool of this process."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from gpumerge_cli.cluster import sorting
from gpumerge_cli.cluster.writers import RunFileWriter
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.task import Position
from gpumerge_cli.errors import ClusterError, OutputError
from gpumerge_cli.order.equals import Equals
from tests.cluster.troubled import Here
from tests.jobs_of import merge_job, sort_job


@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
@pytest.mark.parametrize("parts", [None, 3])
@pytest.mark.parametrize("kind", ["merge", "sort", "merge lines", "sort lines"])
def test_twins_and_losses_change_no_byte(
    kind: str, parts: int | None, unique: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng = np.random.default_rng(seed)
    names = []
    for number in range(3):
        values = rng.integers(0, 3000, 8000, np.int32)
        values = np.sort(values) if kind.startswith("merge") else values
        names.append(str(tmp_path / f"{number}{'.txt' if 'lines' in kind else '.i32'}"))
        if "lines" in kind:
            Path(names[-1]).write_bytes(b"".join(b"%06d\n" % value for value in values.tolist()))
        else:
            values.tofile(names[-1])
    out = ("out{part}" if parts else "out") + names[0][-4:]
    made = merge_job if kind.startswith("merge") else sort_job
    job = made(names, str(tmp_path / out), equals=Equals.of(unique), parts=parts)

    def content() -> bytes:
        return b"".join(path.read_bytes() for path in sorted(tmp_path.glob("out*")))

    run(job)
    expected = content()
    report = run(job, executor=Here(seed, 4))
    assert content() == expected
    (worker,) = report.worker_reports
    assert worker.note == "" or worker.note.endswith("of its tasks were done again")
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert not left


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("sums", [True, False])
def test_a_run_that_is_there_stays_as_it_is(
    sums: bool, links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin of a task may end when others read the run already."""

    def refused(*names: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(os, "link", refused)
    writer, data = RunFileWriter(str(tmp_path), sums=sums), np.arange(100, dtype=np.int32)

    def put() -> tuple[int, bytes]:
        piece = memoryview(data).cast("B")
        merged: Any = SimpleNamespace(outputs=lambda: [piece], merged_bytes=data.nbytes, spans=[])
        assert writer.put(0, Position(3, 0), merged, last=True) == data.nbytes
        assert writer.crc == (crc32(data) if sums else 0)
        (path,) = tmp_path.iterdir()
        return path.stat().st_ino, path.read_bytes()

    first = put()
    assert first[1] == data.tobytes()
    assert put() == first
    if sums:
        next(tmp_path.iterdir()).write_bytes(b"torn")
        assert put()[1] == data.tobytes()


def test_a_task_that_is_always_lost_is_given_up(tmp_path: Path) -> None:
    np.arange(1000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    with pytest.raises(ClusterError, match="a task failed 30 times, last with KilledWorker"):
        run(job, executor=Here(1, 1))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_runs_that_do_not_fit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(1000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_bavail=1, f_frsize=10))
    with pytest.raises(OutputError, match=r"4.00 kB of temporary files do not fit .*; name another folder with -T$"):
        run(job, executor=Here(1, 0))
    assert os.listdir(tmp_path) == ["a.i32"]
