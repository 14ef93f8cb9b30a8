"""Tasks that people reported: each folder of tests/people has inputs, a command, and the output that is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import needs

FOLDERS = Path(__file__).parent / "people"
NOT_YET: dict[str, str] = {}
"""Folders whose output the program does not give, and what is missing. Take a folder out as soon as it does."""

OF_LOCALES = {"26-locale"}
"""Folders whose commands compare in a locale, which they name."""
OF_TABLES = {"27-parquet"}
"""Folders whose files are tables."""


def test_the_table_names_folders() -> None:
    assert set(NOT_YET) <= {folder.name for folder in FOLDERS.iterdir()}


@pytest.mark.parametrize("name", sorted(folder.name for folder in FOLDERS.iterdir() if folder.is_dir()))
def test_task(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if name in OF_LOCALES:
        request.getfixturevalue("locales")
    if name in OF_TABLES:
        needs.library("pyarrow")
    folder = tmp_path / name
    shutil.copytree(FOLDERS / name, folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "cmd.sh"], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, timeout=120
    )
    expected = ran.stdout == (folder / "expected").read_bytes()
    if name in NOT_YET:
        assert not expected, f"{name} gives what is expected: take it out of NOT_YET"
    else:
        assert expected, ran.stderr.decode()
