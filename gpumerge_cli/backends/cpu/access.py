"""The CPU backend: the library that is compiled from kernels/ when the package is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpumerge_cli.backends.cpu.backend import CpuBackend


def create() -> CpuBackend:
    """The CPU backend. Raises DeviceError if its library is missing or needs instructions that this processor lacks."""
    from gpumerge_cli.backends.cpu.backend import CpuBackend

    return CpuBackend()
