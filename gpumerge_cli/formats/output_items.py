"""The items of an output that has rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpumerge_cli.dataclass import dataclass

if TYPE_CHECKING:
    from gpumerge_cli.formats.base import Source
    from gpumerge_cli.order.key_types import Dtype
    from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True)
class OutputItems:
    """The items of an output that has rows, while those of the inputs are none."""

    sources: Sequence[Source]
    """The prepared sources of the inputs."""
    order: Order
    shown: Callable[[bytes], bytes] | None
    """See format.Written."""
    dtype: Dtype | None
    """That of the items as the first file has them; None for lines."""
    head: bytes
    """The start of the output ahead of all items, as they are before they are written."""
    count: str | None = None
    """The place of the numbers of equal items, "ahead" of all or "after" all columns; None for none."""
    has_names: bool = False
    """Whether a column of the names of inputs stands ahead of those of the inputs."""
    is_joined: bool = False
    """Whether items are made of those of two inputs, which have other columns."""
