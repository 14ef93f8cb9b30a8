"""Text on a GPU that is read as values: the CPU reads a copy, and the images of its values go to the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpumerge_cli.arrays.host_ranks import as_texts
from gpumerge_cli.arrays.keys import ArrayKeys
from gpumerge_cli.arrays.options import same_side
from gpumerge_cli.arrays.payload import concatenated
from gpumerge_cli.arrays.plain_items import in_wider_dtype, on_host, taken_items
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.engine.resources import cores


@dataclass(frozen=True, eq=False)
class DeviceTextItems:
    """The items of all arrays of a call with `text`. See ImagedItems, whose methods it has."""

    given: Sequence[Any]
    """CuPy arrays of S, U or V, or of records."""
    keys: ArrayKeys
    """The order of their items in host memory."""
    threads: int
    """Threads of the host that read text."""

    on_device = True
    has_nulls = False

    @classmethod
    def of(cls, given: Sequence[Any], key: Any, descending: bool, text: Any, threads: int | None) -> DeviceTextItems:
        """The items of a call. Errors: those of ArrayKeys.of."""
        same_side(list(given))
        empty = [np.empty(each.shape and (0, *each.shape[1:]), each.dtype) for each in given]
        return cls(given, ArrayKeys.of(empty, key, descending, text), threads or cores())

    def images(self, *others: Any) -> list[Any]:
        """See ImagedItems. others: arrays of S or U in host memory. Raises InputError for an invalid text."""
        import cupy

        from gpumerge_cli.backends.gpu.streams import calls_on, check_waiting, current_stream

        with calls_on(self.given[0].device):
            check_waiting(current_stream(), "a call on text")
            found = self.keys.comparable([on_host(each) for each in self.given], self.threads, *others)
            return [cupy.asarray(each) for each in found]

    def taken(self, positions: Any) -> Any:
        """The items at these positions in all arrays, one behind the other, in the widest of their dtypes."""
        with self.given[0].device:
            return taken_items(concatenated([in_wider_dtype(each, self.keys.dtype) for each in self.given]), positions)

    def shown(self, number: int, index: int) -> str:
        """See ImagedItems."""
        return self.keys.shown(on_host(self.given[number][index : index + 1]))[0]

    def as_items(self, items: Any) -> tuple[Any, tuple[int, ...]]:
        """See ImagedItems."""
        found = as_texts(on_host(items))
        return found.reshape(-1), found.shape
