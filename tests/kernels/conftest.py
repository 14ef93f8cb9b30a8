"""Fixtures of the kernel tests: a GPU, where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gpumerge_cli.backends.gpu import create
from gpumerge_cli.errors import DeviceError

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend


@pytest.fixture(scope="session")
def gpu() -> GpuBackend:
    """The GPU backend; skips where there is none."""
    try:
        return create()
    except DeviceError as error:
        pytest.skip(str(error))
