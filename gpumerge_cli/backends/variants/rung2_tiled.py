"""Rung 2: blocks stage a tile of each input a round ("full"), or only the slices that co-rank finds ("exact")."""

from __future__ import annotations

from gpumerge_cli.backends.variants import staging
from gpumerge_cli.backends.variants.variant import OnCpu, OnGpu, Rounds, Variant, register_variant
from gpumerge_cli.launch import LaunchRequest, TileLoad


def _load(request: LaunchRequest) -> TileLoad:
    return request.tile_load or "full"


register_variant(
    Variant(
        name="tiled",
        options=staging.STAGING_OPTIONS | {"tile_load"},
        loads=("full", "exact"),
        tile="inputs",
        rounds=Rounds(keeps=False),
        gpu=OnGpu(
            resolve=lambda facts: staging.on_gpu("tiled", facts, _load(facts.request)),
            shared=staging.staging_bytes,
            sizes=staging.sizes,
            splits=staging.gpu_splits,
            how="blocks stage rounds of both inputs in shared memory",
        ),
        cpu=OnCpu(
            lambda request, width, why: staging.on_cpu("tiled", request, width, why, _load(request)),
            staging.cpu_splits,
        ),
    )
)
