"""Workers of a cluster read inputs by URL; the pool is that of tests/cluster, without Dask."""

from __future__ import annotations

import gzip
import io
import os
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpumerge_cli.cluster import sorting
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.local import LOCAL
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import ClusterError, InputError, UsageError
from gpumerge_cli.formats import stored_input
from gpumerge_cli.formats.items import Items
from gpumerge_cli.formats.record_options import RecordRequest
from gpumerge_cli.formats.stores.base import Found
from gpumerge_cli.formats.stores.s3_objects import S3Object
from gpumerge_cli.formats.tables.settings import GroupSize
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.rules import LineKey, LineOrder
from tests.cluster.test_combining import Case, job_of, outcome, written
from tests.cluster.troubled import Here, Troubled, failing_from
from tests.jobs_of import merge_job, sort_job, to, with_resources
from tests.stores.conftest import Bucket


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
def test_inputs_by_url(bucket: Bucket, unique: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng = np.random.default_rng(1)
    keys = [np.sort(rng.integers(0, 3000, 5000, np.int32)) for _ in range(2)]
    names = tuple(bucket.put(f"{number}.i32", one.tobytes()) for number, one in enumerate(keys))
    expected = np.sort(np.concatenate(keys))
    expected = np.unique(expected) if unique else expected
    output = str(tmp_path / "out.i32")
    for job in (merge_job, sort_job):
        run(job(names, output, equals=Equals.of(unique)), executor=Here(1, 0))
        assert np.array_equal(np.fromfile(output, np.int32), expected)


@pytest.fixture
def stopped(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A sort of an object that failed behind its third run, and whose log is there."""
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    url = bucket.put("a.i32", np.arange(20_000, dtype=np.int32).tobytes())
    job = sort_job((url,), str(tmp_path / "out.i32"), memory=1 << 16, run_log=str(tmp_path / "log"))
    with monkeypatch.context() as patch:
        patch.setattr(Troubled, "_do", failing_from(3))
        with pytest.raises(ClusterError, match="a test"):
            run(job, executor=Here(1, 0))
    assert len((tmp_path / "log").read_text().splitlines()) > 1
    return with_resources(job, resume=True)


def test_a_sort_does_not_go_on_with_another_object(bucket: Bucket, stopped: Job) -> None:
    other = np.arange(20_000, 40_000, dtype=np.int32)
    bucket.put("a.i32", other.tobytes())
    with pytest.raises(InputError, match="it is the log of another sort"):
        run(stopped, executor=Here(1, 0))
    run(with_resources(stopped, resume=False), executor=Here(1, 0))
    assert np.array_equal(np.fromfile(stopped.output.name, np.int32), other)


def test_a_sort_goes_on_with_the_same_object(stopped: Job) -> None:
    run(stopped, executor=Here(1, 0))
    assert np.array_equal(np.fromfile(stopped.output.name, np.int32), np.arange(20_000))


def test_a_sort_does_not_go_on_with_an_object_that_nothing_tells_from_others(
    stopped: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = S3Object.stat
    monkeypatch.setattr(S3Object, "stat", lambda one: Found(look(one).size, ""))
    with pytest.raises(InputError, match=r"gives no tag, .*; leave --resume out"):
        run(stopped, executor=Here(1, 0))


def test_a_worker_refuses_another_object_than_the_client_opened(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = bucket.put("a.i32", np.arange(1000, dtype=np.int32).tobytes())
    do = Troubled._do

    def changed(pool: Troubled, ticket: Any) -> Any:
        bucket.put("a.i32", np.arange(1000, 2000, dtype=np.int32).tobytes())
        return do(pool, ticket)

    monkeypatch.setattr(Troubled, "_do", changed)
    with pytest.raises(ClusterError, match="has another object there"):
        run(sort_job((url,), str(tmp_path / "out.i32")), executor=Here(1, 0))
    assert not list(tmp_path.iterdir())


def test_a_worker_without_credentials_is_told(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(url: str) -> int:
        raise InputError("access is denied", where=url, way_out="set AWS_PROFILE")

    monkeypatch.setattr(stored_input, "size_of_url", refused)
    url = bucket.put("a.i32", np.arange(1000, dtype=np.int32).tobytes())
    with pytest.raises(ClusterError, match=r"the worker at .* cannot read it: access is denied; on that machine: set"):
        run(sort_job((url,), str(tmp_path / "out.i32")), executor=Here(1, 0))
    assert not list(tmp_path.iterdir())


def test_compressed_objects(bucket: Bucket, tmp_path: Path, rng: np.random.Generator) -> None:
    keys = [np.sort(rng.integers(0, 3000, 8000, np.int32)) for _ in range(2)]
    names = tuple(bucket.put(f"{number}.i32.gz", gzip.compress(one.tobytes())) for number, one in enumerate(keys))
    output, expected = str(tmp_path / "out.i32"), np.sort(np.concatenate(keys))
    run(merge_job(names, output), executor=Here(1, 0))
    assert np.array_equal(np.fromfile(output, np.int32), expected)
    run(sort_job(names[::-1], output), executor=Here(2, 3))
    assert np.array_equal(np.fromfile(output, np.int32), expected)
    assert os.listdir(tmp_path) == ["out.i32"]
    with pytest.raises(UsageError, match="compressed inputs need a folder for their copies; name one with -T"):
        run(merge_job(names, bucket.url("out.i32")), executor=Here(1, 0))
    run(merge_job(names, bucket.url("out.i32"), folders=(str(tmp_path),)), executor=Here(1, 0))
    assert np.array_equal(np.frombuffer(bucket.get("out.i32"), np.int32), expected)
    assert os.listdir(tmp_path) == ["out.i32"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sort", [False, True], ids=["merge", "sort"])
def test_objects_of_json_lines(bucket: Bucket, sort: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng = np.random.default_rng(2)
    keys = [rng.integers(0, 3000, 3000) for _ in range(2)]
    keys = keys if sort else list(map(np.sort, keys))
    texts = [b"".join(b'{"k": %d, "at": %d}\n' % (key, at) for at, key in enumerate(one.tolist())) for one in keys]
    names = tuple(bucket.put(f"{number}.jsonl", text) for number, text in enumerate(texts))
    items = Items(lines=LineOrder((LineKey(end_field=0, name="k"),), stable=True))
    make = partial(sort_job if sort else merge_job, names, items=items, folders=(str(tmp_path),))
    run(make(bucket.url("here.jsonl")))
    assert run(make(bucket.url("there.jsonl")), executor=Here(1, 5)).chunks > 1
    assert bucket.get("there.jsonl") == bucket.get("here.jsonl")
    assert not bucket.uploads
    assert not list(tmp_path.iterdir())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("sort", [False, True], ids=["merge", "sort"])
def test_objects_of_tables(bucket: Bucket, sort: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng, names = np.random.default_rng(3), []
    for number in range(2):
        keys = rng.integers(0, 3000, 3000)
        out = io.BytesIO()
        pq.write_table(pa.table({"k": keys if sort else np.sort(keys), "at": np.arange(3000)}), out, row_group_size=500)
        names.append(bucket.put(f"{number}.parquet", out.getvalue()))
    items = Items(records=RecordRequest(fields=("k",)))
    make = partial(sort_job if sort else merge_job, tuple(names), items=items)
    job = make(bucket.url("there.parquet"))
    with pytest.raises(UsageError, match=r"needs? a folder for .*; name one with -T that all machines see"):
        run(job, executor=Here(1, 0))
    run(make(str(tmp_path / "here.parquet")))
    job = with_resources(job, folders=(str(tmp_path),))
    job = replace(job, output=replace(job.output, group=GroupSize(400, None)))
    assert run(job, executor=Here(1, 5)).chunks > 1
    there = pq.read_table(io.BytesIO(bucket.get("there.parquet")))
    assert there.equals(pq.read_table(tmp_path / "here.parquet"))
    assert not bucket.uploads
    assert os.listdir(tmp_path) == ["here.parquet"]


@pytest.mark.parametrize(
    ("suffix", "case"),
    [
        (".jsonl", Case("join", {"field": ["id"], "type": ["outer"]})),
        (".jsonl", Case("merge", {"field": ["id"], "sum": ["b"]})),
        (".parquet", Case("join", {"field": ["id,at"], "type": ["asof"], "direction": ["nearest"]})),
        (".parquet", Case("merge", {"field": ["id"], "sum": ["b"]})),
        (".csv", Case("diff", {"field": ["id:n"]}, (2, 3))),
        (".csv", Case("symmetric", {"field": ["id:n"]})),
    ],
)
def test_combined_inputs_by_url(suffix: str, case: Case, bucket: Bucket, tmp_path: Path, seed: int) -> None:
    paths = [Path(name) for name in written(random.Random(seed), suffix, tmp_path)]
    here = outcome(job_of(case, [str(path) for path in paths]), LOCAL, tmp_path / f"out{suffix}")
    urls = [bucket.put(path.name, path.read_bytes()) for path in paths]
    there = outcome(job_of(case, urls), Here(seed, 7), tmp_path / f"out{suffix}")
    assert here == there


def test_a_set_becomes_an_object_and_a_join_does_not(bucket: Bucket, tmp_path: Path, seed: int) -> None:
    names = written(random.Random(seed), ".csv", tmp_path)
    union, join = (job_of(Case(command, {"field": ["id:n"]}), names) for command in ("union", "join"))
    run(to(union, str(tmp_path / "here.csv")))
    run(to(union, bucket.url("out.csv")), executor=Here(seed, 0))
    assert bucket.get("out.csv") == (tmp_path / "here.csv").read_bytes()
    with pytest.raises(UsageError, match="a cluster writes the join of lines or records to files, not to objects"):
        run(to(join, bucket.url("join.csv")), executor=Here(seed, 0))
