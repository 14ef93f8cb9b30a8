"""Cuts of inputs that are far from the client, such as objects of stores: workers make them, many at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any

from gpumerge_cli.cluster import node
from gpumerge_cli.cluster.calls import await_call
from gpumerge_cli.cluster.shipment import PackedShipment
from gpumerge_cli.dataclass import dataclass
from gpumerge_cli.errors import GpumergeError
from gpumerge_cli.native.cuts import Cut
from gpumerge_cli.plan import Chunk, Planner, ends_of

if TYPE_CHECKING:
    from distributed import Client, Future

    from gpumerge_cli.cluster.eligible import EligibleWorkers

_MOST = 32
"""Cuts that a worker makes at once, at most."""
_ANSWER = 900.0
"""Seconds in which a worker must make its cuts. Dask gives those of one that it misses for 5 minutes to another."""
_URGENT = 10
"""The priority of cuts: pieces wait for them."""


@dataclass(frozen=True)
class _Batch:
    """Neighbouring cuts of a chunk."""

    chunk: Chunk
    targets: list[int]
    """See Planner.near."""
    future: Future | None
    """None if no worker makes them."""


@dataclass(frozen=True)
class RemoteCutter:
    """Has workers cut a merge into chunks. See engine.supply.ChunkCutter.

    A client would ask for one block after the other: 34,000 for 100 pieces of 100 objects, and each answer takes 10 to
    100 ms. A worker makes neighbouring cuts together: one among many asks for 3 blocks of each object, else for 19.
    """

    eligible: EligibleWorkers
    packed: PackedShipment
    planner: Planner
    parts: Sequence[Chunk]

    def __call__(self, nbytes: int) -> Iterator[Sequence[list[Chunk]]]:
        """The chunks of each part, some of all parts at a time."""
        parts = self.parts or [self.planner.whole()]
        for found in zip_longest(*(self._of(part, nbytes) for part in parts)):
            yield [chunks or [] for chunks in found]

    def _of(self, part: Chunk, nbytes: int) -> Iterator[list[Chunk]]:
        """The chunks of a part, some at a time."""
        low, end = ends_of(part)
        for found in chain(self._cuts(part, nbytes), [[end]]):
            chunks = []
            for cut in found:
                # Inputs that are not in order may have cuts that are not, either: no byte must be lost with them.
                high = tuple(min(max(ahead, at), last) for ahead, at, last in zip(low, cut, end, strict=True))
                if high != low:
                    chunks.append(Chunk(tuple(zip(low, high, strict=True)), sum(low)))
                low = high
            yield chunks

    def _cuts(self, part: Chunk, nbytes: int) -> Iterator[list[Cut]]:
        """The inner cuts of a part, in order, some at a time."""
        targets = self.planner.targets(part, nbytes)
        threads = max(1, sum(self.eligible.threads().values()))
        size = max(1, min(_MOST, len(targets) // (2 * threads)))
        batches = (targets[at : at + size] for at in range(0, len(targets), size))
        under_way: deque[_Batch] = deque()
        for batch in batches:
            under_way.append(self._requested(part, batch))
            if len(under_way) > 2 * threads:
                yield self._found(under_way.popleft())
        while under_way:
            yield self._found(under_way.popleft())

    def _requested(self, part: Chunk, targets: list[int]) -> _Batch:
        """Have a worker make cuts."""
        client: Client = self.eligible.client
        there = sorted(self.eligible.threads())
        if not there:
            return _Batch(part, targets, None)
        options: dict[str, Any] = {"workers": there, "priority": _URGENT, "retries": 1, "pure": False}
        key = f"gpumerge-cut-{self.packed.digest}-{os.urandom(6).hex()}"
        return _Batch(part, targets, client.submit(node.find_cuts, self.packed, part, targets, key=key, **options))

    def _found(self, batch: _Batch) -> list[Cut]:
        """The cuts that a worker has made; made here if it was lost."""
        if batch.future is not None:
            try:
                found: list[Cut] = await_call(self.eligible.client, batch.future.result, _ANSWER)
                return found
            except GpumergeError:
                raise
            except Exception:  # whatever Dask raises for a worker that is lost
                pass
        return self.planner.near(batch.targets, *ends_of(batch.chunk))
