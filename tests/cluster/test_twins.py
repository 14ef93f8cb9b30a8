"""Tasks that are done twice, in any order, by workers that are lost: without Dask, by a pool of this process."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from gpumerge_cli.cluster import node, sorting, team
from gpumerge_cli.cluster.executor import Ticket
from gpumerge_cli.cluster.outlets import FolderOutlet
from gpumerge_cli.cluster.shipment import Answer, Shipment, Standing
from gpumerge_cli.cluster.team import Cluster
from gpumerge_cli.engine.job import Items
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.run import run
from gpumerge_cli.engine.task import Place
from gpumerge_cli.errors import ClusterError, OutputError
from gpumerge_cli.extents import Spot
from gpumerge_cli.formats.output import OutputFile
from gpumerge_cli.formats.output_range import OutputRange
from gpumerge_cli.order.equals import Equals
from tests.jobs_of import merge_job, sort_job, with_resources

FIRST = '{"log": "log of a gpumerge sort", "sort": "x", "folder": "y"}\n'


class KilledWorker(Exception):  # noqa: N818 - Dask's name
    """A stand-in for Dask's."""

    class last_worker:  # noqa: N801 - likewise
        name = "here"


@dataclass
class Troubled:
    """A pool that does tasks late, twice, in any order, or not at all. See executor.Pool.

    lost: of so many tasks one is lost. late: answers of twins, which come after the first ones.
    """

    shipment: Shipment
    chance: random.Random
    lost: int
    patience: float = 0.0
    together: int = 1
    refused: dict[str, str] = field(default_factory=dict)
    waiting: list[Ticket] = field(default_factory=list)
    late: list[tuple[Ticket, Answer | BaseException]] = field(default_factory=list)
    done: int = 0

    def threads(self) -> int:
        return 4

    def submit(self, tickets: Sequence[Ticket]) -> None:
        self.waiting.extend(tickets)

    def submit_elsewhere(self, tickets: Sequence[Ticket]) -> None:
        self.submit(tickets)

    def answers(self, seconds: float) -> list[tuple[Ticket, Answer | BaseException]]:
        found, self.late = self.late, []
        if self.waiting:
            ticket = self.waiting.pop(self.chance.randrange(len(self.waiting)))
            if self.lost and self.chance.randrange(self.lost) == 0:
                if self.chance.randrange(2):
                    self._do(ticket)  # it was done, and its answer was lost
                found.append((ticket, KilledWorker("a test")))
            else:
                found.append((ticket, self._do(ticket)))
                if self.chance.randrange(3) == 0:
                    self.late.append((ticket, self._do(ticket)))
        return found

    def _do(self, ticket: Ticket) -> Answer:
        self.done += 1
        shipment = replace(self.shipment, spots=()) if ticket.counts else self.shipment
        task = ticket.task
        return node.do(shipment.packed(), task.turn, task.ranges, task.place)

    def cancel(self) -> None:
        node.forget(self.shipment.run)


class Here(Cluster):
    """A cluster whose only worker is this process, with trouble."""

    def __init__(self, seed: int, lost: int) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.chance, self.lost = random.Random(seed), lost

    def judge_workers(self, shipment: Shipment) -> dict[str, str]:
        standing = node.probe(shipment.packed())
        if not isinstance(standing, Standing):
            raise standing
        self.standings = {"here": standing}
        return {"here": "here"}

    def task_bytes(self, nbytes: int) -> int:
        return 1 << 13

    def pool(self, shipment: Shipment, resources: object) -> Troubled:
        return Troubled(shipment, self.chance, self.lost)

    def fit(self, packed: object) -> Any:
        """There are no workers that could cut."""
        return SimpleNamespace(client=None, threads=dict)


def failing_from(number: int) -> Any:
    """A stand-in for Troubled._do that fails from the task of that number on, counted from 0."""
    done, tasks = Troubled._do, iter(range(1 << 20))

    def do(pool: Troubled, ticket: Ticket) -> Answer:
        if next(tasks) >= number:
            raise ClusterError("a test")
        return done(pool, ticket)

    return do


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
    told = run(job, executor=Here(seed, 4))
    assert content() == expected
    (worker,) = told.worker_reports
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
    outlet, data = FolderOutlet(str(tmp_path), sums=sums), np.arange(100, dtype=np.int32)

    def put() -> tuple[int, bytes]:
        piece = memoryview(data).cast("B")
        merged: Any = SimpleNamespace(outputs=lambda: [piece], merged_bytes=data.nbytes, spans=[])
        assert outlet.put(0, Place(3, 0), merged, last=True) == data.nbytes
        assert outlet.crc == (crc32(data) if sums else 0)
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


def test_an_output_that_vanishes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    done = Troubled._do

    def vanish(pool: Troubled, ticket: Ticket) -> Answer:
        for path in tmp_path.glob(".out*"):
            path.unlink()
        return done(pool, ticket)

    monkeypatch.setattr(Troubled, "_do", vanish)
    with pytest.raises(Exception, match=r"out\.i32") as error:
        run(job, executor=Here(1, 0))
    assert error.type.__module__ == "gpumerge_cli.errors"
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_an_output_that_others_cut_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    where = (str(tmp_path / "a.i32"),), str(tmp_path / "out.i32")
    done, tickets = Troubled._do, iter(range(1 << 20))

    def cut(pool: Troubled, ticket: Ticket) -> Answer:
        answer = done(pool, ticket)
        if next(tickets) == 20:
            os.truncate(next(tmp_path.glob(".out*")), 1000)
        return answer

    monkeypatch.setattr(Troubled, "_do", cut)
    with pytest.raises(OutputError, match="the file system lost the file's bytes"):
        run(merge_job(*where), executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_an_output_that_vanishes_before_a_worker_opens_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="its temporary file was removed; run it again"):
        OutputRange(Spot("out.i32", str(tmp_path / "none"), 0))


@pytest.mark.parametrize("there", ["a file", "a link", "a pipe"])
def test_nothing_is_written_to_what_took_the_temporary_name(there: str, tmp_path: Path) -> None:
    made = OutputFile(str(tmp_path / "out.i32"))
    other = tmp_path / "other"
    other.write_bytes(b"precious")
    places = [one for one in (made.spot(0, None),) if isinstance(one, Spot)]
    places += [replace(one, identity=(0, one.identity[1])) for one in places if one.identity]  # from another machine
    os.rename(places[0].path, tmp_path / "aside")
    if there == "a file":
        os.link(other, places[0].path)
    elif there == "a link":
        os.symlink(tmp_path / "aside", places[0].path)
    else:
        os.mkfifo(places[0].path)
    for place in places:
        with pytest.raises(OutputError, match=r"out\.i32: another program replaced its temporary file; write to a"):
            OutputRange(place)
    os.unlink(places[0].path)
    os.rename(tmp_path / "aside", places[0].path)
    for place in places:
        OutputRange(place).abort()
    made.abort()
    assert other.read_bytes() == b"precious"


def test_a_temporary_file_that_is_swapped_while_workers_open_it_loses_no_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is back in its place before the run ends, without what was written meanwhile."""
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    other = tmp_path / "other"
    other.write_bytes(b"precious")
    done = Troubled._do

    def swapped(pool: Troubled, ticket: Ticket) -> Answer:
        temporary = next(tmp_path.glob(".out*"))
        os.rename(temporary, tmp_path / "aside")
        os.symlink(other, temporary)
        try:
            return done(pool, ticket)
        finally:
            os.replace(tmp_path / "aside", temporary)

    monkeypatch.setattr(Troubled, "_do", swapped)
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    with pytest.raises(OutputError, match="another program replaced its temporary file"):
        run(job, executor=Here(1, 0))
    assert other.read_bytes() == b"precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.i32", "other"]


def test_an_input_that_changes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = tmp_path / "a.i32"
    np.arange(100_000, dtype=np.int32).tofile(name)
    job = merge_job((str(name),), str(tmp_path / "out.i32"))
    done = Troubled._do

    def change(pool: Troubled, ticket: Ticket) -> Answer:
        np.arange(100_001, dtype=np.int32).tofile(name)
        return done(pool, ticket)

    monkeypatch.setattr(Troubled, "_do", change)
    with pytest.raises(Exception, match=r"a\.i32") as error:
        run(job, executor=Here(1, 0))
    assert error.type.__module__ == "gpumerge_cli.errors"
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_of_another_version_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    monkeypatch.setattr(node, "__version__", "0.0.7")
    with pytest.raises(ClusterError, match=r"has gpumerge 0.0.7, this is .*; install one version"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_that_sees_other_files_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    seen = team.seen_of
    monkeypatch.setattr(team, "seen_of", lambda name: replace(seen(name), mtime=7))
    with pytest.raises(ClusterError, match="has another file there; put it on a file system that all machines have"):
        run(job, executor=Here(1, 0))
    monkeypatch.setattr(team, "seen_of", lambda name: replace(seen(name), path="/none/a.i32"))
    with pytest.raises(ClusterError, match="cannot read it: no such file"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_that_does_not_see_the_output_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    spots = team.spots_of

    def elsewhere(output: Output, *, here: bool) -> tuple[Any, ...]:
        return tuple(replace(one, path="/none/x") for one in spots(output, here=here))

    monkeypatch.setattr(node, "_PATIENCE", 0.0)
    monkeypatch.setattr(team, "spots_of", elsewhere)
    with pytest.raises(ClusterError, match="does not see the output's folder"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_worker_that_does_not_see_the_folder_for_runs_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    judge = Here.judge_workers

    def elsewhere(machines: Here, shipment: Shipment) -> dict[str, str]:
        return judge(machines, replace(shipment, folder=shipment.folder and "/none/x"))

    monkeypatch.setattr(node, "_PATIENCE", 0.0)
    monkeypatch.setattr(Here, "judge_workers", elsewhere)
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    with pytest.raises(ClusterError, match=r"/none: .* does not see the folder for temporary files; name one with -T"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


@pytest.mark.parametrize("kind", ["input", "output", "folder"])
def test_a_worker_of_another_user_is_told(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(10, dtype=np.int32).tofile(tmp_path / "a.i32")
    judge = Here.judge_workers

    def allowed(path: Any, mode: int) -> bool:
        name = os.path.basename(path)
        return kind != ("input" if name == "a.i32" else "folder" if "runs" in name else "output")

    def as_another(machines: Here, shipment: Shipment) -> dict[str, str]:
        with monkeypatch.context() as patches:
            patches.setattr(os, "access", allowed)
            return judge(machines, shipment)

    monkeypatch.setattr(Here, "judge_workers", as_another)
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    with pytest.raises(ClusterError, match=r"the worker at .* (cannot|may not) .*; run workers as the user who gives"):
        run(job, executor=Here(1, 0))
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


def test_a_sort_goes_on_where_it_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_LEAST_PIECE", 1 << 12)
    rng = np.random.default_rng(1)
    values = rng.integers(0, 1000, 20_000, np.int32)
    values.tofile(tmp_path / "a.i32")
    log = tmp_path / "log"
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"), memory=1 << 16, run_log=str(log))
    sorts: list[str] = []
    done = Troubled._do

    def fail(pool: Troubled, ticket: Ticket) -> Answer:
        sorts.append(pool.shipment.action)
        if len(sorts) > 5:
            raise ClusterError("a test")
        return done(pool, ticket)

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
    put = node.FolderOutlet.put

    def counted(outlet: Any, turn: int, *arguments: Any, **named: Any) -> Any:
        made.append(turn)
        return put(outlet, turn, *arguments, **named)

    monkeypatch.setattr(node.FolderOutlet, "put", counted)
    told = run(with_resources(job, memory=1 << 15, resume=True), executor=Here(2, 0))
    assert np.array_equal(np.fromfile(tmp_path / "out.i32", np.int32), np.sort(values))
    assert told.items == len(values)
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
    with pytest.raises(Exception, match="is no log of a gpumerge sort; name another file"):
        run(job, executor=Here(1, 0))
    assert (tmp_path / "log").read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.i32", "log"]


def test_runs_that_do_not_fit_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(1000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = sort_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_bavail=1, f_frsize=10))
    with pytest.raises(OutputError, match=r"4.00 kB of temporary files do not fit .*; name another folder with -T$"):
        run(job, executor=Here(1, 0))
    assert os.listdir(tmp_path) == ["a.i32"]
