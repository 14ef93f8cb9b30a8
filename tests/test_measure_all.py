"""data/bench/measure_all.sh with stand-ins for what it runs, and the tables of data/bench/profile_kernels.py."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
BENCH, RESULTS = ROOT / "data" / "bench", ROOT / "data" / "results" / "h100"
TEXT = (BENCH / "measure_all.sh").read_text()
PYTHON = """#!/bin/sh
# As python: tells the commit, and notes which scripts run.
case "$*" in
*--commit) echo "${COMMIT:-abc}" ;;
*"$FAILS"*) echo wrong; exit 7 ;;
*) echo "$*" >> "$NOTES" ;;
esac
"""


def measure(folder: Path, *arguments: str, fails: str = "no such step", commit: str = "abc") -> tuple[int, str]:
    """The script's exit status, and all that it says."""
    folder.mkdir(exist_ok=True)
    (folder / "python").write_text(PYTHON)
    (folder / "python").chmod(0o755)
    environment = {**os.environ, "PYTHON": str(folder / "python"), "NOTES": str(folder / "notes"), "NCU": "true"}
    environment |= {"FAILS": fails, "COMMIT": commit}
    command = ["bash", BENCH / "measure_all.sh", folder / "out", folder / "scratch", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    return done.returncode, done.stdout + done.stderr


def steps() -> list[tuple[str, int]]:
    """The names and limits of all steps."""
    found = re.findall(r"^(gpu|py|printed|step) (\S+) (\d+)(?: |$)", TEXT, re.MULTILINE)
    return [(f"bench-{name}" if kind == "gpu" else name, int(limit)) for kind, name, limit in found]


def test_the_limits_are_those_that_it_states() -> None:
    stated = [
        int(number) for number in re.findall(r"all steps of arrays take at most (\d+) s, all of files (\d+) s", TEXT)[0]
    ]
    limits = [limit for _, limit in steps()]
    first_of_files = [name for name, _ in steps()].index("workers")
    assert stated == [sum(limits[:first_of_files]), sum(limits[first_of_files:])]
    assert max(limits) <= 520  # so that each fits a call


def test_the_results_that_it_does_not_make_are_those_that_it_names() -> None:
    head = TEXT.split("set -euo")[0]
    unmade = re.findall(r"[\w*-]+\.(?:md|json|txt|\*)", re.findall(r"does not make(.*?)The README", head, re.DOTALL)[0])
    made = set(re.findall(r"\$out/([\w-]+\.\w+)", TEXT)) | {"measured.txt"}
    made |= {f"{name}.json" for name, _ in steps() if name.startswith("bench-")}
    made |= {f"{name}.md" for name in re.findall(r"^printed (\S+)", TEXT, re.MULTILINE)}
    there = {path.name for path in RESULTS.iterdir()} - {"README.md"}
    assert {name for name in there if any(fnmatch(name, one) for one in unmade)} == there - made
    assert all(any(fnmatch(name, one) for name in there) for one in unmade)
    shown = "".join((ROOT / name).read_text() for name in ("README.md", "data/manual/speed.md", "data/README.md"))
    assert set(re.findall(r"results/h100/([\w-]+\.\w+)", shown)) <= made | {"README.md"}


@pytest.mark.parametrize("script", ["measure_all.sh", "measure_cpu.sh"])
def test_each_step_runs_a_script_that_is_there(script: str) -> None:
    named = re.findall(r"^(?:py|printed) \S+ \d+ (\S+)", (BENCH / script).read_text(), re.MULTILINE)
    assert len(named) > 10
    assert [name for name in named if not (BENCH / name).is_file()] == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs bash and coreutils; run it on Linux")
def test_calls_go_on_where_the_last_one_ended(tmp_path: Path) -> None:
    calls = 0
    while True:
        status, said = measure(tmp_path, "300")
        calls += 1
        assert status in (0, 3), said
        if status == 0:
            break
        assert "steps are left" in said
    assert {path.stem for path in (tmp_path / "out").glob("*.done")} == {name for name, _ in steps()}
    notes = (tmp_path / "notes").read_text()
    assert notes.count("measure_device_sets.py") == 1  # nothing is done again
    assert measure(tmp_path) == (0, "")
    status, said = measure(tmp_path, commit="def")
    assert status == 1
    assert "holds results of commit abc, not of def" in said


@pytest.mark.skipif(sys.platform != "linux", reason="needs bash and coreutils; run it on Linux")
def test_a_step_that_fails_is_told_and_done_again(tmp_path: Path) -> None:
    status, said = measure(tmp_path, "520", "device", "calls", fails="measure_device.py")
    assert status == 1
    assert "device: 0 s of 110; exit status 7" in said
    assert "wrong" in said
    assert {path.name for path in (tmp_path / "out").glob("*.done")} == {"calls.done"}
    assert measure(tmp_path, "520", "device", "calls")[0] == 0
    assert "device.done" in os.listdir(tmp_path / "out")


@pytest.mark.skipif(sys.platform != "linux", reason="needs bash and coreutils; run it on Linux")
def test_the_commit_of_a_result_of_the_program_is_noted_behind_it(tmp_path: Path) -> None:
    assert measure(tmp_path, "520", "bench-dtypes", "bench-sorts", "compare-sorts")[0] == 0
    made, noted = [], []
    for line in (tmp_path / "notes").read_text().splitlines():
        if found := re.search(r"(?:-o |--report=)(\S+\.json)", line):
            made.append(found[1])
        if found := re.search(r"measured_on\.py (\S+\.json)", line):
            noted.append(found[1])
            assert noted == made
    names = ["bench-dtypes.json", "bench-sorts.json", "compare-sorts.json"]
    assert [os.path.basename(name) for name in noted] == names


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module data/bench/profile_kernels.py."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("profile_kernels")


def test_works_have_names(profile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Runs:
        def __init__(self, dtype: str, runs: int = 2) -> None: ...

        def __enter__(self) -> Any:
            from unittest.mock import MagicMock

            return MagicMock(), MagicMock(), MagicMock()

        def __exit__(self, *error: object) -> None: ...

    monkeypatch.setattr(profile, "_Runs", Runs)
    monkeypatch.setattr(profile, "_called", lambda *call: call)
    works = list(profile._works())
    assert len(works) == len(profile.names()) == len(set(profile.names()))
    assert works[-len(profile.CALLS) :] == list(profile.CALLS.values())


def test_the_table_names_the_work_of_each_launch(profile: Any, tmp_path: Path) -> None:
    head = '"ID","Kernel Name","Block Size","Grid Size","Metric Name","Metric Unit","Metric Value"'
    launches = [
        ("zeros", 9), ("mark_work", 2), ("merge_basic(Runs)", 7), ("mark_work", 1), ("sort", 5), ("mark_work", 3),
        ("partition", 1), ("void path::merge_path<3>(int)", 8),
    ]  # fmt: skip
    rows = [
        f'"{number}","{kernel}","(64, 1, 1)","({blocks}, 1, 1)","{metric}","{unit}","2,000"'
        for number, (kernel, blocks) in enumerate(launches)
        for metric in profile.METRICS
        for unit in (["Mbyte"] if "bytes" in metric else ["us"])
    ]
    (tmp_path / "counts.csv").write_text("\n".join(["==PROF== a word", "measured on: a GPU; commit abc", head, *rows]))
    text = profile.table(tmp_path / "counts.csv")
    assert "\na GPU; commit abc\n" in text
    cells = [line.split(" | ")[:3] for line in text.splitlines() if line.startswith("| merge")]
    names = profile.names()
    assert cells == [
        [f"| {names[0]}", "merge_basic", "7 x 64"], [f"| {names[1]}", "partition", "1 x 64"],
        [f"| {names[1]}", "merge_path", "8 x 64"],
    ]  # fmt: skip
    assert "| 2000 | 2000 |" in text


def test_where_a_result_was_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from types import SimpleNamespace

    from gpumerge_cli.backends.gpu import access as gpu

    monkeypatch.syspath_prepend(str(BENCH))
    told = importlib.import_module("measured_on")
    details = {"CUDA driver": "13.0", "NVRTC": "13.1", "CuPy": "14.2.0"}
    info = SimpleNamespace(name="NVIDIA H200", details=details)
    backend = SimpleNamespace(info=lambda: info, versions=lambda: {"CCCL": "3.6.0"})
    monkeypatch.setattr(gpu, "create", lambda: backend)
    monkeypatch.setenv("MEASURED_COMMIT", "abc1234")
    line = told.measured_on()
    assert line.startswith("NVIDIA H200, CUDA driver 13.0, NVRTC 13.1, CuPy 14.2.0, CCCL 3.6.0, Python 3.")
    assert line.endswith("; commit abc1234")
    monkeypatch.setattr(sys, "argv", ["measured_on.py", str(tmp_path / "b.json"), str(tmp_path / "a.json")])
    told.main()
    assert (tmp_path / "measured.txt").read_text() == f"a.json: {line}\nb.json: {line}\n"
    monkeypatch.setenv("MEASURED_COMMIT", "def5678")
    told.note(tmp_path / "b.json")
    assert (tmp_path / "measured.txt").read_text() == f"a.json: {line}\nb.json: {line.replace('abc1234', 'def5678')}\n"
    monkeypatch.delenv("MEASURED_COMMIT")
    assert told.commit()
