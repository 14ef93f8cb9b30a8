"""How a kernel shares the output of a merge out: whose rules, and the lengths of the pieces at every level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpumerge_cli.backends.base import LaunchPolicy, LaunchRequest
from gpumerge_cli.engine.request import BackendRequest
from gpumerge_cli.order import Order

Lengths = list[tuple[int, int]]
"""Lengths of pieces in their order, each with how often it follows itself."""
Split = Callable[[int], Lengths]
"""How a piece of so many outputs is cut."""


@dataclass(frozen=True)
class Shape:
    """A decided launch, and how it cuts, by the rules of "GPU" or "CPU".

    splits: what each level's pieces are for, and how they are cut.
    """

    policy: LaunchPolicy
    rules: str
    why: str
    splits: tuple[tuple[str, Split], ...]


def shape_of(on: BackendRequest, order: Order, total: int, threads: int) -> Shape:
    """The shape for a merge of two runs with `total` items in all.

    With a launch shape asked for and no backend, the GPU's rules hold, device or not, and blocks are one unless said.
    Raises UsageError for a wish that cannot be met, DeviceError for a GPU that is asked for and not there.
    """
    launch = on.launch
    if on.backend == "auto" and launch != LaunchRequest(launch.kernel):
        from gpumerge_cli.backends.gpu.policy import DeviceLimits, resolve

        if launch.decided_kernel() in ("tiled", "circular"):
            launch = replace(launch, blocks=launch.blocks or 1)
        policy = resolve(launch, order, DeviceLimits(1024, 232448, 132, 90))
        return Shape(policy, "GPU", "the sizes are asked for", _on_gpu(policy, total))
    from gpumerge_cli.backends.select import select

    selected = select(on.backend, on.device, order, None)
    policy = selected.backend.resolve(launch, order)
    splits = _on_gpu(policy, total) if selected.backend.name == "gpu" else _on_cpu(policy, threads)
    return Shape(policy, selected.backend.name.upper(), selected.why, splits)


def _on_gpu(policy: LaunchPolicy, total: int) -> tuple[tuple[str, Split], ...]:
    threads = ("thread", _every(policy.items_per_thread))
    if policy.kernel == "basic":
        return (("block", _every(policy.block_size * policy.items_per_thread)), threads)
    if policy.kernel == "path":
        return (("block", _every(policy.tile_size)), threads)
    return (("block", _every(_ceil_div(total, policy.blocks))), ("round", _every(policy.tile_size)), threads)


def _on_cpu(policy: LaunchPolicy, threads: int) -> tuple[tuple[str, Split], ...]:
    from gpumerge_cli.backends.cpu.policy import CHAINS
    from gpumerge_cli.backends.cpu.team import Team

    def pieces(length: int) -> Lengths:
        with Team(threads) as team:
            return [(stop - start, 1) for start, stop in team.pieces(length)]

    def chains(length: int) -> Lengths:
        each = length // CHAINS
        return _some([(each, CHAINS - 1), (length - each * (CHAINS - 1), 1)])

    hosts = ("host thread", pieces)
    if policy.kernel == "basic":
        return (hosts, ("thread", _every(policy.items_per_thread)))
    if policy.kernel == "path":
        return (hosts, ("block", _every(policy.tile_size)), ("chain", chains))
    block = policy.block_size
    shares = ("thread", lambda length: _every(_ceil_div(length, block))(length))
    return (hosts, ("round", _every(policy.tile_size)), shares)


def count_cuts(splits: Sequence[Split], total: int) -> tuple[int, int]:
    """How many cuts the last of `splits` makes within the pieces of those before it, and its largest piece."""
    pieces = {total: 1}
    made = 0
    for split in splits:
        finer: dict[int, int] = {}
        made = 0
        for length, times in pieces.items():
            parts = split(length)
            made += times * (sum(often for _, often in parts) - 1) if parts else 0
            for part, often in parts:
                finer[part] = finer.get(part, 0) + times * often
        pieces = finer
    return made, max(pieces, default=0)


def cut_ranks(splits: Sequence[Split], total: int) -> Iterator[int]:
    """The ranks at which the last of `splits` cuts, and no split before it, in their order."""
    *coarser, finest = splits
    edges = [(0, total)]
    for split in coarser:
        edges = [piece for start, stop in edges for piece in _pieces(split, start, stop)]
    for start, stop in edges:
        for piece, _ in _pieces(finest, start, stop):
            if piece > start:
                yield piece


def pieces_of(splits: Sequence[Split], total: int) -> list[tuple[int, int]]:
    """First and last rank of every piece of the last of `splits`."""
    edges = [(0, total)]
    for split in splits:
        edges = [piece for start, stop in edges for piece in _pieces(split, start, stop)]
    return edges


def _pieces(split: Split, start: int, stop: int) -> list[tuple[int, int]]:
    edges = [start]
    for length, times in split(stop - start):
        edges += [edges[-1] + length * (turn + 1) for turn in range(times)]
    return list(pairwise(edges))


def _every(items: int) -> Split:
    """Pieces of `items` outputs each, of all if it is 0; the last may be shorter."""

    def split(length: int) -> Lengths:
        each = items or max(1, length)
        return _some([(each, length // each), (length % each, 1)])

    return split


def _some(lengths: Lengths) -> Lengths:
    return [(length, times) for length, times in lengths if length and times]


def _ceil_div(count: int, size: int) -> int:
    return -(-count // size)
