"""Rung 3: as tiled, but unused items of a round stay in a ring, and only used items are replaced."""

from __future__ import annotations

from gpumerge_cli.backends.variants import staging
from gpumerge_cli.backends.variants.variant import OnCpu, OnGpu, Rounds, Variant, register_variant

register_variant(
    Variant(
        name="circular",
        options=staging.STAGING_OPTIONS,
        tile="inputs",
        rounds=Rounds(keeps=True),
        gpu=OnGpu(
            resolve=lambda facts: staging.on_gpu("circular", facts),
            shared=staging.staging_bytes,
            sizes=staging.sizes,
            splits=staging.gpu_splits,
            how="as tiled, and unused items of a round stay in a ring",
        ),
        cpu=OnCpu(lambda request, width, why: staging.on_cpu("circular", request, width, why), staging.cpu_splits),
    )
)
