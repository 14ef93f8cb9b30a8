"""Fixtures of the kernel tests: a GPU, where there is one."""

from __future__ import annotations

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
    """Thorough runs of NVRTC optimize as the product does. Others do not, which is three times as fast for lines."""
    monkeypatch.setattr("nvrtc.QUICKLY", request.node.get_closest_marker("thorough") is None)
