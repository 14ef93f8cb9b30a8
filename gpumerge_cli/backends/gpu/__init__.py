"""The GPU backend. Nothing here needs CuPy until `create` is called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.backends.gpu.compile_time import compile_seconds
from gpumerge_cli.backends.limits import TUNED_ON, DeviceLimits
from gpumerge_cli.errors import DeviceError, UsageError

if TYPE_CHECKING:
    from gpumerge_cli.backends.gpu.backend import GpuBackend

__all__ = ["compile_seconds", "create", "in_sight", "limits_of", "numbered"]

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
"""Files of GPU drivers: on Linux, in Windows' subsystem for Linux, and on boards with a GPU of their own."""


def in_sight() -> bool:
    """True if the system shows a GPU, usable or not. If it shows none, messages do not mention GPUs."""
    return any(map(os.path.exists, _DEVICE_FILES))


def numbered(count: int) -> str:
    """The machine's GPUs, in words."""
    if count == 0:
        return "none is there"
    if count == 1:
        return "there is 1, numbered 0"
    return f"there are {count}, numbered 0 {'and' if count == 2 else 'to'} {count - 1}"


def limits_of(device: int) -> DeviceLimits:
    """The limits of GPU number `device`; if it cannot be used, those of the GPU that defaults were chosen on."""
    try:
        return create(device).limits
    except DeviceError:
        return TUNED_ON


def create(device: int | Sequence[int] = 0) -> GpuBackend:
    """The backend on GPU number `device`, or on several at once.

    Raises DeviceError, with the way out, if CuPy is not installed, no driver answers or there is no such device, and
    UsageError if a number comes twice.
    """
    numbers = (device,) if isinstance(device, int) else tuple(device)
    if not numbers:
        raise UsageError("no GPU is named", way_out="name one, or all")
    twice = [number for number in numbers if numbers.count(number) > 1]
    if twice:
        raise UsageError(f"GPU {twice[0]} is named {numbers.count(twice[0])} times", way_out="name it once")
    if in_sight():
        from gpumerge_cli.backends.gpu.early import begin

        begin(numbers)
    try:
        import cupy  # noqa: F401
    except ImportError as error:
        raise DeviceError(
            f"CuPy cannot be imported ({error})",
            way_out="install gpumerge[cuda13] or gpumerge[cuda12], or use the backend cpu",
        ) from error
    if len(numbers) > 1:
        from gpumerge_cli.backends.gpu.several import SeveralGpus

        return SeveralGpus(numbers)
    from gpumerge_cli.backends.gpu.backend import GpuBackend

    return GpuBackend(numbers[0])
