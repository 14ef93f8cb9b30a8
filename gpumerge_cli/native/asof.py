"""As-of joins of arrays of numbers by the library."""

from __future__ import annotations

from typing import Any

from gpumerge_cli.buffers import Bytes, address_of
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import check_status, order_spec
from gpumerge_cli.order.kinds import Order


def asof_partners(
    order: Order, sides: tuple[Any, Any], groups: tuple[Any, Any] | None, direction: str, limit: int, indices: Bytes,
    threads: int,
) -> None:  # fmt: skip
    """Fill `indices` with the index of each left item's partner, or -1. Raises MemoryError.

    order: of numbers but float16; a descending one has no groups and goes backward. sides: two arrays of its dtype, 1-D
    and contiguous. groups: an int64 for each of their items. direction: "backward", "forward" or "nearest". limit: see
    ArrayAsofSpec.
    """
    assert not order.descending or (groups is None and direction == "backward"), "the library has no others"
    lib = library()
    a, b = sides
    spec = lib.ArrayAsofSpec(
        address_of(a), address_of(b), None, None, len(a), len(b), getattr(lib, f"ASOF_{direction.upper()}"), limit
    )
    if groups is not None:
        spec.a_groups, spec.b_groups = (address_of(each) for each in groups)
    check_status(lib.gm_asof(order_spec(order), spec, address_of(indices), threads))
