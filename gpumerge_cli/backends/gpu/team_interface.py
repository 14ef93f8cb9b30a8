"""The interface between one sort by several devices and the devices (see exchange.py), and the plan of the sort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.order.kinds import Order


class Memory(Protocol):
    """Memory of a device, as long as something refers to it."""

    @property
    def address(self) -> int: ...


class Devices(Protocol):
    """Several devices. Work is queued on the current stream, which `on` or `copies` chooses; see team.DeviceTeam."""

    @property
    def linked(self) -> bool: ...
    def __len__(self) -> int: ...
    def on(self, member: int) -> AbstractContextManager[object]: ...
    def copies(self, source: int, to: int) -> AbstractContextManager[object]: ...
    def room(self, nbytes: int) -> Memory: ...
    def event(self) -> Any: ...
    def wait(self, event: Any) -> None: ...
    def fetch(self, source: int, address: int, to: int, target: int, nbytes: int) -> None: ...
    def copy(self, address: int, target: int, nbytes: int) -> None: ...
    def packed(self, address: int, size: int, items: range) -> Callable[[], NDArray[np.uint8]]: ...
    def synchronize(self) -> None: ...


class TeamKernels(Protocol):
    """The kernels for items on the current device of the team, on the current stream."""

    order: Order
    fan_in: int
    """The most runs that a merge takes at once."""
    most_cut: int
    """The most runs that `cuts` takes."""

    def sort(self, member: int, items: Run, out: int) -> None: ...
    def merge(self, member: int, runs: Sequence[Run], out: int) -> None: ...
    def cuts(self, member: int, runs: Sequence[Run], rank: int) -> Callable[[], list[int]]: ...


@dataclass(frozen=True)
class DeviceItems:
    """Items on a device of the team."""

    member: int
    """The number of the device in the team."""
    address: int
    """The device's address of the first item."""
    count: int
    """The number of items."""


@dataclass(frozen=True)
class ExchangePlan:
    """The plan of a sort by several devices."""

    pieces: tuple[float, ...] = (0.875, 0.125)
    """The sizes, as fractions of a share, of the pieces that are sorted one after the other."""
    returned: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    """The same for a sort whose results all go to one device: it sorts its own share as a whole, and the other devices
    sort theirs in these pieces.
    """
    direct: bool = True
    """Merges read the last piece over the link instead of fetching it first."""
    overlapped: int = 64 << 20
    """The least bytes of a sort for which several pieces pay."""
