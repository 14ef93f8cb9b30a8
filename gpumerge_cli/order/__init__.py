"""The orders of keys, of records and of lines. rules.py holds the rules of lines and does not load NumPy."""

from __future__ import annotations

TYPE_CHECKING = False  # see gpumerge_cli
if TYPE_CHECKING:
    from typing import Any

    from gpumerge_cli.order.kinds import DTYPES, Fields, Keys, Layout, Lines, Order, Records

__all__ = ["DTYPES", "Fields", "Keys", "Layout", "Lines", "Order", "Records"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: command lines are read without NumPy, the rules of lines in them included.
    if name in __all__:
        from gpumerge_cli.order import kinds

        return getattr(kinds, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
