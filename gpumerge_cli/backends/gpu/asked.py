"""What one sort by several devices asks of them (see exchange.py), and how it is to be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gpumerge_cli.backends.gpu.tree import Run
from gpumerge_cli.order import Order


class Room(Protocol):
    """Memory of a device, as long as something refers to it."""

    @property
    def address(self) -> int: ...


class Devices(Protocol):
    """What several devices do. All is queued on the current stream, which `on` or `way` chooses; see team.Team."""

    @property
    def linked(self) -> bool: ...
    def __len__(self) -> int: ...
    def on(self, member: int) -> AbstractContextManager[object]: ...
    def way(self, source: int, to: int) -> AbstractContextManager[object]: ...
    def room(self, nbytes: int) -> Room: ...
    def event(self) -> Any: ...
    def wait(self, event: Any) -> None: ...
    def fetch(self, source: int, address: int, to: int, target: int, nbytes: int) -> None: ...
    def copy(self, address: int, target: int, nbytes: int) -> None: ...
    def packed(self, address: int, size: int, items: range) -> Callable[[], NDArray[np.uint8]]: ...
    def synchronize(self) -> None: ...


class Hands(Protocol):
    """What is done to items on a device of the team, which is the current one, on the current stream.

    fan_in: runs that a merge takes at once. most_cut: runs that `cuts` takes.
    """

    order: Order
    fan_in: int
    most_cut: int

    def sort(self, member: int, items: Run, out: int) -> None: ...
    def merge(self, member: int, runs: Sequence[Run], out: int) -> None: ...
    def cuts(self, member: int, runs: Sequence[Run], rank: int) -> Callable[[], list[int]]: ...


@dataclass(frozen=True)
class Place:
    """`count` items at an address of a device of the team."""

    member: int
    address: int
    count: int


@dataclass(frozen=True)
class Plan:
    """How a sort is carried out.

    pieces: parts of a share that are sorted one behind the other. A device that alone gets all results sorts its share
    as a whole, and the others theirs in `returned`. direct: whether merges read the last piece where it is, over the
    link, instead of fetching it first. overlapped: bytes from which on all this is worth while.
    """

    pieces: tuple[float, ...] = (0.875, 0.125)
    returned: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    direct: bool = True
    overlapped: int = 64 << 20
