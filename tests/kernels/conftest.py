"""Fixtures of the kernel tests: a GPU, where there is one."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend


@pytest.fixture
def gpu(gpu_backend: GpuBackend) -> GpuBackend:
    """The GPU backend; skips where there is none."""
    return gpu_backend


@pytest.fixture
def quickly(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the thorough cases, chosen by their names, is optimized as in the product.

    Optimizing takes three times as long for lines. Tests on a GPU optimize all that they run.
    """
    optimizes = request.node.get_closest_marker("thorough") and zlib.crc32(request.node.name.encode()) % 4 == 0
    monkeypatch.setattr("nvrtc.QUICKLY", not optimizes)
