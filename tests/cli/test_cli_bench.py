"""gpumerge bench, from the command line to tables, files and figures."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpumerge_cli.backends import select
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.compare import bench_cases
from gpumerge_cli.errors import Interrupted
from gpumerge_cli.launch import LaunchPolicy
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order
from tests import needs
from tests.reference import ReferenceBackend, ReferenceWorkspace

ROOT = Path(__file__).parents[2]
SMALL = ("bench", "--backend", "cpu", "--sizes", "2^8:2^10:4", "--repeat", "2")


def test_a_table_goes_to_standard_output_and_progress_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*SMALL, "--dtypes", "int32,float16", "--kernels", "basic,path"]) == 0
    captured = capsys.readouterr()
    assert "float16, uniform, 2 runs, 2^10 items" in " ".join(captured.out.split())  # short rows wrap it
    assert "circular" not in captured.out
    assert max(len(line) for line in captured.out.splitlines()) <= 80
    lines = captured.err.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("[1/4] int32, uniform, 2 runs, 256 items: ")
    assert lines[0].endswith(" of copy")


def test_a_kernel_that_another_one_replaces_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    command = [*SMALL, "--dtypes", "int16,int32+4", "--kernels", "vector"]
    assert invoke(command) == 0
    captured = capsys.readouterr()
    note, *progress = captured.err.splitlines()
    assert re.fullmatch(r"int32\+4: this processor has no vector kernel for .*, so path merges", note)
    assert [" vector " in line for line in progress] == [True, True, False, False]
    assert captured.out.count("\n  path ") == 2
    assert invoke([*command, "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert invoke([*SMALL, "--dtypes", "int32+4"]) == 0  # all kernels were asked for, path among them
    assert "no vector kernel" not in capsys.readouterr().err


def test_files_by_suffix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [tmp_path / f"r{suffix}" for suffix in (".json", ".csv", ".md")]
    outputs = [word for path in paths for word in ("-o", str(path))]
    assert invoke([*SMALL, "--shapes", "tiny,one-sided", "--runs", "3", "--seed", "5", "-q", *outputs]) == 0
    assert capsys.readouterr() == ("", "")
    told = json.loads(paths[0].read_text())
    assert (told["kind"], told["backend"], told["repeat"], told["seed"]) == ("bench", "cpu", 2, 5)
    cases = {(row["shape"], row["runs"], row["size"], row["count"]) for row in told["rows"]}
    assert cases == {
        ("tiny", 3, 256, 256),
        ("tiny", 3, 1024, 1024),
        ("one-sided", 3, 256, 255),
        ("one-sided", 3, 1024, 1023),
    }
    with open(paths[1], newline="") as file:
        assert len(list(csv.DictReader(file))) == len(told["rows"])
    assert paths[2].read_text().startswith("# gpumerge bench")


def test_what_is_not_named_is_varied_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    middle = bench_cases.Axes(("int8",), (300,), ("uniform",), (2,))
    swept = bench_cases.Axes(("int8", "float64"), (100, 300), ("uniform", "tiny"), (2, 3))
    monkeypatch.setattr(bench_cases, "preset", lambda name, quick: bench_cases.Preset(middle, swept, 2 + quick))
    for quick in (False, True):
        path = tmp_path / "r.json"
        assert invoke(["bench", "--backend", "cpu", "-q", "-o", str(path), *(["--quick"] if quick else [])]) == 0
        told = json.loads(path.read_text())
        assert told["repeat"] == 2 + quick
        assert len({(row["items"], row["shape"], row["runs"], row["size"]) for row in told["rows"]}) == 6
        assert all(row["right"] and len(row["seconds"]) == 2 + quick for row in told["rows"])


def test_render_makes_tables_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    assert invoke([*SMALL, "-q", "-o", str(first)]) == 0
    assert invoke([*SMALL, "-q", "-o", str(second), "--runs", "4"]) == 0
    assert invoke(["bench", "--render", str(first), str(second), "-o", str(tmp_path / "both.md")]) == 0
    both = (tmp_path / "both.md").read_text()
    assert "| int32 | uniform | 2 | 256 |" in both
    assert "| int32 | uniform | 4 | 2^10 |" in both
    assert invoke(["bench", "--render", str(first)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("2 cases on cpu")
    assert captured.err == ""


def test_render_needs_no_device_and_no_array_library(tmp_path: Path) -> None:
    assert invoke([*SMALL, "-q", "-o", str(tmp_path / "r.json")]) == 0
    code = (
        "import sys; from gpumerge_cli.cli.app import invoke; "
        f"invoke(['bench', '--render', {str(tmp_path / 'r.json')!r}]); "
        "print(sorted({'numpy', 'cupy', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


@pytest.mark.parametrize(
    "option", [("--seed", "0"), ("--backend", "auto"), ("--device", "0"), ("--sizes", "10"), ("--quick",)]
)
def test_render_refuses_options_of_measuring(option: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["bench", "--render", "r.json", *option]) == 2
    assert f"{option[0]} is for measuring; leave {option[0]} or --render out\n" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "problem"), [("int33", "int33"), ("int32+0", "no payload"), ("+4", "no key")])
def test_items_that_are_none_are_refused_by_option(name: str, problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke([*SMALL, "--dtypes", f"int32,{name}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("gpumerge: --dtypes: ")
    assert problem in error
    assert error.count("\n") == 1


@pytest.mark.thorough
def test_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs.library("matplotlib")
    folder = tmp_path / "new" / "figures"
    results = tmp_path / "r.json"
    assert invoke([*SMALL, "--runs", "2,4", "--figures", str(folder), "-o", str(results)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "dtypes-cpu: not drawn: the results hold one dtype only" in captured.err
    drawn = {"throughput-cpu.svg", "ladder-cpu.png", "runs-cpu.svg"}
    assert drawn <= set(os.listdir(folder))
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    assert invoke(["bench", "--render", str(results), "--figures", str(folder), "-q"]) == 0
    assert before == {name: (folder / name).read_bytes() for name in os.listdir(folder)}


def test_figures_without_matplotlib_are_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "gpumerge_cli.report.figure", raising=False)
    monkeypatch.delitem(sys.modules, "gpumerge_cli.report.drawing", raising=False)
    assert invoke([*SMALL, "--figures", str(tmp_path), "-o", str(tmp_path / "r.json")]) == 2
    error = capsys.readouterr().err
    assert "pip install 'gpumerge[plot]'" in error
    assert error.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_results_of_two_devices_make_no_single_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    assert invoke([*SMALL, "-q", "-o", str(first)]) == 0
    second.write_text(json.dumps(json.loads(first.read_text()) | {"device": "another"}))
    assert invoke(["bench", "--render", str(first), str(second)]) == 0
    assert capsys.readouterr().out.count("2 cases on cpu") == 2
    assert invoke(["bench", "--render", str(first), str(second), "-o", str(tmp_path / "r.md")]) == 2
    assert "several devices" in capsys.readouterr().err
    assert not (tmp_path / "r.md").exists()


def test_a_signal_ends_it_with_the_results_so_far(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    sizes = ("--sizes", "1000,2^24", "--repeat", "50")
    command = [sys.executable, "-m", "gpumerge_cli", "bench", "--backend", "cpu", *sizes, "-o", str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("[1/2]")
    process.terminate()
    _, error = process.communicate(timeout=60)
    assert process.returncode == 143
    assert error == "gpumerge: interrupted; the results so far are delivered\n"
    told = json.loads(path.read_text())
    assert told["stopped"] == 15
    assert {row["size"] for row in told["rows"]} == {1000}


def test_a_signal_while_figures_are_drawn_says_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = needs.module("report.figure", over="matplotlib")

    def stop(*_: object) -> None:
        raise Interrupted(15)

    monkeypatch.setattr(figure, "draw", stop)
    path = tmp_path / "r.json"
    assert invoke([*SMALL, "-q", "-o", str(path), "--figures", str(tmp_path / "figures")]) == 143
    said = "the results are written, not all figures are drawn"
    assert capsys.readouterr().err == f"gpumerge: interrupted; {said}\n"
    assert invoke(["bench", "--render", str(path), "--figures", str(tmp_path / "figures")]) == 143
    assert capsys.readouterr().err == "gpumerge: interrupted; not all figures are drawn\n"


class WrongWorkspace(ReferenceWorkspace):
    def merge(self, policy: LaunchPolicy, equals: Equals = Equals.ALL) -> None:
        super().merge(policy, equals)
        if policy.kernel == "circular":
            self._out = np.ascontiguousarray(self._out[::-1])


class WrongBackend(ReferenceBackend):
    name = "cpu"

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ReferenceWorkspace:
        return WrongWorkspace(order, capacity)


def test_a_wrong_kernel_exits_2_and_is_in_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(select, "host", WrongBackend)
    path = tmp_path / "r.json"
    assert invoke([*SMALL, "-o", str(path)]) == 2
    error = capsys.readouterr().err
    assert "; wrong: circular\n" in error
    assert error.endswith("gpumerge: wrong output: circular; do not use these on this machine\n")
    assert {row["name"] for row in json.loads(path.read_text())["rows"] if not row["right"]} == {"circular"}
