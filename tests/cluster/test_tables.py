"""Tables by a cluster: the rows, columns and metadata are those of this machine alone, and so are the errors."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cluster import row_parts, sorting, workers
from gpumerge_cli.cluster.connect import Connection
from gpumerge_cli.cluster.executor import Cluster
from gpumerge_cli.engine.check import check_each
from gpumerge_cli.engine.executor import Executor
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import ClusterError, GpumergeError, InputError, OutputError, UsageError
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.formats.tables.settings import GroupSize
from gpumerge_cli.order.equals import Equals
from tests.cluster.troubled import Here, Troubled
from tests.formats.tables.random_tables import SUFFIXES, Drawn, read, texts
from tests.jobs_of import job_of, merge_job, sort_job, to, with_resources

PLACES = [Equals.FIRST, Equals.LAST, Equals.DUPLICATES, Equals.ALL_DUPLICATES, Equals.SINGLES]


def by(*fields: str) -> Items:
    return Items(records=RecordRequest(fields=fields))


def in_groups(job: Job, rows: int) -> Job:
    """The job with groups of so many rows, so that there are many tasks."""
    return replace(job, output=replace(job.output, group=GroupSize(rows, None)))


def rows_of(folder: Path, which: str) -> list[pa.Table]:
    """The tables of all parts of an output, which are removed."""
    found = []
    for path in sorted(folder.glob(f"{which}*")):
        found.append(read(str(path)))
        if path.suffix == ".parquet":
            groups = pq.ParquetFile(path).metadata
            stated = {groups.row_group(number).sorting_columns for number in range(groups.num_row_groups)}
            assert len(stated) < 2
            found.append(pa.table({"sorted by": [repr(stated or None)]}))
        path.unlink()
    return found


def in_both(job: Job, machines: Executor, folder: Path, suffix: str) -> None:
    """Do it here and by the machines; the rows must be the same, and nothing else may be left."""
    place = "{part}" if job.output.parts else ""
    before = set(os.listdir(folder))
    here = run(to(job, str(folder / f"here{place}{suffix}")))
    there = run(to(job, str(folder / f"there{place}{suffix}")), executor=machines)
    assert (here.items, here.dropped) == (there.items, there.dropped)
    ours, theirs = (rows_of(folder, which) for which in ("here", "there"))
    assert len(ours) == len(theirs)
    if job.output.parts:  # a cluster cuts them by rows, this machine alone by bytes of items
        ours, theirs = ([pa.concat_tables(tables[:: 1 + (suffix == ".parquet")])] for tables in (ours, theirs))
    for one, other in zip(ours, theirs, strict=True):
        assert one.schema.equals(other.schema, check_metadata=True)
        assert texts(one) == texts(other)
    assert set(os.listdir(folder)) == before


def random_job(rng: random.Random, suffix: str, machines: Executor, folder: Path) -> None:
    """Sort and merge random tables in both ways."""
    drawn = Drawn(rng, suffix)
    ordered, names = [], []
    for number in range(rng.choice([1, 2, 3])):
        table = drawn.table(rng.choice([0, 1, 60, 400]))
        names.append(drawn.write(table, folder / f"{number}u"))
        ordered.append(drawn.write(drawn.ordered(read(names[-1])), folder / f"{number}"))
    equals, parts = rng.choice([Equals.ALL, *PLACES]), rng.choice([None, None, 3])
    for make, inputs in ((sort_job, names), (merge_job, ordered)):
        job = make(inputs, items=by(*drawn.fields), equals=equals, parts=parts)
        in_both(in_groups(job, rng.choice([1, 30, 1000])), machines, folder, suffix)
    for name in (*names, *ordered):
        (here,), (there,) = (
            list(check_each(job_of("check", (name,), items=by(*drawn.fields)), executor=one))
            for one in (LOCAL, machines)
        )
        assert str(here) == str(there)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_tables(suffix: str, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 11)
    random_job(random.Random(seed), suffix, Here(seed, 7), tmp_path)


@pytest.fixture
def machines(cluster: Connection, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    monkeypatch.setattr(workers, "_LEAST_TASK", 1 << 12)
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    return Cluster(cluster.client, 30.0)


@pytest.mark.thorough
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_random_tables_by_processes(suffix: str, machines: Cluster, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for case in range(5):
        (tmp_path / str(case)).mkdir()
        random_job(rng, suffix, machines, tmp_path / str(case))


def put(path: Path, ids: list[int], names: list[str] | None = None) -> str:
    """A file with these ids."""
    table = pa.table({"id": pa.array(ids, pa.int64()), "name": names or [f"n{one % 7}" for one in ids]})
    pq.write_table(table, path, row_group_size=50)
    return str(path)


@pytest.fixture
def two(tmp_path: Path, seed: int) -> tuple[str, str]:
    rng = random.Random(seed)
    one, other = (sorted(rng.choices(range(2000), k=3000)) for _ in range(2))
    return put(tmp_path / "a.parquet", one), put(tmp_path / "b.parquet", other)


@pytest.mark.parametrize(
    "suffix", [".parquet", *(pytest.param(one, marks=pytest.mark.thorough) for one in (".csv", ".jsonl", ".csv.gz"))]
)
def test_a_cluster(suffix: str, two: tuple[str, str], machines: Cluster, tmp_path: Path) -> None:
    job = merge_job(two, items=by("id"))
    job = in_groups(job, 300) if suffix == ".parquet" else job  # text has no groups
    outputs = [tmp_path / f"{number}{suffix}" for number in range(2)]
    for output, executor in zip(outputs, (LOCAL, machines), strict=True):
        run(to(job, str(output)), executor=executor)
    if suffix == ".parquet":
        assert read(str(outputs[0])).equals(read(str(outputs[1])))
    else:
        one, other = (output.read_bytes() for output in outputs)
        assert one == other or gzip.decompress(one) == gzip.decompress(other)
    assert len(list(tmp_path.iterdir())) == 4


def outcome(job: Job, executor: Executor) -> str:
    try:
        run(job, executor=executor)
    except GpumergeError as error:
        return str(error)
    return "done"


@pytest.mark.parametrize("make", [merge_job, sort_job])
def test_errors_are_one_line(make: Callable[..., Job], two: tuple[str, str], tmp_path: Path, seed: int) -> None:
    rng, output = random.Random(seed), tmp_path / "out.parquet"
    a, b = two
    ids = pq.read_table(b).column("id").to_pylist()
    if make is merge_job:
        at = rng.randrange(1, len(ids))
        ids[at] = ids[at - 1] - 1
        put(Path(b), ids)
        job = in_groups(make((a, b), str(output), items=by("id")), 100)
        message = outcome(job, LOCAL)
        assert f"{b}: row group {at // 50}, row {at % 50}: disorder" in message
        assert outcome(job, Here(seed, 0)) == message
    with open(b, "r+b") as file:  # pages of a group
        file.seek(8)
        file.write(b"\xff" * 600)
    job = in_groups(make((a, b), str(output), items=by("id")), 100)
    message = outcome(job, Here(seed, 0))
    assert message.startswith(f"{b}: "), message
    assert "\n" not in message
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "b.parquet"]


@pytest.mark.parametrize("make", [merge_job, sort_job])
def test_a_file_that_changes(
    make: Callable[..., Job], two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do = Troubled._do

    def changed(pool: Troubled, ticket: Any) -> Any:
        put(Path(two[1]), [1, 2, 3])
        return do(pool, ticket)

    monkeypatch.setattr(Troubled, "_do", changed)
    job = in_groups(make(two, str(tmp_path / "out.parquet"), items=by("id")), 100)
    with pytest.raises(
        (ClusterError, InputError), match=r"b\.parquet: (the worker at .* has another file|the file changed)"
    ):
        run(job, executor=Here(1, 0))
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "b.parquet"]


def test_a_part_that_another_program_cuts(
    two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = row_parts.PartCollector.on_done

    def cut(collector: row_parts.PartCollector, task: Any, answer: Any) -> None:
        os.truncate(collector.folder / answer.result.rows.file, 10)
        taken(collector, task, answer)

    monkeypatch.setattr(row_parts.PartCollector, "on_done", cut)
    with pytest.raises(OutputError, match="a temporary file has become shorter"):
        run(in_groups(merge_job(two, str(tmp_path / "out.parquet"), items=by("id")), 100), executor=Here(1, 0))
    assert sorted(os.listdir(tmp_path)) == ["a.parquet", "b.parquet"]


def test_no_log_of_runs(two: tuple[str, str], tmp_path: Path) -> None:
    job = with_resources(sort_job(two, str(tmp_path / "out.parquet"), items=by("id")), run_log=str(tmp_path / "log"))
    with pytest.raises(UsageError, match="--run-log: a cluster logs no runs of rows; leave it out"):
        run(job, executor=Here(1, 0))
