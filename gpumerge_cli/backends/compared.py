"""What comparisons ask of a backend beyond what merges and sorts do: other ways to the same output, and clocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from gpumerge_cli.backends.base import Backend, Workspace
from gpumerge_cli.order import Order


class ComparedWorkspace(Workspace, Protocol):
    """A workspace whose work can be held against a copy and against libraries."""

    def copy(self) -> None:
        """Copy the uploaded bytes within the memory that `merge` works in: the ceiling that a merge is held against."""

    def poison(self) -> None:
        """Overwrite the output, so that a kernel that leaves items out is noticed."""

    def baselines(self) -> Mapping[str, Callable[[], None]]:
        """Library ways to get the same output from the uploaded runs, by name; run one, then `download`.

        Outputs equal the merge's by key image (an unstable library may permute items that compare equal).
        """

    def sort_baselines(self) -> Mapping[str, Callable[[], None]]:
        """Library ways to what `sort` gives, of keys alone; as `baselines`."""

    def time(self, work: Callable[[], None]) -> float:
        """Seconds that `work` (one of the workspace's steps) takes on the device: device events, or a host clock."""


class ComparedBackend(Backend, Protocol):
    """A backend whose workspaces can be compared."""

    def workspace(self, order: Order, capacity: int, *, threads: int = 1) -> ComparedWorkspace:
        """See Backend."""

    def copy_ceiling(self, nbytes: int, *, threads: int = 1) -> float:
        """Seconds of the fastest copy of `nbytes` (at least 1) where this backend works, the best of several places.

        threads: host threads that may share it. Raises MemoryError or DeviceMemoryError where there is no room.
        """
