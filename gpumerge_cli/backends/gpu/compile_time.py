"""How long the kernels take to compile, asked before anything is. Needs no CuPy."""

from __future__ import annotations

import os

COMPILE_SECONDS = 10.0
"""About what it takes to compile the kernels that one command needs."""


def compile_seconds() -> float:
    """About how long kernels will compile before they run; 0 if CuPy keeps some, whatever they are."""
    folder = os.environ.get("CUPY_CACHE_DIR") or os.path.join(os.path.expanduser("~"), ".cupy", "kernel_cache")
    try:
        with os.scandir(folder) as entries:
            return 0.0 if any(entry.name.endswith(".cubin") for entry in entries) else COMPILE_SECONDS
    except OSError:
        return COMPILE_SECONDS
