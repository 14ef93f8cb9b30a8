"""Orders and policies as the library's structures."""

from __future__ import annotations

import ctypes
from array import array
from functools import lru_cache
from itertools import accumulate
from typing import Any

from gpumerge_cli.dataclass import field_names
from gpumerge_cli.errors import DeviceError
from gpumerge_cli.launch import LaunchPolicy, SortPolicy
from gpumerge_cli.native.library import library
from gpumerge_cli.order.base import OrderLayout
from gpumerge_cli.order.equals import Margin
from gpumerge_cli.order.key_kinds import TEXT_PADDING
from gpumerge_cli.order.kinds import Order
from gpumerge_cli.order.rules import separator_word

RECEIVED_BYTES = 8 << 20
"""Bytes of a result that the library hands over at once, if it is far larger than a chunk."""


def order_spec(order: Order) -> Any:
    """The OrderSpec of an order, the same object for equal orders. It keeps the table alive that it points to."""
    return _made_spec(order, library().OrderSpec)


@lru_cache(maxsize=16)
def _made_spec(order: Order, structure: type[ctypes.Structure]) -> Any:
    """The structure, whose type belongs to one library: functions of another one refuse it."""
    if order.text is not None and order.text.by_locale:
        from gpumerge_cli.native.locales import open_locale

        open_locale(order.text.locale)  # this may be another process than that of the command line
    layout = order.layout()
    numbers = {name: getattr(layout, name) for name in field_names(OrderLayout) if name != "table"}
    spec: Any = structure(**numbers)
    if layout.table is not None:
        spec.kept = layout.table
        spec.table = layout.table.buffer_info()[0]
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


def margin_spec(margin: Margin) -> Any:
    """The Margin of a margin. It keeps the texts alive that it points to."""
    lib = library()
    spec: Any = lib.Margin()
    if margin.rules is not None:
        spec.kind = lib.GROUPS
    elif margin.count is not None:
        spec.kind = getattr(lib, f"COUNT_{margin.count.upper()}")
        spec.separator = separator_word(margin.separator) if margin.separator else 0
    elif margin.columns:
        spec.kind = lib.COLUMNS_APART if margin.columns_apart else lib.COLUMNS
        spec.equal, spec.only_a, spec.only_b = (-1 if text is None else len(text) for text in margin.columns)
        spec.kept = ctypes.create_string_buffer(b"".join(text or b"" for text in margin.columns))
        spec.text = ctypes.addressof(spec.kept)
    if margin.names:
        ends = array("q", accumulate(map(len, margin.names)))
        texts = ctypes.create_string_buffer(b"".join(margin.names) + bytes(TEXT_PADDING))
        spec.runs, spec.kept_names = len(ends), (ends, texts)
        spec.name_ends, spec.names = ends.buffer_info()[0], ctypes.addressof(texts)
    return spec


def check_status(status: int) -> None:
    """Raises MemoryError if the status says that the library had no memory."""
    if status == library().NO_MEMORY:
        raise MemoryError
    assert status == library().DONE, f"the CPU's library returns {status}"
