"""The protocol of a backend that can be compared. It adds other methods for the same output, and clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.order.equals import Equals
from gpumerge_cli.order.kinds import Order


class ComparedWorkspace(Workspace, Protocol):
    """A workspace whose work can be compared with a copy and with libraries."""

    def copy(self) -> None:
        """Copy the uploaded bytes within the memory that `merge` works in. No merge is faster than this copy."""

    def poison(self) -> None:
        """Overwrite the output. This reveals a kernel that writes too few items."""

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        """Functions of libraries that merge the uploaded runs, by name. Call one, then `download`.

        Their outputs have the same key images as the merge's. An unstable library may permute items that compare equal.
        """

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        """Functions of libraries that sort the uploaded keys, by name. Orders of rows have none. See `baselines`."""

    def set_baselines(self, equals: Equals) -> Mapping[str, Callable[[], None]]:
        """Functions of libraries that make the set `equals` of the uploaded keys, by name. See `baselines`."""

    def time(self, work: Callable[[], None]) -> float:
        """The seconds that `work`, a step of the workspace, takes, by events of the device or a clock of the host."""


class ComparedBackend(Backend, Protocol):
    """A backend whose workspaces can be compared."""

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ComparedWorkspace:
        """See Backend."""

    def versions(self) -> Mapping[str, str]:
        """The versions of the libraries that baselines come from, by name.

        For an unavailable library the text is "left out: " and the reason, with a way to get it.
        """

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        """The seconds of the fastest copy of `nbytes` (at least 1) in this backend's memory, of several buffers.

        threads: the host threads that may share it. Raises MemoryError or DeviceMemoryError if memory is short.
        """
