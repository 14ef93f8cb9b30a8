"""Calls on columns, and on text on a GPU, by the images of their items: see column_images.py."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpumerge_cli.arrays.call import Call
from gpumerge_cli.arrays.device import DeviceCall
from gpumerge_cli.arrays.host import HostCall
from gpumerge_cli.dataclass import replace
from gpumerge_cli.launch import LaunchRequest, SortRequest
from gpumerge_cli.order.equals import Equals

if TYPE_CHECKING:
    from gpumerge_cli.arrays.asof_pairs import AsofRequest
    from gpumerge_cli.arrays.equal_pairs import How
    from gpumerge_cli.arrays.searching import Side


class ImagedResult(NamedTuple):
    """The items of a result."""

    images: Any
    """Their images, in their order."""
    positions: Any
    """Their positions in all arrays, one behind the other."""


class ColumnCall:
    """Carries out a call on images, as HostCall and DeviceCall do on numbers, where the items lie.

    Methods that give items give an ImagedResult.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self._on: Callable[[Call], HostCall | DeviceCall] = DeviceCall if call.on_device else HostCall

    def merge(self, request: LaunchRequest) -> ImagedResult:
        """See gpumerge_cli.merge."""
        return ImagedResult(*self._with_positions().merge(request))

    def sort(self, request: SortRequest) -> ImagedResult:
        """See gpumerge_cli.sort."""
        return ImagedResult(*self._with_positions().sort(request))

    def combine(self, equals: Equals) -> ImagedResult:
        """See gpumerge_cli.union."""
        return ImagedResult(*self._with_positions().combine(equals))

    def topk(self, n: int) -> ImagedResult:
        """See gpumerge_cli.topk."""
        return ImagedResult(*self._with_positions().topk(n))

    def argsort(self, request: SortRequest) -> Any:
        """See gpumerge_cli.argsort."""
        return self._on(self.call).argsort(request)

    def argtopk(self, n: int) -> Any:
        """See gpumerge_cli.argtopk."""
        return self._on(self.call).argtopk(n)

    def first_disorder(self) -> tuple[int, int] | None:
        """See HostCall."""
        return self._on(self.call).first_disorder()

    def is_sorted(self) -> bool:
        """See gpumerge_cli.is_sorted."""
        return self._on(self.call).is_sorted()

    def join(self, how: How) -> Any:
        """See gpumerge_cli.join."""
        return self._on(self.call).join(how)

    def diff(self, *, multi: bool) -> tuple[Any, Any, Any, Any]:
        """See gpumerge_cli.diff."""
        return self._on(self.call).diff(multi=multi)

    def asof_join(self, request: AsofRequest) -> Any:
        """See gpumerge_cli.asof_join."""
        return self._on(self.call).asof_join(request)

    def co_ranks(self, ranks: Any) -> Any:
        """See gpumerge_cli.rank."""
        return self._on(self.call).co_ranks(ranks)

    def ranks_of(self, items: Any, side: Side) -> Any:
        """See gpumerge_cli.rank_of. The items' images are made beside those of the arrays."""
        imaged = self.call.imaged
        assert imaged is not None
        wanted, shape = imaged.as_items(items)
        *arrays, images = imaged.images(wanted)
        return self._on(replace(self.call, arrays=arrays)).ranks_of(images, side).reshape(shape)

    def _with_positions(self) -> HostCall | DeviceCall:
        """The call on images, with the position of each item as its value."""
        arrays = self.call.arrays
        edges = pairwise(accumulate(map(len, arrays), initial=0))
        if self.call.on_device:
            import cupy

            with arrays[0].device:
                rows = [cupy.arange(low, high, dtype=np.int64) for low, high in edges]
        else:
            rows = [np.arange(low, high, dtype=np.int64) for low, high in edges]
        return self._on(replace(self.call, rows=rows))
