"""Outputs that other programs cut while they are written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumerge_cli.engine.outcome import Outcome
from gpumerge_cli.engine.output import Output
from gpumerge_cli.engine.run import run
from gpumerge_cli.errors import OutputError
from gpumerge_cli.formats.output_file import FORCED, OutputFile
from gpumerge_cli.order.equals import Equals
from tests.jobs_of import merge_job


@pytest.mark.parametrize("mapped", ["0", "1"])
@pytest.mark.parametrize("suffix", [".i32", ".i32.gz", ".i32.bgz"])
@pytest.mark.parametrize("unique", [False, True], ids=["all", "unique"])
def test_an_output_that_is_too_short_is_told(
    unique: bool, suffix: str, mapped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FORCED, mapped)
    np.arange(100_000, dtype=np.int32).tofile(tmp_path / "a.i32")
    job = merge_job((str(tmp_path / "a.i32"),), str(tmp_path / f"out{suffix}"), equals=Equals.of(unique))
    run(job)
    os.unlink(job.output.name)
    finish = Output.finish

    def cut(output: Output, outcome: Outcome, **named: Any) -> None:
        os.truncate(next(tmp_path.glob(".out*")), 1000)
        finish(output, outcome, **named)

    monkeypatch.setattr(Output, "finish", cut)
    with pytest.raises(OutputError, match="the file system lost the file's bytes"):
        run(job)
    assert [path.name for path in tmp_path.iterdir()] == ["a.i32"]


@pytest.mark.parametrize("reserved", [False, True])
def test_room_that_was_lost_and_written_behind_is_told(reserved: bool, tmp_path: Path) -> None:
    output = OutputFile(str(tmp_path / "out"))
    if reserved:
        output.reserve(1 << 20)
    data = np.ones(1 << 19, np.uint8)
    output.write_at(0, data)
    os.truncate(output.spot(0, None).path, 1000)
    output.write_at(1 << 19, data)
    if reserved and output._held:  # not every file system reserves room
        with pytest.raises(OutputError, match="the file system lost"):
            output.end_at(1 << 20)
    output.abort()


@pytest.mark.parametrize("mapped", ["0", "1"])
def test_room_behind_the_end_is_given_back(mapped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FORCED, mapped)
    output = OutputFile(str(tmp_path / "out"))
    output.reserve(1 << 20)
    output.write_at(0, np.ones(1000, np.uint8))
    output.end_at(1000)
    output.commit()
    assert (tmp_path / "out").read_bytes() == b"\1" * 1000
