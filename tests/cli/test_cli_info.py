"""gpumerge info: backends, versions and auto's picks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpumerge_cli.cli import info
from gpumerge_cli.cli.app import invoke
from gpumerge_cli.compare import array_sorts
from gpumerge_cli.costs import Costs
from tests import needs

ROOT = Path(__file__).parents[2]


def test_json_names_every_backend_and_pick(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["info", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    told = json.loads(captured.out)
    assert {one["backend"] for one in told["backends"]} == {"gpu", "cpu"}
    for one in told["backends"]:
        assert one["device"] if one["available"] else one["why_not"]
    assert told["libraries"]["numpy"]
    assert len(told["auto"]) >= 2
    assert all(pick["backend"] and pick["why"] and pick["launch"] for pick in told["auto"])


def test_gpus_are_shown_with_their_links(capsys: pytest.CaptureFixture[str]) -> None:
    gpus: list[Any] = [  # the module of Gpu imports CuPy
        SimpleNamespace(number=0, name="A", memory=80 * 10**9, link="PCIe 5.0 x16", peers=(1,), rates={}),
        SimpleNamespace(number=1, name="B", memory=10**9, link="", peers=(), rates={"from host": 55.1e9}),
    ]
    info._show(info._Machine("1", "3", "s", {}, [], gpus, [], Costs(), []))
    shown = " ".join(capsys.readouterr().out.split())
    assert "0 A 80.0 GB PCIe 5.0 x16 GPU 1" in shown
    assert "1 B 1.00 GB unknown no other from host" in shown
    assert "55.1 GB/s" in shown


def test_the_faster_sort_of_arrays_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(array_sorts, "_PATIENCE", 0)
    monkeypatch.setattr(array_sorts, "_NBYTES", 800)
    monkeypatch.setattr(info, "_measure", lambda: None)
    assert invoke(["info", "--measure", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["sorts"]
    assert [(one["dtype"], one["count"]) for one in measured] == [("int32", 200), ("float64", 100)]
    assert all(set(one["seconds"]) == {"gpumerge_cli.sort", "numpy.sort"} for one in measured)
    assert all(seconds > 0 for one in measured for seconds in one["seconds"].values())
    assert invoke(["info", "--measure"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"200 int32 in memory: (\S+) is [0-9.]+ times as fast as (?!\1)\S+ 100 float64 in memory: ", shown)
    assert invoke(["info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sorts"] == []


@pytest.mark.parametrize(("fast", "slow"), [("gpumerge_cli.sort", "numpy.sort"), ("numpy.sort", "gpumerge_cli.sort")])
def test_the_ratio_is_that_of_the_times(fast: str, slow: str) -> None:
    found = array_sorts.ArraySorts("int32", 2_097_152, {slow: 0.5, fast: 0.1})
    assert found.describe() == f"2,097,152 int32 in memory: {fast} is 5.0 times as fast as {slow}"


def test_the_link_to_the_host(tmp_path: Path) -> None:
    needs.library("cupy")
    from gpumerge_cli.backends.gpu.links import host_link

    device = tmp_path / "0000:1a:00.0"
    device.mkdir()
    assert host_link("0000:1A:00.0", tmp_path) == ""
    (device / "current_link_speed").write_text("32.0 GT/s PCIe\n")
    (device / "current_link_width").write_text("16\n")
    assert host_link("0000:1A:00.0", tmp_path) == "PCIe 5.0 x16"
    (device / "current_link_speed").write_text("Unknown\n")
    assert host_link("0000:1A:00.0", tmp_path) == ""


@pytest.mark.gpu
def test_every_gpu_is_listed(gpu_backend: object) -> None:
    import cupy

    from gpumerge_cli.backends.gpu.links import gpus

    found = gpus(measure=True)
    assert [gpu.number for gpu in found] == list(range(cupy.cuda.runtime.getDeviceCount()))
    for gpu in found:
        assert gpu.memory > 0
        assert set(gpu.rates) == {"from host", "to host", *(f"from GPU {peer}" for peer in gpu.peers)}
        assert all(rate > 1e8 for rate in gpu.rates.values())


def test_tables_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["info"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "auto picks" in captured.out
    assert max(len(line) for line in captured.out.splitlines()) <= 80


def test_a_closed_pipe_is_silent() -> None:
    command = f"{sys.executable} -m gpumerge_cli info | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("141\n", "")
