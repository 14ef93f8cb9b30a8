"""gpumerge info: backends, versions and auto's picks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gpumerge_cli.cli.app import run

ROOT = Path(__file__).parents[2]


def test_json_names_every_backend_and_pick(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    told = json.loads(captured.out)
    assert {one["backend"] for one in told["backends"]} == {"gpu", "cpu"}
    for one in told["backends"]:
        assert one["device"] if one["available"] else one["why_not"]
    assert told["libraries"]["numpy"]
    assert len(told["auto"]) >= 2
    assert all(pick["backend"] and pick["why"] and pick["launch"] for pick in told["auto"])


def test_tables_go_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "auto picks" in captured.out
    assert max(len(line) for line in captured.out.splitlines()) <= 80


def test_a_closed_pipe_is_silent() -> None:
    command = f"{sys.executable} -m gpumerge_cli info | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.stdout, done.stderr) == ("141\n", "")
