"""Kernels, compiled from their files by NVRTC. CuPy caches the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy

from gpumerge_cli.backends.gpu.compile_time import COMPILE_SECONDS
from gpumerge_cli.backends.gpu.source import flatten
from gpumerge_cli.compiling import compiling


def functions(file: str, options: Sequence[str], *names: str) -> list[Any]:
    """The kernels `names` of a file, compiled for the current device."""
    with compiling("the GPU's kernels", COMPILE_SECONDS):
        module = cupy.RawModule(code=flatten(file), options=tuple(options))
        return [module.get_function(name) for name in names]
