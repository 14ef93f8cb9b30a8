"""The log: columns, torn lines, what is still done."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpumerge_cli.batch.joblog import LOG_COLUMNS, JobLog, LogEntry, read_log, standing_of
from gpumerge_cli.batch.spec import BatchJob, Result
from gpumerge_cli.errors import InputError, OutputError
from gpumerge_cli.line_file import LineFile


def job(number: int, inputs: tuple[str, ...] = (), outputs: tuple[str, ...] = ()) -> BatchJob:
    return BatchJob(number, f"j{number}", number, "merge", inputs, outputs, {}, f"gpumerge merge {number}")


def ended(number: int, exit_code: int = 0) -> Result:
    return Result(job(number), "failed" if exit_code else "done", exit_code, started=1e9 + number, seconds=0.5)


def test_the_columns_are_those_of_gnu_parallel_and_three(tmp_path: Path) -> None:
    log = JobLog(str(tmp_path / "log"), resume=False)
    log.add(ended(3))
    log.close()
    head, line = (tmp_path / "log").read_text().splitlines()
    assert head == ("Seq\tHost\tStarttime\tJobRuntime\tSend\tReceive\tExitval\tSignal\tCommand\tBytes\tBackend\tKernel")
    times = ["1000000003.000", "     0.500"]
    assert line.split("\t") == ["3", ":", *times, "0", "0", "0", "0", "gpumerge merge 3", "0", "-", "-"]


@pytest.mark.parametrize("kept", range(0, 220, 7))
def test_a_log_cut_anywhere_goes_on_with_its_whole_lines(kept: int, tmp_path: Path) -> None:
    path = tmp_path / "log"
    log = JobLog(str(path), resume=False)
    for number in (1, 2, 3):
        log.add(ended(number))
    log.close()
    data = path.read_bytes()
    path.write_bytes(data[:kept])
    whole = data[:kept].count(b"\n")
    log = JobLog(str(path), resume=True)
    assert set(log.entries) == {f"gpumerge merge {number}" for number in range(1, whole)}
    log.add(ended(4))
    log.close()
    assert path.read_bytes().count(b"\n") == max(whole, 1) + 1
    assert set(read_log(str(path))) == {f"gpumerge merge {number}" for number in [*range(1, whole), 4]}


def test_without_resume_a_log_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for _ in range(2):
        log = JobLog(str(path), resume=False)
        assert log.entries == {}
        log.add(ended(1))
        log.close()
    assert path.read_text().count("\n") == 2
    for content in ("precious data\n", "\t".join(LOG_COLUMNS) + "\n1\t2\n", "\t".join(LOG_COLUMNS[:9]) + "\n"):
        path.write_text(content)
        for resume in (False, True):
            with pytest.raises(InputError):
                JobLog(str(path), resume=resume)
        with pytest.raises(InputError):
            read_log(str(path))
        assert path.read_text() == content


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    log = JobLog(str(tmp_path / "log"), resume=False)
    with pytest.raises(OutputError, match="another run writes it"):
        JobLog(str(tmp_path / "log"), resume=True)
    log.add(ended(1))
    log.close()
    JobLog(str(tmp_path / "log"), resume=True).close()


def test_a_line_that_cannot_be_written_leaves_whole_lines() -> None:
    file = LineFile("/dev/full", keep=False, begins="", what="log")
    with pytest.raises(OutputError, match="no space left"):
        file.write("line")
    file.close()


@pytest.mark.parametrize("content", ["precious", "\0", "Seq\tHosts", '{"jobs": '])
@pytest.mark.parametrize("keep", [False, True])
def test_what_holds_something_else_is_left_as_it_is(content: str, keep: bool, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(content)
    with pytest.raises(InputError, match="is not a log of jobs"):
        JobLog(str(path), resume=keep)
    with pytest.raises(InputError, match="is not a report"):
        LineFile(str(path), keep=keep, begins='{"job": ', what="report")
    assert path.read_text() == content


def test_of_two_entries_of_a_command_the_last_counts(tmp_path: Path) -> None:
    log = JobLog(str(tmp_path / "log"), resume=False)
    log.add(ended(1, 2))
    log.add(ended(1, 0))
    log.close()
    assert read_log(str(tmp_path / "log"))["gpumerge merge 1"].exit_code == 0


def entry(exit_code: int = 0, started: float = 2000.0) -> LogEntry:
    return LogEntry(1, started, 1.0, exit_code, "gpumerge merge 1")


@pytest.fixture
def by_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the times of writes count, which a test can set."""
    monkeypatch.setattr("gpumerge_cli.batch.joblog.changed_at", lambda status: status.st_mtime)


@pytest.mark.usefixtures("by_writes")
def test_what_is_still_done(tmp_path: Path) -> None:
    for name, seconds in (("old", 1000), ("out", 2000), ("same", 2000), ("new", 3000)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (seconds, seconds))

    def one(*inputs: str, output: str | None = "out") -> BatchJob:
        return job(
            1, tuple(str(tmp_path / name) for name in inputs), () if output is None else (str(tmp_path / output),)
        )

    assert standing_of(one("old", "same"), entry(), retry_failed=False) == "done"
    assert standing_of(one("old", "new"), entry(), retry_failed=False) is None
    assert standing_of(one("old", output="missing"), entry(), retry_failed=False) is None
    assert standing_of(one("missing"), entry(), retry_failed=False) is None
    assert standing_of(one("out"), entry(), retry_failed=False) == "done"
    assert standing_of(BatchJob(1, "j", 1, "merge", (), ("/dev/null",), {}, ""), entry(), retry_failed=False) is None
    parts = job(1, (str(tmp_path / "old"),), (str(tmp_path / "out"), str(tmp_path / "same")))
    assert standing_of(parts, entry(), retry_failed=False) == "done"
    for part in ("missing", "new", "older"):
        (tmp_path / "older").touch()
        os.utime(tmp_path / "older", (999, 999))
        parts = job(1, (str(tmp_path / "old"),), (str(tmp_path / "out"), str(tmp_path / part)))
        assert standing_of(parts, entry(), retry_failed=False) is None
    assert standing_of(one("old"), None, retry_failed=True) is None
    assert standing_of(one("old"), entry(2), retry_failed=False) == "failed"
    assert standing_of(one("old"), entry(2), retry_failed=True) is None
    # A check has no output: what counts is whether an input was written since it began.
    assert standing_of(one("old", output=None), entry(), retry_failed=False) == "done"
    assert standing_of(one("new", output=None), entry(), retry_failed=False) is None


@pytest.mark.usefixtures("by_writes")
def test_what_was_written_since_is_not_done(tmp_path: Path) -> None:
    place, other = tmp_path / "out", tmp_path / "in"

    def standing(output: float, of_input: float, *inputs: str) -> str | None:
        for path, seconds in ((place, output), (other, of_input)):
            path.touch()
            os.utime(path, (seconds, seconds))
        one = job(1, tuple(str(tmp_path / name) for name in inputs), (str(place),))
        return standing_of(one, entry(), retry_failed=False)

    assert standing(2001, 2000, "in") == "done"
    assert standing(2000, 1990, "in") == "done"  # as a file system with whole seconds has it
    assert standing(2001.1, 2000, "in") is None  # by another's hand
    assert standing(2001, 2000.5, "in") is None  # while the job ran
    assert standing(2001, 2000, "out") == "done"  # in place
    assert standing(2001.1, 2000, "out") is None
    (tmp_path / "link").symlink_to("out")
    assert standing(2001, 2000, "link", "in") == "done"


def test_a_close_that_fails_names_the_log(tmp_path: Path) -> None:
    file = LineFile(str(tmp_path / "log"), keep=False, begins="", what="log")
    os.close(file._file.fileno())  # as if the system had lost it
    with pytest.raises(OutputError, match="log: "):
        file.close()
