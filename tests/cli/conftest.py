"""Folders in which tests of settings write settings files, and two sorted files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
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


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray[Any, Any]:
    """a.i32 and b.i32 in the current folder; their merge."""
    monkeypatch.chdir(tmp_path)
    np.array([1, 3, 5, 7, 7], np.int32).tofile("a.i32")
    np.array([2, 3, 7, 9], np.int32).tofile("b.i32")
    return np.array([1, 2, 3, 3, 5, 7, 7, 7, 9], np.int32)
