"""One output file that processes of one machine write by mappings, and what is reported when its bytes are lost."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests import needs

pytest.importorskip("distributed", reason=needs.reason("distributed"), exc_type=ImportError)

from gpumerge_cli.cluster import executor, sorting, workers
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.executor import Cluster, remote_spots
from gpumerge_cli.cluster.node import _OpenRun
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import OutputError
from gpumerge_cli.extents import SinkLocation
from gpumerge_cli.formats.output_file import FORCED, OutputFile
from gpumerge_cli.formats.output_range import OutputRange
from tests import needs
from tests.cluster.troubled import Here, Ticket, Troubled
from tests.jobs_of import job_of, merge_job, to
from tests.oracles import same_bits

_BYTES = 1 << 20


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> OutputFile:
    """An output of this process with reserved room, which is mapped."""
    monkeypatch.setenv(FORCED, "1")
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(_BYTES)
    if output._mapping is None:
        output.abort()
        pytest.skip(needs.RESERVED_SPACE)
    return output


def test_workers_write_what_calls_would_write(made: OutputFile, rng: np.random.Generator) -> None:
    spot = made.spot(0, None)
    expected = np.frombuffer(rng.bytes(_BYTES), np.uint8)
    edges = [0, *sorted(rng.integers(0, _BYTES, 20).tolist()), _BYTES]
    writers = [OutputRange(spot), OutputRange(replace(spot, mapped=0))]
    assert [writer.spot(0, None).mapped for writer in writers] == [_BYTES, 0]
    for turn, (low, high) in enumerate(pairwise(edges)):
        writers[turn % 2].write_at(low, expected[low:high])
    for writer in writers:
        writer.finish()
        writer.abort()
        writer.abort()
    made.commit()
    assert same_bits(np.fromfile(made.name, np.uint8), expected)


def test_bytes_that_are_lost_in_a_worker_are_told(made: OutputFile) -> None:
    spot = made.spot(0, None)
    writer = OutputRange(spot)
    os.truncate(spot.path, 1000)
    with pytest.raises(OutputError, match="out: the file system lost the file's bytes"):
        writer.write_at(_BYTES // 2, np.ones(100, np.uint8))
    with pytest.raises(OutputError, match="out: the file system lost the file's bytes"):
        writer.finish()
    writer.abort()
    late = OutputRange(spot)  # shorter than it should be, so it is not mapped
    assert not late.spot(0, None).mapped
    late.abort()
    made.abort()


@pytest.mark.parametrize("here", [True, False])
def test_machines_that_share_a_file_do_not_map_it(here: bool, made: OutputFile) -> None:
    sink = SimpleNamespace(spot=made.spot(0, None))
    (spot,) = remote_spots(SimpleNamespace(sinks=[sink]), here=here)  # type: ignore[arg-type]
    assert isinstance(spot, SinkLocation)
    assert spot.mapped == (_BYTES if here else 0)
    made.abort()


@pytest.mark.parametrize("parts", [None, 3])
@pytest.mark.parametrize("sorts", [False, True], ids=["merge", "sort"])
def test_mapped_outputs_have_the_same_bytes(
    sorts: bool, parts: int | None, cluster: Connection, monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path, rng: np.random.Generator,
) -> None:  # fmt: skip
    monkeypatch.setenv(FORCED, "1")
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 14)
    asked: list[int] = []
    shown = remote_spots

    def recorded(output: Output, *, here: bool) -> Any:
        found = shown(output, here=here)
        asked.extend(spot.mapped for spot in found if isinstance(spot, SinkLocation))
        return found

    monkeypatch.setattr(executor, "remote_spots", recorded)
    names = []
    for number in range(3):
        keys = rng.integers(0, 1000, 30_000).astype(np.int64)
        names.append(str(tmp_path / f"{number}.i64"))
        (keys if sorts else np.sort(keys)).tofile(names[-1])
    place = "{part}" if parts else ""
    job = job_of("sort" if sorts else "merge", names, str(tmp_path / f"here{place}.i64"), parts=parts)
    run(job)
    run(to(job, str(tmp_path / f"there{place}.i64")), executor=Cluster(cluster.client, 30.0, here=True))
    ours, theirs = (sorted(tmp_path.glob(f"{name}*")) for name in ("here", "there"))
    assert len(ours) == len(theirs) == (parts or 1)
    assert [one.read_bytes() for one in ours] == [one.read_bytes() for one in theirs]
    assert any(asked), "no output was mapped"


def test_a_mapped_output_that_is_cut_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FORCED, "1")
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    done, tickets = Troubled._do, iter(range(1 << 20))
    mapped: list[int] = []

    def cut(pool: Troubled, ticket: Ticket) -> Any:
        answer = done(pool, ticket)
        if next(tickets) == 5:
            os.truncate(next(tmp_path.glob(".out*")), 1000)
        return answer

    class Noted(OutputRange):
        def __init__(self, place: SinkLocation) -> None:
            super().__init__(place)
            mapped.append(place.mapped)

    monkeypatch.setattr(Troubled, "_do", cut)
    monkeypatch.setattr(f"{_OpenRun.__module__}.OutputRange", Noted)
    machines = Here(1, 0)
    machines.here = True
    with pytest.raises(OutputError, match="the file system lost the file's bytes"):
        run(merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32")), executor=machines)
    assert any(mapped)
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]
