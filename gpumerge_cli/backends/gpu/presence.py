"""The GPUs that the system shows, without CuPy."""

from __future__ import annotations

import os
from functools import cache

_DEVICE_FILES = ("/dev/nvidiactl", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
"""Files of GPU drivers: on Linux, in Windows' subsystem for Linux, and on boards with a GPU of their own."""


@cache
def is_present() -> bool:
    """True if the system shows a GPU, usable or not. If it shows none, messages do not mention GPUs.

    Each call on arrays asks. A process gets no driver while it runs, so the files are looked for once.
    """
    return any(map(os.path.exists, _DEVICE_FILES))


def gpu_numbers(count: int) -> str:
    """The numbers of the machine's GPUs, for messages."""
    if count == 0:
        return "none is there"
    if count == 1:
        return "there is 1, numbered 0"
    return f"there are {count}, numbered 0 {'and' if count == 2 else 'to'} {count - 1}"
