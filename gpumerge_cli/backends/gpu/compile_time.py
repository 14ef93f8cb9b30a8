"""An estimate of the time to compile kernels, made before CuPy is imported."""

from __future__ import annotations

import os

COMPILE_SECONDS = 10.0
"""About the time to compile the kernels of one command."""


def compile_seconds() -> float:
    """About the seconds that kernels will compile before they run; 0 if CuPy's cache holds any kernels."""
    folder = os.environ.get("CUPY_CACHE_DIR") or os.path.join(os.path.expanduser("~"), ".cupy", "kernel_cache")
    try:
        with os.scandir(folder) as entries:
            return 0.0 if any(entry.name.endswith(".cubin") for entry in entries) else COMPILE_SECONDS
    except OSError:
        return COMPILE_SECONDS
