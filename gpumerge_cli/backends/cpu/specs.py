"""Orders and policies as the library's structures."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from gpumerge_cli.backends.base import LaunchPolicy, SortPolicy, Unique
from gpumerge_cli.backends.cpu.library import library
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.order import Order

_EQUALS = {None: "KEEP_ALL", "first": "KEEP_FIRST", "ahead": "KEEP_NONE_LIKE_FIRST"}


def order_spec(order: Order) -> Any:
    """The OrderSpec of an order. It keeps the table alive that it points to."""
    layout = order.layout()
    numbers = {field.name: getattr(layout, field.name) for field in fields(layout) if field.name != "table"}
    spec = library().OrderSpec(**numbers)
    if layout.table is not None:
        spec.kept = layout.table
        spec.table = layout.table.ctypes.data
    return spec


def launch_spec(policy: LaunchPolicy) -> Any:
    """The LaunchSpec of a merge. Raises DeviceError if the library was built without the policy's kernel."""
    name = policy.rung.replace(" ", "_")
    if name not in library().kernels:
        raise DeviceError(
            f"the CPU's library has no merge_{name}",
            way_out="write it in kernels/cpu, and build the library again: python kernels/build_library.py",
        )
    return library().LaunchSpec(
        kernel=library().kernels[name],
        block_size=policy.block_size,
        items=policy.items_per_thread,
        tile=policy.tile_size,
    )


def sort_spec(policy: SortPolicy) -> Any:
    """The LaunchSpec of a sort."""
    spec = launch_spec(policy.launch)
    spec.algorithm = getattr(library(), f"SORT_{policy.algorithm.upper().replace('-', '_')}")
    spec.sort_tile = policy.tile
    return spec


def equals(unique: Unique) -> int:
    """The number of the library's Equals for `unique`."""
    return int(getattr(library(), _EQUALS[unique]))


def judge(status: int) -> None:
    """Raises MemoryError if the status says that the library had no memory."""
    if status == library().NO_MEMORY:
        raise MemoryError
    assert status == library().DONE, f"the CPU's library returns {status}"
