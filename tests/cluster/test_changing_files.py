"""Inputs and outputs that other programs change, cut, swap or remove while a cluster works."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.cluster.dispatcher import Ticket
from gpumerge_cli.cluster.shipment import Reply
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import OutputError
from gpumerge_cli.extents import SinkLocation
from gpumerge_cli.formats.output_file import OutputFile
from gpumerge_cli.formats.output_range import OutputRange
from tests.cluster.troubled import Here, Troubled
from tests.jobs_of import merge_job


def test_an_output_that_vanishes_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / "out.i32"))
    done = Troubled._do

    def vanish(pool: Troubled, ticket: Ticket) -> Reply:
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

    def cut(pool: Troubled, ticket: Ticket) -> Reply:
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
        OutputRange(SinkLocation("out.i32", str(tmp_path / "none"), 0))


@pytest.mark.parametrize("there", ["a file", "a link", "a pipe"])
def test_nothing_is_written_to_what_took_the_temporary_name(there: str, tmp_path: Path) -> None:
    made = OutputFile(str(tmp_path / "out.i32"))
    other = tmp_path / "other"
    other.write_bytes(b"precious")
    places = [one for one in (made.spot(0, None),) if isinstance(one, SinkLocation)]
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

    def swapped(pool: Troubled, ticket: Ticket) -> Reply:
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

    def change(pool: Troubled, ticket: Ticket) -> Reply:
        np.arange(100_001, dtype=np.int32).tofile(name)
        return done(pool, ticket)

    monkeypatch.setattr(Troubled, "_do", change)
    with pytest.raises(Exception, match=r"a\.i32") as error:
        run(job, executor=Here(1, 0))
    assert error.type.__module__ == "gpumerge_cli.errors"
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]
