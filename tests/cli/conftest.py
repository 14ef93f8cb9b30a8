"""Folders in which tests of settings write settings files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gpumerge_cli.cli.batch_jobs import commands


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """place(project=..., user=..., NAME=value): the two files and the environment."""
    (tmp_path / "project" / "deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "deep")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))

    def make(project: str = "", user: str = "", **variables: str) -> None:
        if project:
            (tmp_path / "project" / "gpumerge.toml").write_text(project)
        if user:
            (tmp_path / "home" / "gpumerge").mkdir(parents=True, exist_ok=True)
            (tmp_path / "home" / "gpumerge" / "config.toml").write_text(user)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    yield make
    commands.cache_clear()
