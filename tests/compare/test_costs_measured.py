"""info --measure: every constant of the backends that are there is measured, and the files are gone afterwards."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from gpumerge_cli.compare import costs as measuring
from gpumerge_cli.costs import Costs
from gpumerge_cli.errors import GpumergeError


def test_constants_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_COUNTS", dict.fromkeys(measuring._COUNTS, 20_000))
    monkeypatch.setattr(measuring, "_REPEAT", 1)
    monkeypatch.setattr(measuring, "_WRITTEN", 3_000_000)
    told: list[str] = []
    found = asdict(measuring.measure_costs(("cpu",), "a CPU", str(tmp_path), told.append))
    assert len(told) == 3
    for name, built_in in asdict(Costs()).items():
        assert (found[name] != built_in) is (not name.startswith("gpu") and name != "link" and "sorted" not in name), (
            name
        )
        assert name == "source" or found[name] > 0
    assert "a CPU" in found["source"]
    assert os.listdir(tmp_path) == []


def test_a_merge_that_fails_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "_COUNTS", {("cpu", "keys"): 10**15})
    with pytest.raises(GpumergeError, match=r"measuring failed: .*are free"):
        measuring.measure_costs(("cpu",), "a CPU", str(tmp_path))
    assert os.listdir(tmp_path) == []
