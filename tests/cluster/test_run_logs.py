"""Logs of the runs of a sort by a cluster: it goes on where it failed, and what others have stays as it is."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import node, sorting
from gpumerge_cli.cluster.dispatcher import Ticket
from gpumerge_cli.cluster.shipment import Reply
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import ClusterError
from gpumerge_cli.formats.items import Items
from tests.cluster.troubled import Here, Troubled, failing_from
from tests.jobs_of import sort_job, with_resources

FIRST = '{"log": "log of a gpumerge sort", "sort": "x", "folder": "y"}\n'


def test_a_sort_goes_on_where_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1000, 20_000, np.int32)
    values.tofile(tmp_path / "a.i32")
    log = tmp_path / "log"
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"), memory=1 << 16, run_log=str(log))
    sorts: list[str] = []
    failing = failing_from(5)

    def fail(pool: Troubled, ticket: Ticket) -> Reply:
        sorts.append(pool.shipment.work.action)
        return failing(pool, ticket)

    with monkeypatch.context() as patch:
        patch.setattr(Troubled, "_do", fail)
        with pytest.raises(ClusterError, match="a test"):
            run(job, executor=Here(1, 0))
    assert not (tmp_path / "out.i32").exists()
    logged = [json.loads(line)["run"] for line in log.read_text().splitlines()[1:]]
    runs = {int(path.name.removeprefix("run-")): path for path in tmp_path.glob(".out*/run-*")}
    assert logged
    assert set(logged) <= set(runs)
    runs[logged[0]].write_bytes(b"other bytes")  # which its checksum tells
    log.write_text(log.read_text() + '{"run": 1')  # a torn line
    with pytest.raises(Exception, match="log of another sort"):
        run(with_resources(replace(job, items=Items(reverse=True)), resume=True), executor=Here(1, 0))
    made: list[int] = []
    put = node.RunFileWriter.put

    def counted(writer: Any, turn: int, *arguments: Any, **named: Any) -> Any:
        made.append(turn)
        return put(writer, turn, *arguments, **named)

    monkeypatch.setattr(node.RunFileWriter, "put", counted)
    report = run(with_resources(job, memory=1 << 15, resume=True), executor=Here(2, 0))
    assert np.array_equal(np.fromfile(tmp_path / "out.i32", np.int32), np.sort(values))
    assert report.items == len(values)
    assert not set(logged[1:]) & set(made)
    assert logged[0] in made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.i32", "out.i32"]


def test_a_kept_folder_that_was_removed_costs_no_second_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    values = np.arange(20_000, dtype=np.int32)
    values.tofile(tmp_path / "a.i32")
    log = tmp_path / "log"
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"), memory=1 << 16, run_log=str(log))
    with monkeypatch.context() as patch:
        patch.setattr(Troubled, "_do", failing_from(4))
        with pytest.raises(ClusterError, match="a test"):
            run(job, executor=Here(1, 0))
        for folder in tmp_path.glob(".out*"):
            shutil.rmtree(folder)
        patch.setattr(Troubled, "_do", failing_from(4))
        with pytest.raises(ClusterError, match="a test"):
            run(with_resources(job, resume=True), executor=Here(1, 0))
    run(with_resources(job, resume=True), executor=Here(1, 0))
    assert np.array_equal(np.fromfile(tmp_path / "out.i32", np.int32), values)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.i32", "out.i32"]


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("name", ["others", "thesis.gpumerge-kept-", ".out.i32.gpumerge-kept-0123456789ab"])
def test_a_log_that_names_a_folder_of_others_costs_them_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, resume: bool
) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    values = np.arange(20_000, dtype=np.int32)
    values.tofile(tmp_path / "a.i32")
    log, others = tmp_path / "log", tmp_path / name
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"), memory=1 << 16, run_log=str(log))
    with monkeypatch.context() as patch:
        patch.setattr(Troubled, "_do", failing_from(4))
        with pytest.raises(ClusterError, match="a test"):
            run(job, executor=Here(1, 0))
    (kept,) = tmp_path.glob(".out*")
    log.write_text(log.read_text().replace(str(kept), str(others)))
    others.mkdir()
    (others / "letter").write_text("dear\n")
    run(with_resources(job, resume=resume), executor=Here(1, 0))
    assert np.array_equal(np.fromfile(tmp_path / "out.i32", np.int32), values)
    assert [path.name for path in others.iterdir()] == ["letter"]


@pytest.mark.parametrize(
    "text",
    [
        "something else\n",
        "5\n",
        '{"x": 1}\n',
        '{"log": "log of a gpumerge sort"}\n',
        f"{FIRST}5\n",
        f'{FIRST}{{"x": 1}}\n',
    ],
)
@pytest.mark.parametrize("resume", [False, True])
def test_what_is_no_run_log_is_left_alone(text: str, resume: bool, tmp_path: Path) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    (tmp_path / "log").write_text(text)
    where = str(tmp_path / "a.i32"), str(tmp_path / "out.i32")
    job = sort_job(where[:1], where[1], run_log=str(tmp_path / "log"), resume=resume)
    with pytest.raises(Exception, match="is not a log of a gpumerge sort; name another file"):
        run(job, executor=Here(1, 0))
    assert (tmp_path / "log").read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.i32", "log"]
