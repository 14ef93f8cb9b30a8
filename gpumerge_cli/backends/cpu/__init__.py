"""The CPU backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpumerge_cli.backends.cpu.backend import CpuBackend


def create() -> CpuBackend:
    """The CPU backend; imports Numba only where a kernel is not compiled yet."""
    from gpumerge_cli.backends.cpu.backend import CpuBackend

    return CpuBackend()
