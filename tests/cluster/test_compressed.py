"""Compressed inputs on a cluster: workers decompress each once, and the bytes are those of this machine alone."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import copies, sorting, unpacker, workers
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.dispatcher import Dispatcher, RemoteWorker, TaskPolicy, Ticket
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.cluster.file_checks import check_output
from gpumerge_cli.engine.check import check_each
from gpumerge_cli.engine.job import OperationKind
from gpumerge_cli.engine.passes import Pass
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.tasks import Tasks
from gpumerge_cli.engine.writers import NullWriter
from gpumerge_cli.errors import ClusterError, InputError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.measure import Stopwatch
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.plan import Chunk
from tests.cluster.test_cluster import in_both
from tests.cluster.troubled import Here, failing_from
from tests.jobs_of import job_of, merge_job, sort_job, with_resources

_PACK: dict[str, Any] = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, "": bytes}


def _packed(folder: Path, suffix: str, rng: np.random.Generator, *, ordered: bool) -> tuple[str, ...]:
    """Files of 32-bit keys, or of lines with a header, each compressed in another way; one is empty, one is plain."""
    names = []
    for number, pack in enumerate(_PACK):
        keys = rng.integers(0, 3000, 0 if number == 1 else 8000, np.int32)
        data = (np.sort(keys) if ordered else keys).tobytes()
        if suffix == ".csv":
            lines = [b"%04d,x" % key for key in keys.tolist()]
            data = b"\n".join([b"k,v", *(sorted(lines) if ordered else lines)]) + b"\n"
        names.append(str(folder / f"{number} \u00e4{suffix}{pack}"))
        Path(names[-1]).write_bytes(_PACK[pack](data))
    return tuple(names)


@pytest.fixture
def machines(cluster: Connection, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 14)
    return Cluster(cluster.client, 30.0)


@pytest.mark.one_of_each
@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
@pytest.mark.parametrize("suffix", [".i32", ".csv"])
@pytest.mark.parametrize("kind", ["merge", "sort"])
def test_bytes_are_those_of_one_machine(
    kind: str, suffix: str, unique: bool, machines: Cluster, tmp_path: Path, rng: np.random.Generator
) -> None:
    names = _packed(tmp_path, suffix, rng, ordered=kind == "merge")
    items = Items("csv", header_lines=1) if suffix == ".csv" else Items()
    if kind == "merge":
        in_both(merge_job(names, items=items, equals=Equals.of(unique)), machines, tmp_path, suffix)
    else:
        in_both(sort_job(names, items=items, equals=Equals.of(unique)), machines, tmp_path, suffix)


@pytest.mark.parametrize("kind", ["merge", "sort"])
def test_losses_and_twins_change_no_byte(
    kind: OperationKind, tmp_path: Path, rng: np.random.Generator, seed: int
) -> None:
    names = _packed(tmp_path, ".i32", rng, ordered=kind == "merge")
    before = {path.name for path in tmp_path.iterdir()}
    run(job_of(kind, names, str(tmp_path / "here.i32")))
    for number in range(5):
        run(job_of(kind, names, str(tmp_path / "there.i32")), executor=Here(seed + number, 3))
        assert (tmp_path / "there.i32").read_bytes() == (tmp_path / "here.i32").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == before | {"here.i32", "there.i32"}


def test_two_runs_of_two_compressed_inputs_are_merged(tmp_path: Path, rng: np.random.Generator) -> None:
    """As many runs as inputs: none is taken for the other."""
    values = rng.integers(0, 1 << 20, (2, 1 << 18), np.int32)
    for number, one in enumerate(values):
        (tmp_path / f"{number}.i32.gz").write_bytes(gzip.compress(one.tobytes(), 1))
    names = tuple(str(tmp_path / f"{number}.i32.gz") for number in range(2))
    here = Here(1, 0)
    run(sort_job(names, str(tmp_path / "out.i32"), memory=64 << 20), executor=here)
    assert np.array_equal(np.fromfile(tmp_path / "out.i32", np.int32), np.sort(values.ravel()))


def test_checks(machines: Cluster, tmp_path: Path, rng: np.random.Generator) -> None:
    ordered = _packed(tmp_path, ".i32", rng, ordered=True)
    bad = tmp_path / "bad.i32.gz"
    bad.write_bytes(gzip.compress(np.array([3, 1], np.int32).tobytes()))
    damaged = tmp_path / "damaged.i32.xz"
    damaged.write_bytes(lzma.compress(bytes(4000))[:-9])
    job = job_of("check", (*ordered, str(bad), str(damaged)), folders=(str(tmp_path),))
    before = set(os.listdir(tmp_path))
    assert [str(one) for one in check_each(job, executor=machines)] == [str(one) for one in check_each(job)]
    assert set(os.listdir(tmp_path)) == before


def test_checks_by_machines_apart_need_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.i32.gz").write_bytes(gzip.compress(b""))
    with pytest.raises(UsageError, match="compressed inputs need a folder for their copies; name one with -T"):
        list(check_each(job_of("check", (str(tmp_path / "a.i32.gz"),)), executor=Here(1, 0)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(bytes(1 << 20))[:-20], "damaged.i32.gz: the gzip data end too soon"),
        (b"no gzip", "damaged.i32.gz: not readable as gzip data"),
    ],
)
def test_damaged_inputs_leave_nothing(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.i32.gz").write_bytes(gzip.compress(bytes(1 << 16)))
    (tmp_path / "damaged.i32.gz").write_bytes(data)
    names = tuple(str(tmp_path / name) for name in ("a.i32.gz", "damaged.i32.gz"))
    for job in (merge_job, sort_job):
        with pytest.raises(InputError, match=message):
            run(job(names, str(tmp_path / "out.i32")), executor=Here(1, 0))
    assert sorted(os.listdir(tmp_path)) == ["a.i32.gz", "damaged.i32.gz"]


def test_a_full_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.i32.gz").write_bytes(gzip.compress(bytes(1 << 16)))

    class Full:
        def write(self, data: Any) -> int:
            raise OSError(28, "")

    made = unpacker._Copy
    monkeypatch.setattr(unpacker, "_Copy", lambda file, folder: made(Full(), folder))  # type: ignore[arg-type]
    with pytest.raises(OutputError, match=r"gpumerge-copies-.*: no space left on device; free some space"):
        run(merge_job((str(tmp_path / "a.i32.gz"),), str(tmp_path / "out.i32")), executor=Here(1, 0))
    assert os.listdir(tmp_path) == ["a.i32.gz"]


def test_an_input_that_is_written_to_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tmp_path / "a.i32.gz"
    name.write_bytes(gzip.compress(bytes(1 << 16)))
    unpack = unpacker.unpack_input

    def changed(*arguments: Any) -> str:
        tag = unpack(*arguments)
        name.write_bytes(gzip.compress(bytes(1 << 17)))
        return tag

    monkeypatch.setattr(unpacker, "unpack_input", changed)
    with pytest.raises(ClusterError, match="has another file there"):
        run(merge_job((str(name),), str(tmp_path / "out.i32")), executor=Here(1, 0))
    assert os.listdir(tmp_path) == ["a.i32.gz"]


def test_copies_of_killed_runs_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a.i32.gz").write_bytes(gzip.compress(bytes(1 << 16)))
    old = tmp_path / f".out.i32{copies._MARK}123456789abc"
    old.mkdir()
    for name in ("lock", "copy-000000"):
        (old / name).touch()
    run(merge_job((str(tmp_path / "a.i32.gz"),), str(tmp_path / "out.i32")), executor=Here(1, 0))
    assert sorted(os.listdir(tmp_path)) == ["a.i32.gz", "out.i32"]


def test_a_sort_of_compressed_inputs_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    values = np.arange(20_000, dtype=np.int32)[::-1]
    name, log = tmp_path / "a.i32.gz", tmp_path / "log"
    name.write_bytes(gzip.compress(values.tobytes()))
    job = sort_job((str(name),), str(tmp_path / "out.i32"), memory=1 << 16, run_log=str(log))
    with monkeypatch.context() as patch:
        patch.setattr("tests.cluster.troubled.Troubled._do", failing_from(4))
        with pytest.raises(ClusterError, match="a test"):
            run(job, executor=Here(1, 0))
    again, kept = with_resources(job, resume=True), name.stat().st_mtime_ns
    os.utime(name, ns=(1, 1))
    with pytest.raises(InputError, match="log of another sort"):
        run(again, executor=Here(1, 0))
    os.utime(name, ns=(kept, kept))
    assert len(log.read_text().splitlines()) > 1
    run(again, executor=Here(1, 0))
    assert np.array_equal(np.fromfile(tmp_path / "out.i32", np.int32), np.sort(values))
    assert sorted(os.listdir(tmp_path)) == ["a.i32.gz", "out.i32"]


def test_reports_tell_the_stage(machines: Cluster, tmp_path: Path, rng: np.random.Generator) -> None:
    names = _packed(tmp_path, ".i32", rng, ordered=True)
    report = run(merge_job(names, str(tmp_path / "out.i32")), executor=machines)
    lanes = {one.lane for one in report.timeline if one.stage == "decompress"}
    assert lanes
    assert lanes <= {"worker 0", "worker 1"}
    assert sum(one.nbytes for one in report.timeline if one.stage == "decompress") == 2 * 32_000
    assert [one.name for one in report.inputs] == list(names)


class _Never:
    """A pool whose tasks never end; see executor.Pool."""

    patience, together = 0.0, 1
    refused: dict[str, str] = {}  # noqa: RUF012

    def __init__(self) -> None:
        self.twins: list[Ticket] = []
        self.looks = 0

    def threads(self) -> int:
        return 1

    def submit(self, tickets: Sequence[Ticket]) -> None: ...

    def submit_elsewhere(self, tickets: Sequence[Ticket]) -> None:
        self.twins += tickets

    def answers(self, seconds: float) -> list[Any]:
        self.looks += 1
        if self.looks > 3:
            raise ClusterError("a test")
        return []

    def cancel(self) -> None: ...


@pytest.mark.parametrize(("pace", "twins"), [(1e9, True), (1.0, False)])
def test_a_long_input_is_not_decompressed_twice(pace: float, twins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10**6, 60))
    monkeypatch.setattr("gpumerge_cli.cluster.dispatcher.time.monotonic", lambda: float(next(now)))
    pieces, pool = [Chunk(((0, 10_000),), 0)], _Never()
    work = Pass(merge_job(()), "unpack", (), Order.lines(), 1.0, NullWriter(), pieces=pieces)
    tasks = Tasks(work, None, 1, Stopwatch())
    with pytest.raises(ClusterError, match="a test"):
        Dispatcher([RemoteWorker("worker 0")], tasks, pool, TaskPolicy(1, pace=pace)).run()
    assert bool(pool.twins) == twins


@pytest.mark.parametrize(
    ("name", "compression", "plain", "refused"),
    [
        ("a.gz", None, False, True),
        ("a.gz", None, True, False),
        ("a.txt", "bgzf", True, True),
        ("a.txt", "none", False, False),
        ("-", None, True, True),
        ("/dev/null", None, False, True),
        ("a.txt", None, False, False),
    ],
)
def test_outputs_are_judged_before_a_worker_starts(
    name: str, compression: str | None, plain: bool, refused: bool
) -> None:
    if not refused:
        return check_output(name, compression, plain=plain)
    with pytest.raises(OutputError, match=r"a cluster writes plain files.*name one with -o that is not compressed"):
        check_output(name, compression, plain=plain)
    return None
