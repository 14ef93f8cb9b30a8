"""Merges, sorts and checks by a cluster of processes: the bytes are those of this machine alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import sorting, workers
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.engine.check import check_each
from gpumerge_cli.engine.executor import Executor
from gpumerge_cli.engine.job import Job, Resources
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import ClusterError, DisorderError, InputError, OutputError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.key_types import DTYPES
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.jobs_of import job_of, merge_job, sort_job, to, with_resources

_ITEMS = 20_000


@pytest.fixture
def machines(cluster: Connection, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 14)  # many tasks
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 14)
    return Cluster(cluster.client, 30.0)


def numbers(name: str, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    dtype = np.dtype(name)
    if dtype.kind == "f":
        values = rng.standard_normal(_ITEMS).astype(dtype)
        values[:: _ITEMS // 10] = np.nan
        return values
    return rng.integers(0, 100, _ITEMS).astype(dtype)  # many equal


def in_both(job: Job, machines: Cluster, folder: Path, suffix: str, *, same_parts: bool = True) -> None:
    """Do it here and by the machines; the outputs must be the same, and nothing else may be left.

    same_parts: all parts of the output are the same, not only all of them together.
    """
    place = "{part}" if job.output.parts else ""
    before = set(os.listdir(folder))
    here = run(to(job, str(folder / f"here{place}{suffix}")))
    there = run(to(job, str(folder / f"there{place}{suffix}")), executor=machines)
    new = sorted(set(os.listdir(folder)) - before)
    names = [name for name in new if name.startswith("here")]
    assert len(names) == (job.output.parts or 1)
    assert new == sorted([*names, *(name.replace("here", "there") for name in names)])
    ours, theirs = (
        [(folder / name.replace("here", which)).read_bytes() for name in names] for which in ("here", "there")
    )
    assert (ours == theirs) if same_parts and job.operation.equals.keeps_all else b"".join(ours) == b"".join(theirs)
    assert (here.items, here.dropped, here.written) == (there.items, there.dropped, there.written)
    assert [one.items for one in here.inputs] == [one.items for one in there.inputs]


@pytest.mark.one_of_each
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("unique", [False, True])
def test_keys(name: str, unique: bool, machines: Cluster, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    suffix, names, loose = ".npy", [], []
    for number in range(3):
        values = numbers(name, rng)
        for kind, found, items in (("loose", loose, values), ("sorted", names, np.sort(values))):
            found.append(str(tmp_path / f"{kind}{number}.npy"))
            np.save(found[-1], items)
    in_both(merge_job(names, equals=Equals.of(unique)), machines, tmp_path, suffix)
    for one in tmp_path.glob("*here*"):
        one.unlink()
    job = sort_job(loose, equals=Equals.of(unique), memory=4 << 20)
    in_both(job, machines, tmp_path, suffix)


@pytest.mark.parametrize("descending", [False, True])
def test_foreign_and_descending_keys(descending: bool, machines: Cluster, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for number in range(2):
        values = np.sort(rng.integers(-1000, 1000, _ITEMS)).astype(">i4")
        (values[::-1] if descending else values).tofile(tmp_path / f"{number}.bin")
    items = Items("raw", ">i4", reverse=descending)
    names = (str(tmp_path / "0.bin"), str(tmp_path / "1.bin"))
    in_both(merge_job(names, items=items), machines, tmp_path, ".bin")
    for one in tmp_path.glob("*here*"):
        one.unlink()
    in_both(sort_job(names, items=items), machines, tmp_path, ".bin")


@pytest.mark.parametrize("equals", [Equals.ALL, Equals.FIRST, Equals.LAST, Equals.ALL_DUPLICATES])
def test_records(equals: Equals, machines: Cluster, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = []
    for number in range(2):
        records = rng.integers(0, 4, (_ITEMS // 4, 24), np.uint8)
        records.tofile(tmp_path / f"{number}.bin")
        names.append(str(tmp_path / f"{number}.bin"))
    items = Items("raw", records=RecordRequest(24, 2, 10))
    job = sort_job(names, items=items, equals=equals, memory=4 << 20)
    in_both(job, machines, tmp_path, ".bin")


ORDERS = {
    "bytes": Items(),
    "numbers": Items(lines=LineOrder((LineKey("numeric"),))),
    "descending": Items(lines=LineOrder(reverse=True)),
    "stable": Items(lines=LineOrder((LineKey("numeric"),), stable=True)),
    "header": Items(header_lines=1),
    "csv": Items("csv", header_lines=1),
}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (b'a,"1\n2"\nb,3\n', LineKey(end_field=0)),
        (b'a,x"y\nb,3\n', LineKey(end_field=0)),
        (b"a,1\nb,3\n", LineKey()),
    ],
)
def test_csv_that_is_written_in_another_form(text: bytes, key: LineKey, machines: Cluster, tmp_path: Path) -> None:
    name, output = tmp_path / "in.csv", str(tmp_path / "out.csv")
    name.write_bytes(text)
    items = Items("csv", lines=LineOrder((key,), separator=b","))
    with pytest.raises(OutputError, match="a cluster merges no CSV with newlines in quotes"):
        run(sort_job((str(name),), output, items=items), executor=machines)
    with pytest.raises(OutputError, match="as -k 2,2"):
        run(merge_job((str(name), str(name)), output, items=items), executor=machines)


@pytest.mark.one_of_each
@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
@pytest.mark.parametrize("order", ORDERS)
def test_lines(order: str, unique: bool, machines: Cluster, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    items, names = ORDERS[order], []
    for number in range(3):
        lines = [b"%d,%d" % tuple(rng.integers(0, 200, 2).tolist()) for _ in range(_ITEMS // 4)]
        head = b"a,b\n" if items.header_lines else b""
        names.append(str(tmp_path / f"{number}.csv"))
        Path(names[-1]).write_bytes(head + b"\n".join(lines))  # without a last newline
    job = sort_job(names, items=items, equals=Equals.of(unique), memory=4 << 20)
    in_both(job, machines, tmp_path, ".csv")
    done = [str(tmp_path / name) for name in ("here.csv", "there.csv")]
    for at, name in enumerate(done):
        os.rename(name, tmp_path / f"sorted{at}.csv")
    runs = tuple(str(tmp_path / f"sorted{at}.csv") for at in range(2))
    in_both(merge_job(runs, items=items, equals=Equals.of(unique)), machines, tmp_path, ".csv")


@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
def test_parts(unique: bool, machines: Cluster, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    names = []
    for number in range(2):
        names.append(str(tmp_path / f"{number}.i32"))
        np.sort(rng.integers(0, 5000, _ITEMS, np.int32)).tofile(names[-1])
    in_both(merge_job(names, parts=3, equals=Equals.of(unique)), machines, tmp_path, ".i32")
    for one in tmp_path.glob("*here*"):
        one.unlink()
    in_both(sort_job(names, parts=3, equals=Equals.of(unique)), machines, tmp_path, ".i32")


def test_runs_of_local_workers_lie_in_memory(
    machines: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    monkeypatch.setattr(sorting, "_MEMORY", str(memory))
    made: list[Path] = []
    begin = sorting.RunFolder.__enter__

    def recorded(folder: sorting.RunFolder) -> sorting.RunFolder:
        made.append(folder.path.parent)
        return begin(folder)

    monkeypatch.setattr(sorting.RunFolder, "__enter__", recorded)
    np.random.default_rng(7).integers(0, 5000, _ITEMS, np.int32).tofile(tmp_path / "a.i32")
    job = sort_job((str(tmp_path / "a.i32"),))
    for here, changed in ((False, {}), (True, {}), (True, {"memory": 1 << 15}), (True, {"folders": (str(tmp_path),)})):
        machines.here = here
        in_both(with_resources(job, **changed), machines, tmp_path, ".i32")
        for one in tmp_path.glob("*here*"):
            one.unlink()
    assert made == [tmp_path, memory, tmp_path, tmp_path]
    assert not list(memory.iterdir())


def test_nothing_at_all(machines: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.i32").write_bytes(b"")
    names = (str(tmp_path / "a.i32"),)
    in_both(merge_job(names), machines, tmp_path, ".i32")
    for one in tmp_path.glob("*here*"):
        one.unlink()
    in_both(sort_job(names), machines, tmp_path, ".i32")


def checked(names: tuple[str, ...], unique: bool, machines: Executor) -> Iterator[str]:
    for one in check_each(job_of("check", names, equals=Equals.of(unique)), executor=machines):
        yield str(one)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
def test_checks(unique: bool, machines: Cluster, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    names = []
    for number in range(4):
        values = np.arange(100_000, dtype=np.int32) * 2
        if number:
            at = int(rng.integers(1, len(values)))
            values[at] = values[at - 1] - (number > 1)
        names += [str(tmp_path / f"{number}.i32"), str(tmp_path / f"{number}.txt")]
        values.tofile(names[-2])
        Path(names[-1]).write_bytes(b"".join(b"%08d\n" % (value + 10) for value in values.tolist()))
    for name in names:
        assert list(checked((name,), unique, machines)) == list(checked((name,), unique, LOCAL))


@pytest.mark.parametrize("make", [merge_job, sort_job])
def test_invalid_keys_are_named(make: Any, machines: Cluster, tmp_path: Path, rng: np.random.Generator) -> None:
    lines = sorted((b"%x" % number for number in rng.integers(0, 1 << 60, _ITEMS)), key=lambda line: int(line, 16))
    names = [str(tmp_path / name) for name in ("good", "bad")]
    Path(names[0]).write_bytes(b"\n".join([*lines, b""]))
    at = int(rng.integers(0, _ITEMS))
    Path(names[1]).write_bytes(b"\n".join([*lines[:at], b"no", *lines[at:], b""]))
    job = make(names, str(tmp_path / "out"), Items(lines=LineOrder((LineKey("hex"),))), memory=4 << 20)
    with pytest.raises(InputError, match="'no' is not a hexadecimal number") as caught:
        run(job, executor=machines)
    assert caught.value.where == f"{names[1]}:{at + 1}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("other", [b"9\n10\n11\n", b"10\n9\n"], ids=["alike", "otherwise"])
def test_a_check_looks_at_all_inputs_before_it_proposes_an_order(
    other: bytes, machines: Cluster, tmp_path: Path
) -> None:
    names = (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    for name, data in zip(names, (b"9\n10\n11\n", other), strict=True):
        Path(name).write_bytes(data)
    messages = list(checked(names, False, machines))
    assert messages == list(checked(names, False, LOCAL))
    assert messages[0].endswith("add -n") == (other != b"10\n9\n")


def test_disorder_is_told_as_it_is_here(machines: Cluster, tmp_path: Path) -> None:
    values = np.arange(100_000, dtype=np.int32)
    values[70_000] = 3
    values.tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    messages = []
    for where in (LOCAL, machines):
        with pytest.raises(DisorderError) as error:
            run(job, executor=where)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert os.listdir(tmp_path) == ["a.i32"]


@pytest.mark.parametrize(
    ("name", "output", "kind"),
    [
        ("a.i32", "out.i32.gz", OutputError),
        ("a.i32", "/dev/null", OutputError),
        ("/dev/null", "out.txt", InputError),
    ],
)
def test_what_a_cluster_cannot_reach(
    name: str, output: str, kind: type[Exception], machines: Cluster, tmp_path: Path
) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    before = set(os.listdir(tmp_path))
    for job in (merge_job, sort_job):
        with pytest.raises(kind):
            run(job((str(tmp_path / name),), str(tmp_path / output)), executor=machines)
    assert set(os.listdir(tmp_path)) == before


def test_a_gpu_that_nobody_has(machines: Cluster, tmp_path: Path) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    on = Resources("gpu")
    with pytest.raises(ClusterError, match="no worker has a GPU"):
        run(merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "b.i32"), resources=on), executor=machines)
    assert os.listdir(tmp_path) == ["a.i32"]


def test_reports_name_the_workers(machines: Cluster, tmp_path: Path) -> None:
    for name in ("a.i32", "b.i32"):
        np.arange(200_000, dtype=np.int32).tofile(tmp_path / name)
    names = (str(tmp_path / "a.i32"), str(tmp_path / "b.i32"))
    report = run(merge_job(names, str(tmp_path / "c.i32")), executor=machines)
    assert {one.name for one in report.worker_reports} == {"worker 0", "worker 1"}
    assert sum(one.nbytes for one in report.worker_reports) == report.nbytes
    assert {one.lane for one in report.timeline} & {"worker 0", "worker 1"}
