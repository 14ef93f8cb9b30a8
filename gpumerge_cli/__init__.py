"""gpumerge: merge sorted files and arrays on the GPU or the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["__version__", "is_sorted", "merge"]

if TYPE_CHECKING:
    from gpumerge_cli.arrays import is_sorted, merge


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line answers --help without NumPy.
    if name in ("merge", "is_sorted"):
        from gpumerge_cli import arrays

        return getattr(arrays, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
