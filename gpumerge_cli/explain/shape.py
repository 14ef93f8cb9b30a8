"""The way in which a kernel divides the output of a merge: the lengths of the pieces at every level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gpumerge_cli.backends.splits import Split, Splits
from gpumerge_cli.dataclass import dataclass, replace
from gpumerge_cli.engine.job import Resources
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest
from gpumerge_cli.order.kinds import Order


@dataclass(frozen=True)
class Shape:
    """A decided launch, and its cuts by the rules of "GPU" or "CPU"."""

    policy: LaunchPolicy
    rules: str
    why: str
    splits: Splits
    """For each level, the kind of worker that gets a piece, and the rule that cuts it."""


def launch_shape(on: Resources, launch: LaunchRequest, order: Order, total: int, threads: int) -> Shape:
    """The shape for a merge of two runs with `total` items in all.

    If sizes are requested without a backend, the GPU's rules hold, even without a GPU, with one block by default.
    Raises UsageError for a launch that cannot be done, DeviceError for a requested GPU that is missing.
    """
    from gpumerge_cli.backends.variants.lookup import requested_variant, variant_named

    if on.backend == "auto" and launch != LaunchRequest(launch.kernel):
        from gpumerge_cli.backends.gpu import access as gpu
        from gpumerge_cli.backends.gpu.policy import resolve

        if "blocks" in requested_variant(launch).options:
            launch = replace(launch, blocks=launch.blocks or 1)
        policy = resolve(launch, order, gpu.limits_of(on.device))
        splits = variant_named(policy.kernel).gpu.splits(policy, total)
        return Shape(policy, "GPU", "the options give sizes", splits)
    from gpumerge_cli.backends.select import select

    selected = select(on.backend, on.device, order, None)
    policy = selected.backend.resolve(launch, order)
    splits = selected.backend.splits(policy, total, threads)
    return Shape(policy, selected.backend.name.upper(), selected.why, splits)


def kernel_item_bytes(order: Order) -> int:
    """The bytes of an item that kernels move on a GPU."""
    from gpumerge_cli.backends.gpu.policy import item_bytes

    return item_bytes(order)


def kernel_shared_bytes(policy: LaunchPolicy, order: Order) -> int:
    """The bytes of dynamic shared memory of a block on a GPU."""
    from gpumerge_cli.backends.gpu.policy import shared_bytes

    return shared_bytes(policy, order)


def count_cuts(splits: Sequence[Split], total: int) -> tuple[int, int]:
    """The number of cuts that the last of `splits` makes within the pieces of the others, and its largest piece."""
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
    """The ranks, in order, at which the last of `splits` cuts and no split before it does."""
    *coarser, finest = splits
    for start, stop in piece_ranges(coarser, total):
        for piece, _ in _pieces(finest, start, stop):
            if piece > start:
                yield piece


def piece_ranges(splits: Sequence[Split], total: int) -> list[tuple[int, int]]:
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
