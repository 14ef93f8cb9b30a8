"""The library of tests of cuts and chunks."""

from __future__ import annotations

import ctypes

import pytest

from tests.cpu import harness


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return harness.loaded()
