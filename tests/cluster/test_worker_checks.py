"""Workers that cannot do the tasks of a run, as they are on other machines or of other users: one line says why."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.cluster import executor, locale_checks, node
from gpumerge_cli.cluster.shipment import Shipment
from gpumerge_cli.engine.job import Job
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import ClusterError, UsageError
from gpumerge_cli.order.rules import LineOrder
from tests.cluster.troubled import Here
from tests.jobs_of import merge_job, sort_job


def merge_of_one(folder: Path) -> Job:
    np.arange(10, dtype=np.int32).tofile(folder / "a.i32")
    return merge_job((str(folder / "a.i32"),), str(folder / "out.i32"))


def test_a_worker_of_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = merge_of_one(tmp_path)
    monkeypatch.setattr(node, "__version__", "0.0.7")
    with pytest.raises(ClusterError, match=r"has gpumerge 0.0.7, this is .*; install one version"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_that_sees_other_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = merge_of_one(tmp_path)
    seen = executor.file_state
    monkeypatch.setattr(executor, "file_state", lambda name: replace(seen(name), mtime=7))
    with pytest.raises(ClusterError, match="has another file there; put it on a file system that all machines have"):
        run(job, executor=Here(1, 0))
    monkeypatch.setattr(executor, "file_state", lambda name: replace(seen(name), path="/none/a.i32"))
    with pytest.raises(ClusterError, match="cannot read it: no such file"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_that_does_not_see_the_output_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = merge_of_one(tmp_path)
    spots = executor.remote_spots

    def elsewhere(output: Output, *, here: bool) -> tuple[Any, ...]:
        return tuple(replace(one, path="/none/x") for one in spots(output, here=here))

    monkeypatch.setattr(node, "_PATIENCE", 0.0)
    monkeypatch.setattr(executor, "remote_spots", elsewhere)
    with pytest.raises(ClusterError, match="does not see the output's folder"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_that_does_not_see_the_folder_for_runs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    check_workers = Here.check_workers

    def elsewhere(machines: Here, shipment: Shipment) -> dict[str, str]:
        return check_workers(machines, replace(shipment, folder=shipment.folder and "/none/x"))

    monkeypatch.setattr(node, "_PATIENCE", 0.0)
    monkeypatch.setattr(Here, "check_workers", elsewhere)
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    with pytest.raises(ClusterError, match=r"/none: .* does not see the folder for temporary files; name one with -T"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_without_the_locale_is_told(tmp_path: Path, locales: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"b\nA\n")
    job = sort_job((str(tmp_path / "a"),), str(tmp_path / "out"))
    job = replace(job, items=replace(job.items, lines=LineOrder(locale="sv_SE.UTF-8")))

    def lacking(name: str) -> None:
        raise UsageError(f"--locale {name}: this machine has no such locale")

    monkeypatch.setattr(locale_checks, "open_locale", lacking)
    with pytest.raises(ClusterError, match=r"has no such locale; install the locale on all machines"):
        run(job, executor=Here(1, 0))
    monkeypatch.undo()
    monkeypatch.setenv("LOCPATH", locales)
    run(job, executor=Here(1, 0))
    assert (tmp_path / "out").read_bytes() == b"A\nb\n"


@pytest.mark.parametrize("kind", ["input", "output", "folder"])
def test_a_worker_of_another_user_is_told(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    check_workers = Here.check_workers

    def allowed(path: Any, mode: int) -> bool:
        name = os.path.basename(path)
        return kind != ("input" if name == "a.i32" else "folder" if "runs" in name else "output")

    def as_another(machines: Here, shipment: Shipment) -> dict[str, str]:
        with monkeypatch.context() as patches:
            patches.setattr(os, "access", allowed)
            return check_workers(machines, shipment)

    monkeypatch.setattr(Here, "check_workers", as_another)
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    with pytest.raises(ClusterError, match=r"the worker at .* (cannot|may not) .*; run workers as the user who gives"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]
