"""Rung 1: every thread finds its inputs by co-rank and merges its own outputs, all in global memory."""

from __future__ import annotations

from gpumerge_cli.backends.limits import size_in_range
from gpumerge_cli.backends.splits import Splits, every
from gpumerge_cli.backends.variants.variant import LaunchFacts, OnCpu, OnGpu, Variant, register_variant
from gpumerge_cli.launch import LaunchPolicy, LaunchRequest

_SHAPES = {1: (256, 12), 2: (256, 8), 4: (256, 5), 8: (128, 6), 12: (256, 4), 16: (256, 4)}
"""Threads a block and items a thread, by item bytes. The fastest of sweeps on an H200; 12 and 16 were not swept."""


def _on_gpu(facts: LaunchFacts) -> LaunchPolicy:
    block, items = _SHAPES[facts.item_bytes]
    request = facts.request
    return LaunchPolicy("basic", request.block_size or block, request.items_per_thread or items, why=facts.why)


def _on_cpu(request: LaunchRequest, width: int, why: str) -> LaunchPolicy:
    items = size_in_range("--items-per-thread", request.items_per_thread, 0, 1, 1 << 40, "items a thread")
    return LaunchPolicy("basic", 1, items, why=why)


def _splits(policy: LaunchPolicy, total: int) -> Splits:
    blocks = ("block", every(policy.block_size * policy.items_per_thread))
    return (blocks, ("thread", every(policy.items_per_thread)))


register_variant(
    Variant(
        name="basic",
        gpu=OnGpu(
            resolve=_on_gpu,
            shared=lambda policy, size: 0,
            sizes=lambda policy: (policy.items_per_thread,),
            splits=_splits,
            how="every thread co-ranks and merges in global memory",
        ),
        cpu=OnCpu(_on_cpu, lambda policy: (("thread", every(policy.items_per_thread)),)),
    )
)
