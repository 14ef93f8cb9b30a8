"""An estimate of the time to compile kernels, made before CuPy is imported."""

from __future__ import annotations

import os

from gpumerge_cli.cache import cache_folder

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from pathlib import Path

_KERNELS = "kernels"
COMPILE_SECONDS = 1.0
"""About the time to compile the kernels of one command."""


def kernels_folder() -> Path:
    """The folder of compiled kernels. It need not exist."""
    from pathlib import Path

    return Path(cache_folder(), _KERNELS)


def compile_seconds() -> float:
    """About the seconds that kernels will compile before they run; 0 if the cache holds any kernels."""
    try:
        with os.scandir(os.path.join(cache_folder(), _KERNELS)) as entries:
            return 0.0 if any(entry.name.endswith(".cubin") for entry in entries) else COMPILE_SECONDS
    except OSError:
        return COMPILE_SECONDS
