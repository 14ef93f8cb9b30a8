"""An estimate of the time to compile kernels, made before CuPy is imported."""

from __future__ import annotations

import os
from pathlib import Path

from gpumerge_cli.cache import cache_folder

COMPILE_SECONDS = 1.0
"""About the time to compile the kernels of one command."""


def kernels_folder() -> Path:
    """The folder of compiled kernels. It need not exist."""
    return Path(cache_folder()) / "kernels"


def compile_seconds() -> float:
    """About the seconds that kernels will compile before they run; 0 if the cache holds any kernels."""
    try:
        with os.scandir(kernels_folder()) as entries:
            return 0.0 if any(entry.name.endswith(".cubin") for entry in entries) else COMPILE_SECONDS
    except OSError:
        return COMPILE_SECONDS
