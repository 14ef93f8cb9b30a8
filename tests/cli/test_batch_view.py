"""The view of a batch on a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from gpumerge_cli.batch.spec import BatchJob, Result
from gpumerge_cli.cli import batch_view


def job(number: int, after: set[int] = frozenset(), nbytes: int = 100) -> BatchJob:  # type: ignore[assignment]
    return BatchJob(number, f"job {number}", number, "merge", (), (), {}, "", frozenset(after), nbytes)


def test_the_table_has_every_job_of_a_few(capfd: pytest.CaptureFixture[str]) -> None:
    done = Result(job(1), "done", started=1.0, seconds=0.5, nbytes=2_000_000, backend="cpu", kernel="path")
    failed = Result(job(2), "failed", 2, "broken", started=1.0, seconds=0.25)
    batch_view.show_results([done, failed, Result(job(3), "left"), Result(job(4), "skipped")], 2.0, stats=True)
    captured = capfd.readouterr()
    assert captured.out == ""
    rows = [" ".join(line.split()) for line in captured.err.splitlines()]
    assert rows[2] == "job 1 merge done cpu path 0.500 2.00 MB 4.00 MB/s"
    assert rows[3] == "job 2 merge failed - - 0.250 - -"
    assert rows[4] == "job 3 merge did not run - - - - -"
    assert rows[-1] == "4 jobs: 1 done, 1 skipped, 1 failed, 1 did not run; 2.00 MB in 2.00 s, 1.00 MB/s"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_fits_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    name = "a-long-name-of-a-job-that-does-it-all-on-each-day-of-the-week"
    results = [
        Result(
            replace(job(1), name=name), "done", started=1.0, seconds=0.5, nbytes=20**8, backend="cpu", kernel="path"
        ),
        Result(job(2), "left"),
    ]
    batch_view.show_results(results, 2.0, stats=True)
    lines = capfd.readouterr().err.splitlines()
    assert max(map(len, lines)) <= width
    cells = " ".join(lines)
    for words in ("state", "seconds", "throughput", "did not run", "0.500", "51.2 GB/s"):
        assert words in cells
    assert ("kernel" in cells) is (width > 80)


def test_without_stats_there_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    batch_view.show_results([Result(job(1), "done", started=1.0, seconds=0.5, nbytes=2_000_000)], 2.0, stats=False)
    assert capfd.readouterr().err == "1 job: 1 done; 2.00 MB in 2.00 s, 1.00 MB/s\n"


def test_names_of_jobs_are_escaped(capfd: pytest.CaptureFixture[str]) -> None:
    batch_view.show_results([Result(replace(job(1), name="a\x1b[31m"), "done", started=1.0)], 1.0, stats=True)
    assert r"a\x1b[31m" in capfd.readouterr().err


def test_the_table_has_the_slowest_of_many(capfd: pytest.CaptureFixture[str]) -> None:
    results = [Result(job(number), "done", started=1.0, seconds=number % 50) for number in range(1, 101)]
    batch_view.show_results(results, 1.0, stats=True)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "the 10 slowest of 100 jobs"
    shown = [int(line.split()[1]) for line in lines[3:-1]]
    assert shown == [45, 46, 47, 48, 49, 95, 96, 97, 98, 99]


def test_the_bar_goes_by_bytes_and_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_view, "_PATIENCE", 0.0)
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with Progress(TextColumn("{task.description}"), console=console) as progress:
        jobs = [job(1), job(2), job(3, {1, 2}, 50)]
        bar = batch_view.BatchBar(progress, jobs)
        (task,) = progress.tasks
        assert task.total == 100 + 100 + 250
        bar.advance(jobs[0], 30, 60)
        assert (task.completed, task.description) == (50, "0 of 3 jobs")
        bar.ended(Result(jobs[0], "done"))
        bar.ended(Result(jobs[1], "failed", 2))
        assert (task.completed, task.description) == (200, "2 of 3 jobs")
        bar.advance(jobs[2], 1, 2)
        assert task.completed == 325
        bar.print_line("job 2: " + "long " * 30)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "long " * 29 in text
