"""gpumerge merge, from the command line to the files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends import select
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order
from tests.reference import ReferenceBackend, ReferenceWorkspace

ROOT = Path(__file__).parents[2]


@pytest.fixture
def two(tmp_path: Path) -> tuple[str, str]:
    """Two sorted files of int32."""
    paths = str(tmp_path / "a.i32"), str(tmp_path / "b.i32")
    np.array([1, 7, 8, 9, 10], np.int32).tofile(paths[0])
    np.array([7, 10, 10, 12], np.int32).tofile(paths[1])
    return paths


LINE = re.compile(r"merged 9 items, 36 B in [\d.]+ m?s, [\d.]+ k?B/s, (cpu|gpu), bounded by [a-z -]+\n")


def test_merge_writes_the_output_and_a_line(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")  # no terminal, so no matter
    assert invoke(["merge", *two, "-o", str(tmp_path / "c.i32")]) == 0
    captured = capfd.readouterr()
    assert captured.out == ""
    assert LINE.fullmatch(captured.err), captured.err


def test_a_terminal_shows_the_line_in_rows_of_whole_parts(two: tuple[str, str], tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    words = ["merge", *two, "-o", str(tmp_path / "c.i32"), "--backend", "cpu", "--no-progress"]
    command = [sys.executable, "-m", "gpumerge_cli", *words]
    environment = {**os.environ, "COLUMNS": "40"}
    subprocess.run(command, stderr=terminal, cwd=ROOT, env=environment, timeout=60, check=True)
    os.close(terminal)
    rows = os.read(controller, 10_000).decode().split("\r\n")
    os.close(controller)
    assert rows.pop() == ""
    assert max(map(len, rows)) <= 40
    assert len(rows) > 1
    assert all(row.endswith(",") for row in rows[:-1])
    assert LINE.fullmatch(" ".join(map(str.strip, rows)) + "\n"), rows


def test_stats_shows_a_table(two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.i32"
    assert invoke(["merge", *two, "-o", str(out), "--stats"]) == 0
    assert np.fromfile(out, np.int32).tolist() == [1, 7, 7, 8, 9, 10, 10, 10, 12]
    captured = capfd.readouterr()
    assert captured.out == ""
    for words in ("merged 2 inputs", "whole program", "bounded by", "kernel time", "busy"):
        assert words in captured.err


def test_a_machine_without_a_gpu_is_told_of_none(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpumerge_cli.backends.gpu.presence.is_present", lambda: False)
    for more in ([], ["--stats"]):
        assert invoke(["merge", *two, "-o", str(tmp_path / "c.i32"), *more]) == 0
        assert "gpu" not in capfd.readouterr().err.lower().replace(str(tmp_path), "")


@pytest.mark.parametrize("more", [[], ["--stats"]])
def test_quiet_says_nothing(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], more: list[str]
) -> None:
    assert invoke(["merge", *two, "-o", str(tmp_path / "c.i32"), "-q", *more]) == 0
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("suffix", [".json", ".md"])
def test_report_goes_to_a_file(two: tuple[str, str], tmp_path: Path, suffix: str) -> None:
    report = tmp_path / f"report{suffix}"
    assert invoke(["merge", *two, "-q", "-o", str(tmp_path / "c.i32"), "--report", str(report)]) == 0
    if suffix == ".json":
        told = json.loads(report.read_text())
        assert told["kind"] == "merge"
        assert told["items"] == 9
        assert told["nbytes"] == 36
    else:
        assert report.read_text().startswith("# gpumerge merge")


def test_text_passes_from_standard_input_to_standard_output(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("10\n9\n")
    command = [sys.executable, "-m", "gpumerge_cli", "merge", "-nrq", str(tmp_path / "a.txt"), "-"]
    done = subprocess.run(command, cwd=ROOT, input="11\n9.5\n", capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "11\n10\n9.5\n9\n", "")


def test_the_report_counts_from_the_start_of_the_process(two: tuple[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpumerge_cli", "merge", "-q", *two, "-o", "/dev/null"]
    subprocess.run([*command, "--report", str(tmp_path / "r.json")], cwd=ROOT, timeout=60, check=True)
    told = json.loads((tmp_path / "r.json").read_text())
    # No interpreter loads NumPy and the rest in less.
    assert 0.02 < told["start_up"] < told["wall"]


def test_a_closed_pipe_is_silent(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("line\n" * 100_000)
    command = f'"{sys.executable}" -m gpumerge_cli merge -q "{tmp_path}/a.txt"; echo $? >&2'
    done = subprocess.run(["sh", "-c", f"({command}) | head -1"], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.stdout == "line\n"
    assert done.stderr == "141\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{a}", "missing.i32"], "missing.i32: no such file or directory"),
        (["{a}", "{dir}"], "is a directory"),
        (["{a}", "{odd}"], "odd.i32"),
        (["{a}", "{bad}"], "bad.i32@2: "),
        (["{a}", "{text}"], ""),
        (["{a}", "{b}", "--dtype", "complex64"], "complex64"),
        (["{a}", "{b}", "--report", "{dir}/no/r.json"], "no/r.json"),
    ],
)
def test_bad_input_is_one_line_and_leaves_no_output(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    names = {"a": two[0], "b": two[1], "dir": str(tmp_path)}
    for name in ("odd.i32", "bad.i32", "text.txt"):
        names[name.split(".")[0]] = str(tmp_path / name)
    (tmp_path / "odd.i32").write_bytes(b"12345")
    np.array([1, 3, 2], np.int32).tofile(names["bad"])
    (tmp_path / "text.txt").write_text("a\n")
    out = tmp_path / "c.i32"
    out.write_text("earlier")
    before = sorted(os.listdir(tmp_path))
    assert invoke(["merge", *(argument.format(**names) for argument in arguments), "-o", str(out)]) == 2
    error = capfd.readouterr().err
    assert error.startswith("gpumerge: ")
    assert error.count("\n") == 1
    assert words in error
    assert out.read_text() == "earlier"
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md"])
def test_compare_shows_a_table_and_writes_reports(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str], suffix: str
) -> None:
    report = tmp_path / f"report{suffix}"
    arguments = ["merge", *two, "--compare", "--repeat", "2", "--backend", "cpu", "--report", str(report)]
    assert invoke(arguments) == 0
    captured = capfd.readouterr()
    assert captured.out == ""
    for words in ("basic", "tiled full", "tiled exact", "circular", "path", "library", "copy", "median of 2"):
        assert words in captured.err
        assert words in report.read_text() or words in ("median of 2", "copy", "library")
    if suffix == ".json":
        told = json.loads(report.read_text())
        assert told["kind"] == "compare"
        assert told["version"]
        assert all(row["right"] and len(row["seconds"]) == 2 for row in told["rows"])


class Wrong(ReferenceBackend):
    """Its circular kernel turns the output round."""

    def resolve(self, request: LaunchRequest, order: Order, runs: int = 2) -> LaunchPolicy:
        return replace(super().resolve(request, order), tile_load=request.tile_load)

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return WrongWorkspace(order, capacity)


class WrongWorkspace(ReferenceWorkspace):
    def merge(self, policy: LaunchPolicy) -> None:
        super().merge(policy)
        if policy.kernel == "circular":
            self._out = self._out[::-1].copy()

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        return {}


def test_compare_with_a_wrong_variant_exits_2(
    two: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(select, "select", lambda *_arguments, **_keywords: select.Selected(Wrong(), "a test"))
    report = tmp_path / "report.json"
    assert invoke(["merge", *two, "--compare", "--report", str(report)]) == 2
    error = capfd.readouterr().err
    assert error.splitlines()[-1].startswith("gpumerge: wrong output: circular; ")
    assert "circular: wrong: " in error
    rows = {row["name"]: row for row in json.loads(report.read_text())["rows"]}
    assert [name for name, row in rows.items() if not row["right"]] == ["circular"]
    assert rows["circular"]["seconds"] == []


def test_plan_is_json_and_merges_nothing(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.iterdir())
    assert invoke(["merge", *two, "--plan", "--memory", "64k"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert told["nbytes"] == sum(chunk["nbytes"] for chunk in told["chunks"])
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("option", ["-o", "--count-to", "--report", "--compare"])
def test_a_plan_writes_nothing(option: str, two: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    assert invoke(["merge", *two, "--plan", option, *["x.json"] * (option != "--compare")]) == 2
    assert "--plan only plans" in capfd.readouterr().err


@pytest.mark.parametrize("size", ["much", "-1", "12Q"])
def test_memory_that_is_no_size(two: tuple[str, str], capfd: pytest.CaptureFixture[str], size: str) -> None:
    assert invoke(["merge", *two, "--memory", size]) == 2
    assert "--memory" in capfd.readouterr().err


def test_the_bar_shows_bytes() -> None:
    from io import StringIO

    from rich.console import Console

    from gpumerge_cli.cli.progress import bar

    shown = StringIO()
    with bar(Console(file=shown, force_terminal=True, width=80), patience=0) as its:
        its.advance(5_000_000, 10_000_000)
    assert "5.0/10.0 MB" in shown.getvalue()


def test_no_bar_for_a_short_merge() -> None:
    from io import StringIO

    from rich.console import Console

    from gpumerge_cli.cli.progress import bar

    shown = StringIO()
    with bar(Console(file=shown, force_terminal=True, width=80), patience=60) as its:
        its.advance(10, 10)
    assert shown.getvalue() == ""


def test_a_bar_shows_while_nothing_is_reported() -> None:
    """As during the sort itself, between reading and writing."""
    from io import StringIO
    from time import monotonic, sleep

    from rich.console import Console

    from gpumerge_cli.cli.progress import bar

    shown, begun = StringIO(), monotonic()
    with bar(Console(file=shown, force_terminal=True, width=80), patience=0.01) as its:
        its.advance(5_000_000, 10_000_000)
        while not shown.getvalue() and monotonic() < begun + 60:
            sleep(0.01)
    assert "5.0/10.0 MB" in shown.getvalue()


def test_the_bar_says_the_stage_of_a_sort() -> None:
    from io import StringIO

    from rich.console import Console

    from gpumerge_cli.cli.progress import bar

    shown = StringIO()
    with bar(Console(file=shown, force_terminal=True, width=80), patience=0) as its:
        its.advance(123_456_789, 246_913_578)
        its.stage("sorting")
    (line,) = {
        line
        for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()))
        if "sorting" in line
    }
    assert re.search(r"━ 123\.5/246\.9 MB \S+ (MB/s )?-:--:-- sorting *$", line)


def test_files_in_random_order_need_one_source(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Without one each run hashes lines in a way of its own."""
    path, source = tmp_path / "a.txt", tmp_path / "source"
    path.write_text("".join(f"{number}\n" for number in range(200)))
    source.write_bytes(bytes(range(64)))
    assert invoke(["sort", "-R", str(path), "-o", str(path), f"--random-source={source}"]) == 0
    for command in ("merge", "union", "check"):
        options = [] if command == "check" else ["-o", str(tmp_path / "out"), "-q"]
        assert invoke([command, *options, "-R", f"--random-source={source}", str(path)]) == 0
        assert invoke([command, *options, "-R", str(path)]) == (1 if command == "check" else 2)
        assert "; sort it first, and give both commands the same --random-source\n" in capfd.readouterr().err


def test_compare_names_a_disorder_as_merge_does(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"9\n10\n")
    for arguments in (["--compare"], ["-o", str(tmp_path / "out.txt")]):
        assert invoke(["merge", str(path), "--backend", "cpu", *arguments]) == 2
        line = capfd.readouterr().err
        assert line == f"gpumerge: {path}:2: disorder: '10' comes after '9' (line 1); the file is in -n order: add -n\n"


def test_no_name_is_no_output(two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("", f"{tmp_path}/new/"):
        assert invoke(["merge", *two, "-o", name]) == 2
        told = capfd.readouterr()
        assert told.out == ""
        assert "is not a file name" in told.err
    assert not (tmp_path / "new").exists()


def test_a_report_that_fails_says_that_the_merge_is_done(
    two: tuple[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "r.json").symlink_to("/dev/full")
    output = tmp_path / "out.i32"
    assert invoke(["merge", *two, "-o", str(output), "-q", "--report", str(tmp_path / "r.json")]) == 2
    assert "the merge itself is done" in capfd.readouterr().err
    assert output.exists()


def test_a_signal_once_the_output_is_there_changes_nothing(two: tuple[str, str], tmp_path: Path) -> None:
    """The reader of the report holds it up; the signal comes while it does."""
    output = tmp_path / "out.i32"
    merge = (
        "import os, signal\n"
        "from gpumerge_cli.formats import output_file\n"
        "really = output_file.OutputFile.commit\n"
        "def commit(self, **how):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    really(self, **how)\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "output_file.OutputFile.commit = commit\n"
        "from gpumerge_cli.__main__ import main\n"
        f"import sys; sys.argv[1:] = ['merge', {two[0]!r}, {two[1]!r}, '-o', {str(output)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", merge], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert LINE.fullmatch(done.stderr)
    assert output.stat().st_size == 36


@pytest.mark.parametrize("streams", ["<&-", ">&-"])
def test_closed_streams_are_named(two: tuple[str, str], streams: str) -> None:
    command = f"{sys.executable} -m gpumerge_cli merge --format text - {streams}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False, input="")
    assert done.returncode == 2
    assert "it is closed" in done.stderr or "bad file descriptor" in done.stderr


def test_what_a_shell_did_before_is_not_start_up(two: tuple[str, str], tmp_path: Path) -> None:
    """The program may take over a process that has lived for a while."""
    report = tmp_path / "r.json"
    merge = f"sleep 1; exec {sys.executable} -m gpumerge_cli merge {two[0]} {two[1]} -q -o {tmp_path}/o.i32"
    begun = time.monotonic()
    subprocess.run(["sh", "-c", f"{merge} --report {report}"], cwd=ROOT, check=True)
    assert 0 < json.loads(report.read_text())["wall"] <= time.monotonic() - begun - 1
