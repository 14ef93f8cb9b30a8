"""The hooks run the checks that CONTRIBUTING.md names, and mypy checks the package and the benchmarks."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_hooks_run_what_contributing_names() -> None:
    hooks = re.findall(r"^ +entry: (.*)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE)
    assert hooks == ["ruff check", "ruff format --check", "mypy"]
    contributing = " ".join((ROOT / "CONTRIBUTING.md").read_text().split())
    assert [hook for hook in hooks if f"`{hook}`" not in contributing] == []


def test_mypy_checks_the_package_and_the_benchmarks() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"]
    assert settings["files"] == ["gpumerge_cli", "data/bench"]
    assert sorted((ROOT / "data" / "bench").glob("*.py"))
