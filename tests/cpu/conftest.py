"""The library of tests of cuts and chunks."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import pytest

from gpumerge_cli.native import library as loader
from tests.cpu import harness, libraries


@pytest.fixture(scope="session", autouse=True)
def of_the_program() -> None:
    """Have the program's own calls go to the library that these tests hold."""
    path = Path(libraries.path())
    loader._loaded = cache(lambda: loader.load_library(path.parent, path.stem.removeprefix("gpumerge-")))


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return harness.loaded()
