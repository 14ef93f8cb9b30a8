"""Rung 5: as path, but a chain takes a vector of keys for each comparison. GPUs run path: their threads are lanes."""

from __future__ import annotations

from gpumerge_cli.backends.variants import chains
from gpumerge_cli.backends.variants.rung4_path import ON_GPU, PATH_OPTIONS
from gpumerge_cli.backends.variants.variant import OnCpu, Variant, register_variant
from gpumerge_cli.native.library import library
from gpumerge_cli.native.specs import order_spec
from gpumerge_cli.order.kinds import Order

# The items that a chain merges before the four are cut again. A chain by vectors is fast, so it must be longer than one
# by items for the processor to fetch ahead.
_CHAIN_ITEMS = 262_144


def _has_vectors(order: Order) -> bool:
    return not order.is_rows and library().gm_vector_bytes(order_spec(order)) > 0


register_variant(
    Variant(
        name="vector",
        options=PATH_OPTIONS,
        tile="output",
        auto=True,
        gpu=ON_GPU,
        cpu=OnCpu(
            lambda request, width, why: chains.chain_policy("vector", request, _CHAIN_ITEMS, why),
            chains.chain_splits,
            how="four chains a thread, keys by vectors",
            takes=_has_vectors,
        ),
    )
)
