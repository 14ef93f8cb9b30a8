"""The GPU backend. Nothing here needs CuPy until `create` is called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gpumerge_cli.backends.gpu.compile_time import compile_seconds
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.errors import DeviceError

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

__all__ = ["compile_seconds", "create", "in_sight", "limits_of"]

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
"""Files of GPU drivers: on Linux, in Windows' subsystem for Linux, and on boards with a GPU of their own."""


def in_sight() -> bool:
    """True if the system shows a GPU, usable or not. If it shows none, messages do not mention GPUs."""
    return any(map(os.path.exists, _DEVICE_FILES))


def limits_of(device: int) -> DeviceLimits:
    """The limits of GPU number `device`; if it cannot be used, those of the GPU that defaults were chosen on."""
    try:
        return create(device).limits
    except DeviceError:
        return TUNED_ON


def create(device: int = 0) -> GpuBackend:
    """The backend on GPU number `device`.

    Raises DeviceError, with the way out, if CuPy is not installed, no driver answers or there is no such device.
    """
    try:
        import cupy  # noqa: F401
    except ImportError as error:
        raise DeviceError(
            f"CuPy cannot be imported ({error})",
            way_out="install gpumerge[cuda13] or gpumerge[cuda12], or use --backend cpu",
        ) from error
    from gpumerge_cli.backends.gpu.backend import GpuBackend

    return GpuBackend(device)
