"""The compiled kernels, by name; Numba is imported only where one is not compiled yet."""

from __future__ import annotations

from pathlib import Path

from gpumerge_cli.native import Compiled, Library
from gpumerge_cli.order import Order


def _compile(name: str) -> Compiled:
    from gpumerge_cli.backends.cpu.entries import compiled

    return compiled(name)


_HERE = Path(__file__).parent
LIBRARY = Library("cpu", [*_HERE.glob("*.py"), *(_HERE.parents[1] / name for name in ("jit.py", "lines.py"))], _compile)


def kind_of(order: Order) -> str:
    """What kernels are compiled for: "u4" is key bits of 4 bytes, "f4" those of floats, "rows" lines and records."""
    if order.is_rows:
        return "rows"
    return f"{'f' if order.kind == 'float' else 'u'}{order.width}"


def key_context(order: Order) -> tuple[int, int, int, int]:
    """What kernels want to know of fixed-width keys, besides their kind: flip, infinity and sign. See keys.py."""
    sign = 1 << (8 * order.width - 1)
    return order.flip, order.infinity or 0, sign, 0
